/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A frame into the slots of a tx ring. Part of net/netmap_user.h and of libnetmap.h. */
#ifndef RINGWAY_NET_NM_PUT_H
#define RINGWAY_NET_NM_PUT_H

#include <string.h>
#include <net/netmap_user.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Copies a frame to slots of a ring that has room for all of it. Whether it had. */
static inline int rw_nm_put(struct netmap_ring *ring, const void *buf, size_t size)
{
	const char *from = (const char *)buf;
	uint32_t each = ring->nr_buf_size, head = ring->head;
	size_t slots = size ? (size + each - 1) / each : 1;

	if (slots > NETMAP_MAX_FRAGS || slots > nm_ring_space(ring))
		return 0;
	for (; slots > 0; slots--) {
		struct netmap_slot *slot = &ring->slot[head];
		size_t part = size < each ? size : each;

		memcpy(NETMAP_BUF_OFFSET(ring, slot), from, part);
		slot->len = (uint16_t)part;
		slot->flags = slots > 1 ? NS_MOREFRAG : 0;
		from += part;
		size -= part;
		head = nm_ring_next(ring, head);
	}
	ring->head = ring->cur = head;
	return 1;
}

#ifdef __cplusplus
}
#endif

#endif
