/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the programs of a NIC share. The build gives the library the places of all members. */
#pragma once
#include "switch/state.h"

/* Frozen before load. */
struct nic_config {
	__u32 ifindex;
	__u32 netns;    /* inode number of its network namespace */
	__u32 software; /* its driver passes on frames with unfinished checksums */
	__u32 cut;      /* where each frame of the wire ends, for measuring */
	__u32 most_pools; /* in a window, before frames of senders are lost (nic/pools.h) */
};
const volatile struct nic_config nic SEC(".rodata.nic") = {};

/* Where a frame may end, in the order of `NicCut` of the library. Only a program that was loaded with a cut has the instructions for it. */
enum nic_cut { NIC_WHOLE, NIC_RECEIVED, NIC_CHECKED, NIC_LEARNED, NIC_FOUND };
#define NIC_CUT(at)                                                                           \
	do {                                                                                  \
		if (nic.cut == at)                                                            \
			return XDP_DROP;                                                      \
	} while (0)

#define NICS 64 /* of a switch, at most */

/* In `port_conf.flags`. The host's side of a NIC has both. */
#define PORT_NIC 0x100
#define PORT_HOST 0x200

/* In `port_conf.nic`. */
#define NIC_INDEX 0
#define NIC_NETNS 1  /* inode number of its network namespace */
#define NIC_BESIDE 4 /* of a NIC: its host's port, or 0; of a host: its NIC's */

#define WIRE_STAGES_EVERY 97 /* one frame in so many is timed (nic/stages.h): no number that a driver takes at once */

/* By port number, one for each CPU: programs of a NIC run with softirqs off, so each copy has a single writer. Adding up the
 * copies gives the counts. */
struct nic_cpu {
	struct counters tx;   /* frames from the wire */
	__u64 copies;         /* of them, offered to ports */
	__u64 unlearned;
	__u64 offered;        /* frames from other NICs to this one */
	__u64 handed, bytes;  /* frames given to its driver: those from other NICs and those of `vale_out` */
	__u64 sent, full;     /* of them: taken, and refused because its queue was full */
	__u64 edge[REASONS + 1]; /* frames that can't be given to it, by reason */
	__u64 last_src;       /* learned in the present tick */
	__u64 last_dst, last; /* looked up in it, and the entry found */
	__u64 tick, now;      /* jiffies with marks (nic/stages.h), and the unit of age when they began */
	__u64 zero;
	__u64 pass;           /* not 0: the frame under way comes from the switch (nic/host_in.h) */
	__u64 withheld;       /* clones that reached its edge and are not for it (nic/edge.h) */
	__u64 serial, nth;    /* of the clone seen last there */
	__u64 direct;         /* of tx.in, frames that `vale_skb` gave out itself */
	__u64 crossed;        /* frames that it left to `vale_wire`, which counts those that reach it in tx.in */
	__u64 lost;           /* frames that came back by the crossing when the interface was gone */
};
_Static_assert(sizeof(struct nic_cpu) == 608 && __builtin_offsetof(struct nic_cpu, copies) == 256 &&
	       __builtin_offsetof(struct nic_cpu, edge) == 312 && __builtin_offsetof(struct nic_cpu, withheld) == 560, "pinned switches of this magic number have it so");
DECLARE(nics, BPF_MAP_TYPE_PERCPU_ARRAY, PORTS, sizeof(struct nic_cpu), 0);

/* Interfaces by port number, and all of them for frames to all. Entries go away with their interface. */
DECLARE(devs, BPF_MAP_TYPE_DEVMAP, PORTS, 4, 0);
DECLARE(all_devs, BPF_MAP_TYPE_DEVMAP, NICS, 4, 0);
/* The same by port number for programs at tc, which may not share a map with programs of XDP. It has the interfaces themselves; in
 * the other maps the inner ends of crossings stand for members by tc (nic/tc.h). */
DECLARE(tc_devs, BPF_MAP_TYPE_DEVMAP, PORTS, 4, 0);

/* Ports by interface, for the program that counts (nic/taken.h). */
struct nic_key {
	__u32 ifindex, netns;
};
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_RDONLY_PROG);
	__uint(max_entries, NICS);
	__type(key, struct nic_key);
	__type(value, __u32);
} nic_ports SEC(".maps");

static __always_inline struct nic_cpu *nic_of(__u32 port)
{
	return bpf_map_lookup_elem(&nics, &port);
}

static __always_inline int is_nic(__u32 port)
{
	struct port_conf *p = bpf_map_lookup_elem(&ports, &port);
	return p && READ_ONCE(p->flags) & PORT_NIC;
}

static __always_inline int is_host(__u32 port)
{
	struct port_conf *p = bpf_map_lookup_elem(&ports, &port);
	return p && READ_ONCE(p->flags) & PORT_HOST;
}

/* The barrier keeps the compiler from taking pointers for 32 bits wide. */
static __always_inline __u64 linear_len(struct xdp_md *ctx)
{
	__u64 len = (long)ctx->data_end - (long)ctx->data;
	KEEP_BOUND(len);
	return len;
}

/* Leaves `n` bytes of metadata before the frame, instead of what may lie there. 0: done. */
static __always_inline int set_meta(struct xdp_md *ctx, int n)
{
	return bpf_xdp_adjust_meta(ctx, (int)((long)ctx->data - (long)ctx->data_meta) - n);
}

/* Takes off the metadata that a frame came with: the program that sees the frame next might believe it. 0: done. With a driver
 * that knows no metadata, `data_meta` lies behind `data`. */
static __always_inline int drop_meta(struct xdp_md *ctx)
{
	return (void *)(long)ctx->data_meta < (void *)(long)ctx->data ? set_meta(ctx, 0) : 0;
}
