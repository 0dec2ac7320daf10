/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Packets as XDP has them: what the rules ask of a frame, and how it leaves. router/by_tc.h has the same for traffic control. */
#pragma once
#include "router/next_hop.h"
#include "router/checksum.h"

/* Has the headers lie in the first piece; a frame is as the driver left it. */
static __always_inline void gather(struct xdp_md *ctx __attribute__((unused)))
{
}

/* EtherType, in the byte order of the frame. */
static __always_inline __u32 type_of(struct xdp_md *ctx __attribute__((unused)), void *pkt)
{
	return *(__u16 *)(pkt + 12);
}

/* Length of a packet, as its header says. */
static __always_inline __u32 real_length(struct xdp_md *ctx __attribute__((unused)), __u32 len, __u32 said __attribute__((unused)),
					 __u32 protocol __attribute__((unused)))
{
	return len;
}

/* Why a packet does not leave by a member that XDP can't send to. One by traffic control takes it from the program behind this one,
 * which makes the rest of the rules and counts it. */
__noinline int why_not_by_xdp(struct xdp_md *ctx, __u32 egress)
{
	struct nic_key key = { .ifindex = egress, .netns = cfg.netns };

	if (!bpf_map_lookup_elem(&nics, &key) || bpf_xdp_adjust_meta(ctx, -(int)sizeof(struct left)))
		return KERNEL_ROUTE;
	struct left *note = (void *)(long)ctx->data_meta;
	if ((void *)(note + 1) > (void *)(long)ctx->data)
		return KERNEL_ROUTE;
	note->mark = LEFT_MARK;
	note->ifindex = cfg.ifindex;
	return LEFT;
}

/* Chooses the interface that a packet leaves by. Why it can't, or 0. */
static __always_inline __u32 why_not_out(struct xdp_md *ctx, struct way *w)
{
	return bpf_redirect_map(&devs, w->egress, XDP_PASS) == XDP_REDIRECT ? 0 : why_not_by_xdp(ctx, w->egress);
}

/* Why a packet that is longer than the MTU stays, or 0. */
static __always_inline __u32 why_too_long(struct xdp_md *ctx __attribute__((unused)), struct packet *p __attribute__((unused)),
					  __u32 mtu __attribute__((unused)))
{
	return TOO_BIG;
}

/* What has to be done before a packet is changed; 0 when it can't be. */
static __always_inline int make_ready4(struct xdp_md *ctx, struct packet *p __attribute__((unused)))
{
	return !cfg.software || finish_sum4(ctx);
}

static __always_inline int make_ready6(struct xdp_md *ctx, struct packet *p __attribute__((unused)))
{
	return !cfg.software || finish_sum6(ctx);
}

/* The hop limit of IPv6 is one less. */
static __always_inline void note_hop(struct xdp_md *ctx __attribute__((unused)))
{
}

/* Off it goes, with its new header. */
static __always_inline int leave(struct xdp_md *ctx, struct way *w __attribute__((unused)), struct packet *packet)
{
	count_hop(packet->number, 1, packet->len);
	if (packet->trim)
		bpf_xdp_adjust_tail(ctx, -packet->trim);
	CUT(WRITTEN);
	return XDP_REDIRECT;
}
