/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Steps that the verifier of every kernel since Linux 6.1 follows. */
#pragma once
#include <linux/types.h>

/* Has the compiler forget what it knows of `n`. So it keeps the check that stands before or behind this, and uses no copy of
 * `n` that the verifier has not seen checked. */
#define KEEP_BOUND(n) asm volatile("" : "+r"(n))

/* The same for numbers that a loop changes together. One after the other would cost instructions. */
#define KEEP_BOUND_2(a, b) asm volatile("" : "+r"(a), "+r"(b))
#define KEEP_BOUND_3(a, b, c) asm volatile("" : "+r"(a), "+r"(b), "+r"(c))

/* The product of a number and one that the verifier knows. Before Linux 6.10 it follows only a product whose left factor is the
 * unknown one, and the compiler would choose. Where there is a build for newer kernels it may: the order costs some ns a frame. */
static __always_inline __u64 times(__u64 n, __u64 known)
{
#if defined(OLD_KERNEL) && !OLD_KERNEL
	return n * known;
#else
	asm("%0 *= %1" : "+r"(n) : "r"(known));
	return n;
#endif
}

/* The sum of two numbers that have no bit in common. The compiler would make it an `or`, which verifiers before Linux 6.3 do not
 * follow. */
static __always_inline __u32 plus(__u32 a, __u32 b)
{
	asm("" : "+r"(a));
	return a + b;
}

/* A copy of a number that goes to a helper by address. Before Linux 6.16 the verifier forgets what it knew of a variable that a
 * helper may read. */
#define KEY(n) (&(__u32){ n })

/* A length less 1. Where this is below a limit, the verifier knows that the length is not 0, which it forgets after other tests. */
static __always_inline __u32 less_one(__u32 n)
{
	n--;
	KEEP_BOUND(n);
	return n;
}

/* The bits of a number from 0 to `most`, a power of two. */
#define UP_TO(most) (2 * (most) - 1)
