// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Never loaded. Its types say where things lie in structures that the library knows, and what numbers stand for; clang describes
// the types of variables.
#include "layout/numbers.h"
#include "router/stages.h"

struct budget a_budget;
struct control a_control;
struct counts a_counts;
struct hop a_hop;
struct hop_count a_hop_count;
struct member a_member;
struct stage_counts a_stage_counts;
struct stage_lease a_stage_lease;
enum cut a_cut;
enum outcome a_outcome;
enum stage a_stage;
enum verdict a_verdict;

enum numbers {
	NUMBER(MEMBERS),
	NUMBER(STAGES_EVERY),
} numbers;
