// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Never loaded. Its types say where things lie in structures that the library knows, and what numbers stand for; clang describes
// the types of variables.
#include "layout/numbers.h"
#include "nic/out.h"

struct nic_cpu a_nic_cpu;
struct nic_key a_nic_key;

enum numbers {
	NUMBER(NICS),
	NUMBER(PORT_NIC),
	NUMBER(PORT_HOST),
	NUMBER(NIC_INDEX),
	NUMBER(NIC_NETNS),
	NUMBER(NIC_BESIDE),
	NUMBER(LIVE_MAX),
	NUMBER(WIRE_STAGES_EVERY),
} numbers;
