/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The one symbol that the library exports. */
#include "inside.h"

__attribute__((visibility("default"))) extern const struct ringway_dpdk ringway_dpdk;

const struct ringway_dpdk ringway_dpdk = {
	.abi = RINGWAY_DPDK_ABI,
	.size = sizeof(struct ringway_dpdk),
	.start = start,
	.open = open_port,
	.close = close_port,
	.receive = receive,
	.reserve = reserve,
	.send = send_frames,
	.discard = discard,
	.link = port_link,
	.stats = port_stats,
	.error = last_error,
};
