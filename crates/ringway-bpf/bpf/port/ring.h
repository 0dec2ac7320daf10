/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A port of an interface: what its programs and the library share beside common/abi.h.
 *
 * The kernel's own cursors and counters are in `kring`, which the client
 * maps read-only. The numbers in `cfg` are frozen before load, so the verifier knows them as constants and
 * proves that every access stays inside the region.
 */
#pragma once
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include "common/abi.h"
#include "common/ether.h"
#include "common/once.h"
#include "common/pools.h"

/* Set by the library before load. */
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
	__u32 polled;    /* frames come within polls of a device, whose ends `polled` sees */
	__u32 most_pools; /* in a window (common/pools.h), before calls on live frames take no frame */
};
#define ALL_QUEUES (~0u)
const volatile struct config cfg = {};
#define HAS_CFG
#include "common/region.h"

/* The kernel's own state of a ring; the client maps it read-only. One writer at a time: NAPI of a queue for rx, the
 * CPU for host rx, the caller of a sync for tx. */
struct kring {
	__u32 tail; /* rx: first slot not filled. tx: first slot not sent */
	__u32 head; /* rx: last good head of the client */
	__u32 gen;
	__u32 zero;
	__u32 noted; /* rx: the CPU, plus 1, that noted the ring (port/rx.h) */
	__u64 rung;  /* rx: frames, by `n.out`, when the last frame that woke the client was published */
	struct pools pools; /* the interface's */
	__u64 unused[3];
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
