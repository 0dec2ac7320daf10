// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Never loaded: its types tell the build where things lie in structures that the library knows. Clang describes the types of variables.
#include "port/ring.h"

struct ctl a_ctl;
struct counters a_counters;
struct kring a_kring;
