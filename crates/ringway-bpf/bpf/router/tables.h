/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A router: what its programs and the library share. The build gives the library the places of all members; docs/router.md has the
 * rules.
 *
 * Each member, an interface, has an instance of the program with its number in read-only data. Tables are written by the control
 * process, which maps them; programs only read them. All maps are values of their own section: the program has their addresses
 * as constants, and looks up only the maps of interfaces.
 */
#pragma once
#include "router/frame.h"
#include "common/once.h"
#include "common/sum.h"

#define MEMBERS 256

/* Frozen before load: the verifier knows these as constants, proves that accesses stay inside the tables, and leaves out what a
 * member does not need. */
struct router_config {
	__u32 member;
	__u32 ifindex;
	__u32 software; /* its driver passes on frames with unfinished checksums */
	__u32 cpus;     /* numbers of CPUs have these bits */
	__u32 stale;    /* jiffies after which tables that nobody looks after are not to be trusted */
	__u32 groups;   /* numbers of groups have these bits */
	__u32 words4, words6; /* numbers of words have these bits */
	__u32 step[2];  /* ns between packets to the host: plain ones, costly ones */
	__u32 cut;      /* where each packet ends, for measuring */
	__u32 netns;    /* of all members */
	__u32 behind;   /* by traffic control, and takes what the program by XDP leaves */
	__u32 unused;
	__u64 early[2]; /* ns that they may be early: bursts */
};
const volatile struct router_config cfg SEC(".rodata.cfg") = {};

/* Where a packet may end, in the order of `Cut` in program.rs. Only a program that was loaded with a cut has the instructions for it. */
enum cut { WHOLE, RECEIVED, CHECKED, FOUND, WRITTEN };
#define CUT(at)                                                                               \
	do {                                                                                  \
		if (cfg.cut == at)                                                            \
			return DROP;                                                          \
	} while (0)

/* What became of a packet, in the order of `Outcome` in outcome.rs. */
enum outcome {
	FORWARDED,
	/* on to the host */
	NOT_READY, LINK_MULTICAST, OTHER_STATION, NOT_IP, NOT_FORWARDING, LOCAL, OPTIONS, UNREACHABLE, TTL, KERNEL_ROUTE,
	UNRESOLVED, TOO_BIG,
	/* dropped */
	MALFORMED, BAD_CHECKSUM, MARTIAN_SOURCE, MARTIAN_DESTINATION, REVERSE_PATH, BLACKHOLE, BUDGET,
	/* of what was forwarded to this member */
	SENT, DEVICE_FULL, DEVICE_REFUSED,
	/* not counted: left to the program by traffic control behind this one */
	LEFT,
};

/* Lies before a frame that is left to it. */
struct left {
	__u32 mark, ifindex;
};
#define LEFT_MARK 0x7466656c

/* Written by root. The first word is that of `ringway_fwd::router::Interface`: link address in its lower 48 bits, flags above. */
struct member {
	__u64 word;
	__u32 ifindex, netns;
	char name[16];
	__u32 flags; /* 1: there is such a member */
	__u32 software;
	__u32 path; /* 0: by XDP, 1: by traffic control */
	__u32 unused0;
	__u64 unused[2];
};
_Static_assert(sizeof(struct member) == 64, "pinned routers of this magic number have it so");

#define MAC ADDRESS_BITS
#define FORWARDS4 (1ULL << 48)
#define FORWARDS6 (1ULL << 49)
#define STRICT4 (1ULL << 50)
#define LOOSE4 (1ULL << 51)
#define STRICT6 (1ULL << 52)
#define LOOSE6 (1ULL << 53)

/* One for each CPU and member. Programs run with softirqs off, so each has a single writer. */
struct counts {
	__u64 n[32];
};

/* When the next packet to the host is due, by kind of budget. */
struct budget {
	__u64 due[2];
	__u64 unused[6];
};

/* The page of the control process. */
struct control {
	__u64 beat; /* jiffies when it was seen last; 0 when tables are not to be trusted */
};

/* A next hop: crates/ringway-fwd/src/control/adjacency.rs. */
struct hop {
	__u8 verdict, header_len;
	__u16 unused0;
	__u32 mtu;
	__u32 egress, group;
	__u64 header[2];
	__u64 gateway[2];
	__u64 unused1;
	__u64 version;
};
_Static_assert(sizeof(struct hop) == 64, "control/adjacency.rs");

enum verdict { FREE, READY, INCOMPLETE, FOR_HOST, BY_HOST, HOLE, NO_ROUTE, PROHIBITED, GROUP };

struct hop_count {
	__u64 packets, bytes;
};

/* The library makes these as large as they have to be. */
#define VALUE(type, name, count) type name[count] SEC(".bss." #name)
VALUE(struct member, members, MEMBERS);
VALUE(struct budget, budgets, MEMBERS);
VALUE(struct counts, counts, 1);    /* MEMBERS for each CPU */
VALUE(struct control, control, 1);
VALUE(__u8, fib4, 8);               /* root, nodes, words: crates/ringway-fwd/src/fib/form.rs */
VALUE(__u8, fib6, 8);
VALUE(struct hop, hops, 1);         /* 65,536 */
VALUE(struct hop_count, tally, 1);  /* 65,536 for each CPU */
VALUE(__u16, groups, 1);            /* 256 for each group */

/* Where something starts, without the compiler's notion of its size. */
#define START(name)                                                                           \
	({                                                                                    \
		void *start_ = name;                                                          \
		KEEP_BOUND(start_);                                                               \
		start_;                                                                       \
	})

/* Members that XDP sends to: interfaces by index. */
struct {
	__uint(type, BPF_MAP_TYPE_DEVMAP_HASH);
	__uint(max_entries, MEMBERS);
	__uint(key_size, 4);
	__uint(value_size, 4);
} devs SEC(".maps");

/* All members by interface. */
struct nic_key {
	__u32 ifindex, netns;
};
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_RDONLY_PROG);
	__uint(max_entries, MEMBERS);
	__type(key, struct nic_key);
	__type(value, __u32);
} nics SEC(".maps");

/* Not known to the verifier: 0. */
static __always_inline __u32 zero(void)
{
	return READ_ONCE(budgets[cfg.member].unused[0]);
}

/* Counts frames of any member. */
static __always_inline void count_of(__u32 member, __u32 what, __u32 n)
{
	__u32 at = plus((bpf_get_smp_processor_id() & cfg.cpus) * MEMBERS, member & (MEMBERS - 1));
	struct counts *all = START(counts);

	all[at].n[what] += n;
}

/* Counts what comes in by this one. */
static __always_inline void count(FRAME *ctx, __u32 what)
{
	__u32 at = (bpf_get_smp_processor_id() & cfg.cpus) * MEMBERS + cfg.member;
	struct counts *all = START(counts);

	all[at].n[what & 31] += frames_of(ctx);
}

static __always_inline int drop(FRAME *ctx, __u32 why)
{
	count(ctx, why);
	return DROP;
}

struct claim {
	__u64 *due, now;
	__u32 kind, above;
};

/* Tries to take the place of the next packet; another CPU may take it first. */
LOOP_STEP(take_place, struct claim *loop)
{
	__u64 was = READ_ONCE(*loop->due), from = was > loop->now ? was : loop->now;
	__u32 kind = loop->kind & 1;

	if (from - loop->now > cfg.early[kind])
		return 1;
	if (__sync_val_compare_and_swap(loop->due, was, from + cfg.step[kind]) != was)
		return 0;
	loop->above = 0;
	return 1;
}

/* Whether one more packet to the host is above the budget of its kind. */
static __always_inline int is_above(__u32 kind)
{
	struct claim loop = { .due = &budgets[cfg.member].due[kind], .now = bpf_ktime_get_coarse_ns(), .kind = kind, .above = 1 };

	until(take_place, &loop);
	return loop.above;
}

#define PLAIN (1 << LOCAL | 1 << LINK_MULTICAST | 1 << OTHER_STATION | 1 << NOT_IP)
#define COSTLY (1 << OPTIONS | 1 << UNREACHABLE | 1 << TTL | 1 << UNRESOLVED | 1 << TOO_BIG)

/* On to the host's stack, if the budget allows. */
__noinline int to_host(FRAME *ctx, __u32 why)
{
	__u32 bit = 1U << (why & 31);

	asm volatile("" : : "r"(ctx)); /* clang passes anything where it sees no use */
	if ((bit & PLAIN && is_above(0)) || (bit & COSTLY && is_above(1)))
		return drop(ctx, BUDGET);
	count(ctx, why);
	return PASS;
}

static __always_inline int finish(FRAME *ctx, __u32 why)
{
	if (why == LEFT)
		return PASS;
	return why >= MALFORMED ? drop(ctx, why) : to_host(ctx, why);
}
