/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Delivery into an rx ring by several senders at once: reserve, copy, publish in order. A sender that is done before an
 * earlier one leaves the publication to that one. */
#pragma once
#include "vale.h"

/* Slots that are free now. The receiver's head is believed only within what was published to it. */
static __always_inline __u32 rx_room(struct rx_state *r, struct ctl *c, __u64 res, __u32 want)
{
	__u64 head = READ_ONCE(r->head);
	__u32 room = MASK - (__u32)(res - head);

	if (room < want || room > MASK) {
		__u32 now = READ_ONCE(c->head), ahead = (now - (__u32)head) & MASK;

		if (now >= cfg.slots || ahead > READ_ONCE(r->pub) - head) {
			__sync_fetch_and_add(&r->n.resets, 1);
		} else {
			/* Never back: another sender may be a whole ring further by now, and what the client tells can be
			 * placed only within a ring of the last known head. */
			__sync_val_compare_and_swap(&r->head, head, head + ahead);
			room += ahead;
		}
	}
	return room <= MASK ? room : 0;
}

/* Reserves up to `want` slots for the frames that `whole` cuts where the room ends; 0 when there is none. */
#define RX_RESERVE(r, c, want, whole, at)                                                     \
	({                                                                                    \
		__u32 got_ = 0, want_ = want;                                                 \
		while (can_loop) {                                                            \
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
		}                                                                             \
		got_;                                                                         \
	})

/* Publishes the reservation of `n` slots at `at`, and those after it that are done, and tells the receiver. Each step is a
 * full barrier: of two senders one sees the other's note, whoever tells an older position looks again, and a receiver that
 * leaves its wish and then looks sees the frames or is woken. */
static __always_inline void rx_publish(struct rx_state *r, __u32 *told, __u64 at, __u32 n)
{
	__sync_lock_test_and_set(&r->done[at & MASK], at << 16 | n);
	while (can_loop) {
		__u64 pub = READ_ONCE(r->pub), done = READ_ONCE(r->done[pub & MASK]);

		if (done >> 16 != (pub & 0xffffffffffffULL) || !(done & 0xffff))
			break;
		__sync_val_compare_and_swap(&r->pub, pub, pub + (done & 0xffff));
	}
	while (can_loop) {
		__u32 pub = READ_ONCE(r->pub);

		__sync_lock_test_and_set(told, pub);
		if (pub == (__u32)READ_ONCE(r->pub))
			break;
	}
}

/* Wakes a receiver that sleeps. */
static __always_inline void rx_wake(struct rx_state *r, struct ctl *c, __u32 port, __u32 ring)
{
	if (!READ_ONCE(c->wish) || !__sync_lock_test_and_set(&c->wish, 0))
		return;
	__u32 key = port * MAX_RINGS + ring, one = 1;
	void *bell = bpf_map_lookup_elem(&bells, &key);
	if (!bell)
		return;
	__sync_fetch_and_add(&r->n.wakeups, 1);
	bpf_ringbuf_output(bell, &one, sizeof(one), BPF_RB_FORCE_WAKEUP);
}
