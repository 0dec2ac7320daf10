/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Takes each frame of the wire into the switch, by the same rules as a sender's program. A frame to another NIC is redirected; one to
 * virtual ports is copied into their rings. */
#pragma once
#include "nic/wire.h"
#include "nic/conf.h"
#include "nic/host_in.h"

/* One port of those that a frame to all goes to. */
static long flood_nth(__u32 i, struct wire *w)
{
	if (i >= w->info->nports || i >= PORTS)
		return 1;
	__u32 d = w->info->ports[i];
	if (d == 0 || d == cfg.port || d == FLOOD)
		return 0;
	if (is_nic(d)) {
		if (is_host(d)) {
			w->hosts = 1;
			return 0;
		}
		w->nics++;
		w->one = d;
		return 0;
	}
	int got = deliver_wire(w->ctx, d, w->len);
	if (got >= 0)
		w->offered++;
	w->reached += got > 0;
	return 0;
}

/* Counts the frame for the NICs, of which there are several, or which can't be given the frame. */
static long flood_nic(__u32 i, struct wire *w)
{
	if (i >= w->info->nports || i >= PORTS)
		return 1;
	__u32 d = w->info->ports[i];
	if (d == 0 || d == cfg.port || d == FLOOD || !is_nic(d))
		return 0;
	if (w->bad)
		withhold(d, w->bad & 31);
	else
		count_handed(d, w->len);
	return 0;
}

/* A frame to all other ports. The kernel copies a redirected frame only when it is in one piece: one that is not reaches a
 * NIC when that is the only other one. */
__noinline int flood_wire(struct xdp_md *ctx, __u32 len, __u32 linear)
{
	__u32 zero = 0, self = cfg.port;
	struct wire w = { .ctx = ctx, .info = bpf_map_lookup_elem(&info, &zero), .len = len, .linear = linear };
	struct nic_cpu *me = nic_of(self);

	if (!w.info || !me)
		return XDP_DROP;
	w.offered = w.reached = w.nics = READ_ONCE(w.info->zero); /* as common/loop.h says */
	bpf_loop(PORTS, flood_nth, &w, 0);
	if (w.hosts)
		return flood_host(ctx, len, w.offered, w.reached);
	me->copies += w.offered + w.nics;
	if (w.nics > 1 && linear != len)
		w.bad = TOO_LONG;
	else if (w.nics && nic.software && finish_sum(ctx))
		w.bad = BAD_OFFLOAD;
	if (w.nics == 1 && !w.bad)
		count_handed(w.one, len);
	else if (w.nics)
		bpf_loop(PORTS, flood_nic, &w, 0);
	int given = w.nics && !w.bad;
	if (!w.reached && !given)
		return lose(me, w.offered ? RECEIVER_FULL : w.nics ? w.bad & 31 : NO_DESTINATION);
	me->tx.out++;
	me->tx.bytes += len;
	if (!given)
		return XDP_DROP;
	return w.nics > 1 ? hand_all() : hand(w.one);
}

/* A frame to a port that no interface of the switch stands for. */
__noinline int slow_wire(struct xdp_md *ctx, __u32 d, __u32 len)
{
	__u32 self = cfg.port;
	struct nic_cpu *me = nic_of(self);

	if (!me)
		return XDP_DROP;
	if (is_nic(d)) {
		if (is_host(d))
			return host_wire(ctx, d, len);
		/* The interface is gone: its counters say so. */
		me->copies++;
		me->tx.out++;
		me->tx.bytes += len;
		count_handed(d, len);
		return XDP_DROP;
	}
	int got = deliver_wire(ctx, d, len);
	if (got < 0)
		return lose(me, NO_DESTINATION);
	me->copies++;
	if (!got)
		return lose(me, RECEIVER_FULL);
	me->tx.out++;
	me->tx.bytes += len;
	return XDP_DROP;
}

/* Frames of a NIC take the way of nic/conf.h where it, or a port that it may send to, has VLANs or other features, and where the
 * switch has a user's module. */
static __always_inline int enter_from_wire(struct xdp_md *ctx)
{
	__u32 zero = 0, self = cfg.port;
	struct nic_cpu *me = nic_of(self);
	struct info *i = bpf_map_lookup_elem(&info, &zero);

	if (!me || !i)
		return XDP_DROP;
	me->tx.in++;
	if (drop_meta(ctx))
		return lose(me, NO_MEMORY);
	void *pkt = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	if (pkt + ETH_HLEN > end)
		return lose(me, TOO_SHORT);
	__u32 linear = end - pkt, len = wire_len(ctx, linear);
	if (len > MAX_FRAME)
		return lose(me, TOO_LONG);
	__u64 dst = *(__u32 *)pkt | (__u64) * (__u16 *)(pkt + 4) << 32;
	__u64 src = *(__u16 *)(pkt + 6) | (__u64) * (__u32 *)(pkt + 8) << 16;
	__u64 jiffies = bpf_jiffies64(); /* a load, not a call */
	if (jiffies != me->tick)
		begin_tick(jiffies);
	if (WITH_MODULE || READ_ONCE(i->wires))
		return wire_conf(ctx, len, linear);
	if (DECISION == HUB)
		return flood_wire(ctx, len, linear);
	learn(me, src);
	__u64 entry = look_up(me, dst);
	if (!entry)
		return flood_wire(ctx, len, linear);
	__u32 d = entry & 0xff;
	if (entry & ENTRY_BLACKHOLE)
		return lose(me, BLACKHOLE);
	if (d == cfg.port)
		return lose(me, SAME_PORT);
	if (hand(d) != XDP_REDIRECT)
		return slow_wire(ctx, d, len);
	me->copies++;
	if (nic.software && finish_sum(ctx)) {
		withhold(d, BAD_OFFLOAD);
		return lose(me, BAD_OFFLOAD);
	}
	me->tx.out++;
	me->tx.bytes += len;
	count_handed(d, len);
	return XDP_REDIRECT;
}
