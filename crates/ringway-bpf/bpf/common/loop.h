/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Loops whose end the verifier need not see, in two forms. The build makes an object for kernels of each. The library takes the
 * one that the kernel knows (program.rs).
 *
 * With `may_goto` the verifier walks a loop until its state repeats, and the jump costs less than a call for each turn.
 * For older kernels each turn is a call by bpf_loop (Linux 5.17), and loops of few turns are walked to their end.
 */
#pragma once
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include "common/bounds.h"

/* Not 0: for kernels before Linux 6.15, of which those since 6.9 have `may_goto`, and a verifier that does not see such a loop end. */
#ifndef OLD_KERNEL
#define OLD_KERNEL 0
#endif

/* One turn: a function of what the loop keeps; not 0 ends the loop. */
#define LOOP_STEP(name, ...) STEP_KIND long name(__u32 turn __attribute__((unused)), __VA_ARGS__)

/* The same for loops that few frames need. They are calls in each form, since the verifier has less to walk.
 *
 * Before Linux 6.7 the verifier walks one turn of a call, with the numbers that the loop starts from. It takes a number that it
 * knows for the same in each turn, and removes code that only later turns reach. So numbers that change start from ones that the
 * verifier does not know. */
#define SELDOM_STEP(name, ...) static long name(__u32 turn __attribute__((unused)), __VA_ARGS__)
#define repeat_seldom(turns, most, step, x) bpf_loop((turns) & (most), step, x, 0)
#define until_seldom(step, x) bpf_loop(1 << 20, step, x, 0)
#define SELDOM_BELOW(n, limit)                                                                \
	do {                                                                                  \
		KEEP_BOUND(n);                                                                    \
		if ((n) >= (limit))                                                           \
			return 1;                                                             \
		KEEP_BOUND(n);                                                                    \
	} while (0)

#if OLD_KERNEL

#define can_loop 1
#define STEP_KIND static
#define repeat(turns, most, step, x) bpf_loop((turns) & (most), step, x, 0)
#define until(step, x) bpf_loop(1 << 20, step, x, 0)

/* Begins a function with such a loop. */
#define LOOP_FRAME static __always_inline

/* Where a short loop starts: at 0. */
#define start_of(unknown) ((void)(unknown), 0)

/* What a step keeps in memory has lost its bound: tells the verifier again. */
#define KEEP_BELOW(n, limit) SELDOM_BELOW(n, limit)

#else

/* Leaves the loop when the kernel has had enough of it, which no loop here comes near. clang 14 knows the instruction by its bytes
 * only. */
#define can_loop                                                                              \
	({                                                                                    \
		__label__ l_break, l_continue;                                                \
		int go_on = 1;                                                                \
		asm volatile goto("1:.byte 0xe5; .byte 0; .long ((%l[l_break] - 1b - 8) / 8) & 0xffff; .short 0" \
				  ::::l_break);                                               \
		goto l_continue;                                                              \
	l_break:                                                                              \
		go_on = 0;                                                                    \
	l_continue:;                                                                          \
		go_on;                                                                        \
	})
#define STEP_KIND static __always_inline

/* Takes turns until one ends the loop, `turns` of them and `most` at most, a power of two less one. The verifier must not know
 * more of their number than that: it would take each number that it can tell from others for another state. */
#define repeat(turns, most, step, x)                                                          \
	for (__u32 left_ = (turns) & (most); left_ && can_loop && !step(0, x); left_ = (left_ - 1) & (most)) \
	KEEP_BOUND(left_)

/* Takes turns until one ends the loop. */
#define until(step, x)                                                                        \
	while (can_loop && !step(0, x)) {                                                     \
	}

/* Begins a function with such a loop that keeps a lot: it has a frame of its own, since all calls on a path have 512 bytes of stack
 * together. With calls, steps have theirs. */
#define LOOP_FRAME __noinline

/* Where a short loop starts: at a number that is 0, which the verifier does not know. It would follow each turn for itself. */
#define start_of(unknown) (unknown)

#define KEEP_BELOW(n, limit)                                                                  \
	do {                                                                                  \
	} while (0)

#endif
