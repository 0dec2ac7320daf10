// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The kernel half of an `ebpf:` port. A port of an interface loads nic_rx, tx and taken; its host rings load host_rx
// and tx. Maps: the region and cursors in port/ring.h, doorbells in port/rx.h, the target interface in port/tx.h.
#include "port/nic_rx.h"
#include "port/host_rx.h"
#include "port/tx.h"
#include "port/taken.h"

char _license[] SEC("license") = "Dual BSD/GPL";
