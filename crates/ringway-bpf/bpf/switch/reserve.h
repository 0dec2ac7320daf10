/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Delivery into an rx ring by several senders at once: reserve, copy, publish in order. A sender that is done before an
 * earlier one leaves the publication to that one. */
#pragma once
#include "switch/state.h"

/* Slots that are free now. The receiver's head is believed only within what was published to it. */
static __always_inline __u32 rx_room(struct rx_state *rx, struct ctl *c, __u64 res, __u32 want)
{
	__u64 head = READ_ONCE(rx->head);
	__u32 room = MASK - (__u32)(res - head);

	if (room < want || room > MASK) {
		__u32 now = READ_ONCE(c->head), ahead = (now - (__u32)head) & MASK;

		if (now >= cfg.slots || ahead > READ_ONCE(rx->pub) - head) {
			__sync_fetch_and_add(&rx->n.resets, 1);
		} else {
			/* Never back: another sender may be a whole ring further by now, and what the client tells can be
			 * placed only within a ring of the last known head. */
			__sync_val_compare_and_swap(&rx->head, head, head + ahead);
			room += ahead;
		}
	}
	return room <= MASK ? room : 0;
}

/* A sender that loses so many times to others, one after the other, takes the ring for full: a client can't keep it there. */
#define RESERVE_TRIES 16

/* Reserves up to `want` slots for the frames that `whole` cuts where the room ends; 0 when there is none. */
#define RX_RESERVE(r, c, want, whole, at)                                                     \
	({                                                                                    \
		/* Plus what the verifier does not know: it would count a constant up. */     \
		__u32 got_ = 0, want_ = want, lost_ = start_of(READ_ONCE((r)->zero) & 31);    \
		while (lost_ < RESERVE_TRIES && can_loop) {                                   \
			__u64 res_ = READ_ONCE((r)->res);                                     \
			__u32 room_ = rx_room(r, c, res_, want_);                             \
			got_ = room_ >= want_ ? want_ : whole(room_);                         \
			at = res_;                                                            \
			/* The room is that at `res_` only if nobody reserved meanwhile. */           \
			__u64 was_ = got_ ? __sync_val_compare_and_swap(&(r)->res, res_, res_ + got_) \
					  : READ_ONCE((r)->res);                              \
			if (was_ == res_)                                                     \
				break;                                                        \
			got_ = 0;                                                             \
			lost_ = (lost_ + 1) & 31;                                             \
		}                                                                             \
		got_;                                                                         \
	})

struct publishing {
	struct rx_state *rx;
	__u32 *told;
};

LOOP_STEP(publish_next, struct publishing *loop)
{
	struct rx_state *rx = loop->rx;
	__u64 pub = READ_ONCE(rx->pub), done = READ_ONCE(rx->done[pub & MASK]);

	if (done >> 16 != (pub & 0xffffffffffffULL) || !(done & 0xffff))
		return 1;
	__sync_val_compare_and_swap(&rx->pub, pub, pub + (done & 0xffff));
	return 0;
}

LOOP_STEP(tell, struct publishing *loop)
{
	__u32 pub = READ_ONCE(loop->rx->pub);

	__sync_lock_test_and_set(loop->told, pub);
	return pub == (__u32)READ_ONCE(loop->rx->pub);
}

/* Publishes the reservation of `n` slots at `at`, and those after it that are done, and tells the receiver. Each step is a
 * full barrier: of two senders one sees the other's note, whoever tells an older position looks again, and a receiver that
 * leaves its wish and then looks sees the frames or is woken. */
static __always_inline void rx_publish(struct rx_state *rx, __u32 *told, __u64 at, __u32 n)
{
	struct publishing loop = { .rx = rx, .told = told };

	__sync_lock_test_and_set(&rx->done[at & MASK], at << 16 | n);
	until(publish_next, &loop);
	until(tell, &loop);
}

/* A doorbell wakes all that wait for it at once, on the CPU of whoever rings, and the receiver decides how many wait: thousands of
 * epolls on one bell hold a sender up for milliseconds. So each ring is measured. A dear one costs its receiver DEAR_POINTS; cheap
 * ones take them back one by one, with as much time between two as the dear one took, FORGIVE_MOST at most. With DEAR_QUIET points
 * the bell becomes quiet: nobody rings it for PAUSE times what the last ring took, and after each dear ring that follows for
 * LONG_PAUSE times.
 *
 * An interrupt or a hypervisor makes an honest ring look dear, at times for many milliseconds, but seldom so often in so short a
 * time; then the receiver looks for itself for a moment. One that stays dear takes 1/1000 of its senders' time. One that is dear
 * now and then takes 1/64, if its dear rings last FORGIVE_MOST at most, and one such ring in 64 ms if they last longer. */
#define DEAR_NS 20000       /* of a ring; one waiter costs 1 to 2 us */
#define DEAR_MOST 60000000u /* what took longer counts as this, so that no pause is longer than a minute */
#define FORGIVE_MOST 1000000u
#define DEAR_POINTS 64
#define DEAR_QUIET 256
#define DEAR_CAP 320
#define PAUSE 64
#define LONG_PAUSE 1000

/* Rings; returns how long that took. The kernel wakes before the call returns (irq_work). */
static __always_inline __u64 ring_bell(struct rx_state *rx, __u32 key)
{
	void *bell = bpf_map_lookup_elem(&bells, &key);
	__u32 one = 1;

	if (!bell)
		return 0;
	__sync_fetch_and_add(&rx->n.wakeups, 1);
	__u64 begin = bpf_ktime_get_ns();
	bpf_ringbuf_output(bell, &one, sizeof(one), BPF_RB_FORCE_WAKEUP);
	return bpf_ktime_get_ns() - begin;
}

static __always_inline int takes_wish(struct ctl *ctl)
{
	return READ_ONCE(ctl->wish) && __sync_lock_test_and_set(&ctl->wish, 0);
}

/* Tells the receiver that its bell is quiet, and rings once more if it left its wish before it could see that. Both it and this
 * write, then look, with a full barrier between. */
static __always_inline void go_quiet(struct rx_state *rx, struct ctl *c, __u32 key)
{
	__sync_lock_test_and_set(&c->quiet, 1);
	if (takes_wish(c))
		ring_bell(rx, key);
}

/* A ring was dear. */
static __always_inline void charge(struct rx_state *rx, struct ctl *c, __u32 key, __u64 cost)
{
	__u64 now = bpf_ktime_get_ns();
	__u32 ns = cost < DEAR_MOST ? cost : DEAR_MOST, was = READ_ONCE(rx->dear);

	WRITE_ONCE(rx->dear_ns, ns);
	WRITE_ONCE(rx->judged, now);
	WRITE_ONCE(rx->quiet_until, now + (__u64)(was < DEAR_QUIET ? PAUSE : LONG_PAUSE) * ns);
	if (was < DEAR_CAP)
		was = __sync_fetch_and_add(&rx->dear, DEAR_POINTS);
	if (was < DEAR_QUIET && was + DEAR_POINTS >= DEAR_QUIET)
		go_quiet(rx, c, key);
}

/* A ring was cheap. */
static __always_inline void forgive(struct rx_state *rx, struct ctl *c, __u32 key)
{
	__u32 was = READ_ONCE(rx->dear);

	if (was) {
		__u64 now = bpf_ktime_get_ns();
		__u32 ns = READ_ONCE(rx->dear_ns);
		if (now - READ_ONCE(rx->judged) >= (ns < FORGIVE_MOST ? ns : FORGIVE_MOST)) {
			WRITE_ONCE(rx->judged, now);
			__sync_val_compare_and_swap(&rx->dear, was, was - 1);
		}
	}
	if (READ_ONCE(rx->dear) >= DEAR_QUIET || !READ_ONCE(c->quiet))
		return;
	__sync_lock_test_and_set(&c->quiet, 0);
	/* Another sender found a dear ring meanwhile, and told so before. */
	if (READ_ONCE(rx->dear) >= DEAR_QUIET)
		go_quiet(rx, c, key);
}

/* The receiver on a ring of a port sleeps: wakes it, or leaves its wish when the bell is quiet. It looks the ring up again, so that
 * the verifier walks it once and not with all that callers may know. */
__noinline int wake(__u32 port, __u32 ring)
{
	void *reg = inner(&regions, port), *state = inner(&states, port);
	__u32 key = port * MAX_RINGS + ring;

	FORGET(ring);
	if (!reg || !state || ring >= cfg.rings)
		return 0;
	FORGET(ring);
	struct rx_state *rx = rx_of(state, ring);
	struct ctl *ctl = ctl_of(reg, cfg.rings + ring);
	if (READ_ONCE(rx->dear) >= DEAR_QUIET && bpf_ktime_get_ns() < READ_ONCE(rx->quiet_until)) {
		__sync_fetch_and_add(&rx->n.wakeups_withheld, 1);
		return 0;
	}
	if (!takes_wish(ctl))
		return 0;
	__u64 cost = ring_bell(rx, key);
	if (cost > DEAR_NS)
		charge(rx, ctl, key, cost);
	else
		forgive(rx, ctl, key);
	return 0;
}

/* Wakes a receiver that sleeps. */
static __always_inline void rx_wake(struct ctl *ctl, __u32 port, __u32 ring)
{
	if (READ_ONCE(ctl->wish))
		wake(port, ring);
}
