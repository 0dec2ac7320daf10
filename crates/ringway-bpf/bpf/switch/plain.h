/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A burst: decide, then for each destination reserve, copy, publish. The sender's sync runs it (BPF_PROG_RUN). */
#pragma once
#include "switch/decide.h"
#include "switch/reserve.h"
#include "switch/copy.h"
#include "common/netdev.h"

/* What the steps of one run share. */
struct run {
	struct tx_state *t;
	struct info *info;
	__u32 ring;
};

/* Frames for one receiver: those to it alone and those to all, merged in the order in which they were sent. */
struct merge {
	__u32 own, own_left, all, all_left, all_frames;
	struct module_run *set; /* links those to a set of ports that has this receiver */
};

static __always_inline struct merge frames_to(struct tx_state *t, __u32 d, __u32 ring)
{
	struct merge m = {};

	if (is_touched(t, d)) {
		m.own = t->list[d & 0xff].head;
		m.own_left = t->list[d & 0xff].slots;
	}
	if (is_touched(t, FLOOD)) {
		m.all = t->list[FLOOD].head;
		m.all_left = t->list[FLOOD].slots;
		m.all_frames = t->list[FLOOD].frames;
	}
	if (WITH_MODULE && m.all_left) {
		m.all_left = 0;
		m.set = module_run(ring);
		if (m.set) {
			link_set(t, d, ring);
			m.all = m.set->head;
			m.all_left = m.set->slots & UP_TO_BURST;
			m.all_frames = m.set->frames;
		}
	}
	return m;
}

/* The next slot of the burst. */
static __always_inline __u32 step(struct tx_state *t, struct merge *m, int *to_all)
{
	__u32 i;

	*to_all = m->all_left && (!m->own_left || m->all < m->own);
	if (*to_all) {
		i = m->all & (BURST - 1);
		m->all = WITH_MODULE && m->set ? m->set->next[i] : t->next[i];
		m->all_left = (m->all_left - 1) & UP_TO_BURST;
	} else {
		i = m->own & (BURST - 1);
		m->own = t->next[i];
		m->own_left = (m->own_left - 1) & UP_TO_BURST;
	}
	return i;
}

/* Frames that are tried for size. */
struct fit {
	struct tx_state *t;
	struct merge m;
	__u32 used, fits;
};

SELDOM_STEP(fit_slot, struct fit *f)
{
	int to_all;
	__u32 i = step(f->t, &f->m, &to_all);

	f->used = (f->used + 1) & UP_TO_BURST;
	if (!(f->t->slot[i] >> 48 & NS_MOREFRAG))
		f->fits = f->used;
	return 0;
}

/* Slots of the frames for port `d` that fit whole into `room`. */
__noinline int whole_frames(struct tx_state *t, __u32 d, __u32 ring, __u32 room)
{
	FORGET(ring); /* callers of functions pass no argument that is not used */
	if (!t)
		return 0;
	__u32 zero = READ_ONCE(t->zero) & UP_TO_BURST;
	struct fit f = { .t = t, .m = frames_to(t, d & 0xff, ring), .used = zero, .fits = zero };

	repeat_seldom(room, UP_TO_BURST, fit_slot, &f);
	return f.fits < room ? f.fits : room;
}

/* Copies slot `i` of the burst to the slot of the rx ring at `pos`. A slot whose buffer the receiver lost is passed on
 * empty: its reader finds the frame bad and counts it. Returns the copy, or NULL. */
static __always_inline void *copy_slot(struct tx_state *t, void *reg, void *to, __u32 ring, __u32 pos, __u32 i)
{
	__u64 s = t->slot[i & (BURST - 1)], more = s >> 48 & NS_MOREFRAG;
	__u32 from = s, len = (s >> 32) & 0xffff;
	__u64 *slot = slot_of(to, cfg.rings + ring, pos & MASK);
	__u32 idx = READ_ONCE(*slot);

	if (idx < FIRST_BUF || idx >= cfg.bufs) {
		WRITE_ONCE(*slot, more << 48);
		return 0;
	}
	if (from >= cfg.bufs || len > cfg.buf_size)
		return 0;
	void *copy = buf_of(to, idx);
	copy_buf(copy, buf_of(reg, from), len, READ_ONCE(t->zero));
	WRITE_ONCE(*slot, (__u64)idx | (__u64)len << 32 | more << 48);
	t->bytes += len;
	return copy;
}

/* Frames on their way into the rx ring of a receiver. */
struct delivery {
	struct tx_state *t;
	void *from, *to;
	struct merge m;
	__u32 ring, pos, frames;
};

LOOP_STEP(copy_own_slot, struct delivery *x)
{
	struct tx_state *t = x->t;
	__u32 i = x->m.own & (BURST - 1), ring = x->ring;

	KEEP_BELOW(ring, cfg.rings);
	copy_slot(t, x->from, x->to, ring, x->pos, i);
	x->frames += !(t->slot[i] >> 48 & NS_MOREFRAG);
	x->m.own = t->next[i];
	x->pos = (x->pos + 1) & MASK;
	return 0;
}

/* The common case: frames to one receiver alone. */
static __always_inline void copy_own(struct delivery *x, __u32 n)
{
	x->frames = READ_ONCE(x->t->zero);
	repeat(n, UP_TO_BURST, copy_own_slot, x);
	x->t->copied = x->frames;
}

LOOP_STEP(copy_merged_slot, struct delivery *x)
{
	int to_all;
	struct tx_state *t = x->t;
	__u32 i = step(t, &x->m, &to_all), ring = x->ring;
	__u64 before = t->bytes;

	KEEP_BELOW(ring, cfg.rings);
	copy_slot(t, x->from, x->to, ring, x->pos, i);
	if (to_all)
		t->bytes_all += t->bytes - before;
	if (!(t->slot[i] >> 48 & NS_MOREFRAG)) {
		if (to_all) {
			t->copied_flood++;
			t->reached[i] |= REACHED;
		} else {
			t->copied++;
		}
	}
	x->pos = (x->pos + 1) & MASK;
	return 0;
}

/* Frames to one and to all, as they come. */
static __always_inline void copy_frames(struct delivery *x, __u32 n)
{
	repeat(n, UP_TO_BURST, copy_merged_slot, x);
}

/* Counts on both sides what became of `own` frames to the receiver alone and `all` frames to all. */
static __always_inline void count(struct tx_state *t, struct rx_state *r, __u32 own, __u32 all)
{
	__u32 lost = own - t->copied, lost_all = all - t->copied_flood;

	t->copies += own + all;
	t->n.in += own;
	t->n.out += t->copied;
	t->n.bytes += t->bytes - t->bytes_all;
	t->n.drops[RECEIVER_FULL] += lost;
	__sync_fetch_and_add(&r->n.in, own + all);
	__sync_fetch_and_add(&r->n.out, t->copied + t->copied_flood);
	__sync_fetch_and_add(&r->n.bytes, t->bytes);
	if (lost + lost_all)
		__sync_fetch_and_add(&r->n.drops[RING_FULL], lost + lost_all);
}

/* Tells the caller that frames wait in the ring of a NIC: also those that a sender left which died before it ran `out`. */
static __always_inline void note_nic(struct tx_state *t, struct rx_state *r, __u32 d)
{
	__u32 was = t->nics, port = was >> 8 & 0xff, due = READ_ONCE(r->pub) - READ_ONCE(r->taken);

	if (due > 0xffff)
		due = 0xffff;
	if (due < was >> 16)
		due = was >> 16;
	t->nics = due << 16 | (port && port != (d & 0xff) ? FLOOD : d & 0xff) << 8;
}

/* Whether frames of this sender can't get into the stack of a host, whose port this is: that takes a process of the network
 * namespace `nic`. */
static __always_inline int is_far(__u32 nic)
{
	if (nic <= 1)
		return 0;
	struct task_struct___l *task = (void *)bpf_get_current_task_btf();
	return task->nsproxy->net_ns->ns.inum != nic;
}

/* They are lost for that. */
static __always_inline void count_far(struct tx_state *t, struct rx_state *r, __u32 own, __u32 all)
{
	t->copies += own + all;
	t->n.in += own;
	t->n.drops[DEVICE_REFUSED] += own;
	__sync_fetch_and_add(&r->n.in, own + all);
	__sync_fetch_and_add(&r->n.drops[DEVICE_REFUSED], own + all);
}

/* Whether the sender was deleted: its number may be another port's by now. Asked after a look-up of the own region, it tells
 * whether that region is the own one still. */
static __always_inline int is_deleted(struct tx_state *t)
{
	struct port_conf *c = conf_of(sender(t));

	return !c || READ_ONCE(c->ticket) != t->ticket;
}

/* Whether a state is that of port `d`, and not of one that was deleted. */
static __always_inline int is_of(struct port_state *state, __u32 d)
{
	return READ_ONCE(state->port) == d;
}

/* Delivers what the burst has for port `d`. */
__noinline int deliver(struct tx_state *t, __u32 d, __u32 ring)
{
	/* The barrier has the compiler compute with the very register whose bound was checked. */
	FORGET(ring);
	if (!t || ring >= cfg.rings)
		return 0;
	FORGET(ring);
	struct delivery x = { .t = t, .m = frames_to(t, d & 0xff, ring), .ring = ring };
	__u32 own = x.m.own_left ? t->list[d & 0xff].frames : 0, all = x.m.all_left ? x.m.all_frames : 0;
	if (WITH_MODULE && !x.m.own_left && !x.m.all_left)
		return 0;
	void *from = inner(&regions, sender(t)), *reg = inner(&regions, d), *state = inner(&states, d);

	if (!from || !reg || !state || is_deleted(t) || !is_of(state, d & 0xff)) {
		/* One of the ports went away: frames to this one alone are lost. */
		t->n.in += own;
		t->n.drops[NO_DESTINATION] += own;
		return 0;
	}
	struct rx_state *r = rx_of(state, ring);
	struct ctl *c = ctl_of(reg, cfg.rings + ring);
	__u32 nic = READ_ONCE(((struct port_state *)state)->nic);
	__u64 at = 0;
	if (is_far(nic)) {
		count_far(t, r, own, all);
		return 0;
	}
	t->bytes = t->bytes_all = 0;
	t->copied = t->copied_flood = 0;
	no_preemption();
#define WHOLE(room) (whole_frames(t, d, ring, room) & UP_TO_BURST)
	__u32 n = RX_RESERVE(r, c, (x.m.own_left + x.m.all_left) & UP_TO_BURST, WHOLE, at);
	if (n) {
		x.from = from;
		x.to = reg;
		x.pos = at & MASK;
		if (x.m.all_left)
			copy_frames(&x, n);
		else
			copy_own(&x, n);
		rx_publish(r, told_of(reg, cfg.rings + ring), at, n);
		rx_wake(c, d, ring);
	}
	preemption();
	if (nic)
		note_nic(t, r, d);
	count(t, r, own, all);
	return 0;
}

struct flood_count {
	struct tx_state *t;
	__u32 i, offered;
};

LOOP_STEP(count_flood_slot, struct flood_count *x)
{
	struct tx_state *t = x->t;
	__u32 i = x->i & (BURST - 1);

	t->bytes += t->slot[i] >> 32 & 0xffff;
	if (!(t->slot[i] >> 48 & NS_MOREFRAG)) {
		if (t->reached[i] & REACHED) {
			t->n.out++;
			t->n.bytes += t->bytes;
		} else {
			t->n.drops[x->offered || t->reached[i] ? RECEIVER_FULL : NO_DESTINATION]++;
		}
		t->bytes = 0;
	}
	x->i = t->next[i];
	return 0;
}

/* What becomes of frames to all: out when one receiver had room. `offered`: each was offered to one; otherwise frames are
 * marked that were. */
static __always_inline void count_flood(struct tx_state *t, int offered)
{
	struct flood_count x = { .t = t, .i = t->list[FLOOD].head, .offered = offered };

	t->n.in += t->list[FLOOD].frames;
	t->bytes = 0;
	repeat(t->list[FLOOD].slots, UP_TO_BURST, count_flood_slot, &x);
}

/* Destination `i`: first those that frames are for, then, if some are for all, the other ports. 0: none; PORTS: no more. */
static __always_inline __u32 nth(__u32 i, struct run *x)
{
	struct tx_state *t = x->t;
	__u32 first = t->ndsts, d;

	if (i < first)
		return t->dsts[i & (PORTS - 1)];
	i -= first;
	if (!is_touched(t, FLOOD) || i >= x->info->nports || i >= PORTS)
		return PORTS;
	d = x->info->ports[i];
	return is_touched(t, d) ? 0 : d;
}

static long deliver_nth(__u32 i, struct run *x)
{
	__u32 d = nth(i, x);

	if (d >= PORTS)
		return 1;
	return d == 0 || d == sender(x->t) || d == FLOOD ? 0 : deliver(x->t, d, x->ring);
}

/* `times`: copies of a frame to a port alone. */
static __always_inline void begin_run(struct tx_state *t, struct info *i, __u32 times)
{
	t->budget = RUN_NS;
	t->fan = times * (READ_ONCE(i->nports) & 0xff);
	t->times = times;
}

/* Has each destination of the burst get its frames. */
#define DELIVER_ALL(t_, ring_, info_, step)                                                   \
	do {                                                                                  \
		struct run x_ = { .t = t_, .ring = ring_, .info = info_ };                    \
		if (x_.info && x_.t->ndsts)                                                   \
			bpf_loop(2 * PORTS, step, &x_, 0);                                    \
	} while (0)

static __always_inline struct info *own_info(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&info, &zero);
}

/* The first pass over a burst. */
struct deciding {
	struct fdb *f;
	void *reg;
	struct tx_state *t;
	__u32 ring, at, i;
	__u32 enough; /* not 0: so many slots are taken, and no more */
};

LOOP_STEP(decide_slot, struct deciding *x)
{
	__u32 ring = x->ring;

	KEEP_BELOW(ring, cfg.rings);
	if (DECISION == BRIDGE && READ_ONCE(x->t->varied)) {
		x->t->varied = 0;
		look_ahead(x->f, x->reg, ring, x->at);
	}
	__u32 enough = decide(x->f, x->reg, x->t, ring, x->at, x->i);
	if (enough) {
		x->enough = enough;
		return 1;
	}
	x->i = (x->i + 1) & (BURST - 1);
	x->at = (x->at + 1) & MASK;
	asm volatile("" : "+r"(x->i), "+r"(x->at));
	return 0;
}

/* The same pass, over `waiting` slots from `from` on; returns how many slots are taken. */
LOOP_FRAME int decide_all(struct tx_state *t, __u32 ring, __u32 from, __u32 waiting)
{
	__u32 none = 0;
	struct fdb *f = bpf_map_lookup_elem(&fdb, &none);

	if (!t)
		return 0;
	void *reg = inner(&regions, sender(t));
	FORGET(ring);
	if (!f || !reg || ring >= cfg.rings)
		return 0;
	FORGET(ring);
	/* Plus what the verifier does not know: it would count a constant down. */
	__u32 zero = READ_ONCE(t->zero), count = (waiting < BURST ? waiting : BURST) + zero;
	struct deciding x = { .f = f, .reg = reg, .t = t, .ring = ring, .at = from & MASK, .i = zero & (BURST - 1) };

	t->last_src = t->last_dst = ~0ULL;
	t->ndsts = t->chain_slots = t->chain_bad = 0;
	t->ring = ring;
	t->touched[0] = t->touched[1] = t->touched[2] = t->touched[3] = 0;
	repeat(count + READ_ONCE(t->zero), UP_TO_BURST, decide_slot, &x);
	if (x.enough)
		return x.enough & UP_TO_BURST;
	if (!t->chain_slots)
		return count;
	/* A frame goes on behind the last slot: behind the burst it is left for the next run, behind head it is bad. So is one
	 * that fills a burst, as no run would ever get past it. */
	undo_chain(t);
	if (waiting > BURST && t->chain)
		return t->chain;
	drop_frame(t, BAD_SLOT);
	return count;
}

/* Moves a burst of plain copies, of a ring up to `head`; returns the slots taken. This way and the other are functions of
 * their own for the sake of the stack, of which all calls on a path have 512 bytes together. */
__noinline int send_plain(struct tx_state *t, __u32 ring, __u32 head)
{
	struct info *i = own_info();

	if (!t || !i)
		return 0;
	begin_run(t, i, 1);
	__u32 taken = decide_all(t, ring, t->sent, (head - t->sent) & MASK);
	__u64 before = t->copies;

	DELIVER_ALL(t, ring, own_info(), deliver_nth);
	if (is_touched(t, FLOOD))
		count_flood(t, !WITH_MODULE && t->copies != before);
	return taken;
}
