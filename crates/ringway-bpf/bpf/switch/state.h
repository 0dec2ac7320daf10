/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A switch: what its programs and the library share. The build gives the library the places of all members.
 *
 * Regions are as common/abi.h says. All other maps are written by the programs and by root alone. A client may read the state of its own port.
 */
#pragma once
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include "common/abi.h"
#include "common/ether.h"
#include "common/loop.h"
#include "common/once.h"

#define BURST 1024     /* slots that one run takes at most */
#define PORTS 256      /* numbers of ports: 1 to 254 */
#define FLOOD 255      /* instead of a port: all others */
#define MAX_RINGS 8

/* Random numbers of a switch, which only root and the programs know. They stay the same over a reload. */
struct secrets {
	__u64 key;    /* of the table (switch/fdb.h); 60 bits */
	__u64 factor; /* of the table; odd */
	__u64 edge;   /* starts what travels in front of clones (nic/edge.h) */
	__u64 note;   /* starts what travels in front of frames for a host (nic/host_in.h) */
};

/* Frozen before load: the verifier knows these as constants and proves that accesses stay inside a region. All ports of
 * a switch have the same shape. */
struct config {
	__u32 port;       /* whose program this is; 0: it serves all ports */
	__u32 generation; /* of the switch for which it was loaded */
	__u32 slots;      /* of a ring; a power of two */
	__u32 rings;      /* of each direction */
	__u32 ctl_ofs;
	__u32 rings_ofs;  /* tx rings, then rx rings */
	__u32 ring_size;
	__u32 bufs_ofs;
	__u32 buf_size;
	__u32 bufs;
	__u32 epoch;      /* of the port: programs of an earlier port with its number do nothing */
	__u32 unused;
	struct secrets secret;
	__u64 ticket;     /* of the port */
};
const volatile struct config cfg = {};
#define HAS_CFG
#include "common/region.h"
#define MASK (cfg.slots - 1)

/* What decides where frames go. Each has an object of its own, for which build.rs defines DECISION: none pays for another. */
#define BRIDGE 0
#define HUB 1
#define CUSTOM 2
#ifndef DECISION
#define DECISION BRIDGE
#endif
#define WITH_MODULE (DECISION == CUSTOM)

/* A refusal of a user's module, instead of a port. */
#define ENTRY_MODULE (1 << 9)

/* A ring in the region starts with netmap's header; at 128, in space of its own there, the programs announce the client how far
 * they came. They never read it back. */
#define KERNEL_PROGRESS 128
/* Behind it: not 0 once frames came from a NIC whose driver leaves checksums unfinished. */
#define PARTIAL_CHECKSUMS 132

/* What became of a frame to all, in `reached`. */
#define REACHED 1 /* a receiver had room for it */
#define OFFERED 2 /* a receiver was there */

/* What programs of ports answer, in the low byte. With DONE, the next one is the port of a NIC whose `out` program the caller is to
 * run (0: none, FLOOD: of all NICs), the upper half how often. */
enum answer { DONE, STALE, BUSY, BROKEN };

/* Frames of a burst for one destination, in order: slots of the burst linked by `next`. */
struct list {
	__u16 head, tail;
	__u16 slots, frames; /* none: not in use */
};

/* The frames for one receiver, slot by slot, in a burst that needs more than plain copies (switch/vlan/decide.h). */
struct walk {
	__u32 view;    /* the port whose frames these are, in its form; 0: all that were sent, as they were sent */
	__u32 alone;   /* it gets no frames to all of this sender */
	__u32 kind, native;
	__u32 own, own_left, all, all_left;
	/* Of the slot reached. */
	__u32 i, to_all, inside, take, out_tagged, plain, need;
	__u32 frames_own, frames_all;
	__u32 first; /* it is the first one of its frame */
};

/* A tx ring, and the memory of the run that empties it. Loops keep what changes here and not on the stack: the verifier
 * does not follow it, so that an iteration is verified once. */
struct tx_state {
	__u32 sent; /* first slot not taken */
	__u32 busy; /* a run is under way; programs always run to their end, whatever becomes of their caller */
	__u32 zero, ndsts, dst, quota;
	__u64 now, last_src, last_dst, bytes;
	__u32 copied, copied_flood; /* frames that the receiver under way had room for: its own, and those to all */
	struct counters n;
	__u64 copies;    /* frames offered to receivers */
	__u64 unlearned; /* frames whose source found no place in the table */
	__u64 touched[4];
	/* The frame of several slots under way. */
	__u32 chain, chain_slots, chain_bytes, chain_dst, chain_bad;
	__u32 bytes_all; /* of `bytes`, those of frames to all */
	__u32 ring, chain_flags;
	__u16 fan, times; /* copies of a frame to all, and of one to a port alone, at most */
	__u32 port;       /* whose frames these are */
	__u32 nics; /* what the caller is to do for NICs; `enum answer` */
	__u32 varied; /* the last frame's address was another than the one before */
	struct list chain_was; /* the list of its destination before it */
	__u64 slot[BURST];
	__u16 next[BURST];
	__u8 reached[BURST]; /* by the last slot of a frame to all */
	struct list list[PORTS];
	__u8 dsts[PORTS];
	__u64 ticket; /* by which the caller showed that the port is its own */
	/* Of bursts that need more than plain copies. */
	__u64 ns; /* when the run began */
	struct walk walk;
	__u32 slots;
	__u32 budget;     /* ns of copies that the run may still take on */
	__u32 tag[BURST]; /* by the first slot of a frame: priority and VLAN << 16 | type behind the tag */
	__u64 addresses[BURST][2]; /* by the same: its bytes 0 to 7, and 8 to 11 */
	__u64 border; /* of stages: monotonic ns, when the last one ended (switch/stages.h) */
};

/* An rx ring. Positions count slots without end; a slot's index is its position modulo the slots. Senders reserve slots
 * (`res`), fill them, and note that they did (`done`). The sender that finds the next reservation done publishes it. Nobody
 * waits for anybody. */
struct rx_state {
	__u64 res;  /* first slot not reserved */
	__u64 head; /* slots before it are free again */
	/* A NIC's ring: slots before it were taken by the `out` program, one run of which holds the claim. */
	__u64 taken;
	__u32 claim;
	/* What its doorbell cost those who rang it (switch/reserve.h). */
	__u32 dear;        /* points; from DEAR_QUIET on it is quiet, and not rung before `quiet_until` */
	__u64 quiet_until; /* monotonic ns */
	__u64 judged;      /* when `dear` changed last */
	__u32 dear_ns;     /* what the last dear ring cost */
	__u32 zero;
	__u64 unused0;
	__u64 pub;  /* slots before it may be read; alone on a line that changes once per burst */
	__u64 unused1[7];
	struct counters n;
	__u64 done[]; /* by the first slot of a reservation: its position << 16 | its slots */
};

/* At the start of each port's state. */
struct port_state {
	__u32 port;
	__u32 nic;      /* not 0: frames in its rx rings leave by an interface; above 1: they enter the stack of this namespace */
	__u64 mirrored; /* copies offered to its mirror */
	__u64 storm[3]; /* when the next frame to all is due: limits of switch/vlan/decide.h */
	__u64 dropped_before; /* what a member by tc had dropped before it was one; the library's */
	__u64 dropped_seen;   /* and what it said last, for when it is gone */
	__u64 unused1;
};
#define TX_SIZE ((sizeof(struct tx_state) + 63) & ~63u)
_Static_assert(TX_SIZE == 34624 && __builtin_offsetof(struct tx_state, n) == 64 &&
	       __builtin_offsetof(struct tx_state, copies) == 320 && sizeof(struct port_state) == 64, "pinned switches of this magic number have it so");
_Static_assert(__builtin_offsetof(struct rx_state, pub) == 64 && __builtin_offsetof(struct rx_state, n) == 128 &&
	       __builtin_offsetof(struct rx_state, dear) == 28 && sizeof(struct rx_state) == 384, "pinned switches of this magic number have it so");
#define RX_SIZE (sizeof(struct rx_state) + (__u64)cfg.slots * 8)

static __always_inline struct tx_state *tx_of(void *state, __u32 ring)
{
	return state + sizeof(struct port_state) + (__u64)ring * TX_SIZE;
}

static __always_inline struct rx_state *rx_of(void *state, __u32 ring)
{
	return state + sizeof(struct port_state) + (__u64)cfg.rings * TX_SIZE + times(ring, RX_SIZE);
}

/* One for the switch; written by root, read by all. */
struct info {
	__u64 magic;
	__u32 generation; /* programs of an earlier one do nothing */
	__u32 slots, rings, buf_size, bufs;
	__u32 nports;
	__u64 age_unit; /* ns; an entry unseen for 32 of them is dead */
	__u32 quota;    /* entries of the table that one port may have */
	__u32 shared;   /* features that some port has and that senders to it must know of */
	__u32 wires;    /* these, and those that some NIC has */
	__u32 zero;
	__u32 module;   /* BRIDGE, HUB or CUSTOM */
	__u32 prepared; /* latest generation that a reload made programs of */
	__u8 ports[PORTS - 2]; /* numbers of the ports that exist */
	__u8 unused0;
	__u8 latest; /* number that was given to a port last */
};

_Static_assert(sizeof(struct info) == 320 && __builtin_offsetof(struct info, ports) == 64 &&
	       __builtin_offsetof(struct info, latest) == 319, "pinned switches of this magic number have it so");

/* What the stages of a port's bursts cost, counted while somebody watches (switch/stages.h). */
enum stage { DECIDE, DELIVER, STAGES };
#define STAGES_EVERY 17 /* one burst in so many is timed: no number of bursts that go once around a ring */
struct stages {
	__u64 until;  /* monotonic ns; nobody watches after it. Root moves it on */
	__u64 bursts; /* that had frames */
	__u64 frames;
	__u64 ns[STAGES];
	__u64 unused;
};

/* What the decision needs to know of a port; written by root. Entry 0 is no port: there the library keeps what ports that
 * went away had counted. */
struct port_conf {
	__u32 flags; /* PORT_EXISTS, and others of the library and of nic/state.h */
	__u32 features;
	__u32 native;   /* VLAN of frames without a tag, or 0 */
	__u32 mirror;   /* port that gets copies, or 0 */
	__u32 epoch;    /* changes when the port goes away */
	__u32 crossing; /* of a member by tc: the interface by which its frames reach `vale_wire` (nic/tc.h) */
	__u64 storm[3]; /* 16ths of a ns between frames to all: broadcast, multicast, unknown; 0: no limit */
	__u64 ticket;   /* a random number that root, the programs and the port's user know; 0: the port sends nothing */
	__u32 mode;     /* of the library */
	__u32 unused0;
	char name[32];
	__u32 nic[8];  /* of the library; programs of NICs read those that nic/state.h names */
	__u32 rate[3]; /* `storm` in frames per second, for those who ask */
	__u32 unused1;
	struct stages stages; /* programs write it, in a line of its own but for `rate` */
};
_Static_assert(sizeof(struct port_conf) == 192 && __builtin_offsetof(struct port_conf, storm) == 24 &&
	       __builtin_offsetof(struct port_conf, ticket) == 48 && __builtin_offsetof(struct port_conf, rate) == 128 &&
	       __builtin_offsetof(struct port_conf, stages) == 144,
	       "pinned switches of this magic number have it so");

#define PORT_EXISTS 1

enum feature { ISOLATED = 1, STORM_LIMIT = 2, MIRROR_TX = 4, MIRROR_RX = 8, ACCESS = 16, TRUNK = 32, WATCHED = 64 };

/* The VLANs that a port belongs to; 0 if it is transparent. */
struct vlans {
	__u64 member[64];
};

#define DECLARE(name_, type_, entries_, size_, flags_)                                        \
	struct {                                                                              \
		__uint(type, type_);                                                          \
		__uint(map_flags, flags_);                                                    \
		__uint(max_entries, entries_);                                                \
		__uint(key_size, 4);                                                          \
		__uint(value_size, size_);                                                    \
	} name_ SEC(".maps")

DECLARE(info, BPF_MAP_TYPE_ARRAY, 1, sizeof(struct info), BPF_F_MMAPABLE);
DECLARE(ports, BPF_MAP_TYPE_ARRAY, PORTS, sizeof(struct port_conf), BPF_F_MMAPABLE);
DECLARE(vlans, BPF_MAP_TYPE_ARRAY, PORTS, sizeof(struct vlans), BPF_F_MMAPABLE);

/* By port number, bells by 8 * port + ring. The library puts the real maps in, of a size fixed at creation. */
#define DECLARE_MAPS(name_, entries_, ...)                                                    \
	struct {                                                                              \
		__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);                                     \
		__uint(max_entries, entries_);                                                \
		__uint(key_size, 4);                                                          \
		__array(values, struct { __VA_ARGS__ });                                      \
	} name_ SEC(".maps")

DECLARE_MAPS(regions, PORTS, __uint(type, BPF_MAP_TYPE_ARRAY); __uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); __uint(key_size, 4); __uint(value_size, 4096););
DECLARE_MAPS(states, PORTS, __uint(type, BPF_MAP_TYPE_ARRAY); __uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); __uint(key_size, 4); __uint(value_size, 4096););
DECLARE_MAPS(bells, PORTS * MAX_RINGS, __uint(type, BPF_MAP_TYPE_RINGBUF); __uint(max_entries, 4096););

static __always_inline void *inner(void *outer, __u32 key)
{
	__u32 zero = 0;
	void *map = bpf_map_lookup_elem(outer, &key);
	return map ? bpf_map_lookup_elem(map, &zero) : 0;
}

static __always_inline struct port_conf *conf_of(__u32 port)
{
	return bpf_map_lookup_elem(&ports, &port);
}

/* The port whose frames a run moves. */
static __always_inline __u32 sender(struct tx_state *tx)
{
	return READ_ONCE(tx->port) & (PORTS - 1);
}

static __always_inline __u32 *progress_of(void *reg, __u32 ring)
{
	return reg + cfg.rings_ofs + times(ring, cfg.ring_size) + KERNEL_PROGRESS;
}

/* A receiver sees what one sender reserved only after that sender is done with it, so other tasks are not to interrupt it for long.
 * Before Linux 6.15 programs can't prevent that: there a preempted sender delays its receivers. */
#if OLD_KERNEL
static __always_inline void no_preemption(void) {}
static __always_inline void preemption(void) {}
#else
extern void bpf_preempt_disable(void) __ksym;
extern void bpf_preempt_enable(void) __ksym;

static __always_inline void no_preemption(void)
{
	bpf_preempt_disable();
}

static __always_inline void preemption(void)
{
	bpf_preempt_enable();
}
#endif
