/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What programs of traffic control answer: `enum tcx_action_base` of linux/bpf.h since Linux 6.6, which Debian 12's headers lack. */
#pragma once

#define TCX_NEXT -1 /* on to the next program there, then to the stack */
#define TCX_PASS 0
#define TCX_DROP 2
