/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What programs written for netmap call by name: ways from a region to its rings, slots and buffers, and the arithmetic of rings.
 * With NETMAP_WITH_LIBS defined before it, also a descriptor of a port with functions that open, read and write it: nm_open and the
 * rest in ringway_nm.h. Names and what they mean are netmap's. Everything is inline; there is nothing to link.
 *
 * A program that sends, in short:
 *
 *     struct netmap_ring *ring = NETMAP_TXRING(nifp, 0);
 *     while (!nm_ring_empty(ring)) {
 *             struct netmap_slot *slot = &ring->slot[ring->head];
 *             slot->len = fill(NETMAP_BUF(ring, slot->buf_idx));
 *             ring->head = ring->cur = nm_ring_next(ring, ring->head);
 *     }
 *     ioctl(fd, NIOCTXSYNC, NULL);
 */
#ifndef RINGWAY_NET_NETMAP_USER_H
#define RINGWAY_NET_NETMAP_USER_H

#include <stdint.h>
#include <stddef.h>
#include <sys/socket.h>
#include <net/if.h>
#include <net/netmap.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef likely
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#endif

/* What is `offset` bytes behind `ptr`. */
#define _NETMAP_OFFSET(type, ptr, offset) ((type)(void *)((char *)(ptr) + (offset)))

/* The interface descriptor: `base` is the mapped region, `ofs` is nr_offset of the request that bound the port. */
#define NETMAP_IF(base, ofs) _NETMAP_OFFSET(struct netmap_if *, base, ofs)

/* Ring `index`. The host's rings follow the interface's: the first one is NETMAP_TXRING(nifp, nifp->ni_tx_rings). */
#define NETMAP_TXRING(nifp, index) _NETMAP_OFFSET(struct netmap_ring *, nifp, (nifp)->ring_ofs[index])
#define NETMAP_RXRING(nifp, index)                     \
	_NETMAP_OFFSET(struct netmap_ring *, nifp,     \
		       (nifp)->ring_ofs[(index) + (nifp)->ni_tx_rings + (nifp)->ni_host_tx_rings])

/* The buffer with this index, and back. */
#define NETMAP_BUF(ring, index) ((char *)(ring) + (ring)->buf_ofs + (int64_t)(index) * (int64_t)(ring)->nr_buf_size)
#define NETMAP_BUF_IDX(ring, buf) ((uint32_t)(((char *)(buf) - ((char *)(ring) + (ring)->buf_ofs)) / (ring)->nr_buf_size))

/* Where in its buffer a frame begins, where a port has such offsets: to read and to write. Elsewhere it is 0, and writing does nothing. */
#define NETMAP_ROFFSET(ring, slot) ((slot)->ptr & (ring)->offset_mask)
#define NETMAP_WOFFSET(ring, slot, offset) \
	((slot)->ptr = ((slot)->ptr & ~(ring)->offset_mask) | ((uint64_t)(offset) & (ring)->offset_mask))
#define NETMAP_BUF_OFFSET(ring, slot) (NETMAP_BUF(ring, (slot)->buf_idx) + NETMAP_ROFFSET(ring, slot))

/* The slot after `index`. */
static inline uint32_t nm_ring_next(struct netmap_ring *ring, uint32_t index)
{
	return unlikely(index + 1 == ring->num_slots) ? 0 : index + 1;
}

/* Where the system's slots begin now. Slots before that may be read after this. */
static inline uint32_t nm_ring_tail(struct netmap_ring *ring)
{
	return __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE);
}

/* Whether the program has no slot: to send it must wait, or nothing was received. */
static inline int nm_ring_empty(struct netmap_ring *ring)
{
	return ring->head == nm_ring_tail(ring);
}

/* How many slots the program has. */
static inline uint32_t nm_ring_space(struct netmap_ring *ring)
{
	uint32_t head = ring->head, tail = nm_ring_tail(ring);

	return tail >= head ? tail - head : tail + ring->num_slots - head;
}

/* Whether a tx ring still has frames that were not sent, or of which the system did not say yet that they were. */
static inline int nm_tx_pending(struct netmap_ring *ring)
{
	return nm_ring_next(ring, nm_ring_tail(ring)) != ring->head;
}

#ifdef __cplusplus
}
#endif

#endif

/* Also for a file that includes this one again, with it defined only then. */
#ifdef NETMAP_WITH_LIBS
#include <net/ringway_nm.h>
#endif
