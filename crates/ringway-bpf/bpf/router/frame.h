/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a program of a router is given, and how it ends: by XDP, or by traffic control (BY_TC). */
#pragma once
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include "common/tcx.h"

#ifdef BY_TC

#define FRAME struct __sk_buff
#define DROP TCX_DROP
#define PASS TCX_NEXT

static __always_inline __u32 length_of(FRAME *ctx)
{
	return ctx->len;
}

static __always_inline long load_bytes(FRAME *ctx, __u32 at, void *to, __u32 len)
{
	return bpf_skb_load_bytes(ctx, at, to, len);
}

/* Headers of TCP without options, from the link on. */
#define PLAIN_HEADERS 54

/* Frames that the kernel cuts this one into, or put together to it. Where a guest left that to be found out, which is close enough. */
static __always_inline __u32 frames_of(FRAME *ctx)
{
	__u32 n = ctx->gso_segs, size = ctx->gso_size, len = ctx->len;

	if (n || !size || len <= PLAIN_HEADERS)
		return n ? n : 1;
	return (len - PLAIN_HEADERS + size - 1) / size;
}

#else

#define FRAME struct xdp_md
#define DROP XDP_DROP
#define PASS XDP_PASS

/* Bytes of a frame, in all its pieces. */
static __always_inline __u32 length_of(FRAME *ctx)
{
	return bpf_xdp_get_buff_len(ctx);
}

static __always_inline long load_bytes(FRAME *ctx, __u32 at, void *to, __u32 len)
{
	return bpf_xdp_load_bytes(ctx, at, to, len);
}

static __always_inline __u32 frames_of(FRAME *ctx __attribute__((unused)))
{
	return 1;
}

#endif

/* What is known of a packet that may be forwarded. */
struct packet {
	__u32 number; /* of its next hop */
	__u32 len;    /* as its header says */
	__u32 ttl;
	__u32 strict, loose;
	__u32 header, protocol; /* bytes of the IP header, and what follows it */
	int trim;     /* bytes behind it in the frame */
};
