/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Counts what became of forwarded packets: a program learns nothing of a frame after it returned XDP_REDIRECT. One of each for a
 * router. They run for bulks of frames that any XDP program in the system redirects. */
#pragma once
#include "router/tables.h"
#include "common/netdev.h"

static __always_inline __u32 *member_of(__u32 ifindex, const struct net_device___l *in)
{
	struct nic_key key = { .ifindex = ifindex, .netns = in->nd_net.net->ns.inum };

	return bpf_map_lookup_elem(&nics, &key);
}

/* A driver was given frames, in bulks of up to 16. An error means that it took none. */
static __always_inline int count_taken(__u64 *args)
{
	const struct net_device___l *from = (void *)args[0], *to = (void *)args[1];
	int sent = args[2], lost = args[3], error = args[4];

	if (!member_of(from->ifindex, from))
		return 0;
	__u32 *member = member_of(to->ifindex, to);
	if (!member)
		return 0;
	count_of(*member, SENT, sent);
	count_of(*member, error < 0 ? DEVICE_REFUSED : DEVICE_FULL, lost);
	return 0;
}

/* A frame was not even given to a driver: the interface is down, its MTU too small, or it can't send for XDP. */
static __always_inline int count_refused(__u64 *args)
{
	const struct net_device___l *from = (void *)args[0];
	__u32 to = args[6];

	if (!member_of(from->ifindex, from))
		return 0;
	__u32 *member = member_of(to, from);
	if (member)
		count_of(*member, DEVICE_REFUSED, 1);
	return 0;
}
