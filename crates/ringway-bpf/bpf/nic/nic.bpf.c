// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// A NIC as a member of a switch: `vale_wire` is attached to it, `vale_out` sends what virtual ports left for it, `vale_edge` sees
// clones of frames to several NICs off; and once for a switch, `vale_taken` and `vale_count`, which counts what drivers took.
// `vale_in` serves the host's side of NICs; `vale_host` and `vale_inject` are its own. `vale_skb` and `vale_cross` are those of members
// by tc.
#define LEARNERS WAYS // any number of CPUs
#include "nic/in.h"
#include "nic/conf.h"
#include "nic/out.h"
#include "nic/taken.h"
#include "nic/host_in.h"
#include "nic/host_tx.h"
#include "nic/tc.h"

char _license[] SEC("license") = "Dual BSD/GPL";
