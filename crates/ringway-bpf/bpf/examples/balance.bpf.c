// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A module that balances. It spreads frames from port 1 over ports 2 to LAST by their addresses, so that all frames of a pair
// of stations take the same port. Frames from the other ports go to port 1.
//
//	clang -O2 -g -target bpf -mcpu=v3 -I/usr/include/x86_64-linux-gnu -Ibpf -c bpf/examples/balance.bpf.c -o balance.o
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include "ringway_module.h"

#ifndef LAST
#define LAST 4
#endif

/* Frames to each port. All ports of the switch share it. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 256);
	__type(key, __u32);
	__type(value, __u64);
} chosen SEC(".maps");

/* The same for both directions: the sum of the addresses, mixed. */
static __u32 hash(const __u8 *a)
{
	__u32 sum = 0;

#pragma unroll
	for (int i = 0; i < 6; i++)
		sum = sum * 31 + (a[i] + a[i + 6]);
	return (sum * 0x9E3779B1u) >> 16;
}

RINGWAY_MODULE(frame)
{
	__u32 to = frame->port == 1 ? 2 + hash(frame->head) % (LAST - 1) : 1;
	__u64 *count = bpf_map_lookup_elem(&chosen, &to);

	if (count)
		__sync_fetch_and_add(count, 1);
	return to;
}
