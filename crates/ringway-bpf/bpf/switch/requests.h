/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What users of a switch's port pass to its programs, and what these answer. */
#pragma once
#include "switch/state.h"

/* What a user passes to `vale_send`, which may be anything. One program serves all ports: the ticket shows that the port is the caller's. */
struct request {
	__u32 ring, port;
	__u64 ticket;
};

/* The question to `vale_look`, and its answer. */
struct look {
	__u32 ring; /* of each direction; asked */
	__u32 dear; /* of the doorbell of the rx ring */
	__u32 port, epoch;
	__u32 nic;  /* as in the state */
	__u32 sent;
	__u64 head, pub, ticket;
	struct counters tx, rx;
};
