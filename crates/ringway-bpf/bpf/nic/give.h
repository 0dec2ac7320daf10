/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Gives copies of a NIC's frame to ports, in the form that each wants. Virtual ports get theirs at once; of NICs it is noted
 * which are to get one, and in the end the frame is redirected: to one NIC in its form, to several as clones that
 * nic/edge.h finishes. */
#pragma once
#include "nic/wire.h"
#include "nic/edge.h"

/* Above this, instead of a port: why a frame has no destination. */
#define NOWHERE 0x100

/* The frame under way; programs of a NIC run with softirqs off, so each CPU has one. */
struct wire_run {
	struct edge edge;
	__u64 dst, src;
	__u8 addresses[16];
	__u32 len, linear;
	__u32 type, tci, inner;   /* words of its header */
	__u32 offered, reached;   /* ports that get a copy of their own, and those that had room */
	__u32 nics, own;          /* copies for NICs, and those of them that are no mirror's */
	__u32 one, one_form;      /* the NIC noted last */
	__u32 most, unused;       /* copies that one of them gets */
	__u32 full;               /* why a frame is lost that reached no port, though there were some */
	__u32 form, zero;         /* of the copy under way */
};
DECLARE(wire_runs, BPF_MAP_TYPE_PERCPU_ARRAY, 1, sizeof(struct wire_run), 0);

static __always_inline struct wire_run *wire_run(void)
{
	__u32 zero = 0;
	return bpf_map_lookup_elem(&wire_runs, &zero);
}

/* Begins a frame: keeps its header. NULL if it has none, which was looked at before. */
static __always_inline struct wire_run *begin_wire(struct xdp_md *ctx, __u32 len, __u32 linear)
{
	__u32 self = cfg.port;
	struct wire_run *run = wire_run();
	struct nic_cpu *cpu = nic_of(self);
	void *pkt = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;

	if (!run || !cpu || pkt + ETH_HLEN > end)
		return 0;
	__builtin_memset(run, 0, sizeof(*run));
	run->edge.mark = cfg.secret.edge;
	run->edge.serial = (__u64)cfg.port << 56 | cpu->tx.in;
	run->len = len;
	run->linear = linear;
	run->dst = *(__u32 *)pkt | (__u64) * (__u16 *)(pkt + 4) << 32;
	run->src = *(__u16 *)(pkt + 6) | (__u64) * (__u32 *)(pkt + 8) << 16;
	*(__u64 *)run->addresses = *(__u64 *)pkt;
	*(__u32 *)(run->addresses + 8) = *(__u32 *)(pkt + 8);
	run->type = __builtin_bswap16(*(__u16 *)(pkt + 12));
	run->full = RECEIVER_FULL;
	if (run->type == TYPE_VLAN && pkt + TAG_HLEN <= end) {
		run->edge.tagged = 1;
		run->tci = __builtin_bswap16(*(__u16 *)(pkt + 14));
		run->inner = __builtin_bswap16(*(__u16 *)(pkt + 16));
	}
	return run;
}

/* How much further on bytes behind the header are in the frame than in the copy. */
static __always_inline int shift_of(struct wire_run *run)
{
	return (int)run->len - (int)formed_len(run->len, run->form, run->edge.tagged);
}

/* Loads the first `n` bytes of the copy into a buffer. */
static __always_inline int load_first(struct xdp_md *ctx, struct wire_run *w, void *buf, __u32 n)
{
	int bad, moved = shift_of(w) < 0;
	__u32 less = less_one(moved ? n - 4 : n);

	if (moved) {
		if (less >= cfg.buf_size - 4)
			return -1;
		bad = bpf_xdp_load_bytes(ctx, 0, buf + 4, less + 1);
	} else {
		if (less >= cfg.buf_size)
			return -1;
		bad = bpf_xdp_load_bytes(ctx, shift_of(w), buf, less + 1);
	}
	if (bad)
		return bad;
	if (w->form != AS_IS) {
		*(__u64 *)buf = *(__u64 *)w->addresses;
		*(__u32 *)(buf + 8) = *(__u32 *)(w->addresses + 8);
	}
	if (w->form == WITH_TAG)
		write_tag(buf, w->edge.tag);
	return 0;
}

/* The next `n` bytes of the copy. */
static __always_inline int load_formed(struct slots *slots, void *buf, __u32 n)
{
	struct wire_run *run = wire_run();

	if (!run)
		return -1;
	return slots->done ? bpf_xdp_load_bytes(slots->ctx, slots->done + shift_of(run), buf, n) : load_first(slots->ctx, run, buf, n);
}
DEFINE_FILL(fill_formed, load_formed)

/* Copies the frame, which has `len` bytes in its form, into reserved slots. */
__noinline int copy_formed(struct xdp_md *ctx, __u32 dest, __u32 ring, __u32 at, __u32 len)
{
	struct wire_run *run = wire_run();
	void *reg = inner(&regions, dest);

	FORGET(ring);
	if (!run || !reg || ring >= cfg.rings)
		return 0;
	FORGET(ring);
	struct slots slots = slots_at(ctx, reg, ring, at, len, READ_ONCE(run->zero));
	until(fill_formed, &slots);
	return 0;
}

/* Copies the frame to virtual port `d`, whole or not at all. Returns whether it had room, or -1 when it is gone. */
__noinline int give_virtual(struct xdp_md *ctx, __u32 dest)
{
	void *reg = inner(&regions, dest), *state = inner(&states, dest);
	struct wire_run *run = wire_run();
	__u32 ring = (__u32)ctx->rx_queue_index % cfg.rings;

	FORGET(ring);
	if (!reg || !state || !run || ring >= cfg.rings)
		return -1;
	FORGET(ring);
	struct rx_state *rx = rx_of(state, ring);
	struct ctl *ctl = ctl_of(reg, cfg.rings + ring);
	__u32 len = formed_len(run->len, run->form, run->edge.tagged), need = (len + cfg.buf_size - 1) / cfg.buf_size;
	__u64 at = 0;
	__u32 n = RX_RESERVE(rx, ctl, need, NOTHING, at);
	__sync_fetch_and_add(&rx->n.in, 1);
	if (!n) {
		__sync_fetch_and_add(&rx->n.drops[RING_FULL], 1);
		return 0;
	}
	copy_formed(ctx, dest, ring, at, len);
	pass_on(rx, reg, dest, ring, at, n, 1, len, nic.software);
	return 1;
}

/* Copies noted for NIC `d`. */
static __always_inline __u32 noted(struct wire_run *run, __u32 dest)
{
	__u32 n = run->edge.to[dest >> 6 & 3] >> (dest & 63) & 1;

#pragma unroll
	for (__u32 i = 0; i < EDGE_COPIES; i++)
		n += i < run->edge.copies && run->edge.copy[i].port == dest;
	return n;
}

/* Notes that NIC `d` gets a copy. The kernel clones only frames in one piece: a mirror gets no copy of others. */
__noinline int give_nic(__u32 dest, __u32 mirror)
{
	struct wire_run *run = wire_run();
	struct nic_cpu *to = nic_of(dest);

	if (!run || !to)
		return -1;
	__u32 n = run->edge.copies, times = noted(run, dest) + 1, form = run->form;
	to->offered++;
	if (mirror && (run->linear != run->len || n >= EDGE_COPIES)) {
		to->edge[n >= EDGE_COPIES ? DEVICE_FULL : TOO_LONG]++;
		return 0;
	}
	if (mirror) {
		run->edge.copy[n & EDGE_COPIES].port = dest;
		run->edge.copy[n & EDGE_COPIES].form = form;
		run->edge.copies = n + 1;
	} else {
		run->edge.to[dest >> 6 & 3] |= 1ULL << (dest & 63);
		run->own++;
	}
	run->nics++;
	run->most = times > run->most ? times : run->most;
	run->one = dest;
	run->one_form = form;
	to->handed++;
	to->bytes += formed_len(run->len, form, run->edge.tagged);
	return 1;
}

/* Gives port `d` a copy: its own, or with `of` as a mirror of that port. Returns as give_virtual does. */
__noinline int give(struct xdp_md *ctx, __u32 dest, __u32 form, __u32 of)
{
	struct wire_run *run = wire_run();

	if (!run)
		return -1;
	run->form = form;
	int got = is_nic(dest) ? give_nic(dest, of != 0) : give_virtual(ctx, dest);
	if (got < 0)
		return got;
	if (!of) {
		run->offered++;
		run->reached += got;
		return got;
	}
	struct port_state *p = inner(&states, of);
	if (p)
		__sync_fetch_and_add(&p->mirrored, 1);
	return got;
}

/* Takes back what was noted for NIC `d`. */
static __always_inline void take_back(struct wire_run *run, __u32 dest, __u32 form, __u32 why)
{
	struct nic_cpu *to = nic_of(dest);

	FORGET(why);
	if (!to || why >= REASONS)
		return;
	FORGET(why);
	to->handed--;
	to->bytes -= formed_len(run->len, form, run->edge.tagged);
	to->edge[why]++;
}

static long take_back_nth(__u32 dest, struct wire *wire)
{
	struct wire_run *run = wire_run();
	struct port_conf *conf = conf_of(dest);

	if (run && conf && run->edge.to[dest >> 6 & 3] >> (dest & 63) & 1)
		take_back(run, dest, form_on(conf, run->edge.tag >> 16 & VID), wire->one);
	return 0;
}

/* The frame can't be cloned: no NIC gets it. */
__noinline int take_all_back(__u32 why)
{
	struct wire_run *run = wire_run();
	struct wire wire = { .one = why };

	if (!run || why >= REASONS)
		return 0;
	bpf_loop(PORTS, take_back_nth, &wire, 0);
	for (__u32 i = 0; i < EDGE_COPIES; i++)
		if (i < run->edge.copies)
			take_back(run, run->edge.copy[i].port, run->edge.copy[i].form, why);
	run->reached -= run->own;
	run->nics = 0;
	run->full = why;
	return 0;
}

/* Puts in front of the frame what each NIC is to do with its clone. */
static __always_inline int put_edge(struct xdp_md *ctx, struct wire_run *w)
{
	if (bpf_xdp_adjust_meta(ctx, -(int)sizeof(struct edge)))
		return -1;
	struct edge *edge = (void *)(long)ctx->data_meta;
	if ((void *)(edge + 1) > (void *)(long)ctx->data)
		return -1;
	__builtin_memcpy(edge, &w->edge, sizeof(*edge));
	return 0;
}

/* Prepares the frame for the NICs that get it. */
static __always_inline void pack(struct xdp_md *ctx, struct wire_run *w)
{
	if (w->nics && nic.software && finish_sum(ctx)) {
		take_all_back(BAD_OFFLOAD);
	} else if (w->nics > 1) {
		if (w->linear != w->len)
			take_all_back(TOO_LONG);
		else if (put_edge(ctx, w))
			take_all_back(NO_MEMORY);
	} else if (w->nics && shape(ctx, w->one_form, w->edge.tag, w->edge.tagged)) {
		take_all_back(NO_MEMORY);
	}
}

/* Counts what became of the frame, which `why` not 0 kept from all ports, and sends it to NICs. */
__noinline int finish_wire(struct xdp_md *ctx, __u32 why)
{
	__u32 self = cfg.port;
	struct nic_cpu *cpu = nic_of(self);
	struct wire_run *run = wire_run();

	if (!cpu || !run)
		return XDP_DROP;
	pack(ctx, run);
	cpu->copies += run->offered;
	if (!why && !run->reached)
		why = run->offered ? run->full : NO_DESTINATION;
	/* The verifier is to follow the number that was checked, not a copy of it. */
	FORGET(why);
	if (why >= REASONS)
		why = 0;
	FORGET(why);
	if (why) {
		cpu->tx.drops[why]++;
	} else {
		cpu->tx.out++;
		cpu->tx.bytes += run->len;
	}
	if (!run->nics)
		return XDP_DROP;
	if (run->nics == 1)
		return bpf_redirect_map(&edge_devs, run->one, XDP_DROP);
	if (!run->edge.copies)
		return bpf_redirect_map(&edge_1, 0, BPF_F_BROADCAST | BPF_F_EXCLUDE_INGRESS);
	/* This NIC may be the mirror of a port that its frame went to. */
	return run->most < 2    ? bpf_redirect_map(&edge_1, 0, BPF_F_BROADCAST)
	       : run->most == 2 ? bpf_redirect_map(&edge_2, 0, BPF_F_BROADCAST)
			      : bpf_redirect_map(&edge_8, 0, BPF_F_BROADCAST);
}
