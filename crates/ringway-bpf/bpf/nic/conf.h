/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Frames of a NIC that need more than a redirect or a plain copy: the rules of switch/vlan/decide.h. Copies are given out by
 * nic/give.h. */
#pragma once
#include "nic/wire.h"
#include "nic/give.h"
#include "nic/module.h"

/* Notes the VLAN, priority and type of a frame on a port that has VLANs. Returns why it may not enter, or 0. */
static __always_inline __u32 enter_wire(struct wire_run *w, struct port_conf *c, struct vlans *v)
{
	__u32 tci = READ_ONCE(c->native) & VID, type = w->type;

	if (type == TYPE_VLAN) {
		__u32 tag = w->tci;
		type = w->inner;
		if (READ_ONCE(c->features) & ACCESS)
			return VLAN;
		if (!w->edge.tagged)
			return TOO_SHORT;
		if (type == TYPE_VLAN)
			return VLAN;
		tci = tag & VID ? tag : tag | tci;
	} else if (w->len > MAX_FRAME - 4) {
		return TOO_LONG; /* with a tag */
	}
	w->edge.tag = tci << 16 | type;
	return tci & VID && is_member(v, tci & VID) ? 0 : VLAN;
}

/* Gives the frame to port `d`, and to its mirror. */
__noinline int give_mirrored(struct xdp_md *ctx, __u32 d)
{
	struct wire_run *w = wire_run();
	struct port_conf *c = conf_of(d);

	if (!w || !c)
		return 0;
	__u32 form = form_on(c, w->edge.tag >> 16 & VID), mirror = READ_ONCE(c->mirror);
	if (give(ctx, d, form, 0) > 0 && mirror && READ_ONCE(c->features) & MIRROR_RX)
		give(ctx, mirror, form, d);
	return 0;
}

/* One port of those that a frame to all goes to. */
static long flood_nth_conf(__u32 i, struct wire *x)
{
	struct wire_run *w = wire_run();

	if (!w || i >= x->info->nports || i >= PORTS)
		return 1;
	__u32 d = x->info->ports[i];
	if (d == 0 || d == cfg.port || d == FLOOD || !is_asked(d))
		return 0;
	__u32 self = cfg.port;
	struct port_conf *c = conf_of(d), *me = conf_of(self);
	struct vlans *v = bpf_map_lookup_elem(&vlans, &d);
	if (!c || !me || !v || !is_member(v, w->edge.tag >> 16 & VID) ||
	    READ_ONCE(c->features) & READ_ONCE(me->features) & ISOLATED)
		return 0;
	give_mirrored(x->ctx, d);
	return 0;
}

/* Gives the frame to all other ports that may get it. */
static __always_inline void flood_conf(struct xdp_md *ctx)
{
	__u32 zero = 0;
	struct wire x = { .ctx = ctx, .info = bpf_map_lookup_elem(&info, &zero) };

	if (x.info)
		bpf_loop(PORTS, flood_nth_conf, &x, 0);
}

/* Finds the destination of a frame that entered its VLAN, and learns its source. */
__noinline int find_wire(void)
{
	__u32 self = cfg.port;
	struct wire_run *w = wire_run();
	struct nic_cpu *me = nic_of(self);

	if (!w || !me)
		return NOWHERE + NO_DESTINATION;
	__u64 vid = w->edge.tag >> 16 & VID, dst = w->dst;
	if (DECISION == HUB)
		return FLOOD;
	/* Looked at with each frame, as in bursts of virtual ports. */
	me->last_src = me->last_dst = ~0ULL;
	learn(me, w->src | vid << 48);
	__u64 entry = look_up(me, dst | vid << 48);
	if (!entry)
		return FLOOD;
	__u32 d = entry & 0xff;
	return entry & ENTRY_BLACKHOLE ? NOWHERE + BLACKHOLE : d == cfg.port ? NOWHERE + SAME_PORT : d;
}

/* Gives a frame that entered its VLAN where it is to go. Returns why it may go nowhere, or 0. */
static __always_inline __u32 route_wire(struct xdp_md *ctx, struct wire_run *w, struct port_conf *c)
{
	__u32 self = cfg.port, d = WITH_MODULE ? ask_wire(ctx) : find_wire(), why;
	struct port_state *p = inner(&states, self);

	if (d > NOWHERE)
		return d - NOWHERE;
	if (d == FLOOD) {
		if (p && is_above(c, p, storm_kind(w->dst), bpf_ktime_get_ns()))
			return STORM;
		flood_conf(ctx);
		return 0;
	}
	why = leave_vlan(c, d, w->edge.tag >> 16 & VID);
	if (!why)
		give_mirrored(ctx, d);
	return why;
}

__noinline int wire_conf(struct xdp_md *ctx, __u32 len, __u32 linear)
{
	__u32 self = cfg.port;
	struct wire_run *w = begin_wire(ctx, len, linear);
	struct nic_cpu *me = nic_of(self);
	struct port_conf *c = conf_of(self);
	struct vlans *v = bpf_map_lookup_elem(&vlans, &self);

	if (!w || !me || !c || !v)
		return XDP_DROP;
	/* First, so that a mirror sees a question before its answer. */
	__u32 features = READ_ONCE(c->features), mirror = READ_ONCE(c->mirror), why = 0;
	if (mirror && features & MIRROR_TX)
		give(ctx, mirror, AS_IS, self);
	if (features & (ACCESS | TRUNK))
		why = enter_wire(w, c, v);
	if (!why)
		why = route_wire(ctx, w, c);
	return finish_wire(ctx, why);
}
