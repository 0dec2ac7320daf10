// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Never loaded: its types tell the build where things lie in structures that the library knows. Clang describes the types of variables.
#include "router/tables.h"

struct budget a_budget;
struct control a_control;
struct counts a_counts;
struct hop a_hop;
struct hop_count a_hop_count;
struct member a_member;
