// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// For probing the kernel: a helper that needs more than a few instructions written by hand.
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

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

char _license[] SEC("license") = "Dual BSD/GPL";
