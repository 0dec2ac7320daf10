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
static __always_inline __u32 free_slots(struct kring *kring, struct ctl *ctl, __u32 tail, __u32 want)
{
	__u32 last = kring->head;
	__u32 have = cfg.slots - 1 - dist(last, tail);

	if (have >= want)
		return have;
	__u32 head = READ_ONCE(ctl->head);
	if (head >= cfg.slots || dist(last, head) > dist(last, tail)) {
		kring->n.resets++;
		return have;
	}
	kring->head = head;
	return cfg.slots - 1 - dist(head, tail);
}

/* The rx ring, plus 1, in which a CPU published frames without a full barrier, since the last poll of a device there ended. 0: none. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} noted SEC(".maps");

/* Has the end of this poll look for a client that sleeps. False where it looks at another ring already. */
static __always_inline int note_ring(struct kring *kring, __u32 rx)
{
	__u32 zero = 0, cpu = bpf_get_smp_processor_id() + 1;

	if (READ_ONCE(kring->noted) == cpu)
		return 1;
	__u32 *note = bpf_map_lookup_elem(&noted, &zero);
	if (!note)
		return 0;
	/* Polls may interrupt one another on a kernel for real time. */
	__u32 was = __sync_val_compare_and_swap(note, 0, rx + 1);
	if (was && was != rx + 1)
		return 0;
	WRITE_ONCE(kring->noted, cpu);
	return 1;
}

/* Whether the client was asleep. */
static __always_inline int wake_client(struct kring *kring, struct ctl *ctl, __u32 rx)
{
	if (!READ_ONCE(ctl->wish) || !__sync_lock_test_and_set(&ctl->wish, 0))
		return 0;
	void *bell = bpf_map_lookup_elem(&bells, &rx);
	if (!bell)
		return 0;
	__u32 one = 1;
	kring->n.wakeups++;
	bpf_ringbuf_output(bell, &one, sizeof(one), BPF_RB_FORCE_WAKEUP);
	return 1;
}

/* Publishes the frames before `tail` and wakes a client that sleeps.
 *
 * A full barrier has to come between: either the client sees the new tail when it looks again after leaving its wish, or its wish is
 * seen here. On some processors it costs a third of the rate. So where a device is polled, frames go without, and the end of the
 * poll has one for all of them (end_poll). */
static __always_inline void publish_slots(struct kring *kring, struct ctl *ctl, __u32 rx, __u32 tail)
{
	WRITE_ONCE(kring->tail, tail);
	if (!cfg.polled || !note_ring(kring, rx))
		__sync_lock_test_and_set(&kring->tail, tail);
	if (wake_client(kring, ctl, rx))
		WRITE_ONCE(kring->rung, kring->n.out);
}

/* After a poll: wakes the client whose wish came while frames were published without a barrier. One that was woken for the last frame
 * sees it before it leaves another wish: a doorbell is a barrier, too. */
static __always_inline void end_poll(void)
{
	__u32 zero = 0, *note = bpf_map_lookup_elem(&noted, &zero);

	/* Once: another poll may clear it meanwhile. */
	__u32 noted_rx = note ? READ_ONCE(*note) : 0;
	if (!noted_rx)
		return;
	__u32 rx = noted_rx - 1, ring = cfg.tx_rings + rx;
	struct kring *kring = bpf_map_lookup_elem(&kstate, &ring);
	void *reg = bpf_map_lookup_elem(&region, &zero);
	if (!kring || !reg || ring >= cfg.tx_rings + cfg.rx_rings)
		return;
	WRITE_ONCE(kring->noted, 0);
	__sync_lock_test_and_set(note, 0);
	if (READ_ONCE(kring->rung) != READ_ONCE(kring->n.out))
		wake_client(kring, ctl_of(reg, ring), rx);
}

/* A frame on its way into several slots. */
struct long_frame {
	void *ctx;
	__u32 ring, tail, len, done, bad, lost;
};

/* Fills the next slot. `load` copies bytes of the frame from `at` on, and is 0 when it did. A slot whose buffer the client lost is
 * passed on empty, so that the ring keeps turning. The reader finds the frame bad, and counts the drop instead of a delivery. */
static __always_inline long put_part(__u32 i, struct long_frame *frame, long (*load)(void *ctx, __u32 at, void *buf, __u32 n))
{
	__u32 zero = 0, n = frame->len - frame->done, tail = frame->tail, ring = frame->ring;
	void *reg = bpf_map_lookup_elem(&region, &zero);
	if (!reg || ring >= cfg.tx_rings + cfg.rx_rings || tail >= cfg.slots || frame->done >= frame->len || i > MAX_CHAIN)
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
static __always_inline void put_long(void *ctx, struct kring *kring, struct ctl *ctl, __u32 rx, __u32 len, void *part)
{
	__u32 need = (len + cfg.buf_size - 1) / cfg.buf_size;
	struct long_frame frame = { .ctx = ctx, .ring = cfg.tx_rings + rx, .tail = kring->tail, .len = len, .done = READ_ONCE(kring->zero) };

	if (len > MAX_FRAME || need > MAX_CHAIN || need >= cfg.slots) {
		kring->n.drops[TOO_LONG]++;
		return;
	}
	if (frame.tail >= cfg.slots || free_slots(kring, ctl, frame.tail, need) < need) {
		kring->n.drops[RING_FULL]++;
		return;
	}
	bpf_loop(need, part, &frame, 0);
	if (frame.lost) {
		kring->n.out++;
		publish_slots(kring, ctl, rx, frame.tail);
		return;
	}
	if (frame.bad || frame.done != len) {
		kring->n.drops[BAD_SLOT]++;
		return;
	}
	kring->n.out++;
	kring->n.bytes += len;
	publish_slots(kring, ctl, rx, frame.tail);
}

/* A function that puts a frame of any length: `load_bytes` is the helper of the program type. */
#define DEFINE_LONG_FRAME(name, context, load_bytes)                                                \
	static __always_inline long name##_load(void *ctx, __u32 at, void *buf, __u32 n)            \
	{                                                                                           \
		return load_bytes((context *)ctx, at, buf, n);                                      \
	}                                                                                           \
	static long name##_part(__u32 i, struct long_frame *frame)                                  \
	{                                                                                           \
		return put_part(i, frame, name##_load);                                                 \
	}                                                                                           \
	static __always_inline void name(context *ctx, struct kring *kring, struct ctl *ctl, __u32 rx, __u32 len) \
	{                                                                                           \
		put_long(ctx, kring, ctl, rx, len, name##_part);                                          \
	}
