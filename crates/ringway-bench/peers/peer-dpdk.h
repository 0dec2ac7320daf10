// SPDX-License-Identifier: MIT OR Apache-2.0
//
// How a peer starts DPDK: without huge pages, without devices, without files.
#ifndef PEER_DPDK_H
#define PEER_DPDK_H

#include "peer.h"

#include <rte_eal.h>
#include <rte_errno.h>
#include <unistd.h>

// `more` are options behind these, up to a NULL.
static inline void dpdk_start(const char *name, const char *megabytes, const char *cpu, const char *const *more)
{
	char own[32]; // the folder of a peer that was killed meanwhile is deleted by this name
	snprintf(own, sizeof own, "ringway-%d-0", (int)getpid());
	const char *args[32] = { name, "--no-huge", "-m", megabytes, "--no-shconf", "--no-pci", "--no-telemetry",
		"--log-level=error", "--log-level=3", "-l", cpu, "--file-prefix", own };
	int count = 13;
	while (more && *more && count < 32) args[count++] = *more++;
	int started = rte_eal_init(count, (char **)(uintptr_t)args);
	rmdir(rte_eal_get_runtime_dir()); // empty, as nothing is shared
	if (started < 0) quit(EXIT_UNAVAILABLE, "rte_eal_init: %s", rte_strerror(rte_errno));
}

#endif
