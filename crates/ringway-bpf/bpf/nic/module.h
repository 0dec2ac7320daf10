/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A user's module asked for a frame of a NIC, as switch/module.h does for those of virtual ports. */
#pragma once
#include "include/ringway_module.h"
#include "nic/give.h"

#if WITH_MODULE
extern int ringway_module(struct ringway_frame *frame);

DECLARE(wire_asks, BPF_MAP_TYPE_PERCPU_ARRAY, 1, sizeof(struct ringway_frame), 0);

static __always_inline struct ringway_frame *wire_ask(void)
{
	__u32 zero = 0;
	return bpf_map_lookup_elem(&wire_asks, &zero);
}

/* Has the module choose. Returns what find_wire does; with FLOOD, `to` tells which ports. */
__noinline int ask_wire(struct xdp_md *ctx)
{
	struct wire_run *run = wire_run();
	struct ringway_frame *frame = wire_ask();

	if (!run || !frame)
		return NOWHERE + MODULE;
	__u32 less = less_one(run->len < RINGWAY_HEAD ? run->len : RINGWAY_HEAD);
	__builtin_memset(frame, 0, sizeof(*frame));
	frame->len = run->len;
	frame->port = cfg.port;
	if (less >= RINGWAY_HEAD || bpf_xdp_load_bytes(ctx, 0, frame->head, less + 1))
		return NOWHERE + MODULE;
	__u32 dest = ringway_module(frame);
	if (dest == FLOOD)
		frame->to[0] = frame->to[1] = frame->to[2] = frame->to[3] = ~0ULL;
	if (dest == FLOOD || dest == RINGWAY_SET)
		return frame->to[0] | frame->to[1] | frame->to[2] | frame->to[3] ? FLOOD : NOWHERE + MODULE;
	return !dest || dest > FLOOD ? NOWHERE + MODULE : dest == cfg.port ? NOWHERE + SAME_PORT : dest;
}

/* Whether a frame to several ports is for `d`. */
static __always_inline int is_asked(__u32 dest)
{
	struct ringway_frame *frame = wire_ask();

	return frame && frame->to[dest >> 6 & 3] >> (dest & 63) & 1;
}
#else
#define ask_wire(ctx) NOWHERE
#define is_asked(d) 1
#endif
