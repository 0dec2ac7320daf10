/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Rules of VLANs, isolation and storm limits, the same for frames of virtual ports and of NICs. */
#pragma once
#include "switch/state.h"
#include "common/sum.h"

#define VID 0xfff

/* 16ths of a ns in a tenth of a second: what passes at once. */
#define STORM_BURST 1600000000LL

static __always_inline int is_member(struct vlans *v, __u32 vid)
{
	return READ_ONCE(v->member[vid >> 6 & 63]) >> (vid & 63) & 1;
}

/* Why a frame of a VLAN may not go to port `d`; 0 when it may. That a port is gone shows at delivery. */
static __always_inline __u32 leave_vlan(struct port_conf *conf, __u32 dest, __u32 vid)
{
	struct port_conf *to = conf_of(dest);
	struct vlans *v = bpf_map_lookup_elem(&vlans, &dest);

	if (!to || !v || !(READ_ONCE(to->flags) & 1))
		return 0;
	if (!is_member(v, vid))
		return VLAN;
	return READ_ONCE(conf->features) & READ_ONCE(to->features) & ISOLATED ? ISOLATION : 0;
}

/* Which limit a frame to all is under: broadcast, multicast or unknown. */
static __always_inline __u32 storm_kind(__u64 dst)
{
	return dst == 0xffffffffffffULL ? 0 : dst & 1 ? 1 : 2;
}

struct limit {
	__u64 *due, gap, now;
	__s64 slack;
	__u32 above;
};

/* Tries to take the place of the next frame; another sender may take it first. */
SELDOM_STEP(take_place, struct limit *limit)
{
	__u64 due = READ_ONCE(*limit->due);
	__s64 early = due - limit->now;

	if (early > limit->slack)
		return 1;
	if (__sync_val_compare_and_swap(limit->due, due, (early > 0 ? due : limit->now) + limit->gap) != due)
		return 0;
	limit->above = 0;
	return 1;
}

/* Whether one more frame to all is above a limit, at the time `ns`. A limit is a time at which the next frame is due; frames
 * may be early by a tenth of a second. The rings of the port share it. */
static __always_inline int is_above(struct port_conf *conf, struct port_state *p, __u32 kind, __u64 ns)
{
	kind = kind > 2 ? 2 : kind;
	struct limit limit = { .due = &p->storm[kind], .gap = READ_ONCE(conf->storm[kind]), .now = ns << 4, .above = 1 };
	if (!limit.gap || limit.gap == ~0ULL)
		return limit.gap != 0;
	limit.slack = limit.gap < STORM_BURST ? STORM_BURST - limit.gap : 0;
	until_seldom(take_place, &limit);
	return limit.above;
}
