/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the stages of frames cost that come in by a NIC: the clock at their borders, for one frame in WIRE_STAGES_EVERY on a CPU. A
 * frame that is timed takes half as long again, so they are fewer than the bursts of sends (STAGES_EVERY).
 *
 * Each frame compares `nic_cpu.tick` with the present tick. While somebody watches the port, that word has a mark, so it is another
 * one. A frame that nobody watches runs no instruction for this, but for the first one of a tick, which looks for the watcher. */
#pragma once
#include "nic/state.h"

/* In `nic_cpu.tick`, beside the tick: the port is watched, and how many frames go by until one is timed. */
#define TICK_WATCHED (1ULL << 63)
#define TICK_FRAME (1ULL << 56)
#define TICK_FRAMES (127 * TICK_FRAME)
#define TICK_BITS (TICK_FRAME - 1)
_Static_assert(WIRE_STAGES_EVERY - 1 <= 127, "TICK_FRAMES has room for it");

/* The mark of a tick that began at `ns`. */
static __always_inline __u64 watch_mark(struct nic_cpu *cpu, __u64 ns)
{
	__u32 self = cfg.port;
	struct port_conf *conf = conf_of(self);

	return conf && ns < READ_ONCE(conf->stages.until) ? TICK_WATCHED | (cpu->tick & TICK_FRAMES) : 0;
}

static __always_inline int is_other_tick(struct nic_cpu *cpu, __u64 jiffies)
{
	return ((cpu->tick ^ jiffies) & TICK_BITS) != 0;
}

/* Whether the frame is timed. */
static __always_inline int is_frame_timed(struct nic_cpu *cpu)
{
	__u64 tick = cpu->tick;

	if (!(tick & TICK_WATCHED))
		return 0;
	if (tick & TICK_FRAMES) {
		cpu->tick = tick - TICK_FRAME;
		return 0;
	}
	cpu->tick = tick | (WIRE_STAGES_EVERY - 1) * TICK_FRAME;
	return 1;
}

/* Ends a stage, which began at `border`. CPUs share the counters of a port. Without a border the frame is not timed; the compiler
 * knows. */
static __always_inline void end_wire_stage(__u64 *border, enum stage stage)
{
	__u32 self = cfg.port;

	if (!border)
		return;
	struct port_conf *conf = conf_of(self);
	__u64 now = bpf_ktime_get_ns();
	if (conf)
		__sync_fetch_and_add(&conf->stages.ns[stage], now - *border);
	*border = now;
}

/* Ends the last stage of a frame. */
static __always_inline void end_timed_frame(__u64 *border)
{
	__u32 self = cfg.port;
	struct port_conf *conf = conf_of(self);

	end_wire_stage(border, DELIVER);
	if (!conf)
		return;
	__sync_fetch_and_add(&conf->stages.bursts, 1);
	__sync_fetch_and_add(&conf->stages.frames, 1);
}

/* Both stages of a buffer with so many frames, which had its way at `decided`. */
static __always_inline void end_both_stages(__u64 begun, __u64 decided, __u32 frames)
{
	__u32 self = cfg.port;
	struct port_conf *conf = conf_of(self);

	if (!conf)
		return;
	__sync_fetch_and_add(&conf->stages.ns[DECIDE], decided - begun);
	__sync_fetch_and_add(&conf->stages.ns[DELIVER], bpf_ktime_get_ns() - decided);
	__sync_fetch_and_add(&conf->stages.bursts, 1);
	__sync_fetch_and_add(&conf->stages.frames, frames);
}
