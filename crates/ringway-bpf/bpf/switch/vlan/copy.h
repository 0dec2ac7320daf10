/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Delivery of the bursts of switch/vlan/decide.h: who gets a frame, in which form, and copies for mirrors. */
#pragma once
#include "switch/vlan/decide.h"

/* Starts a walk over the frames of a receiver, or over all. */
static __always_inline void walk_back(struct tx_state *t)
{
	struct walk *w = &t->walk;
	struct merge m = { .own_left = t->slots };

	if (w->view)
		m = frames_to(t, w->view & 0xff, t->ring);
	w->own = m.own;
	w->own_left = m.own_left;
	w->all = m.all;
	w->all_left = w->alone ? 0 : m.all_left;
	w->inside = 0;
}

/* Prepares walks over the frames that `view` gets, or, when it is 0, over all that were sent. */
static __always_inline void walk_for(struct tx_state *t, __u32 view)
{
	struct walk *w = &t->walk;
	struct port_conf *c = conf_of(view), *me = conf_of(sender(t));

	if (!c || !me)
		return;
	__u32 features = READ_ONCE(c->features);
	w->view = view;
	w->kind = features & (ACCESS | TRUNK);
	w->native = READ_ONCE(c->native);
	w->alone = features & READ_ONCE(me->features) & ISOLATED;
}

/* Begins the frame whose first slot was reached: whether it is taken, and with a tag or not. */
static __always_inline void walk_frame(struct walk *w, __u64 s, __u32 vid)
{
	__u32 view = w->view;
	struct vlans *v = bpf_map_lookup_elem(&vlans, &view);

	w->take = !view ? !!(s & WELL) : !w->to_all || (v && is_member(v, vid));
	w->plain = !view || !vid;
	w->out_tagged = w->kind == TRUNK && vid != w->native;
}

/* Goes to the next slot. */
__noinline int walk_on(struct tx_state *t)
{
	if (!t)
		return 0;
	struct walk *w = &t->walk;
	__u32 i;
	w->to_all = w->all_left && (!w->own_left || w->all < w->own);
	if (w->to_all) {
		i = w->all & (BURST - 1);
		w->all = t->next[i];
		w->all_left--;
	} else {
		i = w->own & (BURST - 1);
		w->own = w->view ? t->next[i] : i + 1;
		w->own_left--;
	}
	__u64 s = t->slot[i];
	__u32 first = !w->inside, len = (s >> 32) & 0xffff;
	if (first)
		walk_frame(w, s, t->tag[i] >> 16 & VID);
	else
		w->plain = 1;
	w->i = i;
	w->first = first;
	w->inside = !!(s >> 48 & NS_MOREFRAG);
	w->need = 1 + (!w->plain && w->out_tagged && !(s & TAGGED) && len + 4 > cfg.buf_size);
	return 0;
}

static __always_inline __u32 walk_left(struct tx_state *t)
{
	return (t->walk.own_left + t->walk.all_left) & UP_TO_BURST;
}

struct survey {
	struct tx_state *t;
	__u32 room, mark, used, fits;
};

SELDOM_STEP(survey_slot, struct survey *x)
{
	struct tx_state *t = x->t;
	struct walk *w = &t->walk;

	walk_on(t);
	if (!w->take)
		return 0;
	x->used = (x->used + w->need) & 0xfff;
	if (x->used > x->room)
		return 1;
	if (w->inside)
		return 0;
	x->fits = x->used;
	if (w->to_all) {
		w->frames_all++;
		t->reached[w->i & (BURST - 1)] |= x->mark & OFFERED;
	} else {
		w->frames_own++;
	}
	return 0;
}

/* Counts the frames that fit whole into `room` slots, and returns their slots. Frames to all are marked as offered. */
__noinline int survey(struct tx_state *t, __u32 room, __u32 mark)
{
	if (!t)
		return 0;
	__u32 zero = READ_ONCE(t->zero) & 0xfff;
	struct survey x = { .t = t, .room = room, .mark = mark, .used = zero, .fits = zero };
	walk_back(t);
	t->walk.frames_own = t->walk.frames_all = 0;
	repeat_seldom(walk_left(t), UP_TO_BURST, survey_slot, &x);
	return x.fits;
}

/* Writes the addresses by which the frame that starts with slot `i` was decided. */
static __always_inline void write_addresses(struct tx_state *t, void *buf, __u32 i)
{
	*(__u64 *)buf = t->addresses[i & (BURST - 1)][0];
	*(__u32 *)(buf + 8) = t->addresses[i & (BURST - 1)][1];
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
	/* Those that lie behind the frame are nobody's business. */
	__u32 its = ~0u >> ((32 - 8 * rest) & 31);
	*(__u32 *)buf_of(reg, idx) = READ_ONCE(*(__u32 *)(from + cfg.buf_size - 4)) & its;
	WRITE_ONCE(*slot, (__u64)idx | (__u64)rest << 32 | more << 48);
}

/* Copies the slot reached, a frame's first, to the slot of the rx ring of port `d` at `pos`, with or without a tag. */
__noinline int copy_first(struct tx_state *t, __u32 d, __u32 ring, __u32 pos)
{
	if (!t)
		return 0;
	void *reg = inner(&regions, sender(t)), *to = inner(&regions, d);
	FORGET(ring);
	if (!reg || !to || ring >= cfg.rings)
		return 0;
	FORGET(ring);
	__u32 i = t->walk.i & (BURST - 1), tag = t->tag[i], out = READ_ONCE(t->walk.out_tagged);
	__u64 s = t->slot[i], more = s >> 48 & NS_MOREFRAG, *slot = slot_of(to, cfg.rings + ring, pos & MASK);
	__u32 from = s, len = (s >> 32) & 0xffff, idx = READ_ONCE(*slot), in = s >> 63;
	__u32 rest = t->walk.need > 1 ? len + 4 - cfg.buf_size : 0;
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
		copy_buf(dst, src, len, READ_ONCE(t->zero));
	} else {
		/* The bytes move by a tag's length, and as many are not there or have no room. */
		__u32 n = in ? len - 4 : len - rest;
		if (n > cfg.buf_size - 4)
			return 0;
		copy_upto(dst + (out ? 4 : 0), src + (in ? 4 : 0), n, cfg.buf_size - 4, READ_ONCE(t->zero));
		len = n + (out ? 4 : 0);
	}
	write_addresses(t, dst, i);
	write_header(dst, tag, out);
	WRITE_ONCE(*slot, (__u64)idx | (__u64)len << 32 | more << 48);
	t->bytes += len + rest;
	return 0;
}

/* Notes the end of a frame that was copied. */
static __always_inline void note_copied(struct tx_state *t, struct walk *w, __u32 mark)
{
	if (w->inside)
		return;
	if (w->to_all) {
		t->copied_flood++;
		t->reached[w->i & (BURST - 1)] |= mark & REACHED;
	} else {
		t->copied++;
	}
}

struct walk_copy {
	struct tx_state *t;
	void *from, *reg;
	__u32 d, ring, pos, used, n, mark;
};

LOOP_STEP(copy_walk_slot, struct walk_copy *x)
{
	struct tx_state *t = x->t;
	struct walk *w = &t->walk;
	__u32 ring = x->ring;

	KEEP_BELOW(ring, cfg.rings);
	walk_on(t);
	if (!w->take)
		return 0;
	if (x->used >= x->n)
		return 1;
	__u64 before = t->bytes;
	if (w->plain) {
		void *copy = copy_slot(t, x->from, x->reg, ring, x->pos, w->i);
		if (copy && w->first)
			write_addresses(t, copy, w->i);
	} else {
		copy_first(t, x->d, ring, x->pos);
	}
	if (w->to_all)
		t->bytes_all += t->bytes - before;
	note_copied(t, w, x->mark);
	x->pos = (x->pos + w->need) & MASK;
	x->used = (x->used + w->need) & 0xfff;
	return 0;
}

/* Copies the first `n` slots of a walk to port `d`. */
static __always_inline void copy_walk(struct tx_state *t, void *from, void *reg, __u32 d, __u32 ring, __u64 at, __u32 n, __u32 mark)
{
	struct walk_copy x = { .t = t, .from = from, .reg = reg, .d = d, .ring = ring, .pos = at & MASK,
			       .used = READ_ONCE(t->zero) & 0xfff, .n = n, .mark = mark };

	walk_back(t);
	repeat(walk_left(t), UP_TO_BURST, copy_walk_slot, &x);
}

/* Counts at a mirror what became of `frames` copies of the frames of port `of`. */
static __always_inline void count_mirrored(struct tx_state *t, struct rx_state *r, __u32 of, __u32 frames)
{
	struct port_state *p = inner(&states, of);
	__u32 copied = t->copied + t->copied_flood;

	__sync_fetch_and_add(&r->n.in, frames);
	__sync_fetch_and_add(&r->n.out, copied);
	__sync_fetch_and_add(&r->n.bytes, t->bytes);
	if (frames != copied)
		__sync_fetch_and_add(&r->n.drops[RING_FULL], frames - copied);
	if (p)
		__sync_fetch_and_add(&p->mirrored, frames);
}

/* Delivers to port `d` what the burst has for port `view`: its own frames, or as a mirror those of another one, at most
 * `limit` slots. Returns the slots delivered. */
__noinline int deliver_conf(struct tx_state *t, __u32 d, __u32 view, __u32 ring, __u32 limit)
{
	if (!t)
		return 0;
	void *from = inner(&regions, sender(t)), *reg = inner(&regions, d), *state = inner(&states, d);
	FORGET(ring);
	if (ring >= cfg.rings)
		return 0;
	FORGET(ring);
	__u32 mark = d == view ? REACHED | OFFERED : 0;
	if (!from || !reg || !state || is_deleted(t) || !is_of(state, d & 0xff)) {
		/* One of the ports went away: frames to this one alone are lost. */
		if (mark && is_touched(t, d & 0xff)) {
			t->n.in += t->list[d & 0xff].frames;
			t->n.drops[NO_DESTINATION] += t->list[d & 0xff].frames;
		}
		return 0;
	}
	walk_for(t, view);
	__u32 want = survey(t, limit, mark) & 0xfff, own = t->walk.frames_own, all = t->walk.frames_all;
	if (!want)
		return 0;
	struct rx_state *r = rx_of(state, ring);
	struct ctl *c = ctl_of(reg, cfg.rings + ring);
	__u64 at = 0;
	t->bytes = t->bytes_all = 0;
	t->copied = t->copied_flood = 0;
	no_preemption();
#define FITTING(room) (survey(t, room, 0) & 0xfff)
	__u32 n = RX_RESERVE(r, c, want, FITTING, at);
	if (n) {
		copy_walk(t, from, reg, d, ring, at, n, mark);
		rx_publish(r, told_of(reg, cfg.rings + ring), at, n);
		rx_wake(c, d, ring);
	}
	preemption();
	if (READ_ONCE(((struct port_state *)state)->nic))
		note_nic(t, r, d);
	if (mark)
		count(t, r, own, all);
	else
		count_mirrored(t, r, view ? view : sender(t), own + all);
	return n;
}

/* Delivers what the burst has for port `d`, and to the mirror of that port what it got. */
__noinline int deliver_mirrored(struct tx_state *t, __u32 d, __u32 ring)
{
	struct port_conf *c = conf_of(d);

	if (!t || !c)
		return 0;
	__u32 n = deliver_conf(t, d, d, ring, ~0u), mirror = READ_ONCE(c->mirror);
	if (n && mirror && READ_ONCE(c->features) & MIRROR_RX)
		deliver_conf(t, mirror, d, ring, n);
	return 0;
}

/* Delivers to destination `i`, as deliver_nth. */
static long deliver_nth_conf(__u32 i, struct run *x)
{
	__u32 d = nth(i, x);

	if (d >= PORTS)
		return 1;
	if (d && d != sender(x->t) && d != FLOOD)
		deliver_mirrored(x->t, d, x->ring);
	return 0;
}

/* Moves a burst of a ring up to `head`; returns the slots taken. */
__noinline int send_conf(struct tx_state *t, __u32 ring, __u32 head)
{
	if (!t)
		return 0;
	struct info *i = own_info();
	struct port_conf *c = conf_of(sender(t));
	if (!i || !c)
		return 0;
	/* Mirrors of the sender and of each receiver. */
	begin_run(t, i, 1 + !!(READ_ONCE(c->features) & MIRROR_TX) + !!(READ_ONCE(i->shared) & MIRROR_RX));
	t->slots = decide_all_conf(t, ring, t->sent, (head - t->sent) & MASK);
	/* First, so that a mirror sees a question before its answer. */
	__u32 mirror = READ_ONCE(c->mirror);
	if (mirror && READ_ONCE(c->features) & MIRROR_TX)
		deliver_conf(t, mirror, 0, ring, ~0u);
	DELIVER_ALL(t, ring, own_info(), deliver_nth_conf);
	if (is_touched(t, FLOOD))
		count_flood(t, 0);
	return t->slots;
}
