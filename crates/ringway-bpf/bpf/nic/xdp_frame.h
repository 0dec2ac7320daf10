/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What `struct xdp_md` does not tell of a frame, from the kernel's own `struct xdp_buff` (Linux 6.2), or asked in another way. */
#pragma once
#include "nic/state.h"
#include "common/xdp_len.h"

#if OLD_KERNEL

/* Whether the run is one for the stack of this NIC: the kernel gives it frames that seem to have come from there. It looks up the
 * interface that its caller named in the caller's network namespace. */
static __always_inline int is_at_nic(struct xdp_md *ctx)
{
	struct task_struct___l *task = (void *)bpf_get_current_task_btf();

	return ctx->ingress_ifindex == nic.ifindex && task->nsproxy->net_ns->ns.inum == nic.netns;
}

#else

static __always_inline int is_at_nic(struct xdp_md *ctx)
{
	struct xdp_buff___l *x = bpf_cast_to_kern_ctx(ctx);
	struct net_device___l *dev = x->rxq->dev;

	return dev->ifindex == nic.ifindex && dev->nd_net.net->ns.inum == nic.netns;
}

#endif
