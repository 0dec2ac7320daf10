/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The first pass over a burst: checks each slot, decides where its frame goes, and links it to the list of that
 * destination. What was checked is kept; the client's slot is not read again. */
#pragma once
#include "switch/state.h"
#include "switch/fdb.h"
#include "switch/module.h"

static __always_inline void drop_frame(struct tx_state *tx, __u32 why)
{
	tx->n.in++;
	if (why < REASONS)
		tx->n.drops[why]++;
}

/* A run takes frames until the copies of those to all, and in bursts with features of all frames, take this long by the estimate
 * of spend(), which is twice what was measured for long frames. What each receiver costs besides, and frames to one port, have room below
 * the 2 ms that a run is to take at most. A frame is taken whole, however long that takes. */
#define RUN_NS 1500000

/* Notes the copies of a frame; whether the run has enough to do now. */
static __always_inline int spend(struct tx_state *tx, __u32 copies, __u32 bytes, __u32 slots)
{
	__u32 cost = copies * (64 * slots + bytes / 4);

	if (cost >= tx->budget)
		return 1;
	tx->budget -= cost;
	return 0;
}

/* Whether frames of the burst are for `d`. */
static __always_inline int is_touched(struct tx_state *tx, __u32 dest)
{
	return tx->touched[dest >> 6 & 3] >> (dest & 63) & 1;
}

/* Appends slot `i` of the burst to the list of `d`. */
static __always_inline void append(struct tx_state *tx, __u32 dest, __u32 i)
{
	struct list *list = &tx->list[dest & 0xff];

	if (is_touched(tx, dest)) {
		tx->next[list->tail & (BURST - 1)] = i;
		list->tail = i;
		list->slots++;
	} else {
		tx->touched[dest >> 6 & 3] |= 1ULL << (dest & 63);
		tx->dsts[tx->ndsts++ & 0xff] = dest;
		list->head = list->tail = i;
		list->slots = 1;
		list->frames = 0;
	}
}

/* The destination of a frame with these keys of the table; learns its source. */
static __always_inline __u32 destination_of(struct fdb *table, struct tx_state *t, __u64 dst, __u64 src, __u32 flags)
{
	__u64 now = t->now;

	if (DECISION == HUB) {
		t->dst = flags >> 8 ? flags >> 8 : FLOOD;
		return READ_ONCE(t->dst);
	}
	if (src != t->last_src && !((src | flags / NS_NO_LEARN) & 1)) {
		__u64 h = mix(src);
		t->last_src = src;
		if (fdb_find(table, h) != fdb_fresh(h, now, sender(t))) {
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
		__u64 entry = fdb_find(table, mix(dst));
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
static __always_inline __u32 destination(struct fdb *table, struct tx_state *t, void *buf, __u32 i, __u64 s, __u32 ring)
{
	if (WITH_MODULE) {
		ask_module(t, i, s, ring);
		return READ_ONCE(t->dst);
	}
	__u64 w0 = READ_ONCE(*(__u64 *)buf), w1 = READ_ONCE(*(__u64 *)(buf + 8));

	return destination_of(table, t, w0 & 0xffffffffffffULL, w0 >> 48 | (w1 & 0xffffffff) << 16, s >> 48);
}

/* Why a frame to `d` goes nowhere; 0 when it goes. */
static __always_inline __u32 refusal(struct tx_state *tx, __u32 dest)
{
	if (WITH_MODULE && dest & ENTRY_MODULE)
		return MODULE;
	return dest & ENTRY_BLACKHOLE ? BLACKHOLE : dest == sender(tx) ? SAME_PORT : 0;
}

/* Whether a slot may be used. */
static __always_inline int usable(__u64 s)
{
	__u32 idx = s, len = (s >> 32) & 0xffff;
	return idx >= FIRST_BUF && idx < cfg.bufs && len <= cfg.buf_size && !(s >> 48 & NS_INDIRECT);
}

/* Begins a frame of several slots. */
static __always_inline void begin_chain(struct tx_state *tx, __u32 i, __u64 s)
{
	__u32 zero = 0, idx = s, len = (s >> 32) & 0xffff, d = 0;
	struct fdb *table = bpf_map_lookup_elem(&fdb, &zero);
	void *reg = inner(&regions, sender(tx));

	tx->chain = i;
	tx->chain_bytes = 0;
	tx->chain_bad = !usable(s) ? BAD_SLOT : len < ETH_HLEN ? TOO_SHORT : 0;
	if (!tx->chain_bad && table && reg && idx < cfg.bufs) {
		d = destination(table, tx, buf_of(reg, idx), i, s, READ_ONCE(tx->ring));
		tx->chain_bad = refusal(tx, d);
	}
	tx->chain_dst = d & 0xff;
	tx->chain_was = is_touched(tx, d) ? tx->list[d & 0xff] : (struct list){};
}

/* Takes the slots of a frame that turned out bad out of the list again. */
static __always_inline void undo_chain(struct tx_state *tx)
{
	__u32 dest = tx->chain_dst & 0xff;

	if (is_touched(tx, dest)) {
		tx->list[dest] = tx->chain_was;
		if (!tx->chain_was.slots) {
			tx->touched[dest >> 6] &= ~(1ULL << (dest & 63));
			tx->ndsts--;
		}
	}
	tx->chain_slots = 0;
}

/* Looks at a slot of a frame that has several. Returns as decide(). */
__noinline int decide_part(struct tx_state *tx, __u32 i, __u64 s)
{
	if (!tx)
		return 0;
	i &= BURST - 1;
	if (!tx->chain_slots)
		begin_chain(tx, i, s);
	tx->chain_slots++;
	tx->chain_bytes += (s >> 32) & 0xffff;
	if (!usable(s) || tx->chain_slots > MAX_CHAIN)
		tx->chain_bad = BAD_SLOT;
	else if (tx->chain_bytes > MAX_FRAME && !tx->chain_bad)
		tx->chain_bad = TOO_LONG;
	__u32 dest = READ_ONCE(tx->chain_dst) & 0xff, bad = READ_ONCE(tx->chain_bad);
	if (!bad) {
		tx->slot[i] = s;
		tx->reached[i] = 0;
		append(tx, dest, i);
		if (WITH_MODULE)
			module_part(i, tx->chain, tx->ring);
	}
	if (s >> 48 & NS_MOREFRAG)
		return 0;
	if (bad) {
		undo_chain(tx);
		drop_frame(tx, bad);
		return 0;
	}
	__u32 slots = tx->chain_slots, enough = dest == FLOOD && spend(tx, tx->fan, tx->chain_bytes, slots);
	if (enough && tx->chain) {
		/* More than the run has time for: the next one begins with it. */
		undo_chain(tx);
		return tx->chain;
	}
	tx->list[dest].frames++;
	tx->chain_slots = 0;
	return enough ? i + 1 : 0;
}

/* How many frames further. */
#define LOOK_AHEAD 8

/* Frames to many addresses wait for the table, which caches do not hold: has the CPU fetch what a later frame needs. Nothing
 * depends on what is read here; decide() reads the slot and the frame for itself. */
static __always_inline void look_ahead(struct fdb *table, void *reg, __u32 ring, __u32 at)
{
	__u32 idx = READ_ONCE(*slot_of(reg, ring, (at + LOOK_AHEAD) & MASK));

	if (idx < cfg.bufs)
		READ_ONCE(*bucket(table, mix(READ_ONCE(*(__u64 *)buf_of(reg, idx)) & 0xffffffffffffULL)));
}

/* Looks at slot `i` of the burst, which is `at` in its ring. Returns how many slots the run has taken when it is to take no more,
 * or 0. */
static __always_inline __u32 decide(struct fdb *table, void *reg, struct tx_state *t, __u32 ring, __u32 at, __u32 i)
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
	__u32 dest = destination(table, t, buf_of(reg, idx), i, s, ring);
	if (refusal(t, dest)) {
		drop_frame(t, refusal(t, dest));
		return 0;
	}
	t->slot[i] = s;
	t->reached[i] = 0;
	append(t, dest, i);
	t->list[dest & 0xff].frames++;
	return (dest & 0xff) == FLOOD && spend(t, t->fan, len, 1) ? i + 1 : 0;
}
