/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Frames: the caller copies received ones out of DPDK's buffers, and others into them. */
#include "inside.h"

/* Puts a tag back that the device took off. DPDK does not say which type the tag had on the wire: 0x88a8 becomes 0x8100, too. */
static int restore_tag(struct rte_mbuf **m)
{
	if (likely(((*m)->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED) == 0))
		return 0;
	return rte_vlan_insert(m);
}

static uint32_t give_up(struct ringway_dpdk_part *parts, enum ringway_dpdk_unusable why)
{
	parts[0] = (struct ringway_dpdk_part){ .len = why };
	return 1;
}

/* Names the parts of a frame; returns how many. The chain ends where its `next` does, whatever the driver wrote to nb_segs. */
static uint32_t name_parts(struct rte_mbuf **frame, struct ringway_dpdk_part *parts)
{
	if (unlikely(restore_tag(frame) != 0))
		return give_up(parts, RINGWAY_DPDK_NO_TAG);
	uint32_t n = 0;
	for (struct rte_mbuf *m = *frame; m != NULL; m = m->next) {
		if (unlikely(n == RINGWAY_DPDK_SEGMENTS))
			return give_up(parts, RINGWAY_DPDK_TOO_MANY_PARTS);
		parts[n++] = (struct ringway_dpdk_part){
			.data = rte_pktmbuf_mtod(m, void *),
			.len = m->data_len,
			.more = m->next != NULL,
		};
	}
	return n;
}

int receive(struct ringway_dpdk_port *port, uint32_t queue, struct ringway_dpdk_part *parts)
{
	struct receiver *rx = &port->queue[queue].rx;
	uint32_t n = 0;

	know_thread();
	rte_pktmbuf_free_bulk(rx->held, rx->count);
	rx->count = rte_eth_rx_burst(port->id, queue, rx->held, RINGWAY_DPDK_FRAMES);
	for (uint32_t i = 0; i < rx->count; i++) {
		if (i + 4 < rx->count)
			rte_prefetch0(rte_pktmbuf_mtod(rx->held[i + 4], void *));
		n += name_parts(&rx->held[i], &parts[n]);
	}
	return n;
}

int reserve(struct ringway_dpdk_port *port, uint32_t queue, struct ringway_dpdk_part *buffers, uint32_t n)
{
	struct sender *tx = &port->queue[queue].tx;

	know_thread();
	n = RTE_MIN(n, (uint32_t)RINGWAY_DPDK_FRAMES);
	if (tx->empty < n && rte_pktmbuf_alloc_bulk(port->pool, &tx->reserved[tx->empty], n - tx->empty) == 0)
		tx->empty = n;
	n = RTE_MIN(n, tx->empty);
	for (uint32_t i = 0; i < n; i++)
		buffers[i] = (struct ringway_dpdk_part){ .data = rte_pktmbuf_mtod(tx->reserved[i], void *), .len = port->room };
	return n;
}

int send_frames(struct ringway_dpdk_port *port, uint32_t queue, const struct ringway_dpdk_part *frames, uint32_t n)
{
	struct sender *tx = &port->queue[queue].tx;

	know_thread();
	if (tx->first == tx->end) {
		tx->first = tx->end = 0;
		n = RTE_MIN(n, tx->empty);
		for (uint32_t i = 0; i < n; i++) {
			struct rte_mbuf *m = tx->reserved[i];
			m->data_len = RTE_MIN(frames[i].len, port->room);
			m->pkt_len = m->data_len;
			tx->waiting[tx->end++] = m;
		}
		tx->empty -= n;
		memmove(tx->reserved, &tx->reserved[n], tx->empty * sizeof(tx->reserved[0]));
	}
	uint16_t taken = rte_eth_tx_burst(port->id, queue, &tx->waiting[tx->first], tx->end - tx->first);
	tx->first += taken;
	return taken;
}

void discard(struct ringway_dpdk_port *port, uint32_t queue)
{
	struct sender *tx = &port->queue[queue].tx;

	rte_pktmbuf_free_bulk(&tx->waiting[tx->first], tx->end - tx->first);
	tx->first = tx->end = 0;
}

void free_queue(struct ringway_dpdk_port *port, uint32_t queue)
{
	struct receiver *rx = &port->queue[queue].rx;
	struct sender *tx = &port->queue[queue].tx;

	rte_pktmbuf_free_bulk(rx->held, rx->count);
	rx->count = 0;
	discard(port, queue);
	rte_pktmbuf_free_bulk(tx->reserved, tx->empty);
	tx->empty = 0;
}
