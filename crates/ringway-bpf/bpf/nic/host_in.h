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
	struct note *note = (void *)(long)ctx->data_meta;
	if ((void *)(note + 1) > (void *)(long)ctx->data)
		return -1;
	note->mark = cfg.secret.note;
	note->from = cfg.port;
	note->to = to;
	return 0;
}

static __always_inline __u32 beside(__u32 port)
{
	struct port_conf *conf = conf_of(port);

	return conf ? READ_ONCE(conf->nic[NIC_BESIDE]) : 0;
}

/* Counts a frame of the wire that is passed on for port `d`; without a note only the own host gets it. */
static __always_inline int count_passed(__u32 dest, __u32 own, int noted, __u32 len)
{
	struct nic_cpu *to = nic_of(dest);

	if (!to)
		return 0;
	if (!noted && dest != own) {
		to->offered++;
		to->edge[DEVICE_REFUSED]++;
		return 0;
	}
	count_handed(dest, len);
	to->sent += dest == own;
	return 1;
}

/* A frame to one host. */
__noinline int host_wire(struct xdp_md *ctx, __u32 dest, __u32 len)
{
	__u32 self = cfg.port;
	struct nic_cpu *cpu = nic_of(self);

	if (!cpu)
		return XDP_DROP;
	cpu->copies++;
	if (!count_passed(dest, beside(self), !leave_note(ctx, dest), len))
		return lose(cpu, DEVICE_REFUSED);
	cpu->tx.out++;
	cpu->tx.bytes += len;
	return XDP_PASS;
}

/* A frame to all, of which NICs and hosts are to be counted. What changes from one to the next is a flag, which the verifier
 * follows, or lies in a map. */
struct pass {
	struct info *info;
	struct nic_cpu *me;
	__u32 own, noted, len, reached;
};

static long pass_nth(__u32 i, struct pass *pass)
{
	if (i >= pass->info->nports || i >= PORTS)
		return 1;
	__u32 dest = pass->info->ports[i];
	if (dest == 0 || dest == cfg.port || dest == FLOOD || !is_nic(dest))
		return 0;
	pass->me->copies++;
	if (count_passed(dest, pass->own, pass->noted, pass->len))
		pass->reached = 1;
	return 0;
}

/* A frame to all that virtual ports got already. XDP gives a frame to NICs or to the stack, not to both: `vale_in` does. */
__noinline int flood_host(struct xdp_md *ctx, __u32 len, __u32 offered, __u32 reached)
{
	__u32 zero = 0, self = cfg.port;
	struct nic_cpu *cpu = nic_of(self);
	struct pass pass = { .info = bpf_map_lookup_elem(&info, &zero), .me = cpu, .own = beside(self), .len = len };

	if (!pass.info || !cpu)
		return XDP_DROP;
	pass.noted = !leave_note(ctx, FLOOD);
	cpu->copies += offered;
	bpf_loop(PORTS, pass_nth, &pass, 0);
	if (!pass.reached && !reached)
		return lose(cpu, offered ? RECEIVER_FULL : DEVICE_REFUSED);
	cpu->tx.out++;
	cpu->tx.bytes += len;
	return pass.reached ? XDP_PASS : XDP_DROP;
}

/* Whether a super-frame can be cut here. */
__noinline int can_cut(struct __sk_buff *skb)
{
	struct super super = {};

	return !look(skb, &super);
}

/* Counts the frames that the kernel is to cut a super-frame of a tap's user into, which it did not do yet. */
__noinline int count_segments(struct __sk_buff *skb)
{
	struct super super = {};
	int strange = look(skb, &super);

	if (!super.mss)
		return 1;
	return strange ? (super.len + super.mss - 1) / super.mss : segments(&super);
}

/* Frames that the kernel cuts this one into, or put together to it. */
static __always_inline __u32 frames_of(struct __sk_buff *skb)
{
	return skb->gso_segs ? skb->gso_segs : skb->gso_size ? count_segments(skb) : 1;
}

/* Gives a clone to a NIC or to the host behind one. The kernel runs the programs at that NIC's egress before the call returns: `pass`
 * tells `vale_host` there, on this CPU, that the frame is not the host's. */
static __always_inline void give_clone(struct __sk_buff *skb, __u32 dest)
{
	struct port_conf *conf = conf_of(dest);
	struct nic_cpu *to = nic_of(dest);

	if (!conf || !to)
		return;
	__u32 ifindex = READ_ONCE(conf->nic[NIC_INDEX]), frames = frames_of(skb);
	long lost;
	if (READ_ONCE(conf->flags) & PORT_HOST) {
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

static long spread_nth(__u32 i, struct spread *spread)
{
	if (i >= spread->info->nports || i >= PORTS)
		return 1;
	__u32 dest = spread->info->ports[i];
	if (dest == 0 || dest == cfg.port || dest == spread->beside || dest == FLOOD || !is_nic(dest))
		return 0;
	give_clone(spread->skb, dest);
	return 0;
}

static __always_inline int follow_note(struct __sk_buff *skb)
{
	__u32 zero = 0, self = cfg.port;
	struct note *note = (void *)(long)skb->data_meta;
	struct spread spread = { .skb = skb, .info = bpf_map_lookup_elem(&info, &zero), .beside = beside(self) };

	if ((void *)(note + 1) > (void *)(long)skb->data || note->mark != cfg.secret.note || note->from != self || !spread.info)
		return TCX_NEXT;
	__u32 to = note->to;
	if (to == FLOOD) {
		bpf_loop(PORTS, spread_nth, &spread, 0);
		return spread.beside ? TCX_NEXT : TCX_DROP;
	}
	if (to == spread.beside)
		return TCX_NEXT;
	give_clone(skb, to);
	return TCX_DROP;
}
