/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The length of a frame, of which `linear` bytes lie in its first piece. */
#pragma once
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include "common/loop.h"
#include "common/netdev.h"

#if OLD_KERNEL

static __always_inline __u32 wire_len(struct xdp_md *ctx, __u32 linear)
{
	(void)linear;
	return bpf_xdp_get_buff_len(ctx);
}

#else

struct xdp_buff___l {
	struct xdp_rxq_info___l *rxq;
	__u32 flags;
} __attribute__((preserve_access_index));
#define HAS_FRAGS 1 /* XDP_FLAGS_HAS_FRAGS of net/xdp.h */
extern void *bpf_cast_to_kern_ctx(void *) __ksym;

/* The helper that tells is called only for frames in several pieces: its return takes some 40 cycles with AMD's Safe RET. */
static __always_inline __u32 wire_len(struct xdp_md *ctx, __u32 linear)
{
	struct xdp_buff___l *x = bpf_cast_to_kern_ctx(ctx);

	return x->flags & HAS_FRAGS ? bpf_xdp_get_buff_len(ctx) : linear;
}

#endif
