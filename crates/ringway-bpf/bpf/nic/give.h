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
	struct wire_run *w = wire_run();
	struct nic_cpu *me = nic_of(self);
	void *pkt = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;

	if (!w || !me || pkt + ETH_HLEN > end)
		return 0;
	__builtin_memset(w, 0, sizeof(*w));
	w->edge.mark = cfg.secret.edge;
	w->edge.serial = (__u64)cfg.port << 56 | me->tx.in;
	w->len = len;
	w->linear = linear;
	w->dst = *(__u32 *)pkt | (__u64) * (__u16 *)(pkt + 4) << 32;
	w->src = *(__u16 *)(pkt + 6) | (__u64) * (__u32 *)(pkt + 8) << 16;
	*(__u64 *)w->addresses = *(__u64 *)pkt;
	*(__u32 *)(w->addresses + 8) = *(__u32 *)(pkt + 8);
	w->type = __builtin_bswap16(*(__u16 *)(pkt + 12));
	w->full = RECEIVER_FULL;
	if (w->type == TYPE_VLAN && pkt + TAG_HLEN <= end) {
		w->edge.tagged = 1;
		w->tci = __builtin_bswap16(*(__u16 *)(pkt + 14));
		w->inner = __builtin_bswap16(*(__u16 *)(pkt + 16));
	}
	return w;
}

/* How much further on bytes behind the header are in the frame than in the copy. */
static __always_inline int shift_of(struct wire_run *w)
{
	return (int)w->len - (int)formed_len(w->len, w->form, w->edge.tagged);
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
static __always_inline int load_formed(struct slots *x, void *buf, __u32 n)
{
	struct wire_run *w = wire_run();

	if (!w)
		return -1;
	return x->done ? bpf_xdp_load_bytes(x->ctx, x->done + shift_of(w), buf, n) : load_first(x->ctx, w, buf, n);
}
DEFINE_FILL(fill_formed, load_formed)

/* Copies the frame, which has `len` bytes in its form, into reserved slots. */
__noinline int copy_formed(struct xdp_md *ctx, __u32 d, __u32 ring, __u32 at, __u32 len)
{
	struct wire_run *w = wire_run();
	void *reg = inner(&regions, d);

	FORGET(ring);
	if (!w || !reg || ring >= cfg.rings)
		return 0;
	FORGET(ring);
	struct slots x = slots_at(ctx, reg, ring, at, len, READ_ONCE(w->zero));
	until(fill_formed, &x);
	return 0;
}

/* Copies the frame to virtual port `d`, whole or not at all. Returns whether it had room, or -1 when it is gone. */
__noinline int give_virtual(struct xdp_md *ctx, __u32 d)
{
	void *reg = inner(&regions, d), *state = inner(&states, d);
	struct wire_run *w = wire_run();
	__u32 ring = (__u32)ctx->rx_queue_index % cfg.rings;

	FORGET(ring);
	if (!reg || !state || !w || ring >= cfg.rings)
		return -1;
	FORGET(ring);
	struct rx_state *r = rx_of(state, ring);
	struct ctl *c = ctl_of(reg, cfg.rings + ring);
	__u32 len = formed_len(w->len, w->form, w->edge.tagged), need = (len + cfg.buf_size - 1) / cfg.buf_size;
	__u64 at = 0;
	__u32 n = RX_RESERVE(r, c, need, NOTHING, at);
	__sync_fetch_and_add(&r->n.in, 1);
	if (!n) {
		__sync_fetch_and_add(&r->n.drops[RING_FULL], 1);
		return 0;
	}
	copy_formed(ctx, d, ring, at, len);
	pass_on(r, reg, d, ring, at, n, 1, len, nic.software);
	return 1;
}

/* Copies noted for NIC `d`. */
static __always_inline __u32 noted(struct wire_run *w, __u32 d)
{
	__u32 n = w->edge.to[d >> 6 & 3] >> (d & 63) & 1;

#pragma unroll
	for (__u32 i = 0; i < EDGE_COPIES; i++)
		n += i < w->edge.copies && w->edge.copy[i].port == d;
	return n;
}

/* Notes that NIC `d` gets a copy. The kernel clones only frames in one piece: a mirror gets no copy of others. */
__noinline int give_nic(__u32 d, __u32 mirror)
{
	struct wire_run *w = wire_run();
	struct nic_cpu *to = nic_of(d);

	if (!w || !to)
		return -1;
	__u32 n = w->edge.copies, times = noted(w, d) + 1, form = w->form;
	to->offered++;
	if (mirror && (w->linear != w->len || n >= EDGE_COPIES)) {
		to->edge[n >= EDGE_COPIES ? DEVICE_FULL : TOO_LONG]++;
		return 0;
	}
	if (mirror) {
		w->edge.copy[n & EDGE_COPIES].port = d;
		w->edge.copy[n & EDGE_COPIES].form = form;
		w->edge.copies = n + 1;
	} else {
		w->edge.to[d >> 6 & 3] |= 1ULL << (d & 63);
		w->own++;
	}
	w->nics++;
	w->most = times > w->most ? times : w->most;
	w->one = d;
	w->one_form = form;
	to->handed++;
	to->bytes += formed_len(w->len, form, w->edge.tagged);
	return 1;
}

/* Gives port `d` a copy: its own, or with `of` as a mirror of that port. Returns as give_virtual does. */
__noinline int give(struct xdp_md *ctx, __u32 d, __u32 form, __u32 of)
{
	struct wire_run *w = wire_run();

	if (!w)
		return -1;
	w->form = form;
	int got = is_nic(d) ? give_nic(d, of != 0) : give_virtual(ctx, d);
	if (got < 0)
		return got;
	if (!of) {
		w->offered++;
		w->reached += got;
		return got;
	}
	struct port_state *p = inner(&states, of);
	if (p)
		__sync_fetch_and_add(&p->mirrored, 1);
	return got;
}

/* Takes back what was noted for NIC `d`. */
static __always_inline void take_back(struct wire_run *w, __u32 d, __u32 form, __u32 why)
{
	struct nic_cpu *to = nic_of(d);

	FORGET(why);
	if (!to || why >= REASONS)
		return;
	FORGET(why);
	to->handed--;
	to->bytes -= formed_len(w->len, form, w->edge.tagged);
	to->edge[why]++;
}

static long take_back_nth(__u32 d, struct wire *x)
{
	struct wire_run *w = wire_run();
	struct port_conf *c = conf_of(d);

	if (w && c && w->edge.to[d >> 6 & 3] >> (d & 63) & 1)
		take_back(w, d, form_on(c, w->edge.tag >> 16 & VID), x->one);
	return 0;
}

/* The frame can't be cloned: no NIC gets it. */
__noinline int take_all_back(__u32 why)
{
	struct wire_run *w = wire_run();
	struct wire x = { .one = why };

	if (!w || why >= REASONS)
		return 0;
	bpf_loop(PORTS, take_back_nth, &x, 0);
	for (__u32 i = 0; i < EDGE_COPIES; i++)
		if (i < w->edge.copies)
			take_back(w, w->edge.copy[i].port, w->edge.copy[i].form, why);
	w->reached -= w->own;
	w->nics = 0;
	w->full = why;
	return 0;
}

/* Puts in front of the frame what each NIC is to do with its clone. */
static __always_inline int put_edge(struct xdp_md *ctx, struct wire_run *w)
{
	if (bpf_xdp_adjust_meta(ctx, -(int)sizeof(struct edge)))
		return -1;
	struct edge *e = (void *)(long)ctx->data_meta;
	if ((void *)(e + 1) > (void *)(long)ctx->data)
		return -1;
	__builtin_memcpy(e, &w->edge, sizeof(*e));
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
	struct nic_cpu *me = nic_of(self);
	struct wire_run *w = wire_run();

	if (!me || !w)
		return XDP_DROP;
	pack(ctx, w);
	me->copies += w->offered;
	if (!why && !w->reached)
		why = w->offered ? w->full : NO_DESTINATION;
	/* The verifier is to follow the number that was checked, not a copy of it. */
	FORGET(why);
	if (why >= REASONS)
		why = 0;
	FORGET(why);
	if (why) {
		me->tx.drops[why]++;
	} else {
		me->tx.out++;
		me->tx.bytes += w->len;
	}
	if (!w->nics)
		return XDP_DROP;
	if (w->nics == 1)
		return bpf_redirect_map(&edge_devs, w->one, XDP_DROP);
	if (!w->edge.copies)
		return bpf_redirect_map(&edge_1, 0, BPF_F_BROADCAST | BPF_F_EXCLUDE_INGRESS);
	/* This NIC may be the mirror of a port that its frame went to. */
	return w->most < 2    ? bpf_redirect_map(&edge_1, 0, BPF_F_BROADCAST)
	       : w->most == 2 ? bpf_redirect_map(&edge_2, 0, BPF_F_BROADCAST)
			      : bpf_redirect_map(&edge_8, 0, BPF_F_BROADCAST);
}
