/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* nm_inject, nm_nextpkt, nm_dispatch. Part of net/netmap_user.h. */
#ifndef RINGWAY_NET_NM_PACKETS_H
#define RINGWAY_NET_NM_PACKETS_H

#include <net/ringway_nm.h>
#include <net/ringway_nm_put.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Puts a frame into a tx ring with room; the next sync sends it. Its size, or 0 if no ring has room. */
static inline int nm_inject(struct nm_desc *d, const void *buf, size_t size)
{
	uint32_t rings = (uint32_t)d->last_tx_ring - d->first_tx_ring + 1, i;

	for (i = 0; i < rings; i++) {
		uint16_t ring = d->cur_tx_ring;

		if (rw_nm_put(NETMAP_TXRING(d->nifp, ring), buf, size))
			return (int)size;
		d->cur_tx_ring = ring == d->last_tx_ring ? d->first_tx_ring : (uint16_t)(ring + 1);
	}
	return 0;
}

/* Takes the next slot with a frame of the rx rings, in turn, and describes it. Whether there was one. */
static inline int rw_nm_take(struct nm_desc *d, struct nm_pkthdr *hdr)
{
	uint32_t rings = (uint32_t)d->last_rx_ring - d->first_rx_ring + 1, i;

	for (i = 0; i < rings; i++) {
		struct netmap_ring *ring = NETMAP_RXRING(d->nifp, d->cur_rx_ring);

		if (!nm_ring_empty(ring)) {
			struct netmap_slot *slot = &ring->slot[ring->head];

			hdr->ts = ring->ts;
			hdr->len = hdr->caplen = slot->len;
			hdr->flags = 0;
			hdr->d = d;
			hdr->slot = slot;
			hdr->buf = (uint8_t *)NETMAP_BUF_OFFSET(ring, slot);
			ring->head = ring->cur = nm_ring_next(ring, ring->head);
			return 1;
		}
		d->cur_rx_ring = d->cur_rx_ring == d->last_rx_ring ? d->first_rx_ring : (uint16_t)(d->cur_rx_ring + 1);
	}
	return 0;
}

/* The next frame, or NULL. It stays where it is until the next sync. A frame of several slots comes in parts: NS_MOREFRAG in hdr->slot. */
static inline unsigned char *nm_nextpkt(struct nm_desc *d, struct nm_pkthdr *hdr)
{
	return rw_nm_take(d, hdr) ? hdr->buf : NULL;
}

/* Calls `cb` for at most `cnt` frames, all that there are if `cnt` is below 1. How many. All but the last have NM_MORE_PKTS. */
static inline int nm_dispatch(struct nm_desc *d, int cnt, nm_cb_t cb, unsigned char *arg)
{
	struct nm_pkthdr next;
	int got = 0;

	d->hdr.d = d;
	while ((cnt < 1 || got < cnt) && rw_nm_take(d, &next)) {
		if (got > 0) {
			d->hdr.flags |= NM_MORE_PKTS;
			cb(arg, &d->hdr, d->hdr.buf);
		}
		d->hdr = next;
		got++;
	}
	if (got > 0)
		cb(arg, &d->hdr, d->hdr.buf);
	return got;
}

#ifdef __cplusplus
}
#endif

#endif
