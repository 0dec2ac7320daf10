/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Counts what the interface accepted. */
#pragma once
#include "port/ring.h"
#include "common/netdev.h"

/* A program learns nothing of what becomes of a frame it redirects; this tracepoint tells. Frames of a sync come from
 * the loopback interface, where no frame of the wire ever comes from. */
SEC("tp_btf/xdp_devmap_xmit")
int taken(__u64 *args)
{
	const struct net_device___l *from = (void *)args[0], *to = (void *)args[1];
	int sent = args[2], drops = args[3], error = args[4];

	if (to->ifindex != cfg.ifindex || from->ifindex != 1 || to->nd_net.net->ns.inum != cfg.netns)
		return 0;
	__u32 r = cfg.tx_rings + cfg.rx_rings;
	struct kring *k = bpf_map_lookup_elem(&kstate, &r);
	if (!k)
		return 0;
	__sync_fetch_and_add(&k->n.out, sent);
	/* A driver that can't send now refuses all; one whose queue fills up takes some. */
	if (error >= 0)
		__sync_fetch_and_add(&k->n.drops[DEVICE_FULL], drops);
	return 0;
}
