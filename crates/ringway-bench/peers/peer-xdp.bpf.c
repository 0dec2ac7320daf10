// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//
// Programs of peer-xdp: redirect between two interfaces, count and drop or pass, generate.
#include <linux/bpf.h>
#include <linux/pkt_cls.h>

#include <bpf/bpf_helpers.h>

#include "peer-xdp.h"

const volatile struct flood_config flood_config = {};
__u64 sequence; // one flood process, one CPU at a time

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, struct count);
} counts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_DEVMAP);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, __u32);
} ports SEC(".maps");

static __always_inline void count(__u32 direction, __u32 bytes)
{
	struct count *c = bpf_map_lookup_elem(&counts, &direction);
	if (!c) return;
	c->packets++;
	c->bytes += bytes;
}

SEC("xdp") int sink(struct xdp_md *ctx)
{
	count(0, ctx->data_end - ctx->data);
	return XDP_DROP;
}

SEC("xdp") int pass(struct xdp_md *ctx)
{
	count(0, ctx->data_end - ctx->data);
	return XDP_PASS;
}

SEC("tc") int sink_skb(struct __sk_buff *skb)
{
	count(0, skb->len);
	return TC_ACT_SHOT;
}

SEC("xdp") int first_to_second(struct xdp_md *ctx)
{
	count(0, ctx->data_end - ctx->data);
	return bpf_redirect_map(&ports, 1, 0);
}

SEC("xdp") int second_to_first(struct xdp_md *ctx)
{
	count(1, ctx->data_end - ctx->data);
	return bpf_redirect_map(&ports, 0, 0);
}

// Run once per live frame. Live frames are recycled pages that a receiver may have written to: the program
// writes the head each time. The caller's data follows it. The frames seem to have come by the interface, so XDP_TX
// sends them there, without the call of a helper.
SEC("xdp") int flood(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	if (data + FRAME_HEAD > end) return XDP_ABORTED;
	__u64 *to = data;
#pragma unroll
	for (int i = 0; i < FRAME_HEAD / 8; i++) to[i] = flood_config.head[i];
	*(__u32 *)(data + FRAME_HEAD - 4) = (__u32)flood_config.head[FRAME_HEAD / 8];
	*(__u64 *)(data + SEQUENCE_WORD_AT) = sequence++;
	return XDP_TX;
}

char _license[] SEC("license") = "Dual BSD/GPL";
