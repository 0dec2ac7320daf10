/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A bound on the pools of pages that calls on live frames leave behind.
 *
 * The kernel makes a pool for each call, and frees it when the call ends. If the receiver still has pages of it then, the kernel
 * looks again a second later, and once a second from then on. Pools that wait hold memory and numbers of which the machine has
 * 65,534. The kernel goes through all of them for each that it frees.
 *
 * The tracepoint `page_pool_release` reports each look. A pool that has to wait is seen once a second. So looks in an eighth of a
 * second, times eight, are about the pools that wait, of all the machine. Nothing that could be missed adds up over time.
 */
#pragma once
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include "common/once.h"

#define POOL_WINDOW_BITS 27 /* a window: 2^27 ns, an eighth of a second */
#define POOL_WINDOWS 8      /* of about a second */

/* Looks that found pages with others. The processes of a port may read it. */
struct pools {
	__u32 window; /* the one that `waiting` is of, by monotonic time */
	__u32 waiting;
};

/* At the tracepoint: `with_others` is how many pages of the pool are not back. */
static __always_inline void note_look(struct pools *pools, __s32 with_others)
{
	if (with_others <= 0)
		return;
	__u32 window = bpf_ktime_get_ns() >> POOL_WINDOW_BITS;
	/* Looks on other CPUs that get lost here are few. */
	if (READ_ONCE(pools->window) != window) {
		WRITE_ONCE(pools->waiting, 0);
		WRITE_ONCE(pools->window, window);
	}
	__sync_fetch_and_add(&pools->waiting, 1);
}

/* Whether so many pools wait that a call is to take no frame. */
static __always_inline int pools_abound(struct pools *pools, __u32 most_in_window)
{
	return READ_ONCE(pools->waiting) >= most_in_window &&
	       (__u32)(bpf_ktime_get_ns() >> POOL_WINDOW_BITS) == READ_ONCE(pools->window);
}
