/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Checksums that a host behind a veth or tap left to its interface: nic/finish_sum.h tells how they are known. */
#pragma once
#include "router/tables.h"

/* Finishes the checksum of a packet. Returns 0 when that can't be done: not all of it is in one piece. */
__noinline int finish_sum(struct xdp_md *ctx)
{
	void *pkt = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	__u64 sum = 0;
	struct l4 l;

	__u16 *field = unfinished_sum(pkt, end, &l);
	if (!field)
		return 1;
	if (!add_up(pkt, end, l.at, l.len, zero(), &sum))
		return 0;
	__u32 done = ~fold(sum) & 0xffff;
	*field = done ? done : 0xffff;
	return 1;
}

/* The same after a look at what is nearly always finished, for IPv4 without options. */
static __always_inline int finish_sum4(struct xdp_md *ctx)
{
	void *pkt = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end, *ip = pkt + ETH_HLEN;

	if (ip + 38 > end)
		return finish_sum(ctx);
	__u32 protocol = *(__u8 *)(ip + 9), field = *(__u16 *)(ip + (protocol == PROTO_TCP ? 36 : 26));
	if (protocol != PROTO_TCP && protocol != PROTO_UDP)
		return 1;
	__u32 len = __builtin_bswap16(*(__u16 *)(ip + 2)) - 20;
	__u64 sum = (__u64) * (__u32 *)(ip + 12) + *(__u32 *)(ip + 16) + __builtin_bswap16(protocol) + __builtin_bswap16(len);
	return field != fold(sum) || finish_sum(ctx);
}

/* And for IPv6 without extension headers. */
static __always_inline int finish_sum6(struct xdp_md *ctx)
{
	void *pkt = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end, *ip = pkt + ETH_HLEN;

	if (ip + 58 > end)
		return finish_sum(ctx);
	__u32 protocol = *(__u8 *)(ip + 6), field = *(__u16 *)(ip + (protocol == PROTO_TCP ? 56 : 46));
	if (protocol != PROTO_TCP && protocol != PROTO_UDP)
		return 1;
	__u64 sum = *(__u16 *)(ip + 4) + __builtin_bswap16(protocol);
#pragma unroll
	for (int i = 8; i < 40; i += 4)
		sum += *(__u32 *)(ip + i);
	return field != fold(sum) || finish_sum(ctx);
}
