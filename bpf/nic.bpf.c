// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Rings of an interface. `rx` is attached to it and moves frames from the wire to the rx rings. `tx` is never attached
// to it: a sync runs it once per frame on live frames (BPF_PROG_RUN, Linux 5.18), and each run takes the next
// slot of a tx ring. `taken` counts what the interface accepted.
#include "rx.h"
#include "copy.h"

struct {
	__uint(type, BPF_MAP_TYPE_DEVMAP);
	__uint(max_entries, 1);
	__uint(key_size, 4);
	__uint(value_size, 4);
} device SEC(".maps");

DEFINE_LONG_FRAME(rx_long, struct xdp_md, bpf_xdp_load_bytes)

SEC("xdp.frags")
int rx(struct xdp_md *ctx)
{
	__u32 zero = 0, q = ctx->rx_queue_index;

	if (cfg.queue != ALL_QUEUES) {
		if (q != cfg.queue)
			return XDP_PASS;
		q = 0;
	}
	if (q >= cfg.rx_rings)
		return XDP_PASS;
	__u32 r = cfg.tx_rings + q;
	struct kring *k = bpf_map_lookup_elem(&kstate, &r);
	void *reg = bpf_map_lookup_elem(&region, &zero);
	if (!k || !reg)
		return XDP_PASS;
	k->n.in++;
	void *pkt = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	__u64 len = bpf_xdp_get_buff_len(ctx);
	if (len < ETH_HLEN) {
		k->n.drops[TOO_SHORT]++;
		return XDP_DROP;
	}
	if (len > cfg.buf_size) {
		rx_long(ctx, k, q, len);
		return XDP_DROP;
	}
	struct ctl *c = ctl_of(reg, r);
	__u32 tail = k->tail;
	if (tail >= cfg.slots || !room(k, c, tail, 1)) {
		k->n.drops[RING_FULL]++;
		return XDP_DROP;
	}
	__u64 *slot = slot_of(reg, r, tail);
	__u32 idx = READ_ONCE(*slot);
	if (idx < FIRST_BUF || idx >= cfg.bufs) {
		// The client lost this slot's buffer. It is passed on empty, so that the ring keeps turning.
		k->n.drops[BAD_SLOT]++;
		WRITE_ONCE(*slot, 0);
		publish(k, c, q, next(tail));
		return XDP_DROP;
	}
	void *buf = buf_of(reg, idx);
	int bad = len <= SHORT ? copy_short(pkt, end, buf, len, 0) : bpf_xdp_load_bytes(ctx, 0, buf, len);
	if (bad) {
		// Only a frame whose first bytes lie in a fragment: the helper reads those too.
		if (bpf_xdp_load_bytes(ctx, 0, buf, len)) {
			k->n.drops[NO_MEMORY]++;
			return XDP_DROP;
		}
	}
	WRITE_ONCE(*slot, (__u64)idx | len << 32);
	k->n.out++;
	k->n.bytes += len;
	publish(k, c, q, next(tail));
	return XDP_DROP;
}

/* The caller chooses the ring by the length of the frame it passes in: 64 + ring. Live frames are recycled pages, so
 * every byte that is sent is written. */
SEC("xdp")
int tx(struct xdp_md *ctx)
{
	__u32 zero = 0;
	__u64 now = (long)ctx->data_end - (long)ctx->data;
	__u32 r = now - 64;

	if (r >= cfg.tx_rings)
		return XDP_ABORTED;
	struct kring *k = bpf_map_lookup_elem(&kstate, &r);
	void *reg = bpf_map_lookup_elem(&region, &zero);
	if (!k || !reg)
		return XDP_ABORTED;
	struct ctl *c = ctl_of(reg, r);
	__u32 tail = k->tail, gen = READ_ONCE(c->gen);
	if (gen != k->gen) {
		k->gen = gen;
		tail = READ_ONCE(c->start);
	}
	__u32 head = READ_ONCE(c->head);
	if (tail >= cfg.slots || head >= cfg.slots || tail == head)
		return XDP_DROP;
	__u64 s = READ_ONCE(*slot_of(reg, r, tail));
	__u32 idx = s, len = (s >> 32) & 0xffff;
	__u32 flags = s >> 48;
	WRITE_ONCE(k->tail, next(tail));
	k->n.in++;
	if (idx < FIRST_BUF || idx >= cfg.bufs || len > cfg.buf_size || flags & NS_MOREFRAG) {
		k->n.drops[BAD_SLOT]++;
		return XDP_DROP;
	}
	if (len < ETH_HLEN) {
		k->n.drops[TOO_SHORT]++;
		return XDP_DROP;
	}
	if (len > cfg.max_frame || bpf_xdp_adjust_tail(ctx, (int)len - (int)(64 + r))) {
		k->n.drops[TOO_LONG]++;
		return XDP_DROP;
	}
	void *pkt = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	void *buf = buf_of(reg, idx);
	int bad = len <= SHORT ? copy_short(pkt, end, buf, len, 1) : bpf_xdp_store_bytes(ctx, 0, buf, len);
	if (bad) {
		k->n.drops[NO_MEMORY]++;
		return XDP_DROP;
	}
	k->n.out++;
	k->n.bytes += len;
	return cfg.host ? XDP_PASS : bpf_redirect_map(&device, 0, 0);
}

struct ns_common___l {
	unsigned int inum;
} __attribute__((preserve_access_index));
struct net___l {
	struct ns_common___l ns;
} __attribute__((preserve_access_index));
struct net_device___l {
	__u32 ifindex;
	struct {
		struct net___l *net;
	} nd_net;
} __attribute__((preserve_access_index));

/* A program learns nothing of what becomes of a frame it redirects; this tracepoint tells. Frames of a sync come from
 * the loopback interface, where no frame of the wire ever comes from. */
SEC("tp_btf/xdp_devmap_xmit")
int taken(__u64 *args)
{
	const struct net_device___l *from = (void *)args[0], *to = (void *)args[1];
	int sent = args[2], drops = args[3];

	if (to->ifindex != cfg.ifindex || from->ifindex != 1 || to->nd_net.net->ns.inum != cfg.netns)
		return 0;
	__u32 r = cfg.tx_rings + cfg.rx_rings;
	struct kring *k = bpf_map_lookup_elem(&kstate, &r);
	if (!k)
		return 0;
	__sync_fetch_and_add(&k->n.out, sent);
	__sync_fetch_and_add(&k->n.drops[DEVICE_FULL], drops);
	return 0;
}

char _license[] SEC("license") = "Dual BSD/GPL";
