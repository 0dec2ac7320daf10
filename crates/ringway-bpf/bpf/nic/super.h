/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Super-frames into rings of virtual ports: cut into segments, or whole with a note for a receiver that asks for that. */
#pragma once
#include "nic/host_in.h"

/* Bits of a note, as `Offload::to_word` of crate ringway-wire. Its checksum is that of the segments, to be finished. */
#define NOTE_OFFSET 16
#define NOTE_SUM (1 << 28)
#define NOTE_ECN 29
#define NOTE_KIND 30
#define NOTE_SIZE 32
#define NOTE_HEAD 48
#define KIND_TCP4 1
#define KIND_TCP6 2
#define KIND_UDP 3

/* The ring of a port that has the frames of a flow. */
static __always_inline __u32 ring_for(struct __sk_buff *skb)
{
	return cfg.rings > 1 ? bpf_get_hash_recalc(skb) % cfg.rings : 0;
}

/* Slots that so many bytes take. */
static __always_inline __u32 slots_for(__u32 bytes)
{
	return (bytes + cfg.buf_size - 1) / cfg.buf_size;
}

#define LOAD_SKB(slots, buf, n) load_frame((slots)->ctx, (slots)->done, buf, n)
DEFINE_FILL(fill_from_skb, LOAD_SKB)

/* A super-frame on its way into reserved slots of an rx ring. In a map, since calls on a path have little stack: programs of a NIC run
 * with softirqs off, so each CPU has one. */
struct cutting {
	struct super super;
	__u32 ring, pos;
	__u32 fit;  /* segments that have room */
	__u32 nth;  /* number of the segment in hand */
	__u32 done; /* its bytes that are in slots */
	__u64 bytes;
};
DECLARE(cuttings, BPF_MAP_TYPE_PERCPU_ARRAY, 1, sizeof(struct cutting), 0);

static __always_inline struct cutting *cutting(void)
{
	__u32 zero = 0;
	return bpf_map_lookup_elem(&cuttings, &zero);
}

/* What a map can't hold. */
struct ends {
	struct __sk_buff *skb;
	void *reg;
};

/* Copies bytes of the segment in hand to `buf`, from `done` on. They come with what lies before them, as much as the headers are; those
 * then go there. */
static __always_inline long load_segment(struct __sk_buff *skb, struct cutting *work, void *buf, __u32 n, __u32 len, __u32 last)
{
	__u32 nth = work->nth, done = work->done;

	if (load_frame(skb, nth * work->super.mss + done, buf, n))
		return -1;
	if (done)
		return 0;
	if (nth && load_head(skb, &work->super, buf))
		return -1;
	write_head(&work->super, nth, buf, len, last);
	return 0;
}

/* Fills the next slot; one whose buffer the receiver lost is passed on empty, as by DEFINE_FILL. */
static long cut_next(__u32 i, struct ends *ends)
{
	struct cutting *work = cutting();

	if (!work || i >= cfg.slots)
		return 1;
	__u32 ring = work->ring, from = work->nth * work->super.mss;
	if (ring >= cfg.rings || work->nth >= work->fit || from >= work->super.len - work->super.head)
		return 1;
	__u32 left = work->super.len - work->super.head - from, last = left <= work->super.mss;
	__u32 len = (last ? left : work->super.mss) + work->super.head;
	__u64 *slot = slot_of(ends->reg, cfg.rings + ring, work->pos & MASK);
	__u32 idx = READ_ONCE(*slot);
	__u32 less = len - work->done - 1; /* than one byte more: 0 is no length to copy */
	if (less >= cfg.buf_size)
		less = cfg.buf_size - 1;
	KEEP_BOUND(less);
	__u64 more = work->done + less + 1 < len ? NS_MOREFRAG : 0;
	int bad = idx < FIRST_BUF || idx >= cfg.bufs || less >= cfg.buf_size ||
		  load_segment(ends->skb, work, buf_of(ends->reg, idx), less + 1, len, last);
	WRITE_ONCE(*slot, (__u64)idx | (bad ? 0 : (__u64)(less + 1) << 32) | more << 48);
	work->pos = (work->pos + 1) & MASK;
	work->done = more ? work->done + less + 1 : 0;
	if (!more) {
		work->nth++;
		work->bytes += len;
	}
	return 0;
}

/* What is left to be done on a super-frame. */
static __always_inline __u64 offload_note(struct super *super)
{
	__u64 kind = !super->tcp ? KIND_UDP : super->v6 ? KIND_TCP6 : KIND_TCP4;

	return super->l4 | (super->tcp ? 16 : 6) << NOTE_OFFSET | NOTE_SUM | (__u64)(super->type >> GSO_ECN & 1) << NOTE_ECN | kind << NOTE_KIND |
	       (__u64)super->mss << NOTE_SIZE | (__u64)super->head << NOTE_HEAD;
}

/* Puts the note into the first slot of a super-frame. What the receiver may have made of that word meanwhile goes back to it, unused. */
static __always_inline void leave_offload(struct slots *slots, __u64 at, __u64 note)
{
	__u32 ring = slots->ring;

	if (ring >= cfg.rings)
		return;
	__u64 *slot = slot_of(slots->reg, cfg.rings + ring, at & MASK);
	WRITE_ONCE(slot[1], note);
	WRITE_ONCE(*slot, READ_ONCE(*slot) | (__u64)NS_OFFLOAD << 48);
}

/* Copies a super-frame whole into the slots from `at` on. Returns its bytes. */
static __always_inline __u64 give_whole(struct ends *ends, struct super *super, __u32 ring, __u64 at, __u32 zero)
{
	struct slots slots = slots_at(ends->skb, ends->reg, ring, at, super->len, zero);

	until(fill_from_skb, &slots);
	leave_offload(&slots, at, offload_note(super));
	return super->len;
}

/* Copies its first `fit` segments into the `n` slots from `at` on. Returns their bytes. */
static __always_inline __u64 give_segments(struct ends *ends, struct cutting *work, __u32 ring, __u64 at, __u32 n, __u32 fit)
{
	work->ring = ring;
	work->pos = at & MASK;
	work->fit = fit;
	work->nth = 0;
	work->done = 0;
	work->bytes = 0;
	bpf_loop(n, cut_next, ends, 0);
	return work->bytes;
}

/* Finds the headers of the super-frame. Returns 0 when it can be cut. A function of its own, so that its stack is not the caller's. */
__noinline int find_super_headers(struct __sk_buff *skb)
{
	struct cutting *work = cutting();

	return work ? find_headers(skb, &work->super) : -1;
}

/* Copies a super-frame that can be cut to virtual port `dest`: whole, or as many segments as have room. Returns how many do. */
static __always_inline __u32 give_super(struct ends *ends, struct cutting *work, struct rx_state *rx, __u32 dest, __u32 ring)
{
	struct super *super = &work->super;
	struct ctl *ctl = ctl_of(ends->reg, cfg.rings + ring);
	__u32 whole = READ_ONCE(ctl->whole) && super->len <= MAX_FRAME, all = segments(super);
	__u32 each = slots_for(whole ? super->len : super->head + super->mss); /* of a segment, but for the last one */
	__u32 need = whole ? each : (all - 1) * each + slots_for(super->len - (all - 1) * super->mss);
	__u64 at = 0, bytes;
#define WHOLE_SEGMENTS(room) ((room) / each * each)
	__u32 n = RX_RESERVE(rx, ctl, need, WHOLE_SEGMENTS, at);

	if (!n)
		return 0;
	__u32 fit = n == need ? all : n / each;
	if (whole)
		bytes = give_whole(ends, super, ring, at, READ_ONCE(rx->zero));
	else
		bytes = give_segments(ends, work, ring, at, n, fit);
	pass_slots_on(rx, ends->reg, dest, ring, at, n, fit, bytes, !whole);
	return fit;
}

/* Copies a super-frame of so many frames to virtual port `dest`, as deliver_skb does with others. A part of it may have no room. */
__noinline int deliver_super(struct __sk_buff *skb, __u32 dest, __u32 frames)
{
	struct ends ends = { .skb = skb, .reg = inner(&regions, dest) };
	void *state = inner(&states, dest);
	struct cutting *work = cutting();
	__u32 ring = ring_for(skb), all = frames, fit = 0;
	int strange = find_super_headers(skb);

	KEEP_BOUND(ring);
	if (!ends.reg || !state || !work || ring >= cfg.rings)
		return -1;
	KEEP_BOUND(ring);
	struct rx_state *rx = rx_of(state, ring);
	if (!strange) {
		all = segments(&work->super);
		fit = give_super(&ends, work, rx, dest, ring);
	}
	__sync_fetch_and_add(&rx->n.in, all);
	__sync_fetch_and_add(&rx->n.drops[strange ? BAD_OFFLOAD : RING_FULL], all - fit);
	return fit ? 0 : strange ? BAD_OFFLOAD : RECEIVER_FULL;
}
