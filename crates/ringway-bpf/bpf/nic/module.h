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
	struct wire_run *w = wire_run();
	struct ringway_frame *f = wire_ask();

	if (!w || !f)
		return NOWHERE + MODULE;
	__u32 less = less_one(w->len < RINGWAY_HEAD ? w->len : RINGWAY_HEAD);
	__builtin_memset(f, 0, sizeof(*f));
	f->len = w->len;
	f->port = cfg.port;
	if (less >= RINGWAY_HEAD || bpf_xdp_load_bytes(ctx, 0, f->head, less + 1))
		return NOWHERE + MODULE;
	__u32 d = ringway_module(f);
	if (d == FLOOD)
		f->to[0] = f->to[1] = f->to[2] = f->to[3] = ~0ULL;
	if (d == FLOOD || d == RINGWAY_SET)
		return f->to[0] | f->to[1] | f->to[2] | f->to[3] ? FLOOD : NOWHERE + MODULE;
	return !d || d > FLOOD ? NOWHERE + MODULE : d == cfg.port ? NOWHERE + SAME_PORT : d;
}

/* Whether a frame to several ports is for `d`. */
static __always_inline int is_asked(__u32 d)
{
	struct ringway_frame *f = wire_ask();

	return f && f->to[d >> 6 & 3] >> (d & 63) & 1;
}
#else
#define ask_wire(ctx) NOWHERE
#define is_asked(d) 1
#endif
