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
__noinline int is_storm(struct tx_state *tx, __u32 kind)
{
	if (!tx)
		return 0;
	struct port_conf *conf = conf_of(sender(tx));
	struct port_state *p = inner(&states, sender(tx));

	return conf && p ? is_above(conf, p, kind, tx->ns) : 0;
}

/* Notes the VLAN, priority and type of the frame that starts with slot `i` on a port that has VLANs. Returns why it may not
 * enter, or 0. `w1` and `w2` are its bytes 8 to 23. */
static __always_inline __u32 enter_vlan(struct tx_state *tx, struct port_conf *c, struct vlans *v, __u32 i, __u64 w1, __u64 w2)
{
	__u32 type = __builtin_bswap16(w1 >> 32), tci = READ_ONCE(c->native) & VID;

	if (type == TYPE_VLAN) {
		__u32 tag = __builtin_bswap16(w1 >> 48);
		type = __builtin_bswap16(w2);
		if (READ_ONCE(c->features) & ACCESS)
			return VLAN;
		if (((tx->slot[i] >> 32) & 0xffff) < TAG_HLEN)
			return TOO_SHORT;
		/* A second tag would count as the first where the first is taken off. */
		if (type == TYPE_VLAN)
			return VLAN;
		tci = tag & VID ? tag : tag | tci;
		tx->slot[i] |= TAGGED;
	} else if (tx->chain_bytes > MAX_FRAME - 4 || tx->chain_slots >= MAX_CHAIN) {
		return TOO_LONG; /* with a tag */
	}
	tx->tag[i] = tci << 16 | type;
	return tci & VID && is_member(v, tci & VID) ? 0 : VLAN;
}

/* Finds the destination of the frame that starts with slot `i`, which is well-formed. Returns why it has none, or 0. */
__noinline int route(struct tx_state *tx, __u32 i)
{
	if (!tx)
		return BAD_SLOT;
	__u32 zero = 0, port = sender(tx);
	struct fdb *table = bpf_map_lookup_elem(&fdb, &zero);
	struct vlans *v = bpf_map_lookup_elem(&vlans, &port);
	struct port_conf *conf = conf_of(port);
	void *reg = inner(&regions, port);

	if (!table || !v || !conf || !reg)
		return BAD_SLOT;
	i &= BURST - 1;
	__u64 s = tx->slot[i];
	__u32 idx = s;
	if (idx >= cfg.bufs)
		return BAD_SLOT;
	__u64 *buf = buf_of(reg, idx), w0 = READ_ONCE(buf[0]), w1 = READ_ONCE(buf[1]), w2 = READ_ONCE(buf[2]);
	tx->addresses[i][0] = w0;
	tx->addresses[i][1] = w1;
	tx->slot[i] = s | WELL;
	if (READ_ONCE(conf->features) & (ACCESS | TRUNK)) {
		__u32 bad = enter_vlan(tx, conf, v, i, w1, w2);
		if (bad)
			return bad;
	}
	__u64 vid = READ_ONCE(tx->tag[i]) >> 16 & VID, dst = w0 & 0xffffffffffffULL;
	__u32 dest = destination_of(table, tx, dst | vid << 48, w0 >> 48 | (w1 & 0xffffffff) << 16 | vid << 48, READ_ONCE(tx->chain_flags));
	if (refusal(tx, dest))
		return refusal(tx, dest);
	tx->chain_dst = dest & 0xff;
	if ((dest & 0xff) != FLOOD)
		return leave_vlan(conf, dest & 0xff, vid);
	return is_storm(tx, storm_kind(dst)) ? STORM : 0;
}

/* Hangs the slots of the frame that ends with slot `i` on the list of its destination; they are linked already. */
static __always_inline void hang(struct tx_state *tx, __u32 i)
{
	__u32 dest = tx->chain_dst & 0xff, first = tx->chain & (BURST - 1);
	struct list *list = &tx->list[dest];

	append(tx, dest, first);
	list->tail = i;
	list->slots += tx->chain_slots - 1;
	list->frames++;
}

/* Looks at slot `i` of the burst, which is `at` in its ring. Returns as decide(). */
__noinline int decide_conf(struct tx_state *tx, __u32 ring, __u32 at, __u32 i)
{
	if (!tx)
		return 0;
	void *reg = inner(&regions, sender(tx));
	FORGET(ring);
	if (!reg || ring >= cfg.rings)
		return 0;
	FORGET(ring);
	__u64 s = READ_ONCE(*slot_of(reg, ring, at & MASK));
	__u32 len = (s >> 32) & 0xffff;
	i &= BURST - 1;
	tx->slot[i] = s & ~(TAGGED | WELL);
	tx->reached[i] = 0;
	tx->tag[i] = 0;
	if (!tx->chain_slots) {
		tx->chain = i;
		tx->chain_flags = s >> 48;
		tx->chain_bytes = 0;
		tx->chain_bad = len < ETH_HLEN ? TOO_SHORT : 0;
	} else {
		tx->next[(i - 1) & (BURST - 1)] = i;
	}
	tx->chain_slots++;
	tx->chain_bytes += len;
	if (!usable(s) || tx->chain_slots > MAX_CHAIN)
		tx->chain_bad = BAD_SLOT;
	else if (tx->chain_bytes > MAX_FRAME && !tx->chain_bad)
		tx->chain_bad = TOO_LONG;
	if (s >> 48 & NS_MOREFRAG)
		return 0;
	__u32 first = tx->chain & (BURST - 1), bad = READ_ONCE(tx->chain_bad);
	if (!bad)
		bad = route(tx, first);
	__u32 slots = tx->chain_slots, copies = tx->chain_dst == FLOOD ? tx->fan : tx->times;
	if (bad)
		drop_frame(tx, bad);
	else
		hang(tx, i);
	tx->chain_slots = 0;
	return !bad && spend(tx, copies, tx->chain_bytes, slots) ? i + 1 : 0;
}

LOOP_STEP(decide_slot_conf, struct deciding *loop)
{
	__u32 enough = decide_conf(loop->tx, loop->ring, loop->at, loop->i);

	if (enough) {
		loop->enough = enough;
		return 1;
	}
	loop->i = (loop->i + 1) & (BURST - 1);
	loop->at = (loop->at + 1) & MASK;
	return 0;
}

/* The first pass; returns how many slots are taken. */
static __always_inline __u32 decide_all_conf(struct tx_state *tx, __u32 ring, __u32 from, __u32 waiting)
{
	__u32 count = waiting < BURST ? waiting : BURST;
	struct deciding loop = { .tx = tx, .ring = ring, .at = from & MASK, .i = READ_ONCE(tx->zero) & (BURST - 1) };

	tx->last_src = tx->last_dst = ~0ULL;
	tx->ndsts = tx->chain_slots = 0;
	tx->touched[0] = tx->touched[1] = tx->touched[2] = tx->touched[3] = 0;
	repeat(count, UP_TO_BURST, decide_slot_conf, &loop);
	if (loop.enough)
		return loop.enough & UP_TO_BURST;
	if (!tx->chain_slots)
		return count;
	/* A frame goes on behind the last slot: behind the burst it is left for the next run, behind head it is bad. */
	if (waiting > BURST && tx->chain)
		return tx->chain;
	drop_frame(tx, BAD_SLOT);
	return count;
}
