/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Super-frames of the host (TSO, USO): the stack leaves it to the interface to cut them, and a ring stands where the interface
 * would. Each segment lies in slots of its own. Its checksum is the sum of the pseudo-header, as in all that the host sends;
 * the reader finishes it. */
#pragma once
#include <bpf/bpf_core_read.h>
#include "rx.h"
#include "host_frame.h"
#include "sum.h"

struct sk_buff___l {
	unsigned char *head;
	unsigned int end;
} __attribute__((preserve_access_index));
struct skb_shared_info___l {
	unsigned int gso_type;
} __attribute__((preserve_access_index));

/* Bits of gso_type: linux/skbuff.h. */
#define GSO_TCP ((1 << 0) | (1 << 4))
#define GSO_UDP (1 << 17)
#define GSO_ACCECN (1 << 19)
#define GSO_STRANGE 0x5ffe0 /* tunnels, lists of frames, protocols that are not cut here */

#define TCP_FIN 0x01
#define TCP_PSH 0x08
#define TCP_CWR 0x80
#define HEAD_MAX (TAG_HLEN + 60 + 60)

/* A super-frame on its way into slots. */
struct cut {
	struct __sk_buff *skb;
	__u32 r, tail;
	__u32 len;          /* of the super-frame */
	__u32 l3, l4, head; /* where its headers start; where the payload does */
	__u32 mss;
	__u32 v6, tcp, accecn;
	__u32 pseudo; /* sum of the pseudo-header without the length */
	__u32 fit;    /* segments that have room */
	__u32 nth;    /* number of the segment in hand, which is how many are done */
	__u32 done;   /* its bytes that are in slots */
	__u32 end;    /* the slot behind the last whole segment */
	__u32 lost;
	__u64 bytes;
};

static __always_inline __u32 gso_type(struct __sk_buff *skb)
{
	struct sk_buff___l *s = (void *)skb;
	struct skb_shared_info___l *info;
	unsigned char *head = 0;
	__u32 end = 0, type = 0;

	bpf_core_read(&head, sizeof(head), &s->head);
	bpf_core_read(&end, sizeof(end), &s->end);
	info = (void *)(head + end);
	bpf_core_read(&type, sizeof(type), &info->gso_type);
	return type;
}

/* Finds the headers, behind one tag at most. Places are those in the frame with its tag. Returns -1 for what is not cut here:
 * tunnels, extension headers, fragments. */
static __always_inline int look(struct cut *c)
{
	struct __sk_buff *skb = c->skb;
	__u32 type = gso_type(skb), at = ETH_HLEN, proto, ip[10];
	__u32 beside = skb->vlan_present ? TAG_BYTES : 0;
	__u16 ether;
	__u8 words;

	if (type & GSO_STRANGE || !(type & (GSO_TCP | GSO_UDP)) || bpf_skb_load_bytes(skb, ADDRESSES, &ether, 2))
		return -1;
	if (ether == __builtin_bswap16(TYPE_VLAN) && !beside) {
		at = TAG_HLEN;
		if (bpf_skb_load_bytes(skb, at - 2, &ether, 2))
			return -1;
	}
	c->l3 = at + beside;
	c->tcp = !!(type & GSO_TCP);
	c->accecn = !!(type & GSO_ACCECN);
	c->v6 = ether == __builtin_bswap16(TYPE_IP6);
	if (c->v6) {
		if (bpf_skb_load_bytes(skb, at, ip, 40))
			return -1;
		proto = ip[1] >> 16 & 0xff;
		at += 40;
		c->pseudo = fold((__u64)ip[2] + ip[3] + ip[4] + ip[5] + ip[6] + ip[7] + ip[8] + ip[9]);
	} else {
		if (ether != __builtin_bswap16(TYPE_IP) || bpf_skb_load_bytes(skb, at, ip, 20))
			return -1;
		__u32 head = (ip[0] & 15) * 4;
		if (head < 20 || __builtin_bswap16(ip[1] >> 16) & FRAGMENT)
			return -1;
		proto = ip[2] >> 8 & 0xff;
		at += head;
		c->pseudo = fold((__u64)ip[3] + ip[4]);
	}
	if (proto != (c->tcp ? PROTO_TCP : PROTO_UDP))
		return -1;
	c->pseudo += __builtin_bswap16(proto);
	c->l4 = at + beside;
	c->head = c->l4 + 8;
	if (c->tcp) {
		if (bpf_skb_load_bytes(skb, at + 12, &words, 1) || words >> 4 < 5)
			return -1;
		c->head = c->l4 + (words >> 4) * 4;
	}
	return c->head <= HEAD_MAX && c->head <= cfg.buf_size && c->head < c->len && c->mss ? 0 : -1;
}

/* Makes the headers at the start of `buf` those of the segment in hand, a frame of `len` bytes. */
static __always_inline void write_head(struct cut *c, void *buf, __u32 len, __u32 last)
{
	__u32 nth = c->nth;
	__u16 *ip = buf + (c->l3 & 31);
	void *l4 = buf + (c->l4 & 127);
	__u32 sum = fold((__u64)c->pseudo + __builtin_bswap16(len - c->l4));

	if (c->v6) {
		ip[2] = __builtin_bswap16(len - c->l3 - 40);
	} else {
		/* By the change of two words (RFC 1624). */
		__u32 check = (__u16)~ip[5] + (__u16)~ip[1] + (__u16)~ip[2];
		ip[1] = __builtin_bswap16(len - c->l3);
		ip[2] = __builtin_bswap16(__builtin_bswap16(ip[2]) + nth);
		ip[5] = ~fold((__u64)check + ip[1] + ip[2]);
	}
	if (!c->tcp) {
		*(__u16 *)(l4 + 4) = __builtin_bswap16(len - c->l4);
		*(__u16 *)(l4 + 6) = sum;
		return;
	}
	*(__u32 *)(l4 + 4) = __builtin_bswap32(__builtin_bswap32(*(__u32 *)(l4 + 4)) + nth * c->mss);
	*(__u16 *)(l4 + 16) = sum;
	__u8 flags = *(__u8 *)(l4 + 13);
	if (!last)
		flags &= ~(TCP_FIN | TCP_PSH);
	if (nth && !c->accecn)
		flags &= ~TCP_CWR;
	*(__u8 *)(l4 + 13) = flags;
}

/* Loads the headers of the super-frame to the start of `buf`. */
static __always_inline long load_head(struct cut *c, void *buf)
{
	__u32 n = c->head - 1;

	asm volatile("" : "+r"(n));
	return n >= HEAD_MAX ? -1 : load_frame(c->skb, 0, buf, n + 1);
}

/* The slot to fill, or null. Cursors are read where they are used: older verifiers forget the bounds of what is kept on the
 * stack. */
static __always_inline __u64 *slot_in_hand(struct cut *c, void *reg)
{
	__u32 r = READ_ONCE(c->r), tail;

	if (r >= cfg.tx_rings + cfg.rx_rings)
		return 0;
	reg = slot_of(reg, r, 0);
	tail = READ_ONCE(c->tail);
	return tail < cfg.slots ? reg + (__u64)tail * 16 : 0;
}

/* Fills a slot. A segment's bytes are copied with what lies before them, as much as the headers are; those then go there. */
static long cut_part(__u32 i, struct cut *c)
{
	__u32 zero = 0, done = c->done, nth = c->nth, from = nth * c->mss;
	void *reg = bpf_map_lookup_elem(&region, &zero);

	if (!reg || i >= cfg.slots || nth >= c->fit || from >= c->len - c->head)
		return 1;
	__u32 len = c->len - c->head - from, last = len <= c->mss;
	len = (last ? len : c->mss) + c->head;
	__u64 *slot = slot_in_hand(c, reg);
	if (!slot)
		return 1;
	__u32 idx = READ_ONCE(*slot);
	if (idx < FIRST_BUF || idx >= cfg.bufs) {
		WRITE_ONCE(*slot, 0);
		c->end = next(c->tail);
		c->lost = 1;
		return 1;
	}
	void *buf = buf_of(reg, idx);
	__u32 less = len - done - 1; /* than one byte more: 0 is no length to copy */
	if (less >= cfg.buf_size)
		less = cfg.buf_size - 1;
	asm volatile("" : "+r"(less));
	if (less >= cfg.buf_size || load_frame(c->skb, from + done, buf, less + 1))
		return 1;
	if (!done) {
		if (nth && load_head(c, buf))
			return 1;
		write_head(c, buf, len, last);
	}
	done += less + 1;
	WRITE_ONCE(*slot, (__u64)idx | (__u64)(less + 1) << 32 | (__u64)(done < len ? NS_MOREFRAG : 0) << 48);
	c->tail = next(c->tail);
	c->done = done;
	if (done >= len) {
		c->end = c->tail;
		c->nth = nth + 1;
		c->done = 0;
		c->bytes += len;
	}
	return 0;
}

/* Cuts a super-frame. Segments that the ring has no room for are lost, those before them are not. */
static __always_inline void cut(struct __sk_buff *skb, struct kring *k, struct ctl *ctl, __u32 rx)
{
	/* 0, which the verifier does not know: before Linux 6.7 it takes what a loop changes for constant, and removes code. */
	__u32 zero = READ_ONCE(k->gen);
	struct cut c = { .skb = skb, .r = cfg.tx_rings + rx, .tail = k->tail, .end = k->tail, .len = frame_len(skb),
			 .mss = skb->gso_size, .nth = zero, .done = zero, .lost = zero, .bytes = zero };

	if (look(&c)) {
		k->n.in++;
		k->n.drops[BAD_OFFLOAD]++;
		return;
	}
	__u32 all = (c.len - c.head + c.mss - 1) / c.mss;
	__u32 slots = (c.head + c.mss + cfg.buf_size - 1) / cfg.buf_size; /* of a segment */
	k->n.in += all;
	if (c.tail >= cfg.slots || slots == 0 || slots > 64 || slots >= cfg.slots) {
		k->n.drops[TOO_LONG] += all;
		return;
	}
	__u32 fit = room(k, ctl, c.tail, all * slots) / slots;
	c.fit = fit < all ? fit : all;
	bpf_loop(c.fit * slots, cut_part, &c, 0);
	__u32 out = c.nth + c.lost;
	k->n.drops[RING_FULL] += all - c.fit;
	k->n.drops[c.lost ? BAD_SLOT : BAD_OFFLOAD] += c.fit - out;
	k->n.out += out;
	k->n.bytes += c.bytes;
	if (out)
		publish(k, ctl, rx, c.end);
}
