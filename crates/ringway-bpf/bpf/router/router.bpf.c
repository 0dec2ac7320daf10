// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// A router: `router` is attached to each member; `router_beat` is run by the control process; `router_taken` and `router_refused`
// count what drivers took.
#include "router/packet.h"
#include "router/taken.h"

SEC("xdp.frags")
int router(struct xdp_md *ctx)
{
	return route(ctx);
}

/* Notes that the control process lives and that its tables are to be trusted, or that they are not. */
SEC("syscall")
int router_beat(__u32 *ready)
{
	WRITE_ONCE(control[0].beat, *ready ? bpf_jiffies64() : 0);
	return 0;
}

/* Attached to tracepoints. */
SEC("tp_btf/xdp_devmap_xmit")
int router_taken(__u64 *args)
{
	return count_taken(args);
}

SEC("tp_btf/xdp_redirect_err")
int router_refused(__u64 *args)
{
	return count_refused(args);
}

char _license[] SEC("license") = "Dual BSD/GPL";
