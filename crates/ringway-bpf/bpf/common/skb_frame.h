/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A frame in the kernel's own buffer, as it would be on the wire: with the tag that the stack keeps beside the bytes. Who includes this
 * has declared `cfg` before, with the size of a ring's buffers. */
#pragma once
#ifndef HAS_CFG
#error "include port/ring.h or switch/state.h, which declare `cfg`"
#endif
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include "common/bounds.h"

#define TAG_BYTES 4
#define ADDRESSES 12 /* bytes before a tag */

static __always_inline __u32 frame_len(struct __sk_buff *skb)
{
	return skb->len + (skb->vlan_present ? TAG_BYTES : 0);
}

/* Copies `n` bytes from place `at` of the frame, 1 <= n <= cfg.buf_size. The first piece has the whole tag. */
static __always_inline long load_frame(struct __sk_buff *skb, __u32 at, void *buf, __u32 n)
{
	if (!skb->vlan_present)
		return bpf_skb_load_bytes(skb, at, buf, n);
	if (at)
		return bpf_skb_load_bytes(skb, at - TAG_BYTES, buf, n);
	if (bpf_skb_load_bytes(skb, 0, buf, ADDRESSES))
		return -1;
	*(__u32 *)(buf + ADDRESSES) = skb->vlan_proto | (__u32)__builtin_bswap16(skb->vlan_tci) << 16;
	/* Less by one than what lies behind the tag. Verifiers before Linux 6.8 learn no lower bound from a test for 0. They also
	 * forget bounds of numbers on the stack, so the test stands right before the call. */
	__u32 less = n - ADDRESSES - TAG_BYTES - 1;
	KEEP_BOUND(less);
	if (less >= cfg.buf_size - ADDRESSES - TAG_BYTES)
		return -1;
	return bpf_skb_load_bytes(skb, ADDRESSES, buf + ADDRESSES + TAG_BYTES, less + 1);
}
