// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The kernel half of an `ebpf:` port. A port of an interface loads nic_rx, tx and taken; its host rings load host_rx
// and tx. Maps: the region and cursors in ring.h, doorbells in rx.h, the target interface in tx.h.
#include "nic_rx.h"
#include "host_rx.h"
#include "tx.h"
#include "taken.h"

char _license[] SEC("license") = "Dual BSD/GPL";
