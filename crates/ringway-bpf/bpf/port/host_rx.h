/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The receiving half of host rings: what the host sends on an interface goes to a ring instead of the wire. There is
 * one ring for each CPU: this program runs with softirqs off, so a CPU is a single writer and needs no lock. */
#pragma once
#include "port/rx.h"
#include "port/host_cut.h"

DEFINE_LONG_FRAME(host_long, struct __sk_buff, load_frame)

#define TCX_NEXT -1
#define TCX_PASS 0
#define TCX_DROP 2

SEC("tcx/egress")
int host_rx(struct __sk_buff *skb)
{
	__u32 zero = 0, cpu = bpf_get_smp_processor_id();

	if (cpu >= cfg.rx_rings)
		return TCX_PASS;
	__u32 r = cfg.tx_rings + cpu;
	struct kring *k = bpf_map_lookup_elem(&kstate, KEY(r));
	void *reg = bpf_map_lookup_elem(&region, &zero);
	if (!k || !reg)
		return TCX_PASS;
	__u64 out = k->n.out;
	if (skb->gso_size) {
		cut(skb, k, ctl_of(reg, r), cpu);
	} else {
		k->n.in++;
		if (skb->len < ETH_HLEN)
			k->n.drops[TOO_SHORT]++;
		else
			host_long(skb, k, ctl_of(reg, r), cpu, frame_len(skb));
	}
	if (cfg.copy)
		return TCX_NEXT;
	/* The stack hears of a frame that is lost, as from a full queue. One that was taken is to be sent to it: there is no
	 * interface 0, so the kernel frees the frame and tells the sender that it went out. */
	return k->n.out == out ? TCX_DROP : bpf_redirect(0, 0);
}
