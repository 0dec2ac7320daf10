/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The forwarding table: which port an address was last seen on. 131,072 entries of 8 bytes in 1 MiB.
 *
 * A key is a VLAN and an address, 60 bits. It is mixed by steps that can be undone; 14 bits of the result choose a bucket of
 * 8 entries (one cache line), the other 46 are in the entry, so that two keys never pass for each other:
 *
 *   63      18 17   10    9        8       7      0
 *   [  rest   ][ seen ][static][blackhole][ port  ]     port 0: free
 *
 * Senders change entries by compare-and-swap, so nobody waits. `seen` counts units of time modulo 256; an entry unseen
 * for AGE_MAX units is dead. Dead entries are cleared long before the count comes round.
 *
 * When a bucket is full, or a port has as many entries as it may: an address takes the place of another one of the same
 * port in its bucket; if there is none, it is not learned, and frames to it go to all ports. A port that sends from random
 * addresses so displaces only its own.
 */
#pragma once
#include "vale.h"

#define BUCKET_BITS 14
#define BUCKETS (1 << BUCKET_BITS)
#define WAYS 8
#define KEY_MASK ((1ULL << 60) - 1)
#define REST_AT 18
#define SEEN_AT 10
#define STATIC (1 << 9)
#define ENTRY_BLACKHOLE (1 << 8)
#define AGE_MAX 32
/* A clock that is behind another CPU's, or read less precisely, sees entries from the future: ages from here on are such. */
#define AGE_FUTURE 224
#define PLACES (BUCKETS * WAYS)
/* Places that are swept of dead entries for each unit of time that passed. */
#define SWEEP (PLACES / 128)

struct fdb {
	__u64 entry[BUCKETS][WAYS];
	__u64 swept;        /* unit of time of the last sweep */
	__u32 hand, zero;
	__u32 count[PORTS]; /* learned entries of each port */
};
_Static_assert(__builtin_offsetof(struct fdb, count) == BUCKETS * WAYS * 8 + 16, "layout.rs");
DECLARE(fdb, BPF_MAP_TYPE_ARRAY, 1, sizeof(struct fdb), BPF_F_MMAPABLE);

static __always_inline __u64 mix(__u64 key)
{
	key = (key * 0x9E3779B97F4A7C15ULL) & KEY_MASK;
	key ^= key >> 31;
	return (key * 0xD6E8FEB86659FD93ULL) & KEY_MASK;
}

static __always_inline __u64 *bucket(struct fdb *f, __u64 h)
{
	return f->entry[h & (BUCKETS - 1)];
}

/* The entry of a mixed key, or 0. Without a branch, so that looks for several frames overlap. */
static __always_inline __u64 fdb_find(struct fdb *f, __u64 h)
{
	__u64 *e = bucket(f, h), rest = h >> BUCKET_BITS, found = 0;

#pragma unroll
	for (int i = 0; i < WAYS; i++) {
		__u64 v = READ_ONCE(e[i]), other = v >> REST_AT ^ rest;
		found |= v & ((__s64)((other - 1) & ~other) >> 63);
	}
	return found;
}

static __always_inline int fdb_dead(__u64 entry, __u64 now)
{
	/* One comparison: the verifier walks what follows for each. */
	return !(entry & STATIC) && ((now - (entry >> SEEN_AT) - AGE_MAX - 1) & 0xff) < AGE_FUTURE - AGE_MAX - 1;
}

static __always_inline __u64 fdb_fresh(__u64 h, __u64 now, __u32 port)
{
	return h >> BUCKET_BITS << REST_AT | (now & 0xff) << SEEN_AT | port;
}

/* Puts `fresh` in the place of `old`, which may be free. */
static __always_inline int fdb_replace(struct fdb *f, __u64 *place, __u64 old, __u64 fresh)
{
	if (__sync_val_compare_and_swap(place, old, fresh) != old)
		return 0;
	if ((__u8)old != (__u8)fresh) {
		if ((__u8)old)
			__sync_fetch_and_add(&f->count[(__u8)old], -1);
		if ((__u8)fresh)
			__sync_fetch_and_add(&f->count[(__u8)fresh], 1);
	}
	return 1;
}

/* Notes that the address with the mixed key `h` was seen on `port` in the unit of time `now`. Returns 0 when it found no
 * place. A frame may race with one from elsewhere: then either is noted. */
__noinline int fdb_learn(__u64 h, __u64 now, __u32 port, __u32 quota)
{
	__u32 zero = 0;
	struct fdb *f = bpf_map_lookup_elem(&fdb, &zero);

	if (!f)
		return 0;
	__u64 *e = bucket(f, h), fresh = fdb_fresh(h, now, port & 0xff);
	__u32 free = WAYS, own = WAYS;
	__u64 dead = 0, mine = 0;
	for (__u32 i = 0; i < WAYS; i++) {
		__u64 v = READ_ONCE(e[i]);
		if ((__u8)v && v >> REST_AT == h >> BUCKET_BITS) {
			if (!(v & STATIC) && v != fresh)
				fdb_replace(f, &e[i], v, fresh);
			return 1;
		}
		if (!(__u8)v || fdb_dead(v, now))
			free = i, dead = v;
		else if ((__u8)v == (port & 0xff) && !(v & STATIC))
			own = i, mine = v;
	}
	if (free < WAYS && READ_ONCE(f->count[port & 0xff]) < quota)
		own = free, mine = dead;
	if (own >= WAYS)
		return 0;
	fdb_replace(f, &e[own], mine, fresh);
	return 1;
}

/* Clears dead entries: some places for each unit of time since the last call, so that each place's turn comes
 * every 128. */
__noinline int fdb_sweep(__u64 now)
{
	__u32 zero = 0;
	struct fdb *f = bpf_map_lookup_elem(&fdb, &zero);

	if (!f)
		return 0;
	__u64 last = READ_ONCE(f->swept), units = now - last;
	if (!units || __sync_val_compare_and_swap(&f->swept, last, now) != last)
		return 0;
	__u32 places = SWEEP * (units > 128 ? 128 : units), at = __sync_fetch_and_add(&f->hand, places);
	for (__u32 left = (places + READ_ONCE(f->zero)) & (2 * PLACES - 1); left && can_loop; left = (left - 1) & (2 * PLACES - 1)) {
		__u64 *e = &f->entry[at / WAYS & (BUCKETS - 1)][at & (WAYS - 1)], v = READ_ONCE(*e);
		if ((__u8)v && fdb_dead(v, now))
			fdb_replace(f, e, v, 0);
		at++;
	}
	return 0;
}
