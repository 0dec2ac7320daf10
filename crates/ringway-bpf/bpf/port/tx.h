/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Transmission: never attached to the interface. A sync runs it once per frame on live frames (BPF_PROG_RUN,
 * Linux 5.18), and each run takes the next slot of a tx ring and sends it to the interface or into the host stack. */
#pragma once
#include "port/ring.h"
#include "common/copy.h"

struct {
	__uint(type, BPF_MAP_TYPE_DEVMAP);
	__uint(max_entries, 1);
	__uint(key_size, 4);
	__uint(value_size, 4);
} device SEC(".maps");

/* The caller chooses the ring by the length of the frame it passes in: 64 + ring. Live frames are recycled pages, so
 * every byte that is sent is written. */
SEC("xdp")
int tx(struct xdp_md *ctx)
{
	__u32 zero = 0;
	__u64 now = (long)ctx->data_end - (long)ctx->data;
	__u32 r = now - 64;

	if (r >= cfg.tx_rings)
		return XDP_ABORTED;
	struct kring *k = bpf_map_lookup_elem(&kstate, KEY(r));
	void *reg = bpf_map_lookup_elem(&region, &zero);
	if (!k || !reg)
		return XDP_ABORTED;
	struct ctl *c = ctl_of(reg, r);
	__u32 tail = k->tail, gen = READ_ONCE(c->gen);
	if (gen != k->gen) {
		k->gen = gen;
		tail = READ_ONCE(c->start);
	}
	__u32 head = READ_ONCE(c->head);
	if (tail >= cfg.slots || head >= cfg.slots || tail == head)
		return XDP_DROP;
	__u64 s = READ_ONCE(*slot_of(reg, r, tail));
	__u32 idx = s, len = (s >> 32) & 0xffff;
	__u32 flags = s >> 48;
	WRITE_ONCE(k->tail, next(tail));
	k->n.in++;
	if (idx < FIRST_BUF || idx >= cfg.bufs || len > cfg.buf_size || flags & NS_MOREFRAG) {
		k->n.drops[BAD_SLOT]++;
		return XDP_DROP;
	}
	if (len < ETH_HLEN) {
		k->n.drops[TOO_SHORT]++;
		return XDP_DROP;
	}
	if (len > cfg.max_frame || bpf_xdp_adjust_tail(ctx, (int)len - (int)(64 + r))) {
		k->n.drops[TOO_LONG]++;
		return XDP_DROP;
	}
	void *pkt = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	void *buf = buf_of(reg, idx);
	int bad = len <= SHORT ? copy_short(pkt, end, buf, len, 1) : bpf_xdp_store_bytes(ctx, 0, buf, len);
	if (bad) {
		k->n.drops[NO_MEMORY]++;
		return XDP_DROP;
	}
	k->n.out++;
	k->n.bytes += len;
	return cfg.host ? XDP_PASS : bpf_redirect_map(&device, 0, 0);
}
