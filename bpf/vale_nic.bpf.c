// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// A NIC as a member of a switch: `vale_wire` is attached to it, `vale_out` sends what virtual ports left for it,
// `vale_edge` sees clones of frames to several NICs off, and `vale_taken` counts what its driver took.
#include "vale_nic_in.h"
#include "vale_nic_conf.h"
#include "vale_nic_out.h"

char _license[] SEC("license") = "Dual BSD/GPL";
