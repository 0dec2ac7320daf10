/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Longest-prefix match on the bytes of ringway_fwd::fib, whose module `form` tells what is where. What is walked over stays as it
 * is until the writer has waited for all programs; each load is one access. */
#pragma once
#include "router.h"

#define HANDLE (1U << 31)
#define BUCKET (1U << 30)
#define NODE 40
#define ROOT4 (2 << 16)
#define ROOT6 (4 << 16)

/* The leaf of slot `slot` of a node. */
static __always_inline __u32 leaf_of(void *fib, __u32 nodes_at, __u32 nodes, __u32 words_at, __u32 words, __u32 handle,
				     __u32 slot)
{
	void *node = fib + nodes_at + (__u64)(handle & nodes) * NODE;
	__u32 quarter = slot >> 6 & 3;
	__u64 head = READ_ONCE(*(__u64 *)node), bits = READ_ONCE(*(__u64 *)(node + 8 + quarter * 8));
	__u32 run = (head >> (32 + 8 * quarter) & 0xff) + __builtin_popcountll(bits << (~slot & 63));
	__u32 width = head & 3, at = ((__u32)head & ~3U) + (run << width);
	__u32 word = READ_ONCE(*(__u32 *)(fib + words_at + (__u64)(at >> 2 & words) * 4));

	return word >> (8 * (at & 3)) & (__u32)((1ULL << (8 << width)) - 1);
}

/* The next hop of an IPv4 address, most significant byte first; 0 without a route. */
static __always_inline __u32 find4(__u32 addr)
{
	void *fib = START(fib4);
	__u32 top = READ_ONCE(*(__u16 *)(fib + (addr >> 16) * 2));
	__u32 leaf = leaf_of(fib, ROOT4, cfg.nodes4, cfg.words4_at, cfg.words4, top, addr >> 8 & 0xff);

	if (leaf & HANDLE)
		leaf = leaf_of(fib, ROOT4, cfg.nodes4, cfg.words4_at, cfg.words4, leaf, addr & 0xff);
	return leaf & 0xffff;
}

/* The leaf for 16 bits that a bucket decides: behind its keys, as many further as keys are not above them. */
static __always_inline __u32 leaf_in(void *fib, __u32 handle, __u32 value)
{
	__u32 width = handle >> 28 & 3, keys = (handle >> 23 & 31) + 1, first = handle & 0x7fffff, run = 0, rest = keys;

	while (rest && can_loop) {
		__u32 half = (rest + 1) / 2, at = first * 2 + run + half - 1;
		__u32 key = READ_ONCE(*(__u16 *)(fib + cfg.words6_at + (__u64)(at & (cfg.words6 * 2 + 1)) * 2));
		run += key <= value ? half : 0;
		rest -= half;
		asm volatile("" : "+r"(run), "+r"(rest));
	}
	__u32 at = 4 * (first + (keys + 1) / 2) + (run << width);
	__u32 word = READ_ONCE(*(__u32 *)(fib + cfg.words6_at + (__u64)(at >> 2 & cfg.words6) * 4));
	return word >> (8 * (at & 3)) & (__u32)((1ULL << (8 << width)) - 1);
}

/* The next hop of an IPv6 address, its halves most significant byte first; 0 without a route. */
__noinline int find6(__u64 high, __u64 low)
{
	void *fib = START(fib6);
	__u32 leaf = READ_ONCE(*(__u32 *)(fib + (high >> 48) * 4));

	while (leaf & HANDLE && can_loop) {
		high = high << 16 | low >> 48;
		low <<= 16;
		__u32 value = high >> 48;
		if (leaf & BUCKET) {
			leaf = leaf_in(fib, leaf, value);
		} else {
			leaf = leaf_of(fib, ROOT6, cfg.nodes6, cfg.words6_at, cfg.words6, leaf, value >> 8);
			if (leaf & HANDLE)
				leaf = leaf_of(fib, ROOT6, cfg.nodes6, cfg.words6_at, cfg.words6, leaf, value & 0xff);
		}
		asm volatile("" : "+r"(leaf));
	}
	return leaf & HANDLE ? 0 : leaf & 0xffff;
}
