/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Next hops: reading their entries, picking a member of a group, checking where a source would be sent. */
#pragma once
#include "router/lookup.h"

/* Looks at an entry that is being written, before its packet is left to the host. */
#define LOOKS 8

/* What of an entry a packet needs. */
struct way {
	__u32 verdict, mtu, egress, group;
	__u32 member; /* that it leads out by, where that is known */
	__u64 header[2];
};

/* Reads an entry as it was at one moment: a writer makes the version odd, writes, and makes it even. On x86-64, loads keep their
 * order. */
static __always_inline void read_hop(__u32 number, struct way *way)
{
	struct hop *all = START(hops), *h = &all[number & 0xffff];

#pragma clang loop unroll(disable)
	for (int look = 0; look < LOOKS; look++) {
		__u64 version = READ_ONCE(h->version);
		__u64 first = READ_ONCE(*(__u64 *)h), second = READ_ONCE(*(__u64 *)&h->egress);
		way->verdict = first & 0xff;
		way->mtu = first >> 32;
		way->egress = second;
		way->group = second >> 32;
		way->header[0] = READ_ONCE(h->header[0]);
		way->header[1] = READ_ONCE(h->header[1]);
		if (!(version & 1) && READ_ONCE(h->version) == version)
			return;
	}
	way->verdict = BY_HOST;
}

/* Each bit of either reaches all of the upper half. */
static __always_inline __u64 mix(__u64 hash, __u64 word)
{
	__u64 x = (hash ^ word) * 0x9e3779b97f4a7c15ULL;

	return (x ^ x >> 32) * 0x9e3779b97f4a7c15ULL ^ x >> 29;
}

/* An end of a flow, as a number with its address above its port. */
struct side {
	__u64 high, low;
	__u32 port;
};

static __always_inline int is_less(struct side *a, struct side *b)
{
	if (a->high != b->high)
		return a->high < b->high;
	return a->low != b->low ? a->low < b->low : a->port < b->port;
}

/* `flow_hash` of ringway_fwd::control. */
static __always_inline __u32 flow_hash(struct side *from, struct side *to, __u32 protocol)
{
	struct side *a = is_less(to, from) ? to : from, *b = a == to ? from : to;
	__u64 hash = mix(protocol, (__u64)a->port << 16 | b->port);

	hash = mix(mix(hash, a->low), a->high);
	return mix(mix(hash, b->low), b->high) >> 32;
}

static __always_inline int has_ports(__u32 protocol)
{
	return protocol == 6 || protocol == 17 || protocol == 132 || protocol == 33;
}

/* Number of the next hop that a packet's flow has in a group; 0 in an empty one. */
__noinline int pick(FRAME *ctx, __u32 group)
{
	void *pkt = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end, *ip = pkt + ETH_HLEN;
	struct side from = {}, to = {};
	__u32 protocol, whole, len, at;
	__u16 ports[2] = {};

	if (ip + 20 > end)
		return 0;
	if ((*(__u8 *)ip & 0xf0) == 0x40) {
		from.low = __builtin_bswap32(*(__u32 *)(ip + 12));
		to.low = __builtin_bswap32(*(__u32 *)(ip + 16));
		protocol = *(__u8 *)(ip + 9);
		whole = !(__builtin_bswap16(*(__u16 *)(ip + 6)) & FRAGMENT);
		len = __builtin_bswap16(*(__u16 *)(ip + 2));
		at = 20;
	} else {
		if (ip + 40 > end)
			return 0;
		from.high = __builtin_bswap64(*(__u64 *)(ip + 8));
		from.low = __builtin_bswap64(*(__u64 *)(ip + 16));
		to.high = __builtin_bswap64(*(__u64 *)(ip + 24));
		to.low = __builtin_bswap64(*(__u64 *)(ip + 32));
		protocol = *(__u8 *)(ip + 6);
		whole = 1;
		len = 40 + __builtin_bswap16(*(__u16 *)(ip + 4));
		at = 40;
	}
	if (whole && has_ports(protocol) && len >= at + 4 && !load_bytes(ctx, ETH_HLEN + at, ports, 4)) {
		from.port = __builtin_bswap16(ports[0]);
		to.port = __builtin_bswap16(ports[1]);
	}
	__u32 hash = flow_hash(&from, &to, protocol);
	__u16 *all = START(groups);
	return READ_ONCE(all[plus((group & cfg.groups) << 8, hash >> 24)]);
}

/* What an entry says of packets that come in here from where it leads: 0, or why not. Only the kernel knows where some lead. */
static __always_inline __u32 why_not_back(struct way *way)
{
	if (way->verdict == BY_HOST || way->verdict == FREE)
		return KERNEL_ROUTE;
	return (way->verdict == READY || way->verdict == INCOMPLETE) && way->egress == cfg.ifindex ? 0 : REVERSE_PATH;
}

__noinline int why_member_not_back(__u32 number)
{
	struct way way;

	read_hop(number, &way);
	return why_not_back(&way);
}

/* A group whose members are asked. */
struct members {
	__u16 *all;
	__u32 group, i, last;
	__u32 why; /* the best that one said */
};

SELDOM_STEP(ask_member, struct members *x)
{
	__u32 number = READ_ONCE(x->all[plus((x->group & cfg.groups) << 8, x->i++ & 0xff)]);

	if (!number || number == x->last)
		return 0;
	x->last = number;
	FORGET(x->last);
	__u32 why = why_member_not_back(number);
	if (why != REVERSE_PATH)
		x->why = why;
	return !why;
}

/* The best that a member of a group says. */
__noinline int why_none_back(__u32 group)
{
	struct members x = { .all = START(groups), .group = group, .i = zero() & 0xff, .last = zero(), .why = REVERSE_PATH };

	repeat_seldom(256, 0x1ff, ask_member, &x);
	return x.why;
}

/* Why a packet whose source has this next hop fails the reverse path filter (RFC 3704), or 0. */
__noinline int why_reverse(__u32 number, __u32 strict)
{
	struct way way;

	if (!(number & 0xffff))
		return REVERSE_PATH;
	read_hop(number, &way);
	if (way.verdict == FOR_HOST || way.verdict == HOLE || way.verdict == NO_ROUTE || way.verdict == PROHIBITED)
		return REVERSE_PATH;
	if (!strict)
		return 0;
	return way.verdict == GROUP ? why_none_back(way.group) : (int)why_not_back(&way);
}

/* Counts packets of a next hop. */
static __always_inline void count_hop(__u32 number, __u32 packets, __u32 bytes)
{
	struct hop_count *all = START(tally);
	struct hop_count *c = &all[plus((bpf_get_smp_processor_id() & cfg.cpus) << 16, number & 0xffff)];

	c->packets += packets;
	c->bytes += bytes;
}
