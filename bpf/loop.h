/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Loops whose end the verifier need not see. */
#pragma once

/* Leaves the loop when the kernel has had enough of it, which no loop here comes near (Linux 6.9, `may_goto`). The
 * verifier walks such a loop until its state repeats, and the jump costs less than a call for each iteration. clang 14 knows
 * the instruction by its bytes only. */
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
