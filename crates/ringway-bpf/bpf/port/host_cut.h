/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Super-frames of the host, cut into slots of host rings. */
#pragma once
#include "port/rx.h"
#include "common/segments.h"

/* A super-frame on its way into slots. Each segment lies in slots of its own. */
struct cut {
	struct __sk_buff *skb;
	struct super super;
	__u32 tail, ring;
	__u32 fit;  /* segments that have room */
	__u32 nth;  /* number of the segment in hand, which is how many are done */
	__u32 done; /* its bytes that are in slots */
	__u32 end;  /* the slot behind the last whole segment */
	__u32 lost;
	__u64 bytes;
};
/* The verifier remembers what is in the first half of 8 bytes of the stack: it would walk the loop once for each position. */
_Static_assert(__builtin_offsetof(struct cut, tail) % 8 == 4, "the second half");

/* The slot to fill, or null. Cursors are read where they are used: older verifiers forget the bounds of what is kept on the
 * stack. */
static __always_inline __u64 *slot_in_hand(struct cut *cut, void *reg)
{
	__u32 ring = READ_ONCE(cut->ring), tail;

	if (ring >= cfg.tx_rings + cfg.rx_rings)
		return 0;
	reg = slot_of(reg, ring, 0);
	tail = READ_ONCE(cut->tail);
	return tail < cfg.slots ? reg + (__u64)tail * 16 : 0;
}

/* Fills a slot. A segment's bytes are copied with what lies before them, as much as the headers are; those then go there. */
static long cut_part(__u32 i, struct cut *cut)
{
	__u32 zero = 0, done = cut->done, nth = cut->nth, from = nth * cut->super.mss;
	void *reg = bpf_map_lookup_elem(&region, &zero);

	if (!reg || i >= cfg.slots || nth >= cut->fit || from >= cut->super.len - cut->super.head)
		return 1;
	__u32 len = cut->super.len - cut->super.head - from, last = len <= cut->super.mss;
	len = (last ? len : cut->super.mss) + cut->super.head;
	__u64 *slot = slot_in_hand(cut, reg);
	if (!slot)
		return 1;
	__u32 idx = READ_ONCE(*slot);
	if (idx < FIRST_BUF || idx >= cfg.bufs) {
		WRITE_ONCE(*slot, 0);
		cut->end = next(cut->tail);
		cut->lost = 1;
		return 1;
	}
	void *buf = buf_of(reg, idx);
	__u32 less = len - done - 1; /* than one byte more: 0 is no length to copy */
	if (less >= cfg.buf_size)
		less = cfg.buf_size - 1;
	FORGET(less);
	if (less >= cfg.buf_size || load_frame(cut->skb, from + done, buf, less + 1))
		return 1;
	if (!done) {
		if (nth && load_head(cut->skb, &cut->super, buf))
			return 1;
		write_head(&cut->super, nth, buf, len, last);
	}
	done += less + 1;
	WRITE_ONCE(*slot, (__u64)idx | (__u64)(less + 1) << 32 | (__u64)(done < len ? NS_MOREFRAG : 0) << 48);
	cut->tail = next(cut->tail);
	cut->done = done;
	if (done >= len) {
		cut->end = cut->tail;
		cut->nth = nth + 1;
		cut->done = 0;
		cut->bytes += len;
	}
	return 0;
}

/* Cuts a super-frame. Segments that the ring has no room for are lost, those before them are not. */
static __always_inline void cut(struct __sk_buff *skb, struct kring *k, struct ctl *ctl, __u32 rx)
{
	/* 0, which the verifier does not know: before Linux 6.7 it takes what a loop changes for constant, and removes code. */
	__u32 zero = READ_ONCE(k->gen);
	struct cut c = { .skb = skb, .ring = cfg.tx_rings + rx, .tail = k->tail, .end = k->tail, .nth = zero,
			 .done = zero, .lost = zero, .bytes = zero };

	if (look(skb, &c.super)) {
		k->n.in++;
		k->n.drops[BAD_OFFLOAD]++;
		return;
	}
	__u32 all = segments(&c.super);
	__u32 slots = (c.super.head + c.super.mss + cfg.buf_size - 1) / cfg.buf_size; /* of a segment */
	k->n.in += all;
	if (c.tail >= cfg.slots || slots == 0 || slots > 64 || slots >= cfg.slots) {
		k->n.drops[TOO_LONG] += all;
		return;
	}
	__u32 fit = room(k, ctl, c.tail, all * slots) / slots;
	c.fit = fit < all ? fit : all;
	bpf_loop(c.fit * slots, cut_part, &c, 0);
	__u32 out = c.nth + c.lost;
	k->n.drops[RING_FULL] += all - c.fit;
	k->n.drops[c.lost ? BAD_SLOT : BAD_OFFLOAD] += c.fit - out;
	k->n.out += out;
	k->n.bytes += c.bytes;
	if (out)
		publish(k, ctl, rx, c.end);
}
