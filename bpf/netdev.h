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
