// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Never loaded. Its types say where things lie in structures that the library knows, and what numbers stand for; clang describes
// the types of variables.
#include "layout/numbers.h"
#include "port/ring.h"

struct ctl a_ctl;
struct counters a_counters;
struct kring a_kring;
struct pools a_pools;
enum drop a_drop;

enum numbers {
	NUMBER(RING_HEADER),
	NUMBER(FIRST_BUF),
	NUMBER(MAX_CHAIN),
	NUMBER(NS_BUF_CHANGED),
	NUMBER(NS_NO_LEARN),
	NUMBER(NS_INDIRECT),
	NUMBER(NS_MOREFRAG),
	NUMBER(NS_OFFLOAD),
	NUMBER(REASONS),
	NUMBER(POOL_WINDOW_BITS),
	NUMBER(POOL_WINDOWS),
	NUMBER_IS(ALL_QUEUES, ALL_QUEUES),
} numbers;
