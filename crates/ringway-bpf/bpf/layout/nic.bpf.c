// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Never loaded: its types tell the build where things lie in structures that the library knows. Clang describes the types of variables.
#include "nic/state.h"

struct nic_cpu a_nic_cpu;
struct nic_key a_nic_key;
