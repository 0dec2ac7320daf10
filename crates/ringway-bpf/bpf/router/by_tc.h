/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Packets as traffic control has them, in the kernel's own buffers: what the rules ask of one, and how it leaves. A super-frame, which
 * hosts and drivers leave to be cut (GSO), goes whole; so does a checksum that is to be finished. */
#pragma once
#include "router/next_hop.h"

/* Headers of the link and of IPv6. */
#define HEADERS (ETH_HLEN + 40)

/* Headers that the payload of UDP may begin with when it is a tunnel: VXLAN or Geneve, Ethernet, IPv6, TCP. */
#define TUNNEL 128

/* Has the headers lie in the first piece, as far as there are some. */
static __always_inline void gather(struct __sk_buff *ctx)
{
	void *pkt = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	__u32 all = ctx->len;

	if (pkt + HEADERS > end && (__u64)(end - pkt) < all)
		bpf_skb_pull_data(ctx, all < HEADERS ? all : HEADERS);
}

/* EtherType, in the byte order of the frame; 0 behind a tag, which the kernel keeps beside the bytes. */
static __always_inline __u32 type_of(struct __sk_buff *ctx, void *pkt)
{
	return ctx->vlan_present ? 0 : *(__u16 *)(pkt + 12);
}

/* Length of a packet, which is `len` when its header, which says `said`, is right. A super-frame of TCP may be longer than headers
 * can say, which then say 0. */
static __always_inline __u32 real_length(struct __sk_buff *ctx, __u32 len, __u32 said, __u32 protocol)
{
	return said || protocol != PROTO_TCP || !ctx->gso_size ? len : ctx->len - ETH_HLEN;
}

/* Chooses the interface that a packet leaves by. Why it can't, or 0. */
static __always_inline __u32 why_not_out(struct __sk_buff *ctx __attribute__((unused)), struct way *way)
{
	struct nic_key key = { .ifindex = way->egress, .netns = cfg.netns };
	__u32 *to = bpf_map_lookup_elem(&nics, &key);

	if (!to)
		return KERNEL_ROUTE;
	way->member = *to;
	return 0;
}

/* Bytes of headers that each segment of a super-frame has; 0 where that is not known. */
static __always_inline __u32 headers_of(struct __sk_buff *ctx, struct packet *p)
{
	__u8 words;

	if (p->protocol == PROTO_UDP)
		return p->header + 8;
	if (p->protocol != PROTO_TCP || bpf_skb_load_bytes(ctx, ETH_HLEN + p->header + 12, &words, 1))
		return 0;
	return p->header + (words >> 4) * 4;
}

/* Why a packet that is longer than the MTU stays, or 0: segments of a super-frame may be short enough. What the kernel would cut
 * otherwise than it seems is the kernel's. */
static __always_inline __u32 why_too_long(struct __sk_buff *ctx, struct packet *p, __u32 mtu)
{
	__u32 size = ctx->gso_size, headers;

	if (!size)
		return TOO_BIG;
	headers = headers_of(ctx, p);
	if (!headers)
		return KERNEL_ROUTE;
	if (headers + size > mtu)
		return TOO_BIG;
	return p->protocol == PROTO_UDP && headers + TUNNEL + size > mtu ? KERNEL_ROUTE : 0;
}

/* What has to be done before a packet is changed; 0 when it can't be. */
static __always_inline int make_ready(struct __sk_buff *ctx, struct packet *p)
{
	return !p->trim || (!ctx->gso_size && !bpf_skb_change_tail(ctx, ETH_HLEN + p->len, 0));
}

static __always_inline int make_ready4(struct __sk_buff *ctx, struct packet *p)
{
	return make_ready(ctx, p);
}

static __always_inline int make_ready6(struct __sk_buff *ctx, struct packet *p)
{
	return make_ready(ctx, p);
}

/* The hop limit of IPv6 is one less: a NIC may have added up the bytes. A header of IPv4 has the same sum as before. */
static __always_inline void note_hop(struct __sk_buff *ctx)
{
	bpf_csum_update(ctx, ~0x0100U);
}

/* Off it goes, with its new header, by the queue of the interface. */
static __always_inline int leave(struct __sk_buff *ctx, struct way *w, struct packet *p)
{
	__u32 n = frames_of(ctx);

	count_hop(p->number, n, n > 1 ? p->len + (n - 1) * headers_of(ctx, p) : p->len);
	count_of(w->member, SENT, n);
	CUT(WRITTEN);
	return bpf_redirect(w->egress, 0);
}
