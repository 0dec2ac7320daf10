/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Frames of a NIC that need more than a redirect or a plain copy: the rules of switch/vlan/decide.h. Copies are given out by
 * nic/give.h. */
#pragma once
#include "nic/wire.h"
#include "nic/give.h"
#include "nic/module.h"

/* Notes the VLAN, priority and type of a frame on a port that has VLANs. Returns why it may not enter, or 0. */
static __always_inline __u32 enter_wire(struct wire_run *run, struct port_conf *conf, struct vlans *v)
{
	__u32 tci = READ_ONCE(conf->native) & VID, type = run->type;

	if (type == TYPE_VLAN) {
		__u32 tag = run->tci;
		type = run->inner;
		if (READ_ONCE(conf->features) & ACCESS)
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

/* Gives the frame to port `dest`, and to its mirror. */
__noinline int give_with_mirror(struct xdp_md *ctx, __u32 dest)
{
	struct wire_run *run = wire_run();
	struct port_conf *conf = conf_of(dest);

	if (!run || !conf)
		return 0;
	__u32 form = form_on(conf, run->edge.tag >> 16 & VID), mirror = READ_ONCE(conf->mirror);
	if (give_copy(ctx, dest, form, 0) > 0 && mirror && READ_ONCE(conf->features) & MIRROR_RX)
		give_copy(ctx, mirror, form, dest);
	return 0;
}

/* One of the ports that a frame to all goes to. */
static long flood_nth_with_rules(__u32 i, struct wire *wire)
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
	give_with_mirror(wire->ctx, dest);
	return 0;
}

/* Gives the frame to all other ports that may get it. */
static __always_inline void flood_with_rules(struct xdp_md *ctx)
{
	__u32 zero = 0;
	struct wire wire = { .ctx = ctx, .info = bpf_map_lookup_elem(&info, &zero) };

	if (wire.info)
		bpf_loop(PORTS, flood_nth_with_rules, &wire, 0);
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
	learn_source(cpu, run->src | vid << 48);
	__u64 entry = look_up_port(cpu, dst | vid << 48);
	if (!entry)
		return FLOOD;
	__u32 dest = entry & 0xff;
	return entry & ENTRY_BLACKHOLE ? NOWHERE + BLACKHOLE : dest == cfg.port ? NOWHERE + SAME_PORT : dest;
}

/* Gives a frame that entered its VLAN where it is to go. Returns why it may go nowhere, or 0. */
static __always_inline __u32 route_wire(struct xdp_md *ctx, struct wire_run *run, struct port_conf *conf, __u64 *border)
{
	__u32 self = cfg.port, dest = WITH_MODULE ? ask_wire(ctx) : find_wire(), why;
	struct port_state *p = inner(&states, self);

	end_wire_stage(border, DECIDE);
	if (dest > NOWHERE)
		return dest - NOWHERE;
	if (dest == FLOOD) {
		if (p && is_above(conf, p, storm_kind(run->dst), bpf_ktime_get_ns()))
			return STORM;
		flood_with_rules(ctx);
		return 0;
	}
	why = leave_vlan(conf, dest, run->edge.tag >> 16 & VID);
	if (!why)
		give_with_mirror(ctx, dest);
	return why;
}

/* `border`: of a frame that is timed. A mirror's copy is delivered before the frame is decided on. */
static __always_inline int route_with_rules(struct xdp_md *ctx, __u32 len, __u32 linear, __u64 *border)
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
	if (mirror && features & MIRROR_TX) {
		end_wire_stage(border, DECIDE);
		give_copy(ctx, mirror, AS_IS, self);
		end_wire_stage(border, DELIVER);
	}
	if (features & (ACCESS | TRUNK))
		why = enter_wire(run, conf, v);
	if (!why)
		why = route_wire(ctx, run, conf, border);
	else
		end_wire_stage(border, DECIDE);
	return finish_wire(ctx, why);
}

__noinline int enter_with_rules(struct xdp_md *ctx, __u32 len, __u32 linear)
{
	return route_with_rules(ctx, len, linear, 0);
}

__noinline int route_with_rules_timed(struct xdp_md *ctx, __u32 len, __u32 linear)
{
	__u64 border = bpf_ktime_get_ns();
	int verdict = route_with_rules(ctx, len, linear, &border);

	end_timed_frame(&border);
	return verdict;
}
