/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The Internet checksum (RFC 1071) over frames, and where TCP and UDP have theirs. */
#pragma once
#include <linux/types.h>
#include "common/bounds.h"
#include "common/ether.h"
#include "common/loop.h"

/* No piece of a frame is longer; the verifier wants offsets in packets to stay well below 64 KiB. */
#define NEAR 0x3fff

/* Where a segment or datagram is. */
struct l4 {
	__u32 at, len;
	__u32 field; /* of its checksum */
	__u64 sum;   /* of the pseudo-header, not folded */
};

static __always_inline __u32 fold(__u64 sum)
{
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	return (sum & 0xffff) + (sum >> 16);
}

/* Finds the checksum of a frame; 0 when it has none that stacks leave to interfaces. */
static __always_inline int find_sum(void *pkt, void *end, struct l4 *l)
{
	__u32 at = ETH_HLEN, proto, type;

	if (pkt + TAG_HLEN + 20 > end)
		return 0;
	type = __builtin_bswap16(*(__u16 *)(pkt + 12));
	if (type == TYPE_VLAN) {
		type = __builtin_bswap16(*(__u16 *)(pkt + 16));
		at = TAG_HLEN;
	}
	void *ip = pkt + at;
	if (type == TYPE_IP) {
		__u32 head = (*(__u8 *)ip & 15) * 4, total = __builtin_bswap16(*(__u16 *)(ip + 2));
		if (head < 20 || total < head || __builtin_bswap16(*(__u16 *)(ip + 6)) & FRAGMENT)
			return 0;
		proto = *(__u8 *)(ip + 9);
		l->at = at + head;
		l->len = total - head;
		l->sum = (__u64) * (__u32 *)(ip + 12) + *(__u32 *)(ip + 16);
	} else if (type == TYPE_IP6 && ip + 40 <= end) {
		proto = *(__u8 *)(ip + 6);
		l->at = at + 40;
		l->len = __builtin_bswap16(*(__u16 *)(ip + 4));
		l->sum = 0;
#pragma unroll
		for (int i = 8; i < 40; i += 4)
			l->sum += *(__u32 *)(ip + i);
	} else {
		return 0;
	}
	if (proto != PROTO_TCP && proto != PROTO_UDP)
		return 0;
	l->field = l->at + (proto == PROTO_TCP ? 16 : 6);
	l->sum += __builtin_bswap16(proto) + __builtin_bswap16(l->len);
	return 1;
}

/* The field of a frame's checksum where that was left to be done; 0 where it was not. */
static __always_inline __u16 *unfinished_sum(void *pkt, void *end, struct l4 *l)
{
	if (!find_sum(pkt, end, l) || l->field > 0xff)
		return 0;
	void *field = pkt + l->field;
	return field + 2 <= end && *(__u16 *)field == fold(l->sum) ? field : 0;
}

/* Bytes that are added up. */
struct adding {
	void *pkt, *end;
	__u64 all;
	__u32 at, len; /* those that are left */
	__u32 beyond;  /* they go on behind the end of the packet */
};

static __always_inline void added(struct adding *loop, __u32 bytes)
{
	loop->at = (loop->at + bytes) & NEAR;
	loop->len = (loop->len - bytes) & NEAR;
	KEEP_BOUND_3(loop->at, loop->len, loop->all);
}

LOOP_STEP(add_32, struct adding *loop)
{
	void *p = loop->pkt + (loop->at & NEAR);

	if (loop->len < 32)
		return 1;
	if (p + 32 > loop->end) {
		loop->beyond = 1;
		return 1;
	}
#pragma unroll
	for (int i = 0; i < 32; i += 4)
		loop->all += *(__u32 *)(p + i);
	added(loop, 32);
	return 0;
}

LOOP_STEP(add_2, struct adding *loop)
{
	void *p = loop->pkt + (loop->at & NEAR);

	if (loop->len < 2)
		return 1;
	if (p + 2 > loop->end) {
		loop->beyond = 1;
		return 1;
	}
	loop->all += *(__u16 *)p;
	added(loop, 2);
	return 0;
}

/* Adds up `len` bytes from `at` on, all of them or none. `zero` is 0, which the verifier does not know. */
static __always_inline int add_up(void *pkt, void *end, __u32 at, __u32 len, __u32 zero, __u64 *sum)
{
	struct adding loop = { .pkt = pkt, .end = end, .all = zero, .at = (at + zero) & NEAR, .len = (len + zero) & NEAR };

	if (at + len > NEAR)
		return 0;
	until(add_32, &loop);
	if (!loop.beyond)
		until(add_2, &loop);
	if (loop.beyond)
		return 0;
	if (loop.len) {
		void *p = pkt + (loop.at & NEAR);
		if (p + 1 > end)
			return 0;
		loop.all += *(__u8 *)p;
	}
	*sum = loop.all;
	return 1;
}
