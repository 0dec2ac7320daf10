/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A packet: checked, looked up, rewritten, in the order of docs/router.md. */
#pragma once
#include "router/next_hop.h"
#include "router/stages.h"
#ifdef BY_TC
#include "router/by_tc.h"
#else
#include "router/by_xdp.h"
#endif

/* Bytes of the frame behind a packet of `len` bytes; -1 when the frame is too short for it. */
__noinline int behind(FRAME *ctx, __u32 len)
{
	return (int)length_of(ctx) - ETH_HLEN - (int)(len & 0xfffff);
}

/* What becomes of a frame whose first piece lacks part of a header. */
__noinline int cut_off(FRAME *ctx, __u32 header)
{
	return behind(ctx, header) < 0 ? drop(ctx, MALFORMED) : to_host(ctx, KERNEL_ROUTE);
}

#define LINK_LOCAL4 0xa9fe /* 169.254.0.0/16 */

/* Why a packet with unusual addresses is not forwarded, or 0. Rules 8 to 10. */
__noinline int why_not4(__u32 from, __u32 to)
{
	__u32 a = from >> 24, b = to >> 24;

	if (a == 0 || a == 127 || (a & 0xf0) == 224 || from == ~0U)
		return MARTIAN_SOURCE;
	if (b == 0 || b == 127)
		return MARTIAN_DESTINATION;
	return (b & 0xf0) == 224 || to == ~0U || to >> 16 == LINK_LOCAL4 ? LOCAL : 0;
}

__noinline int why_not6(__u64 from_high, __u64 from_low, __u64 to_high, __u64 to_low)
{
	if ((!from_high && from_low <= 1) || from_high >> 56 == 0xff)
		return MARTIAN_SOURCE;
	if (!to_high && to_low <= 1)
		return MARTIAN_DESTINATION;
	return to_high >> 56 == 0xff || to_high >> 54 == 0x3fa || from_high >> 54 == 0x3fa ? LOCAL : 0;
}

/* Whether the sum of a header with options is wrong; all of it is in the packet. */
__noinline int is_bad(FRAME *ctx, __u32 words)
{
	__u32 head[15];
	__u64 sum = 0;

	words &= 15;
	KEEP_BOUND(words);
	if (words < 5 || words > 15 || load_bytes(ctx, ETH_HLEN, head, words * 4))
		return 1;
	for (__u32 i = 0; i < 15; i++)
		sum += i < words ? head[i] : 0;
	return fold(sum) != 0xffff;
}

/* What becomes of a packet whose IPv4 header does not have 20 bytes. */
__noinline int odd4(FRAME *ctx, __u32 first)
{
	__u32 words = first & 15, said = __builtin_bswap16(first >> 16), len = real_length(ctx, said, said, PROTO_TCP);

	if ((first & 0xf0) != 0x40 || words < 5 || len < words * 4 || behind(ctx, len) < 0)
		return drop(ctx, MALFORMED);
	if (is_bad(ctx, words))
		return drop(ctx, BAD_CHECKSUM);
	void *ip = (void *)(long)ctx->data + ETH_HLEN;
	if (ip + 20 > (void *)(long)ctx->data_end)
		return to_host(ctx, KERNEL_ROUTE);
	int why = why_not4(__builtin_bswap32(*(__u32 *)(ip + 12)), __builtin_bswap32(*(__u32 *)(ip + 16)));
	return finish(ctx, why ? why : OPTIONS);
}

/* What a verdict says of a packet, or 0. Rules 15 and 16. */
static __always_inline __u32 why_not(__u32 verdict)
{
	return verdict == HOLE ? BLACKHOLE : verdict == NO_ROUTE || verdict == PROHIBITED ? UNREACHABLE : 0;
}

/* The link header, and off it goes. */
static __always_inline int send(FRAME *ctx, void *pkt, struct way *way, struct packet *packet)
{
	*(__u64 *)pkt = way->header[0];
	*(__u32 *)(pkt + 8) = way->header[1];
	*(__u16 *)(pkt + 12) = way->header[1] >> 32;
	count(ctx, FORWARDED);
	return send_out(ctx, way, packet);
}

/* Rules 12 to 20: finds the way of a packet. Returns why it has none, or 0. `reverse` is evaluated where the reverse path filter
 * has its turn: why it fails, or 0. */
#define FIND_WAY(ctx, packet, way, reverse)                                                          \
	({                                                                                    \
		__label__ done_;                                                              \
		__u32 why_ = UNREACHABLE;                                                     \
		if (!(packet)->number)                                                             \
			goto done_;                                                           \
		read_hop((packet)->number, way);                                                     \
		if ((way)->verdict == GROUP) {                                                  \
			(packet)->number = pick_member(ctx, (way)->group) & 0xffff;                         \
			if (!(packet)->number)                                                     \
				goto done_;                                                   \
			read_hop((packet)->number, way);                                             \
		}                                                                             \
		why_ = LOCAL;                                                                 \
		if ((way)->verdict == FOR_HOST)                                                 \
			goto done_;                                                           \
		why_ = (packet)->strict || (packet)->loose ? (reverse) : 0;                             \
		if (why_)                                                                     \
			goto done_;                                                           \
		why_ = why_not((way)->verdict);                                                 \
		if (why_)                                                                     \
			goto done_;                                                           \
		why_ = TTL;                                                                   \
		if ((packet)->ttl <= 1)                                                            \
			goto done_;                                                           \
		why_ = KERNEL_ROUTE;                                                          \
		if ((way)->verdict != READY && (way)->verdict != INCOMPLETE)                      \
			goto done_;                                                           \
		why_ = why_not_out(ctx, way);                                                   \
		if (why_)                                                                     \
			goto done_;                                                           \
		why_ = (way)->verdict == INCOMPLETE ? UNRESOLVED :                              \
		       (packet)->len > (way)->mtu        ? why_too_long(ctx, packet, (way)->mtu) : 0;       \
	done_:                                                                                \
		why_;                                                                         \
	})

static __always_inline int forward4(FRAME *ctx, __u64 me, int timed)
{
	void *pkt = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end, *ip = pkt + ETH_HLEN;
	struct packet packet = { .strict = !!(me & STRICT4), .loose = !!(me & LOOSE4), .header = 20 };
	struct way way;

	if (!(me & FORWARDS4))
		return to_host(ctx, NOT_FORWARDING);
	if (ip + 20 > end)
		return cut_off(ctx, 20);
	__u32 first = *(__u32 *)ip, third = *(__u32 *)(ip + 8), from = *(__u32 *)(ip + 12), to = *(__u32 *)(ip + 16);
	if ((first & 0xff) != 0x45)
		return odd4(ctx, first);
	__u32 said = __builtin_bswap16(first >> 16);
	packet.protocol = third >> 8 & 0xff;
	packet.len = real_length(ctx, said, said, packet.protocol);
	__u64 there = end - ip;
	if (packet.len != there) {
		packet.trim = behind(ctx, packet.len);
		if (packet.len < 20 || packet.trim < 0)
			return drop(ctx, MALFORMED);
	}
	if (fold((__u64)first + *(__u32 *)(ip + 4) + third + from + to) != 0xffff)
		return drop(ctx, BAD_CHECKSUM);
	__u32 source = __builtin_bswap32(from), target = __builtin_bswap32(to);
	if (source - (1U << 24) >= 223U << 24 || target - (1U << 24) >= 223U << 24 || source >> 24 == 127 || target >> 24 == 127 ||
	    target >> 16 == LINK_LOCAL4) {
		int why = why_not4(source, target);
		if (why)
			return finish(ctx, why);
	}
	packet.ttl = third & 0xff;
	CUT(CHECKED);
	BORDER();
	packet.number = find4(target);
	CUT(FOUND);
	BORDER();
	__u32 why = FIND_WAY(ctx, &packet, &way, why_reverse(find4(source), packet.strict));
	if (why) {
		if (timed && why == LEFT)
			leave_uncounted();
		return finish(ctx, why);
	}
	if (!make_ready4(ctx, &packet))
		return to_host(ctx, KERNEL_ROUTE);
	pkt = (void *)(long)ctx->data;
	end = (void *)(long)ctx->data_end;
	if (pkt + ETH_HLEN + 20 > end)
		return cut_off(ctx, 20);
	/* One less in the upper byte of a word is one more in that of the sum's complement (RFC 1624, 3; here in reverse byte order). */
	__u32 sum = (third >> 16) + 1;
	*(__u32 *)(pkt + ETH_HLEN + 8) = ((third - 1) & 0xffff) | (sum + (sum >= 0xffff)) << 16;
	return send(ctx, pkt, &way, &packet);
}

static __always_inline int forward6(FRAME *ctx, __u64 me, int timed)
{
	void *pkt = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end, *ip = pkt + ETH_HLEN;
	struct packet packet = { .strict = !!(me & STRICT6), .loose = !!(me & LOOSE6), .header = 40 };
	struct way way;

	if (!(me & FORWARDS6))
		return to_host(ctx, NOT_FORWARDING);
	if (ip + 40 > end)
		return cut_off(ctx, 40);
	if ((*(__u8 *)ip & 0xf0) != 0x60)
		return drop(ctx, MALFORMED);
	__u32 second = *(__u32 *)(ip + 4);
	__u64 from_high = __builtin_bswap64(*(__u64 *)(ip + 8)), from_low = __builtin_bswap64(*(__u64 *)(ip + 16));
	__u64 to_high = __builtin_bswap64(*(__u64 *)(ip + 24)), to_low = __builtin_bswap64(*(__u64 *)(ip + 32));
	__u32 said = __builtin_bswap16(second & 0xffff);
	packet.protocol = second >> 16 & 0xff;
	packet.len = real_length(ctx, 40 + said, said, packet.protocol);
	__u64 there = end - ip;
	if (packet.len != there) {
		packet.trim = behind(ctx, packet.len);
		if (packet.trim < 0)
			return drop(ctx, MALFORMED);
	}
	if ((from_high >> 48) - 1 >= 0xfe7f || (to_high >> 48) - 1 >= 0xfe7f) {
		int why = why_not6(from_high, from_low, to_high, to_low);
		if (why)
			return finish(ctx, why);
	}
	if (!packet.protocol || packet.len == 40)
		return to_host(ctx, OPTIONS);
	packet.ttl = second >> 24;
	CUT(CHECKED);
	BORDER();
	packet.number = find6(to_high, to_low);
	CUT(FOUND);
	BORDER();
	__u32 why = FIND_WAY(ctx, &packet, &way, why_reverse(find6(from_high, from_low), packet.strict));
	if (why) {
		if (timed && why == LEFT)
			leave_uncounted();
		return finish(ctx, why);
	}
	if (!make_ready6(ctx, &packet))
		return to_host(ctx, KERNEL_ROUTE);
	pkt = (void *)(long)ctx->data;
	end = (void *)(long)ctx->data_end;
	if (pkt + ETH_HLEN + 40 > end)
		return cut_off(ctx, 40);
	*(__u8 *)(pkt + ETH_HLEN + 7) = packet.ttl - 1;
	update_hop_sum(ctx);
	return send(ctx, pkt, &way, &packet);
}

/* All the rules. `timed` is known to be 0 in a build without stages. */
static __always_inline int apply_rules(FRAME *ctx, int timed)
{
	gather_headers(ctx);
	void *pkt = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	CUT(RECEIVED);
	__u64 me = READ_ONCE(members[cfg.member].word);

	if (bpf_jiffies64() - READ_ONCE(control[0].beat) > cfg.stale)
		return to_host(ctx, NOT_READY);
	if (pkt + ETH_HLEN > end)
		return drop(ctx, MALFORMED);
	__u64 to = *(__u64 *)pkt;
	if ((to ^ me) & MAC)
		return to_host(ctx, to & 1 ? LINK_MULTICAST : OTHER_STATION);
	__u32 type = type_of(ctx, pkt);
	if (type == __builtin_bswap16(TYPE_IP))
		return forward4(ctx, me, timed);
	if (type == __builtin_bswap16(TYPE_IP6))
		return forward6(ctx, me, timed);
	return to_host(ctx, NOT_IP);
}

/* The same, and what its stages cost. */
static __always_inline int route(FRAME *ctx)
{
	int timed = begin_stages(), verdict = apply_rules(ctx, timed);

	if (timed)
		end_stages(frames_of(ctx));
	return verdict;
}
