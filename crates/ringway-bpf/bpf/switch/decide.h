/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The first pass over a burst: checks each slot, decides where its frame goes, and links it to the list of that
 * destination. What was checked is kept; the client's slot is not read again. */
#pragma once
#include "switch/state.h"
#include "switch/fdb.h"
#include "switch/module.h"

static __always_inline void drop_frame(struct tx_state *t, __u32 why)
{
	t->n.in++;
	if (why < REASONS)
		t->n.drops[why]++;
}

/* A run takes frames until the copies of those to all, and in bursts with features of all frames, take this long by the estimate
 * of spend(), which is twice what was measured for long frames. What each receiver costs besides, and frames to one port, have room below
 * the 2 ms that a run is to take at most. A frame is taken whole, however long that takes. */
#define RUN_NS 1500000

/* Notes the copies of a frame; whether the run has enough to do now. */
static __always_inline int spend(struct tx_state *t, __u32 copies, __u32 bytes, __u32 slots)
{
	__u32 cost = copies * (64 * slots + bytes / 4);

	if (cost >= t->budget)
		return 1;
	t->budget -= cost;
	return 0;
}

/* Whether frames of the burst are for `d`. */
static __always_inline int is_touched(struct tx_state *t, __u32 d)
{
	return t->touched[d >> 6 & 3] >> (d & 63) & 1;
}

/* Appends slot `i` of the burst to the list of `d`. */
static __always_inline void append(struct tx_state *t, __u32 d, __u32 i)
{
	struct list *l = &t->list[d & 0xff];

	if (is_touched(t, d)) {
		t->next[l->tail & (BURST - 1)] = i;
		l->tail = i;
		l->slots++;
	} else {
		t->touched[d >> 6 & 3] |= 1ULL << (d & 63);
		t->dsts[t->ndsts++ & 0xff] = d;
		l->head = l->tail = i;
		l->slots = 1;
		l->frames = 0;
	}
}

/* The destination of a frame with these keys of the table; learns its source. */
static __always_inline __u32 destination_of(struct fdb *f, struct tx_state *t, __u64 dst, __u64 src, __u32 flags)
{
	__u64 now = t->now;

	if (DECISION == HUB) {
		t->dst = flags >> 8 ? flags >> 8 : FLOOD;
		return READ_ONCE(t->dst);
	}
	if (src != t->last_src && !((src | flags / NS_NO_LEARN) & 1)) {
		__u64 h = mix(src);
		t->last_src = src;
		if (fdb_find(f, h) != fdb_fresh(h, now, sender(t))) {
			/* What was looked up last may be this address. */
			t->last_dst = ~0ULL;
			if (!fdb_note(h, now, sender(t), t->quota)) {
				t->unlearned++;
				t->last_src = ~0ULL;
			}
		}
	}
	/* The result goes through memory: a constant would have the verifier walk the rest for each. */
	if (dst != t->last_dst) {
		t->varied = 1;
		__u64 entry = fdb_find(f, mix(dst));
		t->last_dst = dst;
		t->dst = dst & 1 || !(__u8)entry || fdb_dead(entry, now) ? FLOOD : entry & (ENTRY_BLACKHOLE | 0xff);
	}
	/* The port that the sender names counts more than the table, but for a blackhole. */
	if (flags >> 8 && !(READ_ONCE(t->dst) & ENTRY_BLACKHOLE)) {
		t->dst = flags >> 8;
		t->last_dst = ~0ULL;
	}
	return READ_ONCE(t->dst);
}

/* The same for the frame that starts at `buf`, in VLAN 0; its slot is `s`, the `i`th of the burst. */
static __always_inline __u32 destination(struct fdb *f, struct tx_state *t, void *buf, __u32 i, __u64 s, __u32 ring)
{
	if (WITH_MODULE) {
		ask_module(t, i, s, ring);
		return READ_ONCE(t->dst);
	}
	__u64 w0 = READ_ONCE(*(__u64 *)buf), w1 = READ_ONCE(*(__u64 *)(buf + 8));

	return destination_of(f, t, w0 & 0xffffffffffffULL, w0 >> 48 | (w1 & 0xffffffff) << 16, s >> 48);
}

/* Why a frame to `d` goes nowhere; 0 when it goes. */
static __always_inline __u32 refusal(struct tx_state *t, __u32 d)
{
	if (WITH_MODULE && d & ENTRY_MODULE)
		return MODULE;
	return d & ENTRY_BLACKHOLE ? BLACKHOLE : d == sender(t) ? SAME_PORT : 0;
}

/* Whether a slot may be used. */
static __always_inline int usable(__u64 s)
{
	__u32 idx = s, len = (s >> 32) & 0xffff;
	return idx >= FIRST_BUF && idx < cfg.bufs && len <= cfg.buf_size && !(s >> 48 & NS_INDIRECT);
}

/* Begins a frame of several slots. */
static __always_inline void begin_chain(struct tx_state *t, __u32 i, __u64 s)
{
	__u32 zero = 0, idx = s, len = (s >> 32) & 0xffff, d = 0;
	struct fdb *f = bpf_map_lookup_elem(&fdb, &zero);
	void *reg = inner(&regions, sender(t));

	t->chain = i;
	t->chain_bytes = 0;
	t->chain_bad = !usable(s) ? BAD_SLOT : len < ETH_HLEN ? TOO_SHORT : 0;
	if (!t->chain_bad && f && reg && idx < cfg.bufs) {
		d = destination(f, t, buf_of(reg, idx), i, s, READ_ONCE(t->ring));
		t->chain_bad = refusal(t, d);
	}
	t->chain_dst = d & 0xff;
	t->chain_was = is_touched(t, d) ? t->list[d & 0xff] : (struct list){};
}

/* Takes the slots of a frame that turned out bad out of the list again. */
static __always_inline void undo_chain(struct tx_state *t)
{
	__u32 d = t->chain_dst & 0xff;

	if (is_touched(t, d)) {
		t->list[d] = t->chain_was;
		if (!t->chain_was.slots) {
			t->touched[d >> 6] &= ~(1ULL << (d & 63));
			t->ndsts--;
		}
	}
	t->chain_slots = 0;
}

/* Looks at a slot of a frame that has several. Returns as decide(). */
__noinline int decide_part(struct tx_state *t, __u32 i, __u64 s)
{
	if (!t)
		return 0;
	i &= BURST - 1;
	if (!t->chain_slots)
		begin_chain(t, i, s);
	t->chain_slots++;
	t->chain_bytes += (s >> 32) & 0xffff;
	if (!usable(s) || t->chain_slots > MAX_CHAIN)
		t->chain_bad = BAD_SLOT;
	else if (t->chain_bytes > MAX_FRAME && !t->chain_bad)
		t->chain_bad = TOO_LONG;
	__u32 d = READ_ONCE(t->chain_dst) & 0xff, bad = READ_ONCE(t->chain_bad);
	if (!bad) {
		t->slot[i] = s;
		t->reached[i] = 0;
		append(t, d, i);
		if (WITH_MODULE)
			module_part(i, t->chain, t->ring);
	}
	if (s >> 48 & NS_MOREFRAG)
		return 0;
	if (bad) {
		undo_chain(t);
		drop_frame(t, bad);
		return 0;
	}
	__u32 slots = t->chain_slots, enough = d == FLOOD && spend(t, t->fan, t->chain_bytes, slots);
	if (enough && t->chain) {
		/* More than the run has time for: the next one begins with it. */
		undo_chain(t);
		return t->chain;
	}
	t->list[d].frames++;
	t->chain_slots = 0;
	return enough ? i + 1 : 0;
}

/* How many frames further. */
#define LOOK_AHEAD 8

/* Frames to many addresses wait for the table, which caches do not hold: has the CPU fetch what a later frame needs. Nothing
 * depends on what is read here; decide() reads the slot and the frame for itself. */
static __always_inline void look_ahead(struct fdb *f, void *reg, __u32 ring, __u32 at)
{
	__u32 idx = READ_ONCE(*slot_of(reg, ring, (at + LOOK_AHEAD) & MASK));

	if (idx < cfg.bufs)
		READ_ONCE(*bucket(f, mix(READ_ONCE(*(__u64 *)buf_of(reg, idx)) & 0xffffffffffffULL)));
}

/* Looks at slot `i` of the burst, which is `at` in its ring. Returns how many slots the run has taken when it is to take no more,
 * or 0. */
static __always_inline __u32 decide(struct fdb *f, void *reg, struct tx_state *t, __u32 ring, __u32 at, __u32 i)
{
	__u64 s = READ_ONCE(*slot_of(reg, ring, at & MASK));
	__u32 idx = s, len = (s >> 32) & 0xffff;

	i &= BURST - 1;
	if (t->chain_slots || s >> 48 & NS_MOREFRAG) {
		return decide_part(t, i, s);
	}
	if (!usable(s) || idx >= cfg.bufs) {
		drop_frame(t, BAD_SLOT);
		return 0;
	}
	if (len < ETH_HLEN) {
		drop_frame(t, TOO_SHORT);
		return 0;
	}
	__u32 d = destination(f, t, buf_of(reg, idx), i, s, ring);
	if (refusal(t, d)) {
		drop_frame(t, refusal(t, d));
		return 0;
	}
	t->slot[i] = s;
	t->reached[i] = 0;
	append(t, d, i);
	t->list[d & 0xff].frames++;
	return (d & 0xff) == FLOOD && spend(t, t->fan, len, 1) ? i + 1 : 0;
}
