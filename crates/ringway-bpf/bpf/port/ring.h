/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the programs in the kernel and the library share: the region, cursors, counters, doorbells.
 *
 * Trust: everything in the region and in `struct ctl` may be changed by the client at any moment. Each such word
 * is read once, checked and then used. The kernel's own cursors and counters are in `kring`, which the client
 * maps read-only. The numbers in `cfg` are frozen before load, so the verifier knows them as constants and
 * proves that every access stays inside the region.
 */
#pragma once
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include "common/bounds.h"

#define READ_ONCE(x) (*(volatile typeof(x) *)&(x))
#define WRITE_ONCE(x, v) (*(volatile typeof(x) *)&(x) = (v))

#define NS_BUF_CHANGED 0x1
#define NS_MOREFRAG 0x20
#define RING_HEADER 256
#define FIRST_BUF 2
#define ETH_HLEN 14

/* Set by the library before load; crates/ringway/src/backend/ebpf/object.rs mirrors it. */
struct config {
	__u32 ctl_ofs;   /* control block of the port's first ring; 128 bytes each, tx rings first */
	__u32 rings_ofs; /* first ring object of the port */
	__u32 ring_size;
	__u32 slots;
	__u32 bufs_ofs;
	__u32 buf_size;
	__u32 bufs;
	__u32 tx_rings;
	__u32 rx_rings;
	__u32 queue;     /* the one queue to serve, or ALL_QUEUES */
	__u32 host;      /* host rings: what is sent enters the host stack */
	__u32 max_frame; /* longest frame that one live frame holds */
	__u32 ifindex;
	__u32 netns;     /* inode number of the interface's network namespace */
	__u32 copy;      /* frames received go to the host (host rings: to the wire) as well */
};
#define ALL_QUEUES (~0u)
const volatile struct config cfg = {};

/* Written by the client; one per ring, in the region. The wish has a line of its own: it is read for every frame, and
 * the line of the cursors changes with every sync. */
struct ctl {
	__u32 head;  /* rx: slots before it are given back. tx: slots before it are to be sent */
	__u32 start; /* tx: where sending starts, taken when gen changes */
	__u32 gen;
	__u32 unused0[13];
	__u32 wish;  /* rx: the client sleeps and wants its doorbell rung */
	__u32 unused1[15];
};

enum drop { RING_FULL, BAD_SLOT, TOO_SHORT, TOO_LONG, DEVICE_FULL, DEVICE_REFUSED, NO_MEMORY, BAD_OFFLOAD, DROPS };

/* Same order as `Field` and `DropReason` in stats.rs. */
struct counters {
	__u64 in, out, bytes, syncs, resets, wakeups, busy_syncs, avail;
	__u64 drops[23];
	__u64 wakeups_withheld; /* of switches only */
};

/* The kernel's own state of a ring; the client maps it read-only. One writer at a time: NAPI of a queue for rx, the
 * CPU for host rx, the caller of a sync for tx. */
struct kring {
	__u32 tail; /* rx: first slot not filled. tx: first slot not sent */
	__u32 head; /* rx: last good head of the client */
	__u32 gen;
	__u32 unused[13];
	struct counters n;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__uint(key_size, 4);
	__uint(value_size, 4096);
} region SEC(".maps");

/* tx rings, rx rings, and one more: what the interface took and refused. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct kring);
} kstate SEC(".maps");

static __always_inline __u32 next(__u32 i)
{
	return i + 1 >= cfg.slots ? 0 : i + 1;
}

static __always_inline __u32 dist(__u32 from, __u32 to)
{
	return to >= from ? to - from : to + cfg.slots - from;
}

/* Ring `r` of the port counts tx rings first. */
static __always_inline struct ctl *ctl_of(void *reg, __u32 r)
{
	return reg + cfg.ctl_ofs + (__u64)r * sizeof(struct ctl);
}

static __always_inline __u64 *slot_of(void *reg, __u32 r, __u32 i)
{
	return reg + cfg.rings_ofs + times(r, cfg.ring_size) + RING_HEADER + (__u64)i * 16;
}

static __always_inline void *buf_of(void *reg, __u32 idx)
{
	return reg + cfg.bufs_ofs + times(idx, cfg.buf_size);
}
