/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The host's side of a NIC, as a port of the switch: frames of the wire for it. `vale_wire` passes them to the stack with a
 * note; `vale_in`, at the ingress of each NIC, reads the note and does what XDP can't: it clones a frame, and moves it into
 * the stack of another NIC. All is counted by `vale_wire`, except what became of clones.
 *
 * All NICs of a switch with such ports are in one network namespace (Switch::check_hosts). */
#pragma once
#include "nic/wire.h"
#include "common/segments.h"

#define TCX_NEXT -1
#define TCX_DROP 2
#define NET_XMIT_CN 2 /* taken, though the queue fills: linux/netdevice.h */

/* Lies before the frame. Drivers pass it on with the frame; GRO merges no frames with different ones. */
struct note {
	__u64 mark; /* the switch's secret: others can't make this up */
	__u32 from; /* number of the NIC's port: one from elsewhere says nothing */
	__u32 to;   /* the host's side of a NIC, or FLOOD */
};

/* Fails when the driver knows no such data. */
static __always_inline int leave_note(struct xdp_md *ctx, __u32 to)
{
	if (set_meta(ctx, sizeof(struct note)))
		return -1;
	struct note *n = (void *)(long)ctx->data_meta;
	if ((void *)(n + 1) > (void *)(long)ctx->data)
		return -1;
	n->mark = cfg.secret.note;
	n->from = cfg.port;
	n->to = to;
	return 0;
}

static __always_inline __u32 beside(__u32 port)
{
	struct port_conf *c = conf_of(port);

	return c ? READ_ONCE(c->nic[NIC_BESIDE]) : 0;
}

/* Counts a frame of the wire that is passed on for port `d`; without a note only the own host gets it. */
static __always_inline int count_passed(__u32 d, __u32 own, int noted, __u32 len)
{
	struct nic_cpu *to = nic_of(d);

	if (!to)
		return 0;
	if (!noted && d != own) {
		to->offered++;
		to->edge[DEVICE_REFUSED]++;
		return 0;
	}
	count_handed(d, len);
	to->sent += d == own;
	return 1;
}

/* A frame to one host. */
__noinline int host_wire(struct xdp_md *ctx, __u32 d, __u32 len)
{
	__u32 self = cfg.port;
	struct nic_cpu *me = nic_of(self);

	if (!me)
		return XDP_DROP;
	me->copies++;
	if (!count_passed(d, beside(self), !leave_note(ctx, d), len))
		return lose(me, DEVICE_REFUSED);
	me->tx.out++;
	me->tx.bytes += len;
	return XDP_PASS;
}

/* A frame to all, of which NICs and hosts are to be counted. What changes from one to the next is a flag, which the verifier
 * follows, or lies in a map. */
struct pass {
	struct info *info;
	struct nic_cpu *me;
	__u32 own, noted, len, reached;
};

static long pass_nth(__u32 i, struct pass *p)
{
	if (i >= p->info->nports || i >= PORTS)
		return 1;
	__u32 d = p->info->ports[i];
	if (d == 0 || d == cfg.port || d == FLOOD || !is_nic(d))
		return 0;
	p->me->copies++;
	if (count_passed(d, p->own, p->noted, p->len))
		p->reached = 1;
	return 0;
}

/* A frame to all that virtual ports got already. XDP gives a frame to NICs or to the stack, not to both: `vale_in` does. */
__noinline int flood_host(struct xdp_md *ctx, __u32 len, __u32 offered, __u32 reached)
{
	__u32 zero = 0, self = cfg.port;
	struct nic_cpu *me = nic_of(self);
	struct pass p = { .info = bpf_map_lookup_elem(&info, &zero), .me = me, .own = beside(self), .len = len };

	if (!p.info || !me)
		return XDP_DROP;
	p.noted = !leave_note(ctx, FLOOD);
	me->copies += offered;
	bpf_loop(PORTS, pass_nth, &p, 0);
	if (!p.reached && !reached)
		return lose(me, offered ? RECEIVER_FULL : DEVICE_REFUSED);
	me->tx.out++;
	me->tx.bytes += len;
	return p.reached ? XDP_PASS : XDP_DROP;
}

/* Whether a super-frame can be cut here. */
__noinline int can_cut(struct __sk_buff *skb)
{
	struct super s = {};

	return !look(skb, &s);
}

/* Counts the frames that the kernel is to cut a super-frame of a tap's user into, which it did not do yet. */
__noinline int count_segments(struct __sk_buff *skb)
{
	struct super s = {};
	int strange = look(skb, &s);

	if (!s.mss)
		return 1;
	return strange ? (s.len + s.mss - 1) / s.mss : segments(&s);
}

/* Frames that the kernel cuts this one into, or put together to it. */
static __always_inline __u32 frames_of(struct __sk_buff *skb)
{
	return skb->gso_segs ? skb->gso_segs : skb->gso_size ? count_segments(skb) : 1;
}

/* Gives a clone to a NIC or to the host behind one. The kernel runs the programs at that NIC's egress before the call returns: `pass`
 * tells `vale_host` there, on this CPU, that the frame is not the host's. */
static __always_inline void give_clone(struct __sk_buff *skb, __u32 d)
{
	struct port_conf *c = conf_of(d);
	struct nic_cpu *to = nic_of(d);

	if (!c || !to)
		return;
	__u32 ifindex = READ_ONCE(c->nic[NIC_INDEX]), frames = frames_of(skb);
	long lost;
	if (READ_ONCE(c->flags) & PORT_HOST) {
		lost = bpf_clone_redirect(skb, ifindex, BPF_F_INGRESS);
	} else {
		WRITE_ONCE(to->pass, 1);
		lost = bpf_clone_redirect(skb, ifindex, 0);
		WRITE_ONCE(to->pass, 0);
	}
	if (!lost || lost == NET_XMIT_CN)
		to->sent += frames;
	else if (lost > 0)
		to->full += frames;
}

/* A frame to all NICs and hosts but its own, which get it without a clone. */
struct spread {
	struct __sk_buff *skb;
	struct info *info;
	__u32 beside;
};

static long spread_nth(__u32 i, struct spread *s)
{
	if (i >= s->info->nports || i >= PORTS)
		return 1;
	__u32 d = s->info->ports[i];
	if (d == 0 || d == cfg.port || d == s->beside || d == FLOOD || !is_nic(d))
		return 0;
	give_clone(s->skb, d);
	return 0;
}

static __always_inline int follow_note(struct __sk_buff *skb)
{
	__u32 zero = 0, self = cfg.port;
	struct note *n = (void *)(long)skb->data_meta;
	struct spread s = { .skb = skb, .info = bpf_map_lookup_elem(&info, &zero), .beside = beside(self) };

	if ((void *)(n + 1) > (void *)(long)skb->data || n->mark != cfg.secret.note || n->from != self || !s.info)
		return TCX_NEXT;
	__u32 to = n->to;
	if (to == FLOOD) {
		bpf_loop(PORTS, spread_nth, &s, 0);
		return s.beside ? TCX_NEXT : TCX_DROP;
	}
	if (to == s.beside)
		return TCX_NEXT;
	give_clone(skb, to);
	return TCX_DROP;
}
