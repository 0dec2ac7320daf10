/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What all programs share with the library: regions of rings and buffers, control blocks, counters, reasons of drops.
 *
 * Trust: a client may change everything in a region at any moment. Programs read each such word once, check it, and then use it.
 *
 * Who includes this has declared `cfg` before, with the places in the region as constants: the verifier proves by them that accesses
 * stay inside.
 */
#pragma once
#include <linux/types.h>
#include "common/bounds.h"
#include "common/ether.h"
#include "common/once.h"

/* Flags of a slot: netmap's, and one for super-frames. */
#define NS_BUF_CHANGED 0x1
#define NS_NO_LEARN 0x8
#define NS_INDIRECT 0x10
#define NS_MOREFRAG 0x20
#define NS_OFFLOAD 0x80

#define RING_HEADER 256 /* bytes of a ring before its slots */
#define FIRST_BUF 2     /* netmap keeps buffers 0 and 1 to itself */

/* Written by the client; one per ring, in the region. The wish has a line of its own: it is read for every frame, and the line of the
 * cursors changes with every sync. */
struct ctl {
	__u32 head;  /* rx: slots before it are given back. tx: slots before it are to be sent */
	__u32 start; /* ports of interfaces, tx: where sending starts, taken when gen changes */
	__u32 gen;   /* of the same */
	__u32 unused0[13];
	__u32 wish;  /* rx: the client sleeps and wants its doorbell rung */
	__u32 quiet; /* switches, rx: not 0: the programs may leave a wish; the client is to look for itself. They write it, and never believe it */
	__u32 whole; /* switches, rx: not 0: the client takes super-frames whole, with a note of what is left to be done */
	__u32 unused1[13];
};
_Static_assert(sizeof(struct ctl) == 128 && __builtin_offsetof(struct ctl, wish) == 64, "slots and cursors of the library");

/* Why frames are lost, in the order of `DropReason` in stats.rs. */
enum drop {
	RING_FULL, BAD_SLOT, TOO_SHORT, TOO_LONG, DEVICE_FULL, DEVICE_REFUSED, NO_MEMORY, BAD_OFFLOAD, INJECTED,
	RECEIVER_FULL, NO_DESTINATION, SAME_PORT, BLACKHOLE, MODULE, VLAN, ISOLATION, STORM,
};

#define REASONS 23 /* places for them in a block of counters */

/* Same order as `Field` and `DropReason` in stats.rs. */
struct counters {
	__u64 in, out, bytes, syncs, resets, wakeups, busy_syncs, avail;
	__u64 drops[REASONS];
	__u64 wakeups_withheld; /* of switches only */
};
_Static_assert(sizeof(struct counters) == 256, "stats.rs");

/* Rings are numbered tx rings first. */
static __always_inline struct ctl *ctl_of(void *reg, __u32 ring)
{
	return reg + cfg.ctl_ofs + (__u64)ring * sizeof(struct ctl);
}

static __always_inline __u64 *slot_of(void *reg, __u32 ring, __u32 i)
{
	return reg + cfg.rings_ofs + times(ring, cfg.ring_size) + RING_HEADER + (__u64)i * 16;
}

static __always_inline void *buf_of(void *reg, __u32 idx)
{
	return reg + cfg.bufs_ofs + times(idx, cfg.buf_size);
}
