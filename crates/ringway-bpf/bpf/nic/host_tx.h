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
__noinline int deliver_skb(struct __sk_buff *skb, __u32 dest)
{
	__u32 self = cfg.port, ring = ring_for(skb), len = frame_len(skb);
	void *reg = inner(&regions, dest), *state = inner(&states, dest);
	struct nic_cpu *cpu = nic_of(self);

	FORGET(ring);
	if (!reg || !state || !cpu || ring >= cfg.rings)
		return -1;
	FORGET(ring);
	struct rx_state *rx = rx_of(state, ring);
	struct ctl *ctl = ctl_of(reg, cfg.rings + ring);
	__sync_fetch_and_add(&rx->n.in, 1);
	if (len > MAX_FRAME) {
		__sync_fetch_and_add(&rx->n.drops[TOO_LONG], 1);
		return TOO_LONG;
	}
	__u32 need = slots_for(len);
	__u64 at = 0;
	__u32 n = RX_RESERVE(rx, ctl, need, NOTHING, at);
	if (!n) {
		__sync_fetch_and_add(&rx->n.drops[RING_FULL], 1);
		return RECEIVER_FULL;
	}
	struct slots slots = slots_at(skb, reg, ring, at, len, READ_ONCE(cpu->zero));
	until(fill_from_skb, &slots);
	pass_on(rx, reg, dest, ring, at, n, 1, len, 1);
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
static __always_inline void send_to(struct sent *sent, __u32 dest)
{
	if (is_nic(dest)) {
		struct nic_cpu *to = nic_of(dest);
		if (!to)
			return;
		count_direct(to, sent);
		if (dest == sent->beside)
			to->sent += sent->frames;
		else
			give_clone(sent->skb, dest);
		sent->me->copies += sent->frames;
		sent->reached = 1;
		return;
	}
	int why = sent->skb->gso_size ? deliver_super(sent->skb, dest, sent->frames) : deliver_skb(sent->skb, dest);
	if (why < 0)
		return;
	sent->me->copies += sent->frames;
	if (why)
		sent->short_of = why;
	else
		sent->reached = 1;
}

static long send_nth(__u32 i, struct sent *sent)
{
	if (i >= sent->info->nports || i >= PORTS)
		return 1;
	__u32 dest = sent->info->ports[i];
	if (dest != 0 && dest != cfg.port && dest != FLOOD)
		send_to(sent, dest);
	return 0;
}

/* Counts what became of the frame, and tells the stack. */
static __always_inline int sent_to(struct sent *sent, int wire)
{
	if (!sent->reached) {
		__u32 why = READ_ONCE(sent->short_of) & 31;
		if (why < REASONS)
			sent->me->tx.drops[why] += sent->frames;
		return TCX_DROP;
	}
	sent->me->tx.out += sent->frames;
	sent->me->tx.bytes += sent->bytes;
	/* There is no interface 0: the kernel frees the frame and tells the sender that it was sent. A drop would be congestion
	 * to TCP. */
	return wire ? TCX_NEXT : bpf_redirect(0, 0);
}

/* The frame is lost for a reason of its own. */
static __always_inline int refuse(struct sent *sent, __u32 why)
{
	sent->me->tx.drops[why] += sent->frames;
	return TCX_DROP;
}

static __always_inline int enter_from_host(struct __sk_buff *skb)
{
	__u32 zero = 0, self = cfg.port;
	struct sent sent = { .skb = skb, .info = bpf_map_lookup_elem(&info, &zero), .me = nic_of(self), .beside = beside(self),
			  .frames = frames_of(skb), .bytes = skb->wire_len, .short_of = NO_DESTINATION };
	struct nic_cpu *nic_me = nic_of(sent.beside);
	__u64 head[2] = {};

	if (!sent.info || !sent.me || !nic_me)
		return TCX_NEXT;
	if (READ_ONCE(nic_me->pass)) {
		WRITE_ONCE(nic_me->pass, 0);
		return TCX_NEXT;
	}
	sent.me->tx.in += sent.frames;
	if (skb->len < ETH_HLEN || bpf_skb_load_bytes(skb, 0, head, 12))
		return refuse(&sent, TOO_SHORT);
	__u64 dst = head[0] & 0xffffffffffffULL, src = head[0] >> 48 | head[1] << 16, jiffies = bpf_jiffies64();
	if (jiffies != sent.me->tick)
		begin_tick(jiffies);
	learn(sent.me, src);
	__u64 entry = look_up(sent.me, dst);
	if (!entry) {
		bpf_loop(PORTS, send_nth, &sent, 0);
		return sent_to(&sent, 1);
	}
	__u32 dest = entry & 0xff;
	if (entry & ENTRY_BLACKHOLE)
		return refuse(&sent, BLACKHOLE);
	if (dest == cfg.port)
		return refuse(&sent, SAME_PORT);
	send_to(&sent, dest);
	return sent_to(&sent, dest == sent.beside);
}

/* As vale_out, with the same caller. A run elsewhere does nothing, unless there is no interface any more: then the frames are
 * lost by name. */
static __always_inline int inject_next(struct xdp_md *ctx)
{
	__u32 self = cfg.port, side = beside(self);
	struct nic_cpu *cpu = nic_of(self);
	struct port_conf *conf = conf_of(self);

	if (!cpu || !conf || READ_ONCE(conf->epoch) != cfg.epoch || !is_live(ctx))
		return XDP_ABORTED;
	int at_nic = is_at_nic(ctx);
	if (!at_nic && bpf_map_lookup_elem(&devs, &side))
		return XDP_ABORTED;
	/* The caller may have put a note there. */
	if (drop_meta(ctx))
		return XDP_ABORTED;
	if (!take_next(ctx, cpu) || !at_nic)
		return XDP_DROP;
	cpu->sent++;
	return XDP_PASS;
}
