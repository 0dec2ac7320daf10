/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Copies between a packet and a buffer in 8-byte steps. For a length that is no multiple of the step, a second step overlaps the
 * first: 60 bytes are 32 from the front and 32 up to the end. So no loop over bytes is needed. Short frames are copied here, long
 * ones by a helper, whose call costs about as much as 256 bytes. */
#pragma once
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#define SHORT 256

static __always_inline void copy_step(void *to, const void *from, int bytes)
{
#pragma unroll
	for (int i = 0; i < bytes / 8; i++)
		((__u64 *)to)[i] = ((const __u64 *)from)[i];
}

/* The end of `pkt + ofs` is checked on every step: that is what the verifier asks for. */
#define STEP(bytes, at)                                                                       \
	do {                                                                                  \
		__u32 o_ = (at);                                                              \
		void *p_ = pkt + o_;                                                          \
		if (o_ > SHORT || p_ + (bytes) > end)                                         \
			return -1;                                                            \
		if (to_packet)                                                                \
			copy_step(p_, buf + o_, bytes);                                       \
		else                                                                          \
			copy_step(buf + o_, p_, bytes);                                       \
	} while (0)

/* Copies `len` bytes, ETH_HLEN <= len <= SHORT. */
static __always_inline int copy_short(void *pkt, void *end, void *buf, __u32 len, int to_packet)
{
	if (len >= 64) {
		for (__u32 o = 0; o + 64 <= len && o < SHORT; o += 64)
			STEP(64, o);
		STEP(64, (len - 64) & 0xff);
	} else if (len >= 32) {
		STEP(32, 0);
		STEP(32, (len - 32) & 31);
	} else if (len >= 16) {
		STEP(16, 0);
		STEP(16, (len - 16) & 15);
	} else {
		STEP(8, 0);
		STEP(8, (len - 8) & 7);
	}
	return 0;
}
