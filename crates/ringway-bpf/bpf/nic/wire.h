/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Steps of a frame that comes in by a NIC: its addresses in the table, copies into rings of virtual ports, redirects to other
 * NICs, counters. */
#pragma once
#include "nic/stages.h"
#include "switch/fdb.h"
#include "switch/reserve.h"
#include "nic/finish_sum.h"
#include "nic/xdp_frame.h"

/* A frame on its way. */
struct wire {
	struct xdp_md *ctx;
	struct info *info;
	__u32 len, linear;
	__u32 offered, reached; /* virtual ports */
	__u32 nics, one;        /* NICs, and one of them */
	__u32 bad;              /* why they can't be given the frame */
	__u32 hosts;            /* not 0: the host's side of a NIC is there */
};

static __always_inline int count_lost(struct nic_cpu *cpu, __u32 why)
{
	if (why < REASONS)
		cpu->tx.drops[why]++;
	return XDP_DROP;
}

/* Begins a tick: keeps the unit of age, and looks whether somebody watches. */
__noinline int begin_tick(__u64 jiffies)
{
	__u32 zero = 0, self = cfg.port;
	struct info *sw = bpf_map_lookup_elem(&info, &zero);
	struct nic_cpu *cpu = nic_of(self);

	if (!sw || !cpu)
		return 0;
	__u64 unit = READ_ONCE(sw->age_unit), ns = bpf_ktime_get_ns(), now = ns / (unit ? unit : 1);
	cpu->tick = jiffies | watch_mark(cpu, ns);
	cpu->last_src = cpu->last_dst = ~0ULL;
	if (now != cpu->now) {
		cpu->now = now;
		fdb_sweep(now);
	}
	return 0;
}

#ifdef WITHOUT_STAGES /* a test compares with this */
#define IS_TIMED(cpu, jiffies) (begin_tick(jiffies), 0)
#else
#define IS_TIMED(cpu, jiffies) is_wire_timed(cpu, jiffies)

/* Of a frame that finds another word than its tick: begins the tick if it is the first one. */
static __always_inline int is_wire_timed(struct nic_cpu *cpu, __u64 jiffies)
{
	if (is_other_tick(cpu, jiffies))
		begin_tick(jiffies);
	return is_frame_timed(cpu);
}
#endif

/* Notes the source. A source is looked at again in the next tick, or after a frame from another one. */
static __always_inline void learn_source(struct nic_cpu *cpu, __u64 src)
{
	__u32 zero = 0;

	if (src == cpu->last_src || src & 1)
		return;
	struct info *sw = bpf_map_lookup_elem(&info, &zero);
	struct fdb *table = bpf_map_lookup_elem(&fdb, &zero);
	if (!sw || !table)
		return;
	__u64 h = mix(src);
	cpu->last_src = src;
	if (fdb_find(table, h) == fdb_fresh(h, cpu->now, cfg.port))
		return;
	/* What was looked up last may be this address. */
	cpu->last_dst = ~0ULL;
	if (!fdb_remember(h, cpu->now, cfg.port, READ_ONCE(sw->quota))) {
		cpu->unlearned++;
		cpu->last_src = ~0ULL;
	}
}

/* Where frames to an address go: an entry of the table, 0 for all ports. Noted like sources: frames to a station that moved
 * follow it in the next tick. */
static __always_inline __u64 look_up_port(struct nic_cpu *cpu, __u64 dst)
{
	__u32 zero = 0;

	if (dst == cpu->last_dst)
		return cpu->last;
	struct fdb *table = bpf_map_lookup_elem(&fdb, &zero);
	__u64 entry = table && !(dst & 1) ? fdb_find(table, mix(dst)) : 0;
	if (!(__u8)entry || fdb_dead(entry, cpu->now))
		entry = 0;
	cpu->last_dst = dst;
	cpu->last = entry;
	return entry;
}

/* A frame on its way into reserved slots of an rx ring. */
struct slots {
	void *ctx, *reg;
	__u32 ring, pos, done, len;
};

/* `zero` is 0, which the verifier does not know. */
static __always_inline struct slots slots_at(void *ctx, void *reg, __u32 ring, __u64 at, __u32 len, __u32 zero)
{
	return (struct slots){ .ctx = ctx, .reg = reg, .ring = ring, .pos = at & MASK, .done = zero & MAX_FRAME, .len = len };
}

/* Fills the next slot; `load(slots, buf, n)` copies the next `n` bytes, and is 0 when it did. A slot whose buffer the receiver lost is
 * passed on empty: its reader finds the frame bad and counts it. */
#define DEFINE_FILL(name, load)                                                               \
	LOOP_STEP(name, struct slots *slots)                                                           \
	{                                                                                     \
		__u32 ring = slots->ring, n = slots->len - slots->done;                                   \
		if (slots->done >= slots->len)                                                        \
			return 1;                                                             \
		KEEP_BELOW(ring, cfg.rings);                                                  \
		__u64 *slot = slot_of(slots->reg, cfg.rings + ring, slots->pos & MASK);               \
		__u32 idx = READ_ONCE(*slot);                                                 \
		if (n > cfg.buf_size)                                                         \
			n = cfg.buf_size;                                                     \
		__u64 more = slots->done + n < slots->len ? NS_MOREFRAG : 0;                          \
		__u32 less = less_one(n);                                                     \
		int bad = idx < FIRST_BUF || idx >= cfg.bufs || less >= cfg.buf_size ||       \
			  load(slots, buf_of(slots->reg, idx), less + 1);                             \
		WRITE_ONCE(*slot, (__u64)idx | (bad ? 0 : (__u64)n << 32) | more << 48);      \
		slots->done = (slots->done + n) & UP_TO(MAX_FRAME + 1);                                            \
		slots->pos = (slots->pos + 1) & MASK;                                                 \
		return 0;                                                                     \
	}

/* Gives the receiver on ring `ring` of port `dest` the `n` slots at `at`, which hold `frames` of `bytes` together. */
static __always_inline void pass_slots_on(struct rx_state *rx, void *reg, __u32 dest, __u32 ring, __u64 at, __u32 n, __u32 frames,
				    __u64 bytes, __u32 unfinished)
{
	__u32 *told = progress_of(reg, cfg.rings + ring);

	if (unfinished && !READ_ONCE(told[(PARTIAL_CHECKSUMS - KERNEL_PROGRESS) / 4]))
		WRITE_ONCE(told[(PARTIAL_CHECKSUMS - KERNEL_PROGRESS) / 4], 1);
	rx_publish(rx, told, at, n);
	rx_wake(ctl_of(reg, cfg.rings + ring), dest, ring);
	__sync_fetch_and_add(&rx->n.out, frames);
	__sync_fetch_and_add(&rx->n.bytes, bytes);
}

#define LOAD_WIRE(slots, buf, n) bpf_xdp_load_bytes((slots)->ctx, (slots)->done, buf, n)
DEFINE_FILL(fill_from_wire, LOAD_WIRE)

/* Copies the frame to virtual port `dest`, whole or not at all. Returns whether it had room, or -1 when it is gone. */
__noinline int deliver_wire(struct xdp_md *ctx, __u32 dest, __u32 len)
{
	__u32 self = cfg.port;
	void *reg = inner(&regions, dest), *state = inner(&states, dest);
	struct nic_cpu *cpu = nic_of(self);
	__u32 ring = (__u32)ctx->rx_queue_index % cfg.rings;

	KEEP_BOUND(ring);
	if (!reg || !state || !cpu || len > MAX_FRAME || ring >= cfg.rings)
		return -1;
	KEEP_BOUND(ring);
	struct rx_state *rx = rx_of(state, ring);
	struct ctl *ctl = ctl_of(reg, cfg.rings + ring);
	__u32 need = (len + cfg.buf_size - 1) / cfg.buf_size;
	__u64 at = 0;
#define NOTHING(room) 0
	__u32 n = RX_RESERVE(rx, ctl, need, NOTHING, at);
	__sync_fetch_and_add(&rx->n.in, 1);
	if (!n) {
		__sync_fetch_and_add(&rx->n.drops[RING_FULL], 1);
		return 0;
	}
	struct slots slots = slots_at(ctx, reg, ring, at, len, READ_ONCE(cpu->zero));
	until(fill_from_wire, &slots);
	pass_slots_on(rx, reg, dest, ring, at, n, 1, len, nic.software);
	return 1;
}

/* Gives the frame to a NIC, or to all others: the kernel does so when the program returns. Two functions: with one call for
 * both maps the verifier could not replace it by that of the map's own function. */
static __always_inline int redirect_to_nic(__u32 dest)
{
	return bpf_redirect_map(&devs, dest, XDP_DROP);
}

static __always_inline int redirect_to_all_nics(void)
{
	return bpf_redirect_map(&all_devs, 0, BPF_F_BROADCAST | BPF_F_EXCLUDE_INGRESS);
}

/* Counts a frame for a NIC; what its driver did not take shows in the difference to `sent`. */
static __always_inline void count_handed(__u32 dest, __u32 len)
{
	struct nic_cpu *to = nic_of(dest);

	if (!to)
		return;
	to->offered++;
	to->handed++;
	to->bytes += len;
}

/* A NIC can't be given a frame that was offered to it. */
static __always_inline void count_withheld(__u32 dest, __u32 why)
{
	struct nic_cpu *to = nic_of(dest);

	if (!to || why >= REASONS)
		return;
	to->offered++;
	to->edge[why]++;
}
