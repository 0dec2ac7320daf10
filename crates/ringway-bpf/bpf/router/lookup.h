/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Longest-prefix match on the bytes of ringway_fwd::fib, whose module `form` tells what is where. What is walked over stays as it
 * is until the writer has waited for all programs; each load is one access. */
#pragma once
#include "router/tables.h"

#define HANDLE (1U << 31)
#define BUCKET (1U << 2)
#define WIDTH 3 /* bits of a handle that tell the width of leaves */
#define HEAD 36 /* bytes of a node before its leaves */
#define WORDS (4 << 16) /* where words start, in bytes: behind the root */

/* A word, of as many as have numbers of the bits `words`. */
static __always_inline __u32 word_of(void *fib, __u32 words, __u32 at)
{
	return READ_ONCE(*(__u32 *)(fib + WORDS + (__u64)(at & words) * 4));
}

/* The leaf of so many bits (8, 16, 32 for widths 0, 1, 2) that starts with byte `at` of the words. */
static __always_inline __u32 leaf_at(void *fib, __u32 words, __u32 at, __u32 width)
{
	return word_of(fib, words, at >> 2) >> (8 * (at & 3)) & (__u32)((1ULL << (8 << width)) - 1);
}

/* The leaf of slot `slot` of a node: a bit for each slot at which a run starts, how many there are before each quarter, the leaves. */
static __always_inline __u32 leaf_of(void *fib, __u32 words, __u32 handle, __u32 slot)
{
	__u32 node = handle & 0x7ffffff8, quarter = slot >> 6 & 3, width = handle & WIDTH;
	__u64 bits = READ_ONCE(*(__u64 *)(fib + WORDS + ((node + 8 * quarter) & (words * 4))));
	__u32 before = READ_ONCE(*(__u8 *)(fib + WORDS + ((node + 32 + quarter) & (words * 4 + 3))));
	__u32 run = before + __builtin_popcountll(bits << (~slot & 63));

	return leaf_at(fib, words, node + HEAD + (run << width), width);
}

/* The next hop of an IPv4 address, most significant byte first; 0 without a route. */
static __always_inline __u32 find4(__u32 addr)
{
	void *fib = START(fib4);
	__u32 top = READ_ONCE(*(__u32 *)(fib + (addr >> 16) * 4));
	__u32 leaf = leaf_of(fib, cfg.words4, top, addr >> 8 & 0xff);

	if (leaf & HANDLE)
		leaf = leaf_of(fib, cfg.words4, leaf, addr & 0xff);
	return leaf & 0xffff;
}

/* The keys of a bucket that are looked through for a value. */
struct keys {
	void *fib;
	__u32 first, value, run, rest;
};

LOOP_STEP(halve, struct keys *loop)
{
	__u32 half = (loop->rest + 1) / 2, at = loop->first * 2 + loop->run + half - 1;

	if (!loop->rest)
		return 1;
	__u32 key = READ_ONCE(*(__u16 *)(loop->fib + WORDS + (__u64)(at & (cfg.words6 * 2 + 1)) * 2));
	loop->run += key <= loop->value ? half : 0;
	loop->rest -= half;
	asm volatile("" : "+r"(loop->run), "+r"(loop->rest));
	return 0;
}

/* The leaf for 16 bits that a bucket decides: behind its keys, as many further as keys are not above them. */
static __always_inline __u32 leaf_in(void *fib, __u32 handle, __u32 value)
{
	__u32 width = handle & WIDTH, keys = (handle >> 26 & 31) + 1, first = (handle >> 3 & 0x7fffff) * 2;
	struct keys loop = { .fib = fib, .first = first, .value = value, .run = OLD_KERNEL ? zero() : 0, .rest = keys };

	until(halve, &loop);
	return leaf_at(fib, cfg.words6, 4 * (first + (keys + 1) / 2) + (loop.run << width), width);
}

/* An address on its way down. */
struct descent {
	void *fib;
	__u64 high, low;
	__u32 leaf;
};

LOOP_STEP(descend, struct descent *loop)
{
	__u32 leaf = loop->leaf;

	if (!(leaf & HANDLE))
		return 1;
	loop->high = loop->high << 16 | loop->low >> 48;
	loop->low <<= 16;
	__u32 value = loop->high >> 48;
	if (leaf & BUCKET) {
		leaf = leaf_in(loop->fib, leaf, value);
	} else {
		leaf = leaf_of(loop->fib, cfg.words6, leaf, value >> 8);
		if (leaf & HANDLE)
			leaf = leaf_of(loop->fib, cfg.words6, leaf, value & 0xff);
	}
	FORGET(leaf);
	loop->leaf = leaf;
	return 0;
}

/* The next hop of an IPv6 address, its halves most significant byte first; 0 without a route. */
__noinline int find6(__u64 high, __u64 low)
{
	void *fib = START(fib6);
	struct descent loop = { .fib = fib, .high = high, .low = low, .leaf = READ_ONCE(*(__u32 *)(fib + (high >> 48) * 4)) };

	until(descend, &loop);
	return loop.leaf & HANDLE ? 0 : loop.leaf & 0xffff;
}
