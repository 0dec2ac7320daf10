/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Delivery of the bursts of switch/vlan/decide.h: who gets a frame, in which form, and copies for mirrors. */
#pragma once
#include "switch/vlan/decide.h"

/* Starts a walk over the frames of a receiver, or over all. */
static __always_inline void start_walk(struct tx_state *tx)
{
	struct walk *walk = &tx->walk;
	struct merge merge = { .own_left = tx->slots };

	if (walk->view)
		merge = frames_to(tx, walk->view & 0xff, tx->ring);
	walk->own = merge.own;
	walk->own_left = merge.own_left;
	walk->all = merge.all;
	walk->all_left = walk->alone ? 0 : merge.all_left;
	walk->inside = 0;
}

/* Prepares walks over the frames that `view` gets, or, when it is 0, over all that were sent. */
static __always_inline void prepare_walk(struct tx_state *tx, __u32 view)
{
	struct walk *walk = &tx->walk;
	struct port_conf *conf = conf_of(view), *own_conf = conf_of(sender(tx));

	if (!conf || !own_conf)
		return;
	__u32 features = READ_ONCE(conf->features);
	walk->view = view;
	walk->kind = features & (ACCESS | TRUNK);
	walk->native = READ_ONCE(conf->native);
	walk->alone = features & READ_ONCE(own_conf->features) & ISOLATED;
}

/* Begins the frame whose first slot was reached: whether it is taken, and with a tag or not. */
static __always_inline void begin_walk_frame(struct walk *walk, __u64 s, __u32 vid)
{
	__u32 view = walk->view;
	struct vlans *v = bpf_map_lookup_elem(&vlans, &view);

	walk->take = !view ? !!(s & WELL) : !walk->to_all || (v && is_member(v, vid));
	walk->plain = !view || !vid;
	walk->out_tagged = walk->kind == TRUNK && vid != walk->native;
}

/* Goes to the next slot. */
__noinline int advance_walk(struct tx_state *tx)
{
	if (!tx)
		return 0;
	struct walk *walk = &tx->walk;
	__u32 i;
	walk->to_all = walk->all_left && (!walk->own_left || walk->all < walk->own);
	if (walk->to_all) {
		i = walk->all & (BURST - 1);
		walk->all = tx->next[i];
		walk->all_left--;
	} else {
		i = walk->own & (BURST - 1);
		walk->own = walk->view ? tx->next[i] : i + 1;
		walk->own_left--;
	}
	__u64 s = tx->slot[i];
	__u32 first = !walk->inside, len = SLOT_LEN(s);
	if (first)
		begin_walk_frame(walk, s, tx->tag[i] >> 16 & VID);
	else
		walk->plain = 1;
	walk->i = i;
	walk->first = first;
	walk->inside = !!(SLOT_FLAGS(s) & NS_MOREFRAG);
	walk->need = 1 + (!walk->plain && walk->out_tagged && !(s & TAGGED) && len + 4 > cfg.buf_size);
	return 0;
}

static __always_inline __u32 walk_slots_left(struct tx_state *tx)
{
	return (tx->walk.own_left + tx->walk.all_left) & UP_TO(BURST);
}

struct walk_fit {
	struct tx_state *tx;
	__u32 room, mark, used, fits;
};

SELDOM_STEP(fit_walk_slot, struct walk_fit *loop)
{
	struct tx_state *tx = loop->tx;
	struct walk *walk = &tx->walk;

	advance_walk(tx);
	if (!walk->take)
		return 0;
	loop->used = (loop->used + walk->need) & UP_TO(2 * BURST);
	if (loop->used > loop->room)
		return 1;
	if (walk->inside)
		return 0;
	loop->fits = loop->used;
	if (walk->to_all) {
		walk->frames_all++;
		tx->reached[walk->i & (BURST - 1)] |= loop->mark & OFFERED;
	} else {
		walk->frames_own++;
	}
	return 0;
}

/* Counts the frames that fit whole into `room` slots, and returns their slots. Frames to all are marked as offered. */
__noinline int fit_walk(struct tx_state *tx, __u32 room, __u32 mark)
{
	if (!tx)
		return 0;
	__u32 zero = READ_ONCE(tx->zero) & UP_TO(2 * BURST);
	struct walk_fit loop = { .tx = tx, .room = room, .mark = mark, .used = zero, .fits = zero };
	start_walk(tx);
	tx->walk.frames_own = tx->walk.frames_all = 0;
	repeat_seldom(walk_slots_left(tx), UP_TO(BURST), fit_walk_slot, &loop);
	return loop.fits;
}

/* Writes the addresses by which the frame that starts with slot `i` was decided. */
static __always_inline void write_addresses(struct tx_state *tx, void *buf, __u32 i)
{
	*(__u64 *)buf = tx->addresses[i & (BURST - 1)][0];
	*(__u32 *)(buf + 8) = tx->addresses[i & (BURST - 1)][1];
}

/* Writes what follows the addresses of a frame as it was decided: the tag, if it is to have one, and the type. */
static __always_inline void write_header(void *buf, __u32 tag, __u32 tagged)
{
	if (tagged) {
		*(__u32 *)(buf + 12) = __builtin_bswap32(TYPE_VLAN << 16 | tag >> 16);
		*(__u16 *)(buf + 16) = __builtin_bswap16(tag);
	} else {
		*(__u16 *)(buf + 12) = __builtin_bswap16(tag);
	}
}

/* Puts the bytes for which a first slot has no room, 1 to 4, into the next. */
static __always_inline void copy_rest(void *reg, __u64 *slot, void *from, __u32 rest, __u64 more)
{
	__u32 idx = READ_ONCE(*slot);

	if (idx < FIRST_BUF || idx >= cfg.bufs) {
		WRITE_ONCE(*slot, more << 48);
		return;
	}
	/* Nobody is to see the bytes behind the frame. */
	__u32 its = ~0u >> ((32 - 8 * rest) & 31);
	*(__u32 *)buf_of(reg, idx) = READ_ONCE(*(__u32 *)(from + cfg.buf_size - 4)) & its;
	WRITE_ONCE(*slot, (__u64)idx | (__u64)rest << 32 | more << 48);
}

/* Copies the slot reached, a frame's first, to the slot of the rx ring of port `dest` at `pos`, with or without a tag. */
__noinline int copy_first(struct tx_state *tx, __u32 dest, __u32 ring, __u32 pos)
{
	if (!tx)
		return 0;
	void *reg = inner(&regions, sender(tx)), *to = inner(&regions, dest);
	KEEP_BOUND(ring);
	if (!reg || !to || ring >= cfg.rings)
		return 0;
	KEEP_BOUND(ring);
	__u32 i = tx->walk.i & (BURST - 1), tag = tx->tag[i], out = READ_ONCE(tx->walk.out_tagged);
	__u64 s = tx->slot[i], more = SLOT_FLAGS(s) & NS_MOREFRAG, *slot = slot_of(to, cfg.rings + ring, pos & MASK);
	__u32 from = s, len = SLOT_LEN(s), idx = READ_ONCE(*slot), in = s >> 63;
	__u32 rest = tx->walk.need > 1 ? len + 4 - cfg.buf_size : 0;
	if (from >= cfg.bufs || len > cfg.buf_size)
		return 0;
	void *src = buf_of(reg, from);
	if (rest)
		copy_rest(to, slot_of(to, cfg.rings + ring, (pos + 1) & MASK), src, rest, more);
	more |= rest ? NS_MOREFRAG : 0;
	if (idx < FIRST_BUF || idx >= cfg.bufs) {
		WRITE_ONCE(*slot, more << 48);
		return 0;
	}
	void *dst = buf_of(to, idx);
	if (in == out) {
		copy_buf(dst, src, len, READ_ONCE(tx->zero));
	} else {
		/* The bytes move by a tag's length, and as many are not there or have no room. */
		__u32 n = in ? len - 4 : len - rest;
		if (n > cfg.buf_size - 4)
			return 0;
		copy_upto(dst + (out ? 4 : 0), src + (in ? 4 : 0), n, cfg.buf_size - 4, READ_ONCE(tx->zero));
		len = n + (out ? 4 : 0);
	}
	write_addresses(tx, dst, i);
	write_header(dst, tag, out);
	WRITE_ONCE(*slot, (__u64)idx | (__u64)len << 32 | more << 48);
	tx->bytes += len + rest;
	return 0;
}

/* Notes the end of a frame that was copied. */
static __always_inline void count_copied_frame(struct tx_state *tx, struct walk *walk, __u32 mark)
{
	if (walk->inside)
		return;
	if (walk->to_all) {
		tx->copied_flood++;
		tx->reached[walk->i & (BURST - 1)] |= mark & REACHED;
	} else {
		tx->copied++;
	}
}

struct walk_copy {
	struct tx_state *tx;
	void *from, *reg;
	__u32 dest, ring, pos, used, n, mark;
};

LOOP_STEP(copy_walk_slot, struct walk_copy *loop)
{
	struct tx_state *tx = loop->tx;
	struct walk *walk = &tx->walk;
	__u32 ring = loop->ring;

	KEEP_BELOW(ring, cfg.rings);
	advance_walk(tx);
	if (!walk->take)
		return 0;
	if (loop->used >= loop->n)
		return 1;
	__u64 before = tx->bytes;
	if (walk->plain) {
		void *copy = copy_slot(tx, loop->from, loop->reg, ring, loop->pos, walk->i);
		if (copy && walk->first)
			write_addresses(tx, copy, walk->i);
	} else {
		copy_first(tx, loop->dest, ring, loop->pos);
	}
	if (walk->to_all)
		tx->bytes_all += tx->bytes - before;
	count_copied_frame(tx, walk, loop->mark);
	loop->pos = (loop->pos + walk->need) & MASK;
	loop->used = (loop->used + walk->need) & UP_TO(2 * BURST);
	return 0;
}

/* Copies the first `n` slots of a walk to port `dest`. */
static __always_inline void copy_walk(struct tx_state *tx, void *from, void *reg, __u32 dest, __u32 ring, __u64 at, __u32 n, __u32 mark)
{
	struct walk_copy loop = { .tx = tx, .from = from, .reg = reg, .dest = dest, .ring = ring, .pos = at & MASK,
			       .used = READ_ONCE(tx->zero) & UP_TO(2 * BURST), .n = n, .mark = mark };

	start_walk(tx);
	repeat(walk_slots_left(tx), UP_TO(BURST), copy_walk_slot, &loop);
}

/* Counts at a mirror what became of `frames` copies of the frames of port `of`. */
static __always_inline void count_mirrored(struct tx_state *tx, struct rx_state *rx, __u32 of, __u32 frames)
{
	struct port_state *p = inner(&states, of);
	__u32 copied = tx->copied + tx->copied_flood;

	__sync_fetch_and_add(&rx->n.in, frames);
	__sync_fetch_and_add(&rx->n.out, copied);
	__sync_fetch_and_add(&rx->n.bytes, tx->bytes);
	if (frames != copied)
		__sync_fetch_and_add(&rx->n.drops[RING_FULL], frames - copied);
	if (p)
		__sync_fetch_and_add(&p->mirrored, frames);
}

/* Delivers to port `dest` what the burst has for port `view`: its own frames, or as a mirror another port's, at most
 * `limit` slots. Returns the slots delivered. */
__noinline int deliver_with_rules(struct tx_state *tx, __u32 dest, __u32 view, __u32 ring, __u32 limit)
{
	if (!tx)
		return 0;
	void *from = inner(&regions, sender(tx)), *reg = inner(&regions, dest), *state = inner(&states, dest);
	KEEP_BOUND(ring);
	if (ring >= cfg.rings)
		return 0;
	KEEP_BOUND(ring);
	__u32 mark = dest == view ? REACHED | OFFERED : 0;
	if (!from || !reg || !state || is_deleted(tx) || !is_state_of(state, dest & 0xff)) {
		/* One of the ports went away: frames to this one alone are lost. */
		if (mark && is_touched(tx, dest & 0xff)) {
			tx->n.in += tx->list[dest & 0xff].frames;
			tx->n.drops[NO_DESTINATION] += tx->list[dest & 0xff].frames;
		}
		return 0;
	}
	prepare_walk(tx, view);
	__u32 want = fit_walk(tx, limit, mark) & UP_TO(2 * BURST), own = tx->walk.frames_own, all = tx->walk.frames_all;
	if (!want)
		return 0;
	struct rx_state *rx = rx_of(state, ring);
	struct ctl *ctl = ctl_of(reg, cfg.rings + ring);
	__u64 at = 0;
	tx->bytes = tx->bytes_all = 0;
	tx->copied = tx->copied_flood = 0;
	no_preemption();
#define FITTING(room) (fit_walk(tx, room, 0) & UP_TO(2 * BURST))
	__u32 n = RX_RESERVE(rx, ctl, want, FITTING, at);
	if (n) {
		copy_walk(tx, from, reg, dest, ring, at, n, mark);
		rx_publish(rx, progress_of(reg, cfg.rings + ring), at, n);
		rx_wake(ctl, dest, ring);
	}
	preemption();
	if (READ_ONCE(((struct port_state *)state)->nic))
		report_nic_frames(tx, rx, dest);
	if (mark)
		count_delivery(tx, rx, own, all);
	else
		count_mirrored(tx, rx, view ? view : sender(tx), own + all);
	return n;
}

/* Delivers what the burst has for port `dest`, and to the mirror of that port what it got. */
__noinline int deliver_mirrored(struct tx_state *tx, __u32 dest, __u32 ring)
{
	struct port_conf *conf = conf_of(dest);

	if (!tx || !conf)
		return 0;
	__u32 n = deliver_with_rules(tx, dest, dest, ring, ~0u), mirror = READ_ONCE(conf->mirror);
	if (n && mirror && READ_ONCE(conf->features) & MIRROR_RX)
		deliver_with_rules(tx, mirror, dest, ring, n);
	return 0;
}

/* Delivers to destination `i`, as deliver_nth. */
static long deliver_nth_with_rules(__u32 i, struct run *run)
{
	__u32 dest = nth_destination(i, run);

	if (dest >= PORTS)
		return 1;
	if (dest && dest != sender(run->tx) && dest != FLOOD)
		deliver_mirrored(run->tx, dest, run->ring);
	return 0;
}

/* Moves a burst of a ring up to `head`; returns the slots taken. */
static __always_inline int burst_with_rules(struct tx_state *tx, __u32 ring, __u32 head, int watched)
{
	if (!tx)
		return 0;
	struct info *sw = own_info();
	struct port_conf *conf = conf_of(sender(tx));
	if (!sw || !conf)
		return 0;
	if (watched)
		tx->border = tx->ns;
	/* Mirrors of the sender and of each receiver. */
	begin_run(tx, sw, 1 + !!(READ_ONCE(conf->features) & MIRROR_TX) + !!(READ_ONCE(sw->shared) & MIRROR_RX));
	tx->slots = decide_all_with_rules(tx, ring, tx->sent, (head - tx->sent) & MASK);
	if (watched && tx->slots)
		end_stage(tx, DECIDE);
	/* First, so that a mirror sees a question before its answer. */
	__u32 mirror = READ_ONCE(conf->mirror);
	if (mirror && READ_ONCE(conf->features) & MIRROR_TX)
		deliver_with_rules(tx, mirror, 0, ring, ~0u);
	DELIVER_ALL(tx, ring, own_info(), deliver_nth_with_rules);
	if (is_touched(tx, FLOOD))
		count_flood(tx, 0);
	if (watched && tx->slots)
		end_stage(tx, DELIVER);
	return tx->slots;
}

__noinline int send_with_rules(struct tx_state *tx, __u32 ring, __u32 head)
{
	return burst_with_rules(tx, ring, head, 0);
}

__noinline int send_with_rules_watched(struct tx_state *tx, __u32 ring, __u32 head)
{
	return burst_with_rules(tx, ring, head, 1);
}
