/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The receiving half shared by the XDP and the tc program: room, long frames, publication, doorbell. */
#pragma once
#include "port/ring.h"

/* A doorbell per rx ring: its descriptor works with poll, select and epoll. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__uint(key_size, 4);
	__array(values, struct {
		__uint(type, BPF_MAP_TYPE_RINGBUF);
		__uint(max_entries, 4096);
	});
} bells SEC(".maps");

/* Free slots from k->tail on. The client's head is believed only within the range handed out to it. */
static __always_inline __u32 room(struct kring *kring, struct ctl *c, __u32 tail, __u32 want)
{
	__u32 last = kring->head;
	__u32 have = cfg.slots - 1 - dist(last, tail);

	if (have >= want)
		return have;
	__u32 head = READ_ONCE(c->head);
	if (head >= cfg.slots || dist(last, head) > dist(last, tail)) {
		kring->n.resets++;
		return have;
	}
	kring->head = head;
	return cfg.slots - 1 - dist(head, tail);
}

/* Publishes the frames before `tail` and wakes a client that sleeps. The exchange is a full barrier: either the client
 * sees the new tail when it looks again after leaving its wish, or its wish is seen here. */
static __always_inline void publish(struct kring *kring, struct ctl *c, __u32 rx, __u32 tail)
{
	__sync_lock_test_and_set(&kring->tail, tail);
	if (!READ_ONCE(c->wish) || !__sync_lock_test_and_set(&c->wish, 0))
		return;
	void *bell = bpf_map_lookup_elem(&bells, &rx);
	if (!bell)
		return;
	__u32 one = 1;
	kring->n.wakeups++;
	bpf_ringbuf_output(bell, &one, sizeof(one), BPF_RB_FORCE_WAKEUP);
}

#define MAX_PARTS 64 /* slots of a frame */

/* A frame on its way into several slots. */
struct long_frame {
	void *ctx;
	__u32 ring, tail, len, done, bad, lost;
};

/* Fills the next slot. `load` copies bytes of the frame from `at` on, and is 0 when it did. When the client lost a slot's buffer, the slot
 * is passed on empty: the reader finds the frame bad and counts the drop in place of a delivery, and the ring keeps turning. */
static __always_inline long put_part(__u32 i, struct long_frame *frame, long (*load)(void *ctx, __u32 at, void *buf, __u32 n))
{
	__u32 zero = 0, n = frame->len - frame->done, tail = frame->tail, ring = frame->ring;
	void *reg = bpf_map_lookup_elem(&region, &zero);
	if (!reg || ring >= cfg.tx_rings + cfg.rx_rings || tail >= cfg.slots || frame->done >= frame->len || i > MAX_PARTS)
		return 1;
	__u64 *slot = slot_of(reg, ring, tail);
	__u32 idx = READ_ONCE(*slot);
	if (n > cfg.buf_size)
		n = cfg.buf_size;
	if (idx < FIRST_BUF || idx >= cfg.bufs) {
		WRITE_ONCE(*slot, 0);
		frame->tail = next(tail);
		frame->lost = 1;
		return 1;
	}
	__u32 less = less_one(n);
	if (less >= cfg.buf_size || load(frame->ctx, frame->done, buf_of(reg, idx), less + 1)) {
		frame->bad = 1;
		return 1;
	}
	frame->done += n;
	__u64 more = frame->done < frame->len ? NS_MOREFRAG : 0;
	WRITE_ONCE(*slot, (__u64)idx | (__u64)n << 32 | more << 48);
	frame->tail = next(tail);
	return 0;
}

/* Puts a frame of any length into as many slots as it needs; `part` fills one. bpf_loop keeps the verifier from walking 64 iterations;
 * nothing is published before the whole frame is in. */
static __always_inline void put_long(void *ctx, struct kring *kring, struct ctl *c, __u32 rx, __u32 len, void *part)
{
	__u32 need = (len + cfg.buf_size - 1) / cfg.buf_size;
	struct long_frame frame = { .ctx = ctx, .ring = cfg.tx_rings + rx, .tail = kring->tail, .len = len, .done = READ_ONCE(kring->unused[0]) };

	if (len > 65535 || need > MAX_PARTS || need >= cfg.slots) {
		kring->n.drops[TOO_LONG]++;
		return;
	}
	if (frame.tail >= cfg.slots || room(kring, c, frame.tail, need) < need) {
		kring->n.drops[RING_FULL]++;
		return;
	}
	bpf_loop(need, part, &frame, 0);
	if (frame.lost) {
		kring->n.out++;
		publish(kring, c, rx, frame.tail);
		return;
	}
	if (frame.bad || frame.done != len) {
		kring->n.drops[BAD_SLOT]++;
		return;
	}
	kring->n.out++;
	kring->n.bytes += len;
	publish(kring, c, rx, frame.tail);
}

/* A function that puts a frame of any length: `load_bytes` is the helper of the program type. */
#define DEFINE_LONG_FRAME(name, context, load_bytes)                                                \
	static __always_inline long name##_load(void *ctx, __u32 at, void *buf, __u32 n)            \
	{                                                                                           \
		return load_bytes((context *)ctx, at, buf, n);                                      \
	}                                                                                           \
	static long name##_part(__u32 i, struct long_frame *f)                                      \
	{                                                                                           \
		return put_part(i, f, name##_load);                                                 \
	}                                                                                           \
	static __always_inline void name(context *ctx, struct kring *k, struct ctl *c, __u32 rx, __u32 len) \
	{                                                                                           \
		put_long(ctx, k, c, rx, len, name##_part);                                          \
	}
