/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Frames of a NIC that need more than a redirect or a plain copy: the rules of switch/vlan/decide.h. Copies are given out by
 * nic/give.h. */
#pragma once
#include "nic/wire.h"
#include "nic/give.h"
#include "nic/module.h"

/* Notes the VLAN, priority and type of a frame on a port that has VLANs. Returns why it may not enter, or 0. */
static __always_inline __u32 enter_wire(struct wire_run *run, struct port_conf *c, struct vlans *v)
{
	__u32 tci = READ_ONCE(c->native) & VID, type = run->type;

	if (type == TYPE_VLAN) {
		__u32 tag = run->tci;
		type = run->inner;
		if (READ_ONCE(c->features) & ACCESS)
			return VLAN;
		if (!run->edge.tagged)
			return TOO_SHORT;
		if (type == TYPE_VLAN)
			return VLAN;
		tci = tag & VID ? tag : tag | tci;
	} else if (run->len > MAX_FRAME - 4) {
		return TOO_LONG; /* with a tag */
	}
	run->edge.tag = tci << 16 | type;
	return tci & VID && is_member(v, tci & VID) ? 0 : VLAN;
}

/* Gives the frame to port `d`, and to its mirror. */
__noinline int give_mirrored(struct xdp_md *ctx, __u32 dest)
{
	struct wire_run *run = wire_run();
	struct port_conf *conf = conf_of(dest);

	if (!run || !conf)
		return 0;
	__u32 form = form_on(conf, run->edge.tag >> 16 & VID), mirror = READ_ONCE(conf->mirror);
	if (give(ctx, dest, form, 0) > 0 && mirror && READ_ONCE(conf->features) & MIRROR_RX)
		give(ctx, mirror, form, dest);
	return 0;
}

/* One port of those that a frame to all goes to. */
static long flood_nth_conf(__u32 i, struct wire *wire)
{
	struct wire_run *run = wire_run();

	if (!run || i >= wire->info->nports || i >= PORTS)
		return 1;
	__u32 dest = wire->info->ports[i];
	if (dest == 0 || dest == cfg.port || dest == FLOOD || !is_asked(dest))
		return 0;
	__u32 self = cfg.port;
	struct port_conf *conf = conf_of(dest), *own_conf = conf_of(self);
	struct vlans *v = bpf_map_lookup_elem(&vlans, &dest);
	if (!conf || !own_conf || !v || !is_member(v, run->edge.tag >> 16 & VID) ||
	    READ_ONCE(conf->features) & READ_ONCE(own_conf->features) & ISOLATED)
		return 0;
	give_mirrored(wire->ctx, dest);
	return 0;
}

/* Gives the frame to all other ports that may get it. */
static __always_inline void flood_conf(struct xdp_md *ctx)
{
	__u32 zero = 0;
	struct wire wire = { .ctx = ctx, .info = bpf_map_lookup_elem(&info, &zero) };

	if (wire.info)
		bpf_loop(PORTS, flood_nth_conf, &wire, 0);
}

/* Finds the destination of a frame that entered its VLAN, and learns its source. */
__noinline int find_wire(void)
{
	__u32 self = cfg.port;
	struct wire_run *run = wire_run();
	struct nic_cpu *cpu = nic_of(self);

	if (!run || !cpu)
		return NOWHERE + NO_DESTINATION;
	__u64 vid = run->edge.tag >> 16 & VID, dst = run->dst;
	if (DECISION == HUB)
		return FLOOD;
	/* Looked at with each frame, as in bursts of virtual ports. */
	cpu->last_src = cpu->last_dst = ~0ULL;
	learn(cpu, run->src | vid << 48);
	__u64 entry = look_up(cpu, dst | vid << 48);
	if (!entry)
		return FLOOD;
	__u32 dest = entry & 0xff;
	return entry & ENTRY_BLACKHOLE ? NOWHERE + BLACKHOLE : dest == cfg.port ? NOWHERE + SAME_PORT : dest;
}

/* Gives a frame that entered its VLAN where it is to go. Returns why it may go nowhere, or 0. */
static __always_inline __u32 route_wire(struct xdp_md *ctx, struct wire_run *w, struct port_conf *c)
{
	__u32 self = cfg.port, dest = WITH_MODULE ? ask_wire(ctx) : find_wire(), why;
	struct port_state *p = inner(&states, self);

	if (dest > NOWHERE)
		return dest - NOWHERE;
	if (dest == FLOOD) {
		if (p && is_above(c, p, storm_kind(w->dst), bpf_ktime_get_ns()))
			return STORM;
		flood_conf(ctx);
		return 0;
	}
	why = leave_vlan(c, dest, w->edge.tag >> 16 & VID);
	if (!why)
		give_mirrored(ctx, dest);
	return why;
}

__noinline int wire_conf(struct xdp_md *ctx, __u32 len, __u32 linear)
{
	__u32 self = cfg.port;
	struct wire_run *run = begin_wire(ctx, len, linear);
	struct nic_cpu *cpu = nic_of(self);
	struct port_conf *conf = conf_of(self);
	struct vlans *v = bpf_map_lookup_elem(&vlans, &self);

	if (!run || !cpu || !conf || !v)
		return XDP_DROP;
	/* First, so that a mirror sees a question before its answer. */
	__u32 features = READ_ONCE(conf->features), mirror = READ_ONCE(conf->mirror), why = 0;
	if (mirror && features & MIRROR_TX)
		give(ctx, mirror, AS_IS, self);
	if (features & (ACCESS | TRUNK))
		why = enter_wire(run, conf, v);
	if (!why)
		why = route_wire(ctx, run, conf);
	return finish_wire(ctx, why);
}
