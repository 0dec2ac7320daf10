// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// For probing the kernel: a helper that needs more than a few instructions written by hand.
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include "common/loop.h"

static long count(__u32 i, void *sum)
{
	*(__u32 *)sum += i;
	return 0;
}

SEC("syscall")
int loop(void *ctx)
{
	__u32 sum = 0;

	(void)ctx;
	bpf_loop(4, count, &sum, 0);
	return sum;
}

/* Whether the kernel takes programs that are not for old kernels (common/loop.h, switch/state.h): `may_goto`, and global functions that are called
 * while preemption is disabled. */
/* Weak: without them the other program is still there. */
extern void bpf_preempt_disable(void) __ksym __weak;
extern void bpf_preempt_enable(void) __ksym __weak;

__noinline int number(__u32 of)
{
	KEEP_BOUND(of);
	return of;
}

SEC("syscall")
int undisturbed(void *ctx)
{
	int n = 0;

	(void)ctx;
	bpf_preempt_disable();
	while (can_loop && n != 7)
		n = number(7);
	bpf_preempt_enable();
	return n;
}

char _license[] SEC("license") = "Dual BSD/GPL";
