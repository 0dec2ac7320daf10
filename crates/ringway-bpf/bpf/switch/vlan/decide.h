/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Bursts that need more than plain copies, since their sender or a receiver has VLANs, isolation, storm limits or a
 * mirror: the decision. The delivery is in switch/vlan/copy.h. Nothing here runs for others: vale_send looks once per burst.
 *
 * A frame is decided when its last slot is there. What the decision read of its header is kept in `addresses` and `tag`:
 * from there the header is written at egress, for the client may have changed its buffer by then.
 */
#pragma once
#include "switch/plain.h"
#include "switch/vlan/rules.h"

/* Of a frame's first slot, in `tx_state.slot`; the number of a forced port is in the same bits before that. */
#define TAGGED (1ULL << 63) /* it came with a tag */
#define WELL (1ULL << 62)   /* it is well-formed, whatever becomes of it */

/* Whether one more frame to all is above a limit of the sender. */
__noinline int is_storm(struct tx_state *t, __u32 kind)
{
	if (!t)
		return 0;
	struct port_conf *c = conf_of(sender(t));
	struct port_state *p = inner(&states, sender(t));

	return c && p ? is_above(c, p, kind, t->ns) : 0;
}

/* Notes the VLAN, priority and type of the frame that starts with slot `i` on a port that has VLANs. Returns why it may not
 * enter, or 0. `w1` and `w2` are its bytes 8 to 23. */
static __always_inline __u32 enter_vlan(struct tx_state *t, struct port_conf *c, struct vlans *v, __u32 i, __u64 w1, __u64 w2)
{
	__u32 type = __builtin_bswap16(w1 >> 32), tci = READ_ONCE(c->native) & VID;

	if (type == TYPE_VLAN) {
		__u32 tag = __builtin_bswap16(w1 >> 48);
		type = __builtin_bswap16(w2);
		if (READ_ONCE(c->features) & ACCESS)
			return VLAN;
		if (((t->slot[i] >> 32) & 0xffff) < TAG_HLEN)
			return TOO_SHORT;
		/* A second tag would count as the first where the first is taken off. */
		if (type == TYPE_VLAN)
			return VLAN;
		tci = tag & VID ? tag : tag | tci;
		t->slot[i] |= TAGGED;
	} else if (t->chain_bytes > MAX_FRAME - 4 || t->chain_slots >= MAX_CHAIN) {
		return TOO_LONG; /* with a tag */
	}
	t->tag[i] = tci << 16 | type;
	return tci & VID && is_member(v, tci & VID) ? 0 : VLAN;
}

/* Finds the destination of the frame that starts with slot `i`, which is well-formed. Returns why it has none, or 0. */
__noinline int route(struct tx_state *t, __u32 i)
{
	if (!t)
		return BAD_SLOT;
	__u32 zero = 0, port = sender(t);
	struct fdb *f = bpf_map_lookup_elem(&fdb, &zero);
	struct vlans *v = bpf_map_lookup_elem(&vlans, &port);
	struct port_conf *c = conf_of(port);
	void *reg = inner(&regions, port);

	if (!f || !v || !c || !reg)
		return BAD_SLOT;
	i &= BURST - 1;
	__u64 s = t->slot[i];
	__u32 idx = s;
	if (idx >= cfg.bufs)
		return BAD_SLOT;
	__u64 *buf = buf_of(reg, idx), w0 = READ_ONCE(buf[0]), w1 = READ_ONCE(buf[1]), w2 = READ_ONCE(buf[2]);
	t->addresses[i][0] = w0;
	t->addresses[i][1] = w1;
	t->slot[i] = s | WELL;
	if (READ_ONCE(c->features) & (ACCESS | TRUNK)) {
		__u32 bad = enter_vlan(t, c, v, i, w1, w2);
		if (bad)
			return bad;
	}
	__u64 vid = READ_ONCE(t->tag[i]) >> 16 & VID, dst = w0 & 0xffffffffffffULL;
	__u32 d = destination_of(f, t, dst | vid << 48, w0 >> 48 | (w1 & 0xffffffff) << 16 | vid << 48, READ_ONCE(t->chain_flags));
	if (refusal(t, d))
		return refusal(t, d);
	t->chain_dst = d & 0xff;
	if ((d & 0xff) != FLOOD)
		return leave_vlan(c, d & 0xff, vid);
	return is_storm(t, storm_kind(dst)) ? STORM : 0;
}

/* Hangs the slots of the frame that ends with slot `i` on the list of its destination; they are linked already. */
static __always_inline void hang(struct tx_state *t, __u32 i)
{
	__u32 d = t->chain_dst & 0xff, first = t->chain & (BURST - 1);
	struct list *l = &t->list[d];

	append(t, d, first);
	l->tail = i;
	l->slots += t->chain_slots - 1;
	l->frames++;
}

/* Looks at slot `i` of the burst, which is `at` in its ring. Returns as decide(). */
__noinline int decide_conf(struct tx_state *t, __u32 ring, __u32 at, __u32 i)
{
	if (!t)
		return 0;
	void *reg = inner(&regions, sender(t));
	FORGET(ring);
	if (!reg || ring >= cfg.rings)
		return 0;
	FORGET(ring);
	__u64 s = READ_ONCE(*slot_of(reg, ring, at & MASK));
	__u32 len = (s >> 32) & 0xffff;
	i &= BURST - 1;
	t->slot[i] = s & ~(TAGGED | WELL);
	t->reached[i] = 0;
	t->tag[i] = 0;
	if (!t->chain_slots) {
		t->chain = i;
		t->chain_flags = s >> 48;
		t->chain_bytes = 0;
		t->chain_bad = len < ETH_HLEN ? TOO_SHORT : 0;
	} else {
		t->next[(i - 1) & (BURST - 1)] = i;
	}
	t->chain_slots++;
	t->chain_bytes += len;
	if (!usable(s) || t->chain_slots > MAX_CHAIN)
		t->chain_bad = BAD_SLOT;
	else if (t->chain_bytes > MAX_FRAME && !t->chain_bad)
		t->chain_bad = TOO_LONG;
	if (s >> 48 & NS_MOREFRAG)
		return 0;
	__u32 first = t->chain & (BURST - 1), bad = READ_ONCE(t->chain_bad);
	if (!bad)
		bad = route(t, first);
	__u32 slots = t->chain_slots, copies = t->chain_dst == FLOOD ? t->fan : t->times;
	if (bad)
		drop_frame(t, bad);
	else
		hang(t, i);
	t->chain_slots = 0;
	return !bad && spend(t, copies, t->chain_bytes, slots) ? i + 1 : 0;
}

LOOP_STEP(decide_slot_conf, struct deciding *x)
{
	__u32 enough = decide_conf(x->t, x->ring, x->at, x->i);

	if (enough) {
		x->enough = enough;
		return 1;
	}
	x->i = (x->i + 1) & (BURST - 1);
	x->at = (x->at + 1) & MASK;
	return 0;
}

/* The first pass; returns how many slots are taken. */
static __always_inline __u32 decide_all_conf(struct tx_state *t, __u32 ring, __u32 from, __u32 waiting)
{
	__u32 count = waiting < BURST ? waiting : BURST;
	struct deciding x = { .t = t, .ring = ring, .at = from & MASK, .i = READ_ONCE(t->zero) & (BURST - 1) };

	t->last_src = t->last_dst = ~0ULL;
	t->ndsts = t->chain_slots = 0;
	t->touched[0] = t->touched[1] = t->touched[2] = t->touched[3] = 0;
	repeat(count, UP_TO_BURST, decide_slot_conf, &x);
	if (x.enough)
		return x.enough & UP_TO_BURST;
	if (!t->chain_slots)
		return count;
	/* A frame goes on behind the last slot: behind the burst it is left for the next run, behind head it is bad. */
	if (waiting > BURST && t->chain)
		return t->chain;
	drop_frame(t, BAD_SLOT);
	return count;
}
