/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Structures and numbers that ports and switches share with the library: slots, control blocks, counters, reasons of drops.
 *
 * Trust: a client may change everything in a region at any moment. Programs read each such word once, check it, and then use it.
 */
#pragma once
#include <linux/types.h>

/* Flags of a slot: netmap's, and one for super-frames. */
#define NS_BUF_CHANGED 0x1
#define NS_NO_LEARN 0x8
#define NS_INDIRECT 0x10
#define NS_MOREFRAG 0x20
#define NS_OFFLOAD 0x80

#define RING_HEADER 256 /* bytes of a ring before its slots */
#define FIRST_BUF 2     /* netmap keeps buffers 0 and 1 to itself */
#define MAX_CHAIN 64    /* slots of a frame */
#define MAX_FRAME 65535 /* bytes of one */

/* Written by the client; one per ring, in the region. The wish has a line of its own: it is read for every frame, and the line of the
 * cursors changes with every sync. */
struct ctl {
	__u32 head;  /* rx: slots before it are given back. tx: slots before it are to be sent */
	__u32 start; /* ports of interfaces, tx: where sending starts, taken when gen changes */
	__u32 gen;   /* of the same */
	__u32 small; /* of the same: when a process last sent without the programs, in ms. They do not read it */
	__u32 unused0[12];
	__u32 wish;  /* rx: the client sleeps and wants its doorbell rung */
	__u32 quiet; /* switches, rx: not 0: the programs may leave a wish; the client is to look for itself. They write it, and never believe it */
	__u32 whole; /* switches, rx: not 0: the client takes super-frames whole, with a note of what is left to be done */
	__u32 unused1[13];
};
_Static_assert(sizeof(struct ctl) == 128 && __builtin_offsetof(struct ctl, wish) == 64, "slots and cursors of the library");

/* Why frames are lost, in the order of `DropReason` in stats.rs. */
enum drop {
	RING_FULL, BAD_SLOT, TOO_SHORT, TOO_LONG, DEVICE_FULL, DEVICE_REFUSED, NO_MEMORY, BAD_OFFLOAD, INJECTED,
	RECEIVER_FULL, NO_DESTINATION, SAME_PORT, BLACKHOLE, MODULE, VLAN, ISOLATION, STORM, PEER_GONE,
};

#define REASONS 23 /* places for them in a block of counters; ports in shared memory count their links in the last one */
#define REASON_BITS 31

/* Same order as `Field` and `DropReason` in stats.rs. */
struct counters {
	__u64 in, out, bytes, syncs, resets, wakeups, busy_syncs, avail;
	__u64 drops[REASONS];
	__u64 wakeups_withheld; /* of switches only */
};
_Static_assert(sizeof(struct counters) == 256, "stats.rs");

/* Of the word of a slot, whose lower half is the index of its buffer. Macros, for the sake of the code that clang makes. */
#define SLOT_LEN(word) ((word) >> 32 & 0xffff)
#define SLOT_FLAGS(word) ((word) >> 48)
