/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What programs read of the kernel's interfaces. The loader finds the places of the fields in the running kernel. */
#pragma once
#include <linux/types.h>

struct ns_common___l {
	unsigned int inum;
} __attribute__((preserve_access_index));
struct net___l {
	struct ns_common___l ns;
} __attribute__((preserve_access_index));
struct net_device___l {
	__u32 ifindex;
	struct {
		struct net___l *net;
	} nd_net;
} __attribute__((preserve_access_index));

struct xdp_rxq_info___l {
	struct net_device___l *dev;
} __attribute__((preserve_access_index));

struct nsproxy___l {
	struct net___l *net_ns;
} __attribute__((preserve_access_index));
struct task_struct___l {
	struct nsproxy___l *nsproxy;
} __attribute__((preserve_access_index));

/* Index of the loopback interface, from which live frames come unless the caller names another one. */
#define LOOPBACK 1
