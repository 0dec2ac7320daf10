// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The kernel half of an `xdp:` port: leads the frames of each queue that has a socket to it. The frames of other queues
// go on to the host stack.
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

struct {
	__uint(type, BPF_MAP_TYPE_XSKMAP);
	__uint(max_entries, 1);
	__uint(key_size, 4);
	__uint(value_size, 4);
} sockets SEC(".maps");

SEC("xdp.frags")
int to_socket(struct xdp_md *ctx)
{
	return bpf_redirect_map(&sockets, ctx->rx_queue_index, XDP_PASS);
}

char _license[] SEC("license") = "Dual BSD/GPL";
