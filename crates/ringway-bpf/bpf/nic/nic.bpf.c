// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// A NIC as a member of a switch. Each NIC and each host's side has its own instances; `vale_taken`, `vale_count` and
// `vale_released` are one of each for a switch.
#define LEARNERS WAYS // any number of CPUs
#include "nic/in.h"
#include "nic/out.h"
#include "nic/taken.h"
#include "nic/host_tx.h"
#include "nic/tc.h"

/* Attached to the interface by XDP: what the wire brings. Of a member by tc it stands at the inner end of the crossing. */
SEC("xdp.frags")
int vale_wire(struct xdp_md *ctx)
{
	return enter_from_wire(ctx);
}

/* Run by senders: sends what virtual ports left for the interface. */
SEC("xdp.frags")
int vale_out(struct xdp_md *ctx)
{
	return send_next(ctx);
}

/* Run by the kernel before it gives the interface a redirected frame: sees clones off that are not for it. */
SEC("xdp.frags/devmap")
int vale_edge(struct xdp_md *ctx)
{
	return pass_edge(ctx);
}

/* Attached to a tracepoint: goes on to the program that counts, which a reload replaces. */
SEC("tp_btf/xdp_devmap_xmit")
int vale_taken(__u64 *args)
{
	bpf_tail_call(args, &counting, 0);
	return 0;
}

/* Counts what drivers took. */
SEC("tp_btf/xdp_devmap_xmit")
int vale_count(__u64 *args)
{
	return count_taken(args);
}

/* Attached to a tracepoint: the kernel looks whether a pool of pages may go. */
SEC("tp_btf/page_pool_release")
int vale_released(__u64 *args)
{
	struct pools *pools = own_pools();

	if (pools)
		note_look(pools, args[1]);
	return 0;
}

/* Attached to the interface behind `vale_wire`: frames for hosts. */
SEC("tcx/ingress")
int vale_in(struct __sk_buff *skb)
{
	return follow_note(skb);
}

/* Attached to the interface where its host sends: what the host's side of the NIC brings. */
SEC("tcx/egress")
int vale_host(struct __sk_buff *skb)
{
	return enter_from_host(skb);
}

/* Run by senders: gives the host what virtual ports left for it. */
SEC("xdp.frags")
int vale_inject(struct xdp_md *ctx)
{
	return inject_next(ctx);
}

/* Attached to a member by traffic control: what its wire brings. */
SEC("tcx/ingress")
int vale_skb(struct __sk_buff *skb)
{
	return enter_skb(skb);
}

/* Attached to the outer end of such a member's crossing: what goes out by the member. */
SEC("tcx/ingress")
int vale_cross(struct __sk_buff *skb)
{
	return leave_crossing(skb);
}

char _license[] SEC("license") = "Dual BSD/GPL";
