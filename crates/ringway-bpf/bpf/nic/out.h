/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sends what virtual ports left in the rings of a NIC. Senders run it (BPF_PROG_RUN) on live frames, once for each frame.
 *
 * Any user may run it, on any bytes. It uses none of them, and takes off what the user put before the frame. It does nothing
 * unless it runs on a live frame: otherwise it would hand the user other people's frames, or lose them. It does nothing either
 * when its port is gone: a caller may have kept the program, and another port may have the number by now.
 *
 * It is not the program attached to the NIC: that one takes its frame for one of the wire, and a caller may name any ingress
 * interface.
 */
#pragma once
#include "nic/pools.h"
#include "nic/state.h"
#include "common/copy.h"
#include "common/netdev.h"

/* A page less the kernel's bookkeeping, headroom and the tail room for fragments: LIVE_MAX in kernel_half.rs of crate ringway-nic. */
#define LIVE_MAX 3300

/* Whether the frame is a live one. The kernel keeps the context of a live frame in the page of its bytes: 256 bytes and the size
 * of a context before them (net/bpf/test_run.c, xdp_page_head). Any other context is on a stack, which shares no page with
 * frames. */
static __always_inline int is_live(struct xdp_md *ctx)
{
	__u64 apart = (__u64)(long)ctx->data - (__u64)(long)ctx;

	return apart >= 256 && apart < 512;
}

/* How often a run looks whether another one is done with the ring. Then it leaves the frame to the next run. A run takes a frame
 * in less than a microsecond, unless its task is preempted. */
#define CLAIM_TRIES 65536

struct claiming {
	struct rx_state *rx;
	__u32 got;
};

LOOP_STEP(try_claim, struct claiming *loop)
{
	struct rx_state *rx = loop->rx;

	if (READ_ONCE(rx->pub) == READ_ONCE(rx->taken))
		return 1;
	if (READ_ONCE(rx->claim) || __sync_lock_test_and_set(&rx->claim, 1))
		return 0;
	if (READ_ONCE(rx->pub) != READ_ONCE(rx->taken))
		loop->got = 1;
	else
		__sync_lock_test_and_set(&rx->claim, 0);
	return 1;
}

/* A frame waits in this ring: gets the right to take it. Of runs on several CPUs one has it at a time, for one frame. */
static __always_inline int claim_ring(struct rx_state *rx)
{
	struct claiming loop = { .rx = rx };

	repeat(CLAIM_TRIES + READ_ONCE(rx->zero), UP_TO(CLAIM_TRIES), try_claim, &loop);
	return loop.got;
}

/* Takes `n` slots: senders may use them again. */
static __always_inline void release_slots(struct rx_state *rx, struct ctl *ctl, __u32 n)
{
	__u64 taken = rx->taken + n;

	WRITE_ONCE(ctl->head, (__u32)taken & MASK);
	WRITE_ONCE(rx->head, taken);
	WRITE_ONCE(rx->taken, taken);
	__sync_lock_test_and_set(&rx->claim, 0);
}

/* Puts a frame of one slot into the live frame; returns why it can't. */
static __always_inline __u32 fill_frame(struct xdp_md *ctx, void *reg, __u64 s)
{
	__u32 idx = s, len = SLOT_LEN(s);

	if (idx < FIRST_BUF || idx >= cfg.bufs || len > cfg.buf_size || len < ETH_HLEN)
		return BAD_SLOT;
	if (bpf_xdp_adjust_tail(ctx, (int)len - (int)linear_len(ctx)))
		return TOO_LONG;
	void *pkt = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end, *buf = buf_of(reg, idx);
	int bad = len <= SHORT ? copy_short(pkt, end, buf, len, 1) : bpf_xdp_store_bytes(ctx, 0, buf, len);
	return bad ? NO_MEMORY : 0;
}

struct filling {
	struct xdp_md *ctx;
	void *reg;
	__u32 ring, pos, done, len;
	__u32 why; /* it can't be */
};

SELDOM_STEP(fill_part, struct filling *loop)
{
	__u32 ring = loop->ring, done = loop->done;

	if (done >= loop->len)
		return 1;
	SELDOM_BELOW(ring, cfg.rings);
	__u64 s = READ_ONCE(*slot_of(loop->reg, cfg.rings + ring, loop->pos & MASK));
	__u32 idx = s, n = SLOT_LEN(s), less = less_one(n);
	if (idx < FIRST_BUF || idx >= cfg.bufs || less >= cfg.buf_size) {
		loop->why = BAD_SLOT;
		return 1;
	}
	if (bpf_xdp_store_bytes(loop->ctx, done, buf_of(loop->reg, idx), less + 1)) {
		loop->why = NO_MEMORY;
		return 1;
	}
	loop->done = (done + n) & UP_TO(MAX_FRAME + 1);
	loop->pos = (loop->pos + 1) & MASK;
	return 0;
}

/* The same for a frame of several slots, `len` bytes in all. */
static __always_inline __u32 fill_chain(struct xdp_md *ctx, struct nic_cpu *cpu, void *reg, __u32 ring, __u32 at, __u32 len)
{
	struct filling loop = { .ctx = ctx, .reg = reg, .ring = ring, .pos = at & MASK, .done = READ_ONCE(cpu->zero) & 0xffff,
			     .len = len };

	if (bpf_xdp_adjust_tail(ctx, (int)len - (int)linear_len(ctx)))
		return TOO_LONG;
	until_seldom(fill_part, &loop);
	return loop.why;
}

/* The slots of a frame. */
struct chain {
	void *reg;
	__u64 last;
	__u32 ring, at, slots, waiting, len;
};

SELDOM_STEP(chain_slot, struct chain *chain)
{
	__u32 ring = chain->ring;

	if (!(SLOT_FLAGS(chain->last) & NS_MOREFRAG) || chain->slots >= chain->waiting || chain->slots >= MAX_CHAIN)
		return 1;
	SELDOM_BELOW(ring, cfg.rings);
	chain->last = READ_ONCE(*slot_of(chain->reg, cfg.rings + ring, (chain->at + chain->slots) & MASK));
	chain->len = (chain->len + SLOT_LEN(chain->last)) & UP_TO(8 * (MAX_FRAME + 1));
	chain->slots = (chain->slots + 1) & UP_TO(MAX_CHAIN);
	return 0;
}

/* Takes the next frame of a ring. Returns its length, or 0 when there is none that can be sent. */
__noinline int take_frame(struct xdp_md *ctx, __u32 ring)
{
	__u32 self = cfg.port;
	struct nic_cpu *cpu = nic_of(self);
	void *reg = inner(&regions, self), *state = inner(&states, self);

	KEEP_BOUND(ring);
	if (!cpu || !reg || !state || ring >= cfg.rings)
		return 0;
	KEEP_BOUND(ring);
	struct rx_state *rx = rx_of(state, ring);
	if (!claim_ring(rx))
		return 0;
	__u32 at = rx->taken, waiting = (__u32)rx->pub - at;
	__u64 s = READ_ONCE(*slot_of(reg, cfg.rings + ring, at & MASK));
	__u32 why;
	struct chain chain = { .reg = reg, .last = s, .ring = ring, .at = at, .slots = 1 + (READ_ONCE(cpu->zero) & (MAX_CHAIN - 1)),
			   .waiting = waiting, .len = SLOT_LEN(s) };
	if (!(SLOT_FLAGS(s) & NS_MOREFRAG)) {
		why = fill_frame(ctx, reg, s);
	} else {
		until_seldom(chain_slot, &chain);
		why = chain.len > LIVE_MAX ? TOO_LONG : fill_chain(ctx, cpu, reg, ring, at, chain.len);
	}
	release_slots(rx, ctl_of(reg, cfg.rings + ring), chain.slots);
	if (!why)
		return chain.len;
	if (why < REASONS)
		cpu->edge[why]++;
	return 0;
}

/* Takes the next frame of any ring, and counts it as handed over. 0 when there is none, or it is lost. */
static __always_inline int take_next(struct xdp_md *ctx, struct nic_cpu *cpu)
{
	for (__u32 ring = start_of(READ_ONCE(cpu->zero) & (MAX_RINGS - 1)); ring < cfg.rings && can_loop; ring = (ring + 1) & UP_TO(MAX_RINGS)) {
		int len = take_frame(ctx, ring);
		if (len <= 0)
			continue;
		if (too_many_pools()) {
			cpu->edge[DEVICE_FULL]++;
			return 0;
		}
		cpu->handed++;
		cpu->bytes += len;
		return 1;
	}
	return 0;
}

static __always_inline int send_next(struct xdp_md *ctx)
{
	__u32 self = cfg.port;
	struct nic_cpu *cpu = nic_of(self);
	struct port_conf *conf = conf_of(self);

	if (!cpu || !conf || READ_ONCE(conf->epoch) != cfg.epoch || !is_live(ctx) || ctx->ingress_ifindex != LOOPBACK)
		return XDP_ABORTED;
	if (drop_meta(ctx))
		return XDP_ABORTED;
	return take_next(ctx, cpu) ? bpf_redirect_map(&devs, cfg.port, XDP_DROP) : XDP_DROP;
}
