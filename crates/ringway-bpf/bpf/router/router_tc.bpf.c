// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// A router: `router_tc` is attached to members by traffic control, and behind `router` where that leaves packets to members of this kind.
#define BY_TC 1
#include "router/packet.h"

/* Whether `router` left it to this program: it made the first rules, and counted nothing. */
static __always_inline int is_left(struct __sk_buff *ctx)
{
	struct left *note = (void *)(long)ctx->data_meta;

	return (void *)(note + 1) <= (void *)(long)ctx->data && note->mark == LEFT_MARK && note->ifindex == cfg.ifindex;
}

SEC("tcx/ingress")
int router_tc(struct __sk_buff *ctx)
{
	return cfg.behind && !is_left(ctx) ? PASS : route(ctx);
}

char _license[] SEC("license") = "Dual BSD/GPL";
