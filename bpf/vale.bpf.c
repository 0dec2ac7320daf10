// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// A switch that runs in its senders: each port has an instance of `vale_send` with its own number frozen in, and of `vale_look`, by
// which its user looks at the state of the port.
#include "vale_send.h"
#include "vale_conf.h"
#include "vale_form.h"
#include "vale_look.h"

char _license[] SEC("license") = "Dual BSD/GPL";
