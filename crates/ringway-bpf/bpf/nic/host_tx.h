/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The host's side of a NIC: `vale_host` takes what the host sends into the switch, `vale_inject` brings what virtual ports left
 * for it into the stack. */
#pragma once
#include "nic/host_in.h"
#include "nic/out.h"
#include "nic/super.h"

/* A frame that the host sends. */
struct sent {
	struct __sk_buff *skb;
	struct info *info;
	struct nic_cpu *me;
	__u32 beside;
	__u32 frames, bytes;
	__u32 reached, short_of; /* a port got it; why one did not */
};

/* Copies the frame to virtual port `d`, whole or not at all. Returns 0 when it got it, why it did not, or -1 when it is
 * gone. Its reader finishes the checksum, which the stack leaves to hardware. */
__noinline int deliver_skb(struct __sk_buff *skb, __u32 d)
{
	__u32 self = cfg.port, ring = ring_for(skb), len = frame_len(skb);
	void *reg = inner(&regions, d), *state = inner(&states, d);
	struct nic_cpu *me = nic_of(self);

	FORGET(ring);
	if (!reg || !state || !me || ring >= cfg.rings)
		return -1;
	FORGET(ring);
	struct rx_state *r = rx_of(state, ring);
	struct ctl *c = ctl_of(reg, cfg.rings + ring);
	__sync_fetch_and_add(&r->n.in, 1);
	if (len > MAX_FRAME) {
		__sync_fetch_and_add(&r->n.drops[TOO_LONG], 1);
		return TOO_LONG;
	}
	__u32 need = slots_for(len);
	__u64 at = 0;
	__u32 n = RX_RESERVE(r, c, need, NOTHING, at);
	if (!n) {
		__sync_fetch_and_add(&r->n.drops[RING_FULL], 1);
		return RECEIVER_FULL;
	}
	struct slots x = slots_at(skb, reg, ring, at, len, READ_ONCE(me->zero));
	until(fill_from_skb, &x);
	pass_on(r, reg, d, ring, at, n, 1, len, 1);
	return 0;
}

/* Counts a frame for a NIC or a host. */
static __always_inline void count_direct(struct nic_cpu *to, struct sent *s)
{
	to->offered += s->frames;
	to->handed += s->frames;
	to->bytes += s->bytes;
}

/* Sends the frame to one port. The own NIC gets it when the program returns. */
static __always_inline void send_to(struct sent *s, __u32 d)
{
	if (is_nic(d)) {
		struct nic_cpu *to = nic_of(d);
		if (!to)
			return;
		count_direct(to, s);
		if (d == s->beside)
			to->sent += s->frames;
		else
			give_clone(s->skb, d);
		s->me->copies += s->frames;
		s->reached = 1;
		return;
	}
	int why = s->skb->gso_size ? deliver_super(s->skb, d, s->frames) : deliver_skb(s->skb, d);
	if (why < 0)
		return;
	s->me->copies += s->frames;
	if (why)
		s->short_of = why;
	else
		s->reached = 1;
}

static long send_nth(__u32 i, struct sent *s)
{
	if (i >= s->info->nports || i >= PORTS)
		return 1;
	__u32 d = s->info->ports[i];
	if (d != 0 && d != cfg.port && d != FLOOD)
		send_to(s, d);
	return 0;
}

/* Counts what became of the frame, and tells the stack. */
static __always_inline int sent_to(struct sent *s, int wire)
{
	if (!s->reached) {
		__u32 why = READ_ONCE(s->short_of) & 31;
		if (why < REASONS)
			s->me->tx.drops[why] += s->frames;
		return TCX_DROP;
	}
	s->me->tx.out += s->frames;
	s->me->tx.bytes += s->bytes;
	/* There is no interface 0: the kernel frees the frame and tells the sender that it was sent. A drop would be congestion
	 * to TCP. */
	return wire ? TCX_NEXT : bpf_redirect(0, 0);
}

/* The frame is lost for a reason of its own. */
static __always_inline int refuse(struct sent *s, __u32 why)
{
	s->me->tx.drops[why] += s->frames;
	return TCX_DROP;
}

static __always_inline int enter_from_host(struct __sk_buff *skb)
{
	__u32 zero = 0, self = cfg.port;
	struct sent s = { .skb = skb, .info = bpf_map_lookup_elem(&info, &zero), .me = nic_of(self), .beside = beside(self),
			  .frames = frames_of(skb), .bytes = skb->wire_len, .short_of = NO_DESTINATION };
	struct nic_cpu *nic_me = nic_of(s.beside);
	__u64 head[2] = {};

	if (!s.info || !s.me || !nic_me)
		return TCX_NEXT;
	if (READ_ONCE(nic_me->pass)) {
		WRITE_ONCE(nic_me->pass, 0);
		return TCX_NEXT;
	}
	s.me->tx.in += s.frames;
	if (skb->len < ETH_HLEN || bpf_skb_load_bytes(skb, 0, head, 12))
		return refuse(&s, TOO_SHORT);
	__u64 dst = head[0] & 0xffffffffffffULL, src = head[0] >> 48 | head[1] << 16, jiffies = bpf_jiffies64();
	if (jiffies != s.me->tick)
		begin_tick(jiffies);
	learn(s.me, src);
	__u64 entry = look_up(s.me, dst);
	if (!entry) {
		bpf_loop(PORTS, send_nth, &s, 0);
		return sent_to(&s, 1);
	}
	__u32 d = entry & 0xff;
	if (entry & ENTRY_BLACKHOLE)
		return refuse(&s, BLACKHOLE);
	if (d == cfg.port)
		return refuse(&s, SAME_PORT);
	send_to(&s, d);
	return sent_to(&s, d == s.beside);
}

/* As vale_out, with the same caller. A run elsewhere does nothing, unless there is no interface any more: then the frames are
 * lost by name. */
static __always_inline int inject_next(struct xdp_md *ctx)
{
	__u32 self = cfg.port, side = beside(self);
	struct nic_cpu *me = nic_of(self);
	struct port_conf *c = conf_of(self);

	if (!me || !c || READ_ONCE(c->epoch) != cfg.epoch || !is_live(ctx))
		return XDP_ABORTED;
	int at_nic = is_at_nic(ctx);
	if (!at_nic && bpf_map_lookup_elem(&devs, &side))
		return XDP_ABORTED;
	/* The caller may have put a note there. */
	if (drop_meta(ctx))
		return XDP_ABORTED;
	if (!take_next(ctx, me) || !at_nic)
		return XDP_DROP;
	me->sent++;
	return XDP_PASS;
}
