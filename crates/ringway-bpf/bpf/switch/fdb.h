/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The forwarding table: which port an address was last seen on. 131,072 entries of 8 bytes in 1 MiB.
 *
 * A key is a VLAN and an address, 60 bits. It is mixed with secrets of the switch by steps that can be undone: no sender
 * can find out which addresses share a bucket. All bits change the upper 14 of the result, which choose a bucket of 8 entries
 * (one cache line). The other 46 are in the entry, so that two keys never pass for each other:
 *
 *   63      18 17   10    9        8       7      0
 *   [  rest   ][ seen ][static][blackhole][ port  ]     port 0: free
 *
 * Senders change entries by compare-and-swap, so nobody waits. `seen` counts units of time modulo 256; an entry unseen
 * for AGE_MAX units is dead. Dead entries are cleared long before the count comes round. Senders read the clock when their
 * run begins, so another sender may have seen an entry after that moment: up to AHEAD units later it is alive.
 *
 * A port has at most SHARE learned entries of a bucket and a quota of the table. When a bucket is full, or a port has as
 * many entries as it may, an address replaces another one of the same port in its bucket. If there is none, it is not
 * learned, and frames to it go to all ports. So one port can neither displace addresses of others nor fill a bucket.
 */
#pragma once
#include "switch/state.h"

#define BUCKET_BITS 14
#define BUCKETS (1 << BUCKET_BITS)
#define WAYS 8
#define SHARE 6
/* Programs of a port that run at the same time, at most: one for each ring. */
#ifndef LEARNERS
#define LEARNERS cfg.rings
#endif
#define MIX_FACTOR 0xD6E8FEB86659FD93ULL
#define REST_BITS 46
#define REST_AT 18
#define SEEN_AT 10
#define STATIC (1 << 9)
#define ENTRY_BLACKHOLE (1 << 8)
#define AGE_MAX 32
#define AHEAD 64
#define PLACES (BUCKETS * WAYS)
/* Places that are swept of dead entries for each unit of time that passed, and units that they then all take. */
#define TURN 128
#define SWEEP (PLACES / TURN)

struct fdb {
	__u64 entry[BUCKETS][WAYS];
	__u64 swept;        /* unit of time of the last sweep */
	__u32 hand, zero;
	__u32 count[PORTS]; /* learned entries of each port */
	struct secrets secret;
};
_Static_assert(__builtin_offsetof(struct fdb, count) == BUCKETS * WAYS * 8 + 16 &&
	       __builtin_offsetof(struct fdb, secret) == __builtin_offsetof(struct fdb, count) + 4 * PORTS &&
	       sizeof(struct secrets) == 32, "pinned switches of this magic number have it so");
DECLARE(fdb, BPF_MAP_TYPE_ARRAY, 1, sizeof(struct fdb), BPF_F_MMAPABLE);

/* Only the lower 60 bits of the result count. */
static __always_inline __u64 mix(__u64 key)
{
	key = (key ^ cfg.secret.key) * cfg.secret.factor;
	key ^= key << 4 >> 35;
	return key * MIX_FACTOR;
}

static __always_inline __u64 *bucket(struct fdb *table, __u64 h)
{
	return table->entry[h >> REST_BITS & (BUCKETS - 1)];
}

/* The entry of a mixed key, or 0. Without a branch, so that looks for several frames overlap. */
static __always_inline __u64 fdb_find(struct fdb *table, __u64 h)
{
	__u64 *e = bucket(table, h), rest = h << REST_AT, found = 0;

#pragma unroll
	for (int i = 0; i < WAYS; i++) {
		/* Of the entry of this key the lower bits are left. They are not 0, as they have a port. */
		__u64 v = READ_ONCE(e[i]) ^ rest;
		found |= v & ((__s64)((v >> REST_AT) - 1) >> 63);
	}
	return found ? found | rest : 0;
}

static __always_inline int fdb_dead(__u64 entry, __u64 now)
{
	return !(entry & STATIC) && ((now + AHEAD - (entry >> SEEN_AT)) & 0xff) > AGE_MAX + AHEAD;
}

static __always_inline __u64 fdb_fresh(__u64 h, __u64 now, __u32 port)
{
	return h << REST_AT | (now & 0xff) << SEEN_AT | port;
}

/* Replaces `old`, which may be free, by `fresh`. */
static __always_inline int fdb_replace(struct fdb *table, __u64 *place, __u64 old, __u64 fresh)
{
	if (__sync_val_compare_and_swap(place, old, fresh) != old)
		return 0;
	if ((__u8)old != (__u8)fresh) {
		if ((__u8)old)
			__sync_fetch_and_add(&table->count[(__u8)old], -1);
		if ((__u8)fresh)
			__sync_fetch_and_add(&table->count[(__u8)fresh], 1);
	}
	return 1;
}

/* Whether an entry is a learned one of a port, and alive. */
static __always_inline int is_held(__u64 entry, __u64 now, __u32 port)
{
	return (entry & (STATIC | 0xff)) == port && !fdb_dead(entry, now);
}

/* What `fdb_learn` did. Steps that few addresses need are functions of their own, called beside it for the sake of the
 * stack. */
enum learned { NO_PLACE, LEARNED, KNOWN, CROWDED };

/* Puts `fresh` at place `at`, where `old` is; its port has `held` other entries of the bucket. CROWDED: the address is in another
 * place as well, or the port's other senders may have put more than its share there at the same moment. */
static __always_inline int fdb_put(struct fdb *table, __u64 *e, __u32 at, __u64 old, __u64 fresh, __u32 held)
{
	if (!fdb_replace(table, &e[at & (WAYS - 1)], old, fresh))
		return LEARNED;
	for (__u32 i = 0; i < WAYS; i++) {
		__u64 v = READ_ONCE(e[i]);
		if (i != at && (__u8)v && v >> REST_AT == fresh >> REST_AT)
			return CROWDED;
	}
	return held + LEARNERS > SHARE ? CROWDED : LEARNED;
}

/* A bucket that is looked through for the address of `fresh`, place by place. */
struct places {
	__u64 *e, fresh;
	__u64 was, mine; /* what was there */
	__u8 port, now, i;
	__u8 at, own;    /* places: of the address, or a free one; and one of the port */
	__u8 held, same; /* entries that the port has, and that the address has */
	__u8 done;       /* LEARNED or KNOWN: nothing more to look for */
};

static __always_inline struct places places_of(struct fdb *table, __u64 h, __u64 now, __u32 port)
{
	__u8 zero = READ_ONCE(table->zero);

	return (struct places){ .e = bucket(table, h), .fresh = fdb_fresh(h, now, port), .now = now, .port = port, .i = zero,
				.at = WAYS + zero, .own = WAYS + zero, .held = zero, .same = zero };
}

static __always_inline __u64 *place(struct places *places)
{
	return &places->e[places->i & (WAYS - 1)];
}

SELDOM_STEP(learn_place, struct places *places)
{
	__u64 v = READ_ONCE(*place(places));

	if ((__u8)v && v >> REST_AT == places->fresh >> REST_AT) {
		/* Seen again: only the time changes, so nothing is counted. */
		places->done = LEARNED;
		if (!(v & STATIC) && !is_held(v, places->now, places->port))
			places->done = KNOWN;
		else if (!(v & STATIC))
			__sync_val_compare_and_swap(place(places), v, places->fresh);
		return 1;
	}
	if (!(__u8)v || fdb_dead(v, places->now)) {
		places->at = places->i, places->was = v;
	} else if ((__u8)v == places->port && !(v & STATIC)) {
		places->own = places->i, places->mine = v;
		places->held++;
	}
	places->i++;
	return 0;
}

/* Looks for a place for the address with the mixed key `h`, seen on `port` in the unit of time `now`. KNOWN: the bucket has it
 * on another port, or as a dead one. */
__noinline int fdb_learn(__u64 h, __u64 now, __u32 port, __u32 quota)
{
	__u32 zero = 0;
	struct fdb *table = bpf_map_lookup_elem(&fdb, &zero);

	if (!table)
		return NO_PLACE;
	port &= 0xff;
	struct places places = places_of(table, h, now, port);
	repeat_seldom(WAYS, WAYS, learn_place, &places);
	if (places.done)
		return places.done;
	if (places.at < WAYS && places.held < SHARE && READ_ONCE(table->count[port]) < quota)
		return fdb_put(table, places.e, places.at, places.was, places.fresh, places.held);
	return places.own < WAYS ? fdb_put(table, places.e, places.own, places.mine, places.fresh, places.held - 1) : NO_PLACE;
}

SELDOM_STEP(move_place, struct places *places)
{
	__u64 v = READ_ONCE(*place(places));

	if ((__u8)v && v >> REST_AT == places->fresh >> REST_AT) {
		places->at = places->i, places->was = v;
	} else if (is_held(v, places->now, places->port)) {
		places->own = places->i, places->mine = v;
		places->held++;
	}
	places->i++;
	return 0;
}

/* Brings an address that the bucket has to its port. It counts as a new one there. */
__noinline int fdb_move(__u64 h, __u64 now, __u32 port, __u32 quota)
{
	__u32 zero = 0;
	struct fdb *table = bpf_map_lookup_elem(&fdb, &zero);

	if (!table)
		return NO_PLACE;
	port &= 0xff;
	struct places places = places_of(table, h, now, port);
	repeat_seldom(WAYS, WAYS, move_place, &places);
	/* Somebody may have changed it meanwhile. */
	if (places.at >= WAYS || places.was & STATIC)
		return LEARNED;
	if ((__u8)places.was != port && READ_ONCE(table->count[port]) >= quota)
		return NO_PLACE;
	if (places.held >= SHARE && places.own < WAYS)
		places.held -= fdb_replace(table, &places.e[places.own & (WAYS - 1)], places.mine, 0);
	return fdb_put(table, places.e, places.at, places.was, places.fresh, places.held);
}

SELDOM_STEP(settle_place, struct places *places)
{
	__u64 v = READ_ONCE(*place(places));

	places->held += is_held(v, places->now, places->port);
	places->same += (__u8)v && v >> REST_AT == places->fresh >> REST_AT;
	if (v == places->fresh)
		places->at = places->i;
	places->i++;
	return 0;
}

/* Takes back an address that was just learned if its port has more than its share. So it does if the address is in another place
 * as well: readers would take that for another port's. Of several senders that change a bucket at once, the last one at least sees what the
 * others did. */
__noinline int fdb_settle(__u64 h, __u64 now, __u32 port)
{
	__u32 zero = 0;
	struct fdb *table = bpf_map_lookup_elem(&fdb, &zero);

	if (!table)
		return 0;
	port &= 0xff;
	struct places places = places_of(table, h, now, port);
	repeat_seldom(WAYS, WAYS, settle_place, &places);
	if (places.at < WAYS && (places.same > 1 || places.held > SHARE))
		fdb_replace(table, &places.e[places.at & (WAYS - 1)], places.fresh, 0);
	return 0;
}

/* Notes that the address with the mixed key `h` was seen on `port` in the unit of time `now`. Returns 0 when it found no
 * place. A frame may race with one from elsewhere: then either is noted. */
static __always_inline int fdb_remember(__u64 h, __u64 now, __u32 port, __u32 quota)
{
	int done = fdb_learn(h, now, port, quota);

	if (done == KNOWN)
		done = fdb_move(h, now, port, quota);
	if (done == CROWDED)
		fdb_settle(h, now, port);
	return done;
}

struct sweeping {
	struct fdb *table;
	__u64 now, units;
	__u32 at;
};

SELDOM_STEP(sweep_place, struct sweeping *loop)
{
	__u64 *e = &loop->table->entry[loop->at / WAYS & (BUCKETS - 1)][loop->at & (WAYS - 1)], v = READ_ONCE(*e), now = loop->now;
	int old = loop->units > TURN ? !(v & STATIC) && (((v >> SEEN_AT) - now) & 0xff) > 1 : fdb_dead(v, now);

	if ((__u8)v && old)
		fdb_replace(loop->table, e, v, 0);
	loop->at++;
	return 0;
}

/* Clears dead entries: some places for each unit of time since the last call, so that each place's turn comes
 * every 128. After a longer pause an old entry could pass for a new one, so only entries of this moment stay. */
__noinline int fdb_sweep(__u64 now)
{
	__u32 zero = 0;
	struct fdb *table = bpf_map_lookup_elem(&fdb, &zero);

	if (!table)
		return 0;
	__u64 last = READ_ONCE(table->swept), units = now - last;
	if ((__s64)units <= 0 || __sync_val_compare_and_swap(&table->swept, last, now) != last)
		return 0;
	__u32 places = SWEEP * (units > TURN ? TURN : units);
	struct sweeping loop = { .table = table, .now = now, .units = units, .at = __sync_fetch_and_add(&table->hand, places) };
	repeat_seldom(places, 2 * PLACES - 1, sweep_place, &loop);
	return 0;
}
