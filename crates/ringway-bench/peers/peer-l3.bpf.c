// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//
// Programs of peer-l3: generate IPv4 packets of many flows, forward them by the kernel's own tables.
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/ip.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "peer-l3.h"

#define AF_INET 2

const volatile struct l3_config l3_config = {};
__u64 sequence; // one flood process, one CPU at a time

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); // as many as there are flows: set before loading
	__type(key, __u32);
	__type(value, struct flow);
} flows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_DEVMAP);
	__uint(max_entries, MAX_PORTS);
	__type(key, __u32);
	__type(value, __u32);
} ports SEC(".maps"); // each interface under its own number

static __always_inline __u32 halves(__u32 sum) { return (sum & 0xffff) + (sum >> 16); }

// Run once per live frame, a recycled page that a receiver may have written to: the program writes all of it.
SEC("xdp") int flood(struct xdp_md *ctx)
{
	__u8 *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	__u32 number = sequence++ & l3_config.mask;
	struct flow *flow = bpf_map_lookup_elem(&flows, &number);
	if (!flow || data + 60 > end) return XDP_ABORTED;
	__u64 *to = (void *)data;
#pragma unroll
	for (int i = 0; i < FRAME_WORDS - 1; i++) to[i] = l3_config.frame[i];
	*(__u32 *)(data + 56) = 0;
	struct iphdr *ip = (void *)(data + ETH_HLEN);
	ip->saddr = flow->source;
	ip->daddr = flow->destination;
	ip->check = ~halves(halves(ip->check + halves(flow->source) + halves(flow->destination)));
	return bpf_redirect(l3_config.ifindex, 0);
}

// The idea of the kernel's sample xdp_fwd: what its tables know goes out, all else to the stack.
SEC("xdp") int forward(struct xdp_md *ctx)
{
	struct ethhdr *eth = (void *)(long)ctx->data;
	struct iphdr *ip = (void *)(eth + 1);
	if ((void *)(ip + 1) > (void *)(long)ctx->data_end || eth->h_proto != bpf_htons(ETH_P_IP)) return XDP_PASS;
	if (ip->version != 4 || ip->ihl != 5 || ip->ttl <= 1) return XDP_PASS;
	struct bpf_fib_lookup fib = { .family = AF_INET, .tos = ip->tos, .l4_protocol = ip->protocol,
		.tot_len = bpf_ntohs(ip->tot_len), .ipv4_src = ip->saddr, .ipv4_dst = ip->daddr,
		.ifindex = ctx->ingress_ifindex };
	if (bpf_fib_lookup(ctx, &fib, sizeof fib, 0) != BPF_FIB_LKUP_RET_SUCCESS) return XDP_PASS;
	__u32 check = ip->check + bpf_htons(0x0100); // RFC 1624 for a TTL that is less by one
	ip->check = check + (check >= 0xffff);
	ip->ttl--;
	__builtin_memcpy(eth->h_dest, fib.dmac, ETH_ALEN);
	__builtin_memcpy(eth->h_source, fib.smac, ETH_ALEN);
	return bpf_redirect_map(&ports, fib.ifindex, 0);
}

char _license[] SEC("license") = "Dual BSD/GPL";
