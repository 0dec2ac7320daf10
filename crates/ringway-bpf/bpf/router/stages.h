/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the stages of a packet cost: the clock at their borders, for one run of the programs in STAGES_EVERY on a CPU.
 *
 * A build of its own has them (TIMED). The compiler leaves the borders out of the other one. While somebody watches, the control process has
 * members use the programs of that build. */
#pragma once
#include "router/tables.h"

/* TIMED_ONE_IN of crates/ringway-count. */
#define STAGES_EVERY 17

/* In the order of a packet's way. One that leaves early ends in the stage where it left. */
enum stage { PREROUTING, ROUTING, POSTROUTING, STAGES };

/* Before what CPUs count, in a place of the same size. Programs do not read it. */
struct stage_lease {
	__u64 until; /* of the monotonic clock, in ns: who watches moves it on again and again */
	__u64 timed; /* by the control process: 1 while members get programs of the build with stages */
	__u64 tables; /* the number of a map that the control process has: another version does not know of stages */
	__u64 exchanged; /* by the control process: 1 while all members have the programs that `timed` says */
	__u64 unused[4];
};

/* One for each CPU. Programs run with softirqs off, so each has a single writer. */
struct stage_counts {
	__u64 border; /* when the stage that a packet is in began */
	__u16 stage;
	__u16 left; /* 1: the packet is left to another program, which counts it */
	__u32 wait; /* runs until one is timed */
	__u64 runs, frames;
	__u64 ns[4];
};
_Static_assert(sizeof(struct stage_lease) == sizeof(struct stage_counts) && STAGES <= 4, "one map has both");

#ifdef TIMED

VALUE(struct stage_counts, stages, 1); /* the lease, then one for each CPU */

static __always_inline struct stage_counts *own_stages(void)
{
	struct stage_counts *all = START(stages);

	return &all[1 + (bpf_get_smp_processor_id() & cfg.cpus)];
}

/* The first stage of a run that is timed. */
__noinline int begin_first_stage(void)
{
	struct stage_counts *own = own_stages();

	own->wait = STAGES_EVERY - 1;
	own->stage = PREROUTING;
	own->left = 0;
	own->border = bpf_ktime_get_ns();
	return 1;
}

/* Whether this run is timed. The others have no call for it: with AMD's Safe RET, the return from one takes some 40 cycles. */
static __always_inline int begin_stages(void)
{
	struct stage_counts *own = own_stages();

	if (!own->wait)
		return begin_first_stage();
	own->wait--;
	return 0;
}

/* Ends a stage, and begins the next one. */
static __always_inline void end_stage(void)
{
	struct stage_counts *own = own_stages();
	__u64 now = bpf_ktime_get_ns();
	__u32 stage = own->stage & 3;

	own->ns[stage] += now - own->border;
	own->stage = stage + 1;
	own->border = now;
}

/* A packet that is left to the program by traffic control counts there. Its time counts in both. */
static __always_inline void leave_uncounted(void)
{
	own_stages()->left = 1;
}

/* Ends the last stage of a packet. */
static __always_inline void end_stages(__u32 frames)
{
	struct stage_counts *own = own_stages();

	end_stage();
	if (own->left)
		return;
	own->runs++;
	own->frames += frames;
}

#else

static __always_inline int begin_stages(void)
{
	return 0;
}

static __always_inline void end_stage(void)
{
}

static __always_inline void leave_uncounted(void)
{
}

static __always_inline void end_stages(__u32 frames __attribute__((unused)))
{
}

#endif

#define BORDER()                                                                              \
	do {                                                                                  \
		if (timed)                                                                    \
			end_stage();                                                          \
	} while (0)
