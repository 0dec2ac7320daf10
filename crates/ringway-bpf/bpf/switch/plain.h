/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A burst: decide, then for each destination reserve, copy, publish. The sender's sync runs it (BPF_PROG_RUN). */
#pragma once
#include "switch/decide.h"
#include "switch/reserve.h"
#include "switch/copy.h"
#include "switch/stages.h"
#include "common/netdev.h"

/* What the steps of one run share. */
struct run {
	struct tx_state *tx;
	struct info *info;
	__u32 ring;
};

/* Frames for one receiver: those to it alone and those to all, merged in the order in which they were sent. */
struct merge {
	__u32 own, own_left, all, all_left, all_frames;
	struct module_run *set; /* links those to a set of ports that has this receiver */
};

static __always_inline struct merge frames_to(struct tx_state *tx, __u32 dest, __u32 ring)
{
	struct merge merge = {};

	if (is_touched(tx, dest)) {
		merge.own = tx->list[dest & 0xff].head;
		merge.own_left = tx->list[dest & 0xff].slots;
	}
	if (is_touched(tx, FLOOD)) {
		merge.all = tx->list[FLOOD].head;
		merge.all_left = tx->list[FLOOD].slots;
		merge.all_frames = tx->list[FLOOD].frames;
	}
	if (WITH_MODULE && merge.all_left) {
		merge.all_left = 0;
		merge.set = module_run(ring);
		if (merge.set) {
			link_set(tx, dest, ring);
			merge.all = merge.set->head;
			merge.all_left = merge.set->slots & UP_TO(BURST);
			merge.all_frames = merge.set->frames;
		}
	}
	return merge;
}

/* The next slot of the burst. */
static __always_inline __u32 next_slot(struct tx_state *tx, struct merge *merge, int *to_all)
{
	__u32 i;

	*to_all = merge->all_left && (!merge->own_left || merge->all < merge->own);
	if (*to_all) {
		i = merge->all & (BURST - 1);
		merge->all = WITH_MODULE && merge->set ? merge->set->next[i] : tx->next[i];
		merge->all_left = (merge->all_left - 1) & UP_TO(BURST);
	} else {
		i = merge->own & (BURST - 1);
		merge->own = tx->next[i];
		merge->own_left = (merge->own_left - 1) & UP_TO(BURST);
	}
	return i;
}

/* Frames that are tried for size. */
struct fit {
	struct tx_state *tx;
	struct merge merge;
	__u32 used, fits;
};

SELDOM_STEP(fit_slot, struct fit *fit)
{
	int to_all;
	__u32 i = next_slot(fit->tx, &fit->merge, &to_all);

	fit->used = (fit->used + 1) & UP_TO(BURST);
	if (!(SLOT_FLAGS(fit->tx->slot[i]) & NS_MOREFRAG))
		fit->fits = fit->used;
	return 0;
}

/* Slots of the frames for port `dest` that fit whole into `room`. */
__noinline int whole_frames(struct tx_state *tx, __u32 dest, __u32 ring, __u32 room)
{
	KEEP_BOUND(ring); /* callers of functions pass no argument that is not used */
	if (!tx)
		return 0;
	__u32 zero = READ_ONCE(tx->zero) & UP_TO(BURST);
	struct fit fit = { .tx = tx, .merge = frames_to(tx, dest & 0xff, ring), .used = zero, .fits = zero };

	repeat_seldom(room, UP_TO(BURST), fit_slot, &fit);
	return fit.fits < room ? fit.fits : room;
}

/* Copies slot `i` of the burst to the slot of the rx ring at `pos`. A slot whose buffer the receiver lost is passed on
 * empty: its reader finds the frame bad and counts it. Returns the copy, or NULL. */
static __always_inline void *copy_slot(struct tx_state *tx, void *reg, void *to, __u32 ring, __u32 pos, __u32 i)
{
	__u64 s = tx->slot[i & (BURST - 1)], more = SLOT_FLAGS(s) & NS_MOREFRAG;
	__u32 from = s, len = SLOT_LEN(s);
	__u64 *slot = slot_of(to, cfg.rings + ring, pos & MASK);
	__u32 idx = READ_ONCE(*slot);

	if (idx < FIRST_BUF || idx >= cfg.bufs) {
		WRITE_ONCE(*slot, more << 48);
		return 0;
	}
	if (from >= cfg.bufs || len > cfg.buf_size)
		return 0;
	void *copy = buf_of(to, idx);
	copy_buf(copy, buf_of(reg, from), len, READ_ONCE(tx->zero));
	WRITE_ONCE(*slot, (__u64)idx | (__u64)len << 32 | more << 48);
	tx->bytes += len;
	return copy;
}

/* Frames on their way into the rx ring of a receiver. */
struct delivery {
	struct tx_state *tx;
	void *from, *to;
	struct merge merge;
	__u32 ring, pos, frames;
};

LOOP_STEP(copy_own_slot, struct delivery *loop)
{
	struct tx_state *tx = loop->tx;
	__u32 i = loop->merge.own & (BURST - 1), ring = loop->ring;

	KEEP_BELOW(ring, cfg.rings);
	copy_slot(tx, loop->from, loop->to, ring, loop->pos, i);
	loop->frames += !(SLOT_FLAGS(tx->slot[i]) & NS_MOREFRAG);
	loop->merge.own = tx->next[i];
	loop->pos = (loop->pos + 1) & MASK;
	return 0;
}

/* The common case: frames to one receiver alone. */
static __always_inline void copy_own(struct delivery *loop, __u32 n)
{
	loop->frames = READ_ONCE(loop->tx->zero);
	repeat(n, UP_TO(BURST), copy_own_slot, loop);
	loop->tx->copied = loop->frames;
}

LOOP_STEP(copy_merged_slot, struct delivery *loop)
{
	int to_all;
	struct tx_state *tx = loop->tx;
	__u32 i = next_slot(tx, &loop->merge, &to_all), ring = loop->ring;
	__u64 before = tx->bytes;

	KEEP_BELOW(ring, cfg.rings);
	copy_slot(tx, loop->from, loop->to, ring, loop->pos, i);
	if (to_all)
		tx->bytes_all += tx->bytes - before;
	if (!(SLOT_FLAGS(tx->slot[i]) & NS_MOREFRAG)) {
		if (to_all) {
			tx->copied_flood++;
			tx->reached[i] |= REACHED;
		} else {
			tx->copied++;
		}
	}
	loop->pos = (loop->pos + 1) & MASK;
	return 0;
}

/* Frames to one and to all, as they come. */
static __always_inline void copy_frames(struct delivery *loop, __u32 n)
{
	repeat(n, UP_TO(BURST), copy_merged_slot, loop);
}

/* Counts on both sides what became of `own` frames to the receiver alone and `all` frames to all. */
static __always_inline void count_delivery(struct tx_state *tx, struct rx_state *rx, __u32 own, __u32 all)
{
	__u32 lost = own - tx->copied, lost_all = all - tx->copied_flood;

	tx->copies += own + all;
	tx->n.in += own;
	tx->n.out += tx->copied;
	tx->n.bytes += tx->bytes - tx->bytes_all;
	tx->n.drops[RECEIVER_FULL] += lost;
	__sync_fetch_and_add(&rx->n.in, own + all);
	__sync_fetch_and_add(&rx->n.out, tx->copied + tx->copied_flood);
	__sync_fetch_and_add(&rx->n.bytes, tx->bytes);
	if (lost + lost_all)
		__sync_fetch_and_add(&rx->n.drops[RING_FULL], lost + lost_all);
}

/* Tells the caller that frames wait in the ring of a NIC, also frames of a sender that died before it ran `out`. */
static __always_inline void report_nic_frames(struct tx_state *tx, struct rx_state *rx, __u32 dest)
{
	__u32 was = tx->nics, port = was >> 8 & 0xff, due = READ_ONCE(rx->pub) - READ_ONCE(rx->taken);

	if (due > 0xffff)
		due = 0xffff;
	if (due < was >> 16)
		due = was >> 16;
	tx->nics = due << 16 | (port && port != (dest & 0xff) ? FLOOD : dest & 0xff) << 8;
}

/* Whether frames of this sender can't get into the stack of a host, whose port this is: that takes a process of the network
 * namespace `nic`. */
static __always_inline int is_far_host(__u32 nic)
{
	if (nic <= 1)
		return 0;
	struct task_struct___l *task = (void *)bpf_get_current_task_btf();
	return task->nsproxy->net_ns->ns.inum != nic;
}

/* They are lost for that. */
static __always_inline void count_far(struct tx_state *tx, struct rx_state *rx, __u32 own, __u32 all)
{
	tx->copies += own + all;
	tx->n.in += own;
	tx->n.drops[DEVICE_REFUSED] += own;
	__sync_fetch_and_add(&rx->n.in, own + all);
	__sync_fetch_and_add(&rx->n.drops[DEVICE_REFUSED], own + all);
}

/* Whether the sender was deleted: its number may be another port's by now. Asked after a look-up of the own region, it tells
 * whether that region is the own one still. */
static __always_inline int is_deleted(struct tx_state *tx)
{
	struct port_conf *conf = conf_of(sender(tx));

	return !conf || READ_ONCE(conf->ticket) != tx->ticket;
}

/* Whether a state is that of port `dest`, and not of one that was deleted. */
static __always_inline int is_state_of(struct port_state *state, __u32 dest)
{
	return READ_ONCE(state->port) == dest;
}

/* Delivers what the burst has for port `dest`. */
__noinline int deliver(struct tx_state *tx, __u32 dest, __u32 ring)
{
	/* The barrier has the compiler compute with the very register whose bound was checked. */
	KEEP_BOUND(ring);
	if (!tx || ring >= cfg.rings)
		return 0;
	KEEP_BOUND(ring);
	struct delivery loop = { .tx = tx, .merge = frames_to(tx, dest & 0xff, ring), .ring = ring };
	__u32 own = loop.merge.own_left ? tx->list[dest & 0xff].frames : 0, all = loop.merge.all_left ? loop.merge.all_frames : 0;
	if (WITH_MODULE && !loop.merge.own_left && !loop.merge.all_left)
		return 0;
	void *from = inner(&regions, sender(tx)), *reg = inner(&regions, dest), *state = inner(&states, dest);

	if (!from || !reg || !state || is_deleted(tx) || !is_state_of(state, dest & 0xff)) {
		/* One of the ports went away: frames to this one alone are lost. */
		tx->n.in += own;
		tx->n.drops[NO_DESTINATION] += own;
		return 0;
	}
	struct rx_state *rx = rx_of(state, ring);
	struct ctl *ctl = ctl_of(reg, cfg.rings + ring);
	__u32 nic = READ_ONCE(((struct port_state *)state)->nic);
	__u64 at = 0;
	if (is_far_host(nic)) {
		count_far(tx, rx, own, all);
		return 0;
	}
	tx->bytes = tx->bytes_all = 0;
	tx->copied = tx->copied_flood = 0;
	no_preemption();
#define WHOLE(room) (whole_frames(tx, dest, ring, room) & UP_TO(BURST))
	__u32 n = RX_RESERVE(rx, ctl, (loop.merge.own_left + loop.merge.all_left) & UP_TO(BURST), WHOLE, at);
	if (n) {
		loop.from = from;
		loop.to = reg;
		loop.pos = at & MASK;
		if (loop.merge.all_left)
			copy_frames(&loop, n);
		else
			copy_own(&loop, n);
		rx_publish(rx, progress_of(reg, cfg.rings + ring), at, n);
		rx_wake(ctl, dest, ring);
	}
	preemption();
	if (nic)
		report_nic_frames(tx, rx, dest);
	count_delivery(tx, rx, own, all);
	return 0;
}

struct flood_count {
	struct tx_state *tx;
	__u32 i, offered;
};

LOOP_STEP(count_flood_slot, struct flood_count *loop)
{
	struct tx_state *tx = loop->tx;
	__u32 i = loop->i & (BURST - 1);

	tx->bytes += SLOT_LEN(tx->slot[i]);
	if (!(SLOT_FLAGS(tx->slot[i]) & NS_MOREFRAG)) {
		if (tx->reached[i] & REACHED) {
			tx->n.out++;
			tx->n.bytes += tx->bytes;
		} else {
			tx->n.drops[loop->offered || tx->reached[i] ? RECEIVER_FULL : NO_DESTINATION]++;
		}
		tx->bytes = 0;
	}
	loop->i = tx->next[i];
	return 0;
}

/* What becomes of frames to all: out when one receiver had room. `offered`: each was offered to one; otherwise frames are
 * marked that were. */
static __always_inline void count_flood(struct tx_state *tx, int offered)
{
	struct flood_count loop = { .tx = tx, .i = tx->list[FLOOD].head, .offered = offered };

	tx->n.in += tx->list[FLOOD].frames;
	tx->bytes = 0;
	repeat(tx->list[FLOOD].slots, UP_TO(BURST), count_flood_slot, &loop);
}

/* Destination `i`: first the ports that frames are for, then, if some are for all, the other ports. 0: none; PORTS: no more. */
static __always_inline __u32 nth_destination(__u32 i, struct run *run)
{
	struct tx_state *tx = run->tx;
	__u32 first = tx->ndsts, dest;

	if (i < first)
		return tx->dsts[i & (PORTS - 1)];
	i -= first;
	if (!is_touched(tx, FLOOD) || i >= run->info->nports || i >= PORTS)
		return PORTS;
	dest = run->info->ports[i];
	return is_touched(tx, dest) ? 0 : dest;
}

static long deliver_nth(__u32 i, struct run *run)
{
	__u32 dest = nth_destination(i, run);

	if (dest >= PORTS)
		return 1;
	return dest == 0 || dest == sender(run->tx) || dest == FLOOD ? 0 : deliver(run->tx, dest, run->ring);
}

/* `times`: copies of a frame to a port alone. */
static __always_inline void begin_run(struct tx_state *tx, struct info *sw, __u32 times)
{
	tx->budget = RUN_NS;
	tx->fan = times * (READ_ONCE(sw->nports) & 0xff);
	tx->times = times;
}

/* Has each destination of the burst get its frames. */
#define DELIVER_ALL(t_, ring_, info_, step)                                                   \
	do {                                                                                  \
		struct run x_ = { .tx = t_, .ring = ring_, .info = info_ };                    \
		if (x_.info && x_.tx->ndsts)                                                   \
			bpf_loop(2 * PORTS, step, &x_, 0);                                    \
	} while (0)

static __always_inline struct info *own_info(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&info, &zero);
}

/* The first pass over a burst. */
struct deciding {
	struct fdb *table;
	void *reg;
	struct tx_state *tx;
	__u32 ring, at, i;
	__u32 enough; /* not 0: so many slots are taken, and no more */
};

LOOP_STEP(decide_slot, struct deciding *loop)
{
	__u32 ring = loop->ring;

	KEEP_BELOW(ring, cfg.rings);
	if (DECISION == BRIDGE && READ_ONCE(loop->tx->varied)) {
		loop->tx->varied = 0;
		look_ahead(loop->table, loop->reg, ring, loop->at);
	}
	__u32 enough = decide(loop->table, loop->reg, loop->tx, ring, loop->at, loop->i);
	if (enough) {
		loop->enough = enough;
		return 1;
	}
	loop->i = (loop->i + 1) & (BURST - 1);
	loop->at = (loop->at + 1) & MASK;
	KEEP_BOUND_2(loop->i, loop->at);
	return 0;
}

/* The same pass, over `waiting` slots from `from` on; returns how many slots are taken. */
LOOP_FRAME int decide_all(struct tx_state *tx, __u32 ring, __u32 from, __u32 waiting)
{
	__u32 none = 0;
	struct fdb *table = bpf_map_lookup_elem(&fdb, &none);

	if (!tx)
		return 0;
	void *reg = inner(&regions, sender(tx));
	KEEP_BOUND(ring);
	if (!table || !reg || ring >= cfg.rings)
		return 0;
	KEEP_BOUND(ring);
	/* Plus what the verifier does not know: it would count a constant down. */
	__u32 zero = READ_ONCE(tx->zero), count = (waiting < BURST ? waiting : BURST) + zero;
	struct deciding loop = { .table = table, .reg = reg, .tx = tx, .ring = ring, .at = from & MASK, .i = zero & (BURST - 1) };

	tx->last_src = tx->last_dst = ~0ULL;
	tx->ndsts = tx->chain_slots = tx->chain_bad = 0;
	tx->ring = ring;
	tx->touched[0] = tx->touched[1] = tx->touched[2] = tx->touched[3] = 0;
	repeat(count + READ_ONCE(tx->zero), UP_TO(BURST), decide_slot, &loop);
	if (loop.enough)
		return loop.enough & UP_TO(BURST);
	if (!tx->chain_slots)
		return count;
	/* A frame goes on behind the last slot: behind the burst it is left for the next run, behind head it is bad. So is one
	 * that fills a burst, as no run would ever get past it. */
	undo_chain(tx);
	if (waiting > BURST && tx->chain)
		return tx->chain;
	drop_frame(tx, BAD_SLOT);
	return count;
}

/* Moves a burst of plain copies, of a ring up to `head`; returns the slots taken. */
static __always_inline int plain_burst(struct tx_state *tx, __u32 ring, __u32 head, int watched)
{
	struct info *sw = own_info();

	if (!tx || !sw)
		return 0;
	if (watched)
		tx->border = tx->ns;
	begin_run(tx, sw, 1);
	__u32 taken = decide_all(tx, ring, tx->sent, (head - tx->sent) & MASK);
	__u64 before = tx->copies;

	if (watched && taken)
		end_stage(tx, DECIDE);
	DELIVER_ALL(tx, ring, own_info(), deliver_nth);
	if (is_touched(tx, FLOOD))
		count_flood(tx, !WITH_MODULE && tx->copies != before);
	if (watched && taken)
		end_stage(tx, DELIVER);
	return taken;
}

/* This way and the other are functions of their own for the sake of the stack, of which all calls on a path have 512 bytes
 * together. */
__noinline int send_plain(struct tx_state *tx, __u32 ring, __u32 head)
{
	return plain_burst(tx, ring, head, 0);
}

__noinline int send_plain_watched(struct tx_state *tx, __u32 ring, __u32 head)
{
	return plain_burst(tx, ring, head, 1);
}
