/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Super-frames (TSO, USO) and the segments that they stand for. The stack leaves it to interfaces to cut them, and a ring stands
 * where the interface would. A segment's checksum is the sum of the pseudo-header, as in all that is left to interfaces; the reader
 * finishes it. */
#pragma once
#include <bpf/bpf_core_read.h>
#include "common/skb_frame.h"
#include "common/sum.h"

struct sk_buff___l {
	unsigned char *head;
	unsigned int end;
} __attribute__((preserve_access_index));
struct skb_shared_info___l {
	unsigned int gso_type;
} __attribute__((preserve_access_index));

/* Bits of gso_type: linux/skbuff.h. */
#define GSO_TCP ((1 << 0) | (1 << 4))
#define GSO_ECN 2 /* the bit's place */
#define GSO_UDP (1 << 17)
#define GSO_ACCECN (1 << 19)
#define GSO_STRANGE 0x5ffe0 /* tunnels, lists of frames, protocols that are not cut here */

#define TCP_FIN 0x01
#define TCP_PSH 0x08
#define TCP_CWR 0x80
#define HEAD_MAX (TAG_HLEN + 60 + 60)

/* A super-frame. Places are those in the frame with its tag. */
struct super {
	__u32 len;
	__u32 l3, l4, head; /* where its headers start; where the payload does */
	__u32 mss;
	__u32 type; /* bits of gso_type; the verifier would follow each bit that has a place of its own */
	__u32 v6, tcp;
	__u32 pseudo; /* sum of the pseudo-header without the length */
};

static __always_inline __u32 gso_type(struct __sk_buff *skb)
{
	struct sk_buff___l *buf = (void *)skb;
	struct skb_shared_info___l *info;
	unsigned char *head = 0;
	__u32 end = 0, type = 0;

	bpf_core_read(&head, sizeof(head), &buf->head);
	bpf_core_read(&end, sizeof(end), &buf->end);
	info = (void *)(head + end);
	bpf_core_read(&type, sizeof(type), &info->gso_type);
	return type;
}

/* Finds the headers, behind one tag at most. Returns -1 for what is not cut here: tunnels, extension headers, fragments. */
static __always_inline int look(struct __sk_buff *skb, struct super *s)
{
	__u32 type = gso_type(skb), at = ETH_HLEN, proto, ip[10];
	__u32 beside = skb->vlan_present ? TAG_BYTES : 0;
	__u16 ether;
	__u8 words;

	s->len = frame_len(skb);
	s->mss = skb->gso_size;
	if (type & GSO_STRANGE || !(type & (GSO_TCP | GSO_UDP)) || bpf_skb_load_bytes(skb, ADDRESSES, &ether, 2))
		return -1;
	if (ether == __builtin_bswap16(TYPE_VLAN) && !beside) {
		at = TAG_HLEN;
		if (bpf_skb_load_bytes(skb, at - 2, &ether, 2))
			return -1;
	}
	s->l3 = at + beside;
	s->type = type;
	s->tcp = type & GSO_TCP;
	s->v6 = ether == __builtin_bswap16(TYPE_IP6);
	if (s->v6) {
		if (bpf_skb_load_bytes(skb, at, ip, 40))
			return -1;
		proto = ip[1] >> 16 & 0xff;
		at += 40;
		s->pseudo = fold((__u64)ip[2] + ip[3] + ip[4] + ip[5] + ip[6] + ip[7] + ip[8] + ip[9]);
	} else {
		if (ether != __builtin_bswap16(TYPE_IP) || bpf_skb_load_bytes(skb, at, ip, 20))
			return -1;
		__u32 head = (ip[0] & 15) * 4;
		if (head < 20 || __builtin_bswap16(ip[1] >> 16) & FRAGMENT)
			return -1;
		proto = ip[2] >> 8 & 0xff;
		at += head;
		s->pseudo = fold((__u64)ip[3] + ip[4]);
	}
	if (proto != (s->tcp ? PROTO_TCP : PROTO_UDP))
		return -1;
	s->pseudo += __builtin_bswap16(proto);
	s->l4 = at + beside;
	s->head = s->l4 + 8;
	if (s->tcp) {
		if (bpf_skb_load_bytes(skb, at + 12, &words, 1) || words >> 4 < 5)
			return -1;
		s->head = s->l4 + (words >> 4) * 4;
	}
	return s->head <= HEAD_MAX && s->head <= cfg.buf_size && s->head < s->len && s->mss ? 0 : -1;
}

/* Makes the headers at the start of `buf` those of segment `nth`, a frame of `len` bytes. */
static __always_inline void write_head(struct super *super, __u32 nth, void *buf, __u32 len, __u32 last)
{
	__u16 *ip = buf + (super->l3 & 31);
	void *l4 = buf + (super->l4 & 127);
	__u32 sum = fold((__u64)super->pseudo + __builtin_bswap16(len - super->l4));

	if (super->v6) {
		ip[2] = __builtin_bswap16(len - super->l3 - 40);
	} else {
		/* By the change of two words (RFC 1624). */
		__u32 check = (__u16)~ip[5] + (__u16)~ip[1] + (__u16)~ip[2];
		ip[1] = __builtin_bswap16(len - super->l3);
		ip[2] = __builtin_bswap16(__builtin_bswap16(ip[2]) + nth);
		ip[5] = ~fold((__u64)check + ip[1] + ip[2]);
	}
	if (!super->tcp) {
		*(__u16 *)(l4 + 4) = __builtin_bswap16(len - super->l4);
		*(__u16 *)(l4 + 6) = sum;
		return;
	}
	*(__u32 *)(l4 + 4) = __builtin_bswap32(__builtin_bswap32(*(__u32 *)(l4 + 4)) + nth * super->mss);
	*(__u16 *)(l4 + 16) = sum;
	__u8 flags = *(__u8 *)(l4 + 13);
	if (!last)
		flags &= ~(TCP_FIN | TCP_PSH);
	if (nth && !(super->type & GSO_ACCECN))
		flags &= ~TCP_CWR;
	*(__u8 *)(l4 + 13) = flags;
}

/* How many segments there are. */
static __always_inline __u32 segments(struct super *super)
{
	return (super->len - super->head + super->mss - 1) / super->mss;
}

/* Loads the headers of the super-frame to the start of `buf`. */
static __always_inline long load_head(struct __sk_buff *skb, struct super *s, void *buf)
{
	__u32 n = s->head - 1;

	FORGET(n);
	return n >= HEAD_MAX ? -1 : load_frame(skb, 0, buf, n + 1);
}
