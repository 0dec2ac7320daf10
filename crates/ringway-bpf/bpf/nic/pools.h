/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Pools of pages that senders to a switch's NICs leave behind (common/pools.h). */
#pragma once
#include "nic/state.h"
#include "common/pools.h"

/* The switch's word about them. It lies in entry 0 of the ports, which is no port, where others have stages. */
static __always_inline struct pools *own_pools(void)
{
	struct port_conf *no_port = conf_of(0);

	return no_port ? (struct pools *)&no_port->stages : 0;
}
_Static_assert(sizeof(struct pools) <= sizeof(struct stages), "it lies there");

/* Whether so many wait that no frame is to leave by a NIC. */
static __always_inline int too_many_pools(void)
{
	struct pools *pools = own_pools();

	return pools && pools_abound(pools, nic.most_pools);
}
