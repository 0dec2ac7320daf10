/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Copies between buffers in 8-byte steps, never a byte more than the frame has: the receiver must not see what lies behind it.
 * For a length that is no multiple of the step, a second step overlaps the first. */
#pragma once
#include "common/copy.h"
#include "switch/state.h"

/* Copies `len` bytes, at most `max`, which is a constant. `zero` is 0, which the verifier does not know. */
static __always_inline void copy_upto(void *to, const void *from, __u32 len, __u32 max, __u32 zero)
{
	if (len >= 64) {
		__u32 o = start_of(zero & 0xfff);
		for (; o + 64 <= len && can_loop; o = (o + 64) & 0xfff) {
			/* Of the number itself, as the verifier is to see it. */
			KEEP_BOUND(o);
			if (o > max - 64)
				break;
			copy_step(to + o, from + o, 64);
		}
		o = len - 64;
		if (o <= max - 64)
			copy_step(to + o, from + o, 64);
	} else if (len >= 32) {
		copy_step(to, from, 32);
		copy_step(to + ((len - 32) & 31), from + ((len - 32) & 31), 32);
	} else if (len >= 16) {
		copy_step(to, from, 16);
		copy_step(to + ((len - 16) & 15), from + ((len - 16) & 15), 16);
	} else if (len >= 8) {
		copy_step(to, from, 8);
		copy_step(to + ((len - 8) & 7), from + ((len - 8) & 7), 8);
	} else {
#pragma unroll
		for (int i = 0; i < 7; i++)
			if (i < (int)len)
				((__u8 *)to)[i] = ((const __u8 *)from)[i];
	}
}

/* The same for a buffer. */
static __always_inline void copy_buf(void *to, const void *from, __u32 len, __u32 zero)
{
	copy_upto(to, from, len, cfg.buf_size, zero);
}
