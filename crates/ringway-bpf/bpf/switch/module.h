/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A user's module: it is shown each frame and names a port, all, or a set of ports. Only programs of switches with such a
 * module contain this (WITH_MODULE).
 *
 * What a module says is checked like what a client says. Frames for a set travel in the list of frames to all; for each
 * receiver those that are for it are linked anew.
 */
#pragma once
#include "include/ringway_module.h"
#include "switch/state.h"

/* What a tx ring needs more; each program has its own. */
struct module_run {
	struct ringway_frame frame;
	__u32 head, slots, frames, chain; /* frames for the receiver under way */
	__u64 set[BURST][4];              /* by slot of the burst: ports that the frame is for */
	__u16 next[BURST];
};

int ask_module(struct tx_state *t, __u32 i, __u64 s, __u32 ring);
int module_part(__u32 i, __u32 first, __u32 ring);
int link_set(struct tx_state *t, __u32 d, __u32 ring);

#if WITH_MODULE
extern int ringway_module(struct ringway_frame *frame);

_Static_assert(sizeof(struct module_run) == 34944, "pinned switches of this magic number have it so");
DECLARE(module_runs, BPF_MAP_TYPE_ARRAY, MAX_RINGS, sizeof(struct module_run), 0);

static __always_inline struct module_run *module_run(__u32 ring)
{
	return bpf_map_lookup_elem(&module_runs, &ring);
}

/* Copies the frame's first bytes to where its sender can't change them while the module looks. */
static __always_inline void show_head(struct ringway_frame *frame, void *buf, __u32 len)
{
#pragma unroll
	for (__u32 i = 0; i < RINGWAY_HEAD / 8; i++) {
		__u64 word = READ_ONCE(((__u64 *)buf)[i]);
		__u32 has = len > 8 * i ? len - 8 * i : 0;
		/* Bytes behind the frame are none of the module's business. */
		((__u64 *)frame->head)[i] = has >= 8 ? word : word & ((1ULL << 8 * (has & 7)) - 1);
	}
}

/* Has the module choose for the frame that starts with slot `s`, the `i`th of the burst; leaves the choice in t->dst. */
__noinline int ask_module(struct tx_state *tx, __u32 i, __u64 s, __u32 ring)
{
	__u32 idx = s, len = (s >> 32) & 0xffff, flags = s >> 48;
	struct module_run *module = module_run(ring);

	if (!tx)
		return 0;
	void *reg = inner(&regions, sender(tx));
	tx->dst = ENTRY_MODULE;
	if (!module || !reg || idx >= cfg.bufs)
		return 0;
	struct ringway_frame *frame = &module->frame;
	show_head(frame, buf_of(reg, idx), len);
	frame->len = len;
	frame->more = flags & NS_MOREFRAG;
	frame->port = sender(tx);
	frame->wanted = flags >> 8;
	frame->to[0] = frame->to[1] = frame->to[2] = frame->to[3] = 0;
	__u32 dest = ringway_module(frame);

	__u64 *set = module->set[i & (BURST - 1)];
	__u64 all = dest == FLOOD ? ~0ULL : 0, some = dest == RINGWAY_SET ? ~0ULL : 0, any = 0;
#pragma unroll
	for (int w = 0; w < 4; w++) {
		set[w] = all | (some & frame->to[w]);
		any |= set[w];
	}
	tx->dst = any ? FLOOD : dest && dest < FLOOD ? dest : ENTRY_MODULE;
	return 0;
}

/* A slot of a frame that has several goes where the first one, `first`, goes. */
__noinline int module_part(__u32 i, __u32 first, __u32 ring)
{
	struct module_run *module = module_run(ring);

	if (!module)
		return 0;
	__u64 *from = module->set[first & (BURST - 1)], *to = module->set[i & (BURST - 1)];
#pragma unroll
	for (int w = 0; w < 4; w++)
		to[w] = from[w];
	return 0;
}

struct linking {
	struct tx_state *tx;
	struct module_run *module;
	__u32 dest, i, last;
};

SELDOM_STEP(link_slot, struct linking *loop)
{
	struct module_run *module = loop->module;
	struct tx_state *tx = loop->tx;
	__u32 i = loop->i & (BURST - 1);

	if (module->set[i][loop->dest >> 6 & 3] >> (loop->dest & 63) & 1) {
		if (module->slots)
			module->next[loop->last & (BURST - 1)] = i;
		else
			module->head = i;
		loop->last = i;
		module->slots++;
		if (!(tx->slot[i] >> 48 & NS_MOREFRAG)) {
			module->frames++;
			if (!tx->reached[i])
				tx->reached[i] = OFFERED;
		}
	}
	loop->i = tx->next[i];
	return 0;
}

/* Links those frames of the list of frames to all that are for `d`. */
__noinline int link_set(struct tx_state *tx, __u32 dest, __u32 ring)
{
	struct module_run *module = module_run(ring);

	if (!tx || !module)
		return 0;
	struct linking loop = { .tx = tx, .module = module, .dest = dest, .i = tx->list[FLOOD].head, .last = READ_ONCE(tx->zero) };
	module->slots = module->frames = 0;
	repeat_seldom(tx->list[FLOOD].slots, UP_TO_BURST, link_slot, &loop);
	return 0;
}
#else
#define module_run(ring) ((struct module_run *)0)
#endif
