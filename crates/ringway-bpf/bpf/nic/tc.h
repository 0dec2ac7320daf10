/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A member by tc: `vale_skb` stands where the frames of an interface enter the stack, and moves the kernel's own buffers. What a
 * sender leaves to the interface stays left: segmentation, checksums, tags beside the bytes.
 *
 * It gives out itself what needs no more than a redirect, clones, or a copy into rings. All else takes the crossing, a pair of veths:
 * its inner end has `vale_wire`, so that the rules for NICs hold there as well, and the kernel cuts and finishes frames on the way. What
 * the switch has for the member comes back by the pair, and `vale_cross` redirects it to the interface. */
#pragma once
#include "nic/host_tx.h"

/* Leaves the frame to `vale_wire`. */
static __always_inline int cross(struct sent *s)
{
	__u32 self = cfg.port;
	struct port_conf *c = conf_of(self);

	s->me->crossed += s->frames;
	return c ? bpf_redirect(READ_ONCE(c->crossing), 0) : TCX_DROP;
}

/* Counts a frame that is given out here. */
static __always_inline void enter_direct(struct sent *s)
{
	s->me->tx.in += s->frames;
	s->me->direct += s->frames;
}

/* Gives the frame to an interface, or to the stack behind one, which gets it when the program returns. */
static __always_inline int redirect(struct sent *s, struct port_conf *c, __u32 d, __u32 to_host)
{
	struct nic_cpu *to = nic_of(d);

	if (!to)
		return TCX_DROP;
	count_direct(to, s);
	s->me->copies += s->frames;
	s->me->tx.out += s->frames;
	s->me->tx.bytes += s->bytes;
	if (!to_host && !bpf_map_lookup_elem(&tc_devs, &d))
		return TCX_DROP; /* the counters of the port say so */
	to->sent += s->frames;
	if (!to_host && READ_ONCE(c->nic[NIC_BESIDE]))
		WRITE_ONCE(to->pass, 1);
	return bpf_redirect(READ_ONCE(c->nic[NIC_INDEX]), to_host ? BPF_F_INGRESS : 0);
}

/* Which kinds of ports a frame to all goes to. */
struct kinds {
	struct info *info;
	__u32 rings, hosts, far; /* far: NICs of other network namespaces */
};

static long kind_nth(__u32 i, struct kinds *k)
{
	if (i >= k->info->nports || i >= PORTS)
		return 1;
	__u32 d = k->info->ports[i];
	struct port_conf *c = conf_of(d);
	if (d == 0 || d == cfg.port || d == FLOOD || !c)
		return 0;
	__u32 flags = READ_ONCE(c->flags);
	if (!(flags & PORT_NIC))
		k->rings = 1;
	else if (flags & PORT_HOST)
		k->hosts = 1;
	else if (READ_ONCE(c->nic[NIC_NETNS]) != nic.netns)
		k->far = 1;
	return 0;
}

/* A frame to all others. The kernel clones from one interface to another in one network namespace only. A super-frame for several rings
 * is cut once, by the kernel; those for hosts can't take that way. */
static __always_inline int flood_skb(struct sent *s)
{
	struct kinds k = { .info = s->info };

	bpf_loop(PORTS, kind_nth, &k, 0);
	if (k.far || (k.rings && !k.hosts && s->skb->gso_size))
		return cross(s);
	enter_direct(s);
	bpf_loop(PORTS, send_nth, s, 0);
	return sent_to(s, 0);
}

/* A frame to one port. */
static __always_inline int send_one(struct sent *s, __u32 d)
{
	struct port_conf *c = conf_of(d);

	if (!c)
		return TCX_DROP;
	__u32 flags = READ_ONCE(c->flags);
	if (flags & PORT_NIC ? READ_ONCE(c->nic[NIC_NETNS]) != nic.netns : s->skb->gso_size && !can_cut(s->skb))
		return cross(s);
	enter_direct(s);
	if (flags & PORT_NIC)
		return redirect(s, c, d, flags & PORT_HOST);
	send_to(s, d);
	return sent_to(s, 0);
}

static __always_inline int enter_skb(struct __sk_buff *skb)
{
	__u32 zero = 0, self = cfg.port;
	struct sent s = { .skb = skb, .info = bpf_map_lookup_elem(&info, &zero), .me = nic_of(self), .frames = frames_of(skb),
			  .bytes = skb->len, .short_of = NO_DESTINATION };
	__u64 head[2] = {};

	if (!s.info || !s.me)
		return TCX_DROP;
	if (WITH_MODULE || READ_ONCE(s.info->wires))
		return cross(&s);
	if (skb->len < ETH_HLEN || bpf_skb_load_bytes(skb, 0, head, 12)) {
		enter_direct(&s);
		return refuse(&s, TOO_SHORT);
	}
	if (DECISION == HUB)
		return flood_skb(&s);
	__u64 dst = head[0] & 0xffffffffffffULL, src = head[0] >> 48 | head[1] << 16, jiffies = bpf_jiffies64();
	if (jiffies != s.me->tick)
		begin_tick(jiffies);
	learn(s.me, src);
	__u64 entry = look_up(s.me, dst);
	if (!entry)
		return flood_skb(&s);
	__u32 d = entry & 0xff;
	if (!(entry & ENTRY_BLACKHOLE) && d != cfg.port)
		return send_one(&s, d);
	enter_direct(&s);
	return refuse(&s, entry & ENTRY_BLACKHOLE ? BLACKHOLE : SAME_PORT);
}

/* At the outer end of the crossing. */
static __always_inline int leave_crossing(struct __sk_buff *skb)
{
	__u32 self = cfg.port;
	struct nic_cpu *me = nic_of(self);

	if (bpf_map_lookup_elem(&tc_devs, &self))
		return bpf_redirect(nic.ifindex, 0);
	/* The inner end took it, and it was counted as sent. */
	if (me)
		me->lost += frames_of(skb);
	return TCX_DROP;
}
