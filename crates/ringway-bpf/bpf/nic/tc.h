/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A member by tc: `vale_skb` stands where the frames of an interface enter the stack, and moves the kernel's own buffers. What a
 * sender leaves to the interface stays left: segmentation, checksums, tags beside the bytes.
 *
 * It gives out itself what needs no more than a redirect, clones, or a copy into rings. All other frames take the crossing, a pair
 * of veths. Its inner end has `vale_wire`, so the rules for NICs hold there as well. The kernel cuts and finishes frames on the
 * way. Frames of the switch for the member come back by the pair, and `vale_cross` redirects them to the interface. */
#pragma once
#include "nic/host_tx.h"

/* Leaves the frame to `vale_wire`. */
static __always_inline int take_crossing(struct sent *sent)
{
	__u32 self = cfg.port;
	struct port_conf *conf = conf_of(self);

	sent->cpu->crossed += sent->frames;
	return conf ? bpf_redirect(READ_ONCE(conf->crossing), 0) : TCX_DROP;
}

/* Counts a frame that is given out here. */
static __always_inline void enter_direct(struct sent *sent)
{
	sent->cpu->tx.in += sent->frames;
	sent->cpu->direct += sent->frames;
}

/* Gives the frame to an interface, or to the stack behind one, which gets it when the program returns. */
static __always_inline int redirect_to_port(struct sent *sent, struct port_conf *conf, __u32 dest, __u32 to_host)
{
	struct nic_cpu *to = nic_of(dest);

	if (!to)
		return TCX_DROP;
	count_direct(to, sent);
	sent->cpu->copies += sent->frames;
	sent->cpu->tx.out += sent->frames;
	sent->cpu->tx.bytes += sent->bytes;
	if (!to_host && !bpf_map_lookup_elem(&tc_devs, &dest))
		return TCX_DROP; /* the counters of the port say so */
	to->sent += sent->frames;
	if (!to_host && READ_ONCE(conf->nic[NIC_BESIDE]))
		WRITE_ONCE(to->pass, 1);
	return bpf_redirect(READ_ONCE(conf->nic[NIC_INDEX]), to_host ? BPF_F_INGRESS : 0);
}

/* Which kinds of ports a frame to all goes to. */
struct kinds {
	struct info *info;
	__u32 rings, hosts, far; /* far: NICs of other network namespaces */
};

static long kind_nth(__u32 i, struct kinds *kinds)
{
	if (i >= kinds->info->nports || i >= PORTS)
		return 1;
	__u32 dest = kinds->info->ports[i];
	struct port_conf *conf = conf_of(dest);
	if (dest == 0 || dest == cfg.port || dest == FLOOD || !conf)
		return 0;
	__u32 flags = READ_ONCE(conf->flags);
	if (!(flags & PORT_NIC))
		kinds->rings = 1;
	else if (flags & PORT_HOST)
		kinds->hosts = 1;
	else if (READ_ONCE(conf->nic[NIC_NETNS]) != nic.netns)
		kinds->far = 1;
	return 0;
}

/* A frame to all others. The kernel clones from one interface to another in one network namespace only. A super-frame for several rings
 * is cut once, by the kernel; those for hosts can't take that way. */
static __always_inline int flood_skb(struct sent *sent)
{
	struct kinds kinds = { .info = sent->info };

	bpf_loop(PORTS, kind_nth, &kinds, 0);
	if (kinds.far || (kinds.rings && !kinds.hosts && sent->skb->gso_size))
		return take_crossing(sent);
	enter_direct(sent);
	bpf_loop(PORTS, send_nth, sent, 0);
	return finish_sent(sent, 0);
}

/* A frame to one port. */
static __always_inline int send_one(struct sent *sent, __u32 dest)
{
	struct port_conf *conf = conf_of(dest);

	if (!conf)
		return TCX_DROP;
	__u32 flags = READ_ONCE(conf->flags);
	if (flags & PORT_NIC ? READ_ONCE(conf->nic[NIC_NETNS]) != nic.netns : sent->skb->gso_size && !can_cut(sent->skb))
		return take_crossing(sent);
	enter_direct(sent);
	if (flags & PORT_NIC)
		return redirect_to_port(sent, conf, dest, flags & PORT_HOST);
	send_to(sent, dest);
	return finish_sent(sent, 0);
}

/* Sends a frame where its addresses say. `decided`: of a frame that is timed, when that is known. */
static __always_inline int route_skb(struct sent *sent, __u64 dst, __u64 src, __u64 *decided)
{
	learn_source(sent->cpu, src);
	__u64 entry = look_up_port(sent->cpu, dst);
	if (decided)
		*decided = bpf_ktime_get_ns();
	if (!entry)
		return flood_skb(sent);
	__u32 dest = entry & 0xff;
	if (!(entry & ENTRY_BLACKHOLE) && dest != cfg.port)
		return send_one(sent, dest);
	enter_direct(sent);
	return refuse_frame(sent, entry & ENTRY_BLACKHOLE ? BLACKHOLE : SAME_PORT);
}

/* The same of a timed frame. One that takes the crossing is not counted here: `vale_wire` may time it. In line, as a function of its own
 * would take the stack that the ways behind it need. */
static __always_inline int route_skb_timed(struct sent *sent, __u64 dst, __u64 src)
{
	__u64 begun = bpf_ktime_get_ns(), decided = begun, crossed = sent->cpu->crossed;
	int verdict = route_skb(sent, dst, src, &decided);

	if (crossed == sent->cpu->crossed)
		end_both_stages(begun, decided, sent->frames);
	return verdict;
}

static __always_inline int enter_skb(struct __sk_buff *skb)
{
	__u32 zero = 0, self = cfg.port;
	struct sent sent = { .skb = skb, .info = bpf_map_lookup_elem(&info, &zero), .cpu = nic_of(self), .frames = frames_of(skb),
			  .bytes = skb->len, .short_of = NO_DESTINATION };
	__u64 head[2] = {};

	if (!sent.info || !sent.cpu)
		return TCX_DROP;
	if (WITH_MODULE || READ_ONCE(sent.info->wires))
		return take_crossing(&sent);
	if (skb->len < ETH_HLEN || bpf_skb_load_bytes(skb, 0, head, 12)) {
		enter_direct(&sent);
		return refuse_frame(&sent, TOO_SHORT);
	}
	if (DECISION == HUB)
		return flood_skb(&sent);
	__u64 dst = head[0] & ADDRESS_BITS, src = head[0] >> 48 | head[1] << 16, jiffies = bpf_jiffies64();
	if (jiffies != sent.cpu->tick && IS_TIMED(sent.cpu, jiffies))
		return route_skb_timed(&sent, dst, src);
	return route_skb(&sent, dst, src, 0);
}

/* At the outer end of the crossing. */
static __always_inline int leave_crossing(struct __sk_buff *skb)
{
	__u32 self = cfg.port;
	struct nic_cpu *cpu = nic_of(self);

	if (bpf_map_lookup_elem(&tc_devs, &self))
		return bpf_redirect(nic.ifindex, 0);
	/* The inner end took it, and it was counted as sent. */
	if (cpu)
		cpu->lost += frames_of(skb);
	return TCX_DROP;
}
