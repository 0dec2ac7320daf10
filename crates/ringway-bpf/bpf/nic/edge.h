/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The last look at a frame that leaves by a NIC, in switches whose ports have features: tags come and go here.
 *
 * The kernel gives a frame to several NICs as clones, all alike, to each NIC that it has. What each of them is to do with its
 * clone travels in front of the frame as metadata, which is cloned with it; this program runs on each clone
 * (BPF_MAP_TYPE_DEVMAP, `bpf_devmap_val`). A frame for one NIC alone has its form already, and no metadata.
 *
 * All entries of an interface name the same program: of the frames that are sent together the kernel asks only the first one's
 * entry for its program.
 */
#pragma once
#include "nic/state.h"
#include "switch/vlan/rules.h"

/* How a frame is to look: as it came, with a tag, without one. */
enum form { AS_IS, WITH_TAG, BARE };

#define EDGE_COPIES 7 /* of a frame for mirrors that are NICs, at most */

struct edge {
	__u64 mark;   /* the switch's secret: others can't make this up */
	__u64 serial; /* of frames of a CPU: clones of one frame come one after the other */
	__u64 to[4];  /* NICs that get the frame as ports do, by number */
	__u32 tag;    /* priority and VLAN << 16 | type behind the tag */
	__u16 tagged; /* it came with a tag */
	__u16 copies; /* of `copy`, for mirrors */
	struct {
		__u8 port, form;
	} copy[EDGE_COPIES + 1];
};
_Static_assert(sizeof(struct edge) == 72, "metadata comes in words");

/* Interfaces with this program: by port number; and all of them, each as many times as the table's name says, for frames of
 * which some NIC gets as many copies at most: its own, and those that it gets as a mirror. */
DECLARE(edge_devs, BPF_MAP_TYPE_DEVMAP, PORTS, 8, 0);
DECLARE(edge_1, BPF_MAP_TYPE_DEVMAP, NICS, 8, 0);
DECLARE(edge_2, BPF_MAP_TYPE_DEVMAP, 2 * NICS, 8, 0);
DECLARE(edge_8, BPF_MAP_TYPE_DEVMAP, 8 * NICS, 8, 0);

/* The form of frames of a VLAN on a port that belongs to it. */
static __always_inline __u32 form_on(struct port_conf *conf, __u32 vid)
{
	if (!vid)
		return AS_IS;
	return READ_ONCE(conf->features) & TRUNK && vid != READ_ONCE(conf->native) ? WITH_TAG : BARE;
}

/* Bytes that a frame of `len` has in a form. */
static __always_inline __u32 formed_len(__u32 len, __u32 form, __u32 tagged)
{
	return form == WITH_TAG && !tagged ? len + 4 : form == BARE && tagged ? len - 4 : len;
}

static __always_inline void write_tag(void *pkt, __u32 tag)
{
	*(__u32 *)(pkt + 12) = __builtin_bswap32(TYPE_VLAN << 16 | tag >> 16);
}

/* Makes room for a tag and puts it there. */
static __always_inline int push_tag(struct xdp_md *ctx, __u32 tag)
{
	if (bpf_xdp_adjust_head(ctx, -4))
		return -1;
	void *pkt = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	if (pkt + TAG_HLEN > end)
		return -1;
	__u64 first = *(__u64 *)(pkt + 4);
	__u32 last = *(__u32 *)(pkt + 12);
	*(__u64 *)pkt = first;
	*(__u32 *)(pkt + 8) = last;
	write_tag(pkt, tag);
	return 0;
}

static __always_inline int pop_tag(struct xdp_md *ctx)
{
	void *pkt = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	if (pkt + TAG_HLEN > end)
		return -1;
	__u64 first = *(__u64 *)pkt;
	__u32 last = *(__u32 *)(pkt + 8);
	*(__u32 *)(pkt + 12) = last;
	*(__u64 *)(pkt + 4) = first;
	return bpf_xdp_adjust_head(ctx, 4);
}

/* Gives the frame its form; 0 when it has it. */
__noinline int shape(struct xdp_md *ctx, __u32 form, __u32 tag, __u32 tagged)
{
	if (form == WITH_TAG && !tagged)
		return push_tag(ctx, tag);
	if (form == BARE && tagged)
		return pop_tag(ctx);
	void *pkt = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	if (form != WITH_TAG)
		return 0;
	if (pkt + TAG_HLEN > end)
		return -1;
	write_tag(pkt, tag);
	return 0;
}

/* Of the frame's clones for this NIC, the form of that which comes `nth`; -1 when there are no more. */
static __always_inline int nth_form(struct edge *edge, struct port_conf *c, __u32 self, __u32 nth)
{
	if (edge->to[self >> 6 & 3] >> (self & 63) & 1) {
		if (!nth)
			return form_on(c, edge->tag >> 16 & VID);
		nth--;
	}
#pragma unroll
	for (__u32 i = 0; i < EDGE_COPIES; i++) {
		if (i >= edge->copies)
			break;
		if (edge->copy[i].port == self && !nth--)
			return edge->copy[i].form;
	}
	return -1;
}

/* A clone whose metadata is `e`, which is taken off. */
static __always_inline int leave(struct xdp_md *ctx, struct nic_cpu *me, struct port_conf *c, struct edge *e, __u32 self)
{
	__u32 tag = e->tag, tagged = e->tagged, len = linear_len(ctx);

	me->nth = me->serial == e->serial ? me->nth + 1 : 0;
	me->serial = e->serial;
	int form = nth_form(e, c, self, me->nth);
	if (form < 0) { /* not for this NIC */
		me->withheld++;
		return XDP_DROP;
	}
	if (bpf_xdp_adjust_meta(ctx, sizeof(*e)) || shape(ctx, form, tag, tagged)) {
		me->withheld++;
		me->handed--;
		me->bytes -= formed_len(len, form, tagged);
		me->edge[NO_MEMORY]++;
		return XDP_DROP;
	}
	return XDP_PASS;
}

static __always_inline int pass_edge(struct xdp_md *ctx)
{
	__u32 self = cfg.port;
	struct edge *edge = (void *)(long)ctx->data_meta;
	struct nic_cpu *cpu = nic_of(self);
	struct port_conf *conf = conf_of(self);

	if (!cpu || !conf || (void *)(edge + 1) > (void *)(long)ctx->data || edge->mark != cfg.secret.edge)
		return XDP_PASS;
	return leave(ctx, cpu, conf, edge, self);
}
