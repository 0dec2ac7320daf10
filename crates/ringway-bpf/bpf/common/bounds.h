/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Steps that the verifier of every kernel since Linux 6.1 follows. */
#pragma once
#include <linux/types.h>

/* The compiler forgets what it knows of `n`. So it keeps a check before which, or behind which, this stands, and does not use a copy of `n`
 * that the verifier has not seen checked. */
#define KEEP_BOUND(n) asm volatile("" : "+r"(n))

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
