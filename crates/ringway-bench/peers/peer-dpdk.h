// SPDX-License-Identifier: MIT OR Apache-2.0
//
// How a peer starts DPDK: without huge pages, without devices, without files that other processes see.
#ifndef PEER_DPDK_H
#define PEER_DPDK_H

#include "peer.h"

#include <rte_eal.h>
#include <rte_errno.h>

// `more` are options behind these, up to a NULL.
static inline void dpdk_start(const char *name, const char *megabytes, const char *cpu, const char *const *more)
{
	const char *args[32] = { name, "--no-huge", "-m", megabytes, "--no-shconf", "--no-pci", "--no-telemetry",
		"--log-level=error", "--log-level=3", "-l", cpu };
	int count = 11;
	while (more && *more && count < 32) args[count++] = *more++;
	if (rte_eal_init(count, (char **)(uintptr_t)args) < 0)
		quit(EXIT_UNAVAILABLE, "rte_eal_init: %s", rte_strerror(rte_errno));
}

#endif
