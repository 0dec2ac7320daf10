// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The kernel half of an `ebpf:` port. A port of an interface loads nic_rx, tx, taken, polled and released; its host rings load
// host_rx, tx and released. Maps: the region and cursors in ring.h, doorbells in rx.h, the target interface here.
#include "port/ring.h"
#include "port/rx.h"
#include "port/host_cut.h"
#include "common/copy.h"
#include "common/netdev.h"
#include "common/tcx.h"
#include "common/xdp_len.h"

DEFINE_LONG_FRAME(nic_long, struct xdp_md, bpf_xdp_load_bytes)
DEFINE_LONG_FRAME(host_long, struct __sk_buff, load_frame)

/* What becomes of the frame itself once the port has had it, or could not. */
#define TAKEN (cfg.copy ? XDP_PASS : XDP_DROP)

/* Attached to an interface: moves frames from the wire to the rx rings, one ring for each queue. */
SEC("xdp.frags")
int nic_rx(struct xdp_md *ctx)
{
	__u32 zero = 0, queue = ctx->rx_queue_index;

	if (cfg.queue != ALL_QUEUES) {
		if (queue != cfg.queue)
			return XDP_PASS;
		queue = 0;
	}
	if (queue >= cfg.rx_rings)
		return XDP_PASS;
	__u32 ring = cfg.tx_rings + queue;
	struct kring *kring = bpf_map_lookup_elem(&kstate, KEY(ring));
	void *reg = bpf_map_lookup_elem(&region, &zero);
	if (!kring || !reg)
		return XDP_PASS;
	kring->n.in++;
	void *pkt = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	__u64 len = wire_len(ctx, end - pkt) & 0xfffff; /* a bound for the verifier */
	if (len < ETH_HLEN) {
		kring->n.drops[TOO_SHORT]++;
		return TAKEN;
	}
	struct ctl *ctl = ctl_of(reg, ring);
	if (len > cfg.buf_size) {
		nic_long(ctx, kring, ctl, queue, len);
		return TAKEN;
	}
	__u32 tail = kring->tail;
	if (tail >= cfg.slots || !free_slots(kring, ctl, tail, 1)) {
		kring->n.drops[RING_FULL]++;
		return TAKEN;
	}
	__u64 *slot = slot_of(reg, ring, tail);
	__u32 idx = READ_ONCE(*slot);
	if (idx < FIRST_BUF || idx >= cfg.bufs) {
		// The client lost this slot's buffer. It is passed on empty, so that the ring keeps turning; the
		// reader finds it bad and counts the drop in place of a delivery.
		kring->n.out++;
		WRITE_ONCE(*slot, 0);
		publish_slots(kring, ctl, queue, next(tail));
		return TAKEN;
	}
	void *buf = buf_of(reg, idx);
	int bad = len <= SHORT ? copy_short(pkt, end, buf, len, 0) : bpf_xdp_load_bytes(ctx, 0, buf, len);
	if (bad) {
		// Only a frame whose first bytes lie in a fragment: the helper reads those too.
		if (bpf_xdp_load_bytes(ctx, 0, buf, len)) {
			kring->n.drops[NO_MEMORY]++;
			return TAKEN;
		}
	}
	WRITE_ONCE(*slot, (__u64)idx | len << 32);
	kring->n.out++;
	kring->n.bytes += len;
	publish_slots(kring, ctl, queue, next(tail));
	return TAKEN;
}

/* The receiving half of host rings: what the host sends on an interface goes to a ring instead of the wire. There is
 * one ring for each CPU: this program runs with softirqs off, so a CPU is a single writer and needs no lock. */
SEC("tcx/egress")
int host_rx(struct __sk_buff *skb)
{
	__u32 zero = 0, cpu = bpf_get_smp_processor_id();

	if (cpu >= cfg.rx_rings)
		return TCX_PASS;
	__u32 ring = cfg.tx_rings + cpu;
	struct kring *kring = bpf_map_lookup_elem(&kstate, KEY(ring));
	void *reg = bpf_map_lookup_elem(&region, &zero);
	if (!kring || !reg)
		return TCX_PASS;
	__u64 out = kring->n.out;
	if (skb->gso_size) {
		cut_super_frame(skb, kring, ctl_of(reg, ring), cpu);
	} else {
		kring->n.in++;
		if (skb->len < ETH_HLEN)
			kring->n.drops[TOO_SHORT]++;
		else
			host_long(skb, kring, ctl_of(reg, ring), cpu, frame_len(skb));
	}
	if (cfg.copy)
		return TCX_NEXT;
	/* The stack hears of a frame that is lost, as from a full queue. One that was taken is to be sent to it: there is no
	 * interface 0, so the kernel frees the frame and tells the sender that it went out. */
	return kring->n.out == out ? TCX_DROP : bpf_redirect(0, 0);
}

struct {
	__uint(type, BPF_MAP_TYPE_DEVMAP);
	__uint(max_entries, 1);
	__uint(key_size, 4);
	__uint(value_size, 4);
} device SEC(".maps");

/* Transmission: never attached to the interface. A sync runs it once per frame on live frames (BPF_PROG_RUN,
 * Linux 5.18). Each run takes the next slot of a tx ring, and sends it to the interface or into the host stack.
 *
 * Of several rings the caller chooses one by the length of the frame that it passes in: 64 + ring. With one ring it passes the
 * length of its frames, which then need not be changed. Live frames are recycled pages, so every byte that is sent is written. */
SEC("xdp")
int tx(struct xdp_md *ctx)
{
	__u32 zero = 0;
	__u64 now = (long)ctx->data_end - (long)ctx->data;
	__u32 ring = cfg.tx_rings == 1 ? 0 : now - 64;

	if (ring >= cfg.tx_rings)
		return XDP_ABORTED;
	struct kring *kring = bpf_map_lookup_elem(&kstate, KEY(ring)), *shared = bpf_map_lookup_elem(&kstate, KEY(cfg.tx_rings + cfg.rx_rings));
	void *reg = bpf_map_lookup_elem(&region, &zero);
	if (!kring || !shared || !reg)
		return XDP_ABORTED;
	if (pools_abound(&shared->pools, cfg.most_pools))
		return XDP_DROP;
	struct ctl *ctl = ctl_of(reg, ring);
	__u32 tail = kring->tail, gen = READ_ONCE(ctl->gen);
	if (gen != kring->gen) {
		kring->gen = gen;
		tail = READ_ONCE(ctl->start);
	}
	__u32 head = READ_ONCE(ctl->head);
	if (tail >= cfg.slots || head >= cfg.slots || tail == head)
		return XDP_DROP;
	__u64 s = READ_ONCE(*slot_of(reg, ring, tail));
	__u32 idx = s, len = SLOT_LEN(s);
	__u32 flags = SLOT_FLAGS(s);
	WRITE_ONCE(kring->tail, next(tail));
	kring->n.in++;
	if (idx < FIRST_BUF || idx >= cfg.bufs || len > cfg.buf_size || flags & NS_MOREFRAG) {
		kring->n.drops[BAD_SLOT]++;
		return XDP_DROP;
	}
	if (len < ETH_HLEN) {
		kring->n.drops[TOO_SHORT]++;
		return XDP_DROP;
	}
	if (len > cfg.max_frame || (len != now && bpf_xdp_adjust_tail(ctx, (int)len - (int)now))) {
		kring->n.drops[TOO_LONG]++;
		return XDP_DROP;
	}
	void *pkt = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	void *buf = buf_of(reg, idx);
	int bad = len <= SHORT ? copy_short(pkt, end, buf, len, 1) : bpf_xdp_store_bytes(ctx, 0, buf, len);
	if (bad) {
		kring->n.drops[NO_MEMORY]++;
		return XDP_DROP;
	}
	kring->n.out++;
	kring->n.bytes += len;
	return cfg.host ? XDP_PASS : bpf_redirect_map(&device, 0, 0);
}

/* Counts what the interface accepted.
 *
 * A program learns nothing of what becomes of a frame it redirects; this tracepoint tells. Frames of a sync come from
 * the loopback interface, where no frame of the wire ever comes from. */
SEC("tp_btf/xdp_devmap_xmit")
int taken(__u64 *args)
{
	const struct net_device___l *from = (void *)args[0], *to = (void *)args[1];
	int sent = args[2], drops = args[3], error = args[4];

	if (to->ifindex != cfg.ifindex || from->ifindex != LOOPBACK || to->nd_net.net->ns.inum != cfg.netns)
		return 0;
	__u32 ring = cfg.tx_rings + cfg.rx_rings;
	struct kring *kring = bpf_map_lookup_elem(&kstate, &ring);
	if (!kring)
		return 0;
	__sync_fetch_and_add(&kring->n.out, sent);
	/* A driver that can't send now refuses all; one whose queue fills up takes some. */
	if (error >= 0)
		__sync_fetch_and_add(&kring->n.drops[DEVICE_FULL], drops);
	return 0;
}

/* The end of each poll of a device, on the CPU that polled. */
SEC("tp_btf/napi_poll")
int polled(__u64 *args __attribute__((unused)))
{
	end_poll();
	return 0;
}

/* The kernel looks whether a pool of pages may go. */
SEC("tp_btf/page_pool_release")
int released(__u64 *args)
{
	struct kring *kring = bpf_map_lookup_elem(&kstate, KEY(cfg.tx_rings + cfg.rx_rings));

	if (kring)
		note_look(&kring->pools, args[1]);
	return 0;
}

char _license[] SEC("license") = "Dual BSD/GPL";
