/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Counts what the drivers of a switch's NICs took: one program for all of them, since it runs for each bulk of frames that any
 * XDP program in the system redirects to any interface. */
#pragma once
#include "nic/state.h"
#include "common/netdev.h"

/* The program that counts, or none. Programs attached to a tracepoint can't be replaced without counting a bulk twice or not
 * at all; an entry of this map can. */
struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, 4);
	__uint(value_size, 4);
} counting SEC(".maps");

/* A program learns nothing of what becomes of a frame it redirects; this tracepoint tells. Frames that other programs than
 * a switch's redirect to the interface are counted as well, but never for more than was handed over here (add_nic_counts). */
static __always_inline int count_taken(__u64 *args)
{
	const struct net_device___l *to = (void *)args[1];
	int sent = args[2], drops = args[3], error = args[4];
	struct nic_key key = { .ifindex = to->ifindex, .netns = to->nd_net.net->ns.inum };
	__u32 *port = bpf_map_lookup_elem(&nic_ports, &key);

	if (!port)
		return 0;
	struct nic_cpu *cpu = nic_of(*port);
	if (!cpu)
		return 0;
	cpu->sent += sent;
	/* A driver that can't send now refuses all; one whose queue fills up takes some. */
	if (error >= 0)
		cpu->full += drops;
	return 0;
}
