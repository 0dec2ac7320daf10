// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// A switch that runs in its senders: one instance of `vale_send` serves all its ports. With a user's module, which has memory of its
// own, each port has one.
#include "switch/send.h"

/* Run by senders. */
SEC("syscall")
int vale_send(struct request *request)
{
	return serve(request);
}

char _license[] SEC("license") = "Dual BSD/GPL";
