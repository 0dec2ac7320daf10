/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Attached to an interface: moves frames from the wire to the rx rings, one ring for each queue. */
#pragma once
#include "port/rx.h"
#include "common/copy.h"

DEFINE_LONG_FRAME(nic_long, struct xdp_md, bpf_xdp_load_bytes)

/* What becomes of the frame itself once the port has had it, or could not. */
#define TAKEN (cfg.copy ? XDP_PASS : XDP_DROP)

SEC("xdp.frags")
int nic_rx(struct xdp_md *ctx)
{
	__u32 zero = 0, q = ctx->rx_queue_index;

	if (cfg.queue != ALL_QUEUES) {
		if (q != cfg.queue)
			return XDP_PASS;
		q = 0;
	}
	if (q >= cfg.rx_rings)
		return XDP_PASS;
	__u32 r = cfg.tx_rings + q;
	struct kring *k = bpf_map_lookup_elem(&kstate, KEY(r));
	void *reg = bpf_map_lookup_elem(&region, &zero);
	if (!k || !reg)
		return XDP_PASS;
	k->n.in++;
	void *pkt = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	__u64 len = bpf_xdp_get_buff_len(ctx);
	if (len < ETH_HLEN) {
		k->n.drops[TOO_SHORT]++;
		return TAKEN;
	}
	struct ctl *c = ctl_of(reg, r);
	if (len > cfg.buf_size) {
		nic_long(ctx, k, c, q, len);
		return TAKEN;
	}
	__u32 tail = k->tail;
	if (tail >= cfg.slots || !room(k, c, tail, 1)) {
		k->n.drops[RING_FULL]++;
		return TAKEN;
	}
	__u64 *slot = slot_of(reg, r, tail);
	__u32 idx = READ_ONCE(*slot);
	if (idx < FIRST_BUF || idx >= cfg.bufs) {
		// The client lost this slot's buffer. It is passed on empty, so that the ring keeps turning; the
		// reader finds it bad and counts the drop in place of a delivery.
		k->n.out++;
		WRITE_ONCE(*slot, 0);
		publish(k, c, q, next(tail));
		return TAKEN;
	}
	void *buf = buf_of(reg, idx);
	int bad = len <= SHORT ? copy_short(pkt, end, buf, len, 0) : bpf_xdp_load_bytes(ctx, 0, buf, len);
	if (bad) {
		// Only a frame whose first bytes lie in a fragment: the helper reads those too.
		if (bpf_xdp_load_bytes(ctx, 0, buf, len)) {
			k->n.drops[NO_MEMORY]++;
			return TAKEN;
		}
	}
	WRITE_ONCE(*slot, (__u64)idx | len << 32);
	k->n.out++;
	k->n.bytes += len;
	publish(k, c, q, next(tail));
	return TAKEN;
}
