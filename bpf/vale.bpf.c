// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// A switch that runs in its senders: each port has an instance of this program, with its own number frozen in.
#ifndef WITH_MODULE
#define WITH_MODULE 0
#endif
#include "vale_send.h"

char _license[] SEC("license") = "Dual BSD/GPL";
