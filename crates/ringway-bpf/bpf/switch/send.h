/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A request to take what a port's user sends: whether it may be served, and in which of two ways. */
#pragma once
#include "switch/plain.h"
#include "switch/requests.h"
#include "switch/vlan/copy.h"

#ifdef WITHOUT_STAGES /* a test compares with this */
#define send_with_features(tx, ring, head, features) send_with_rules(tx, ring, head)
#else
/* Moves a burst of a port that has features: rules, a watcher, or both. */
static __always_inline int send_with_features(struct tx_state *tx, __u32 ring, __u32 head, __u32 features)
{
	__u32 rules = features & ~WATCHED;

	if (!(features & WATCHED) || !is_timed(tx))
		return rules ? send_with_rules(tx, ring, head) : send_plain(tx, ring, head);
	__u64 before = tx->n.in;
	int taken = rules ? send_with_rules_watched(tx, ring, head) : send_plain_watched(tx, ring, head);
	if (taken)
		count_stages(tx, before);
	return taken;
}
#endif

/* `features`: of the sender, and of receivers, as far as the sender must know of them. */
static __always_inline int send_burst(struct tx_state *tx, __u32 ring, __u32 features)
{
	void *reg = inner(&regions, sender(tx));

	KEEP_BOUND(ring);
	if (!reg || ring >= cfg.rings)
		return BROKEN;
	KEEP_BOUND(ring);
	__u32 head = READ_ONCE(ctl_of(reg, ring)->head);
	tx->n.syncs++;
	if (head >= cfg.slots) {
		tx->n.resets++;
		return DONE;
	}
	__u32 taken = features ? send_with_features(tx, ring, head, features) : send_plain(tx, ring, head);
	if (taken)
		tx->n.busy_syncs++;
	tx->sent = (tx->sent + taken) & MASK;
	WRITE_ONCE(*progress_of(reg, ring), tx->sent);
	return DONE;
}

/* A reload puts programs in place before it moves the generation: one that is ahead runs. */
static __always_inline int is_stale(struct info *sw, struct port_conf *conf, __u64 ticket)
{
	return (__s32)(READ_ONCE(sw->generation) - cfg.generation) > 0 || !ticket || READ_ONCE(conf->ticket) != ticket;
}

static __always_inline int serve_request(struct request *request)
{
	__u32 ring = request->ring, port = request->port;
	__u64 ticket = request->ticket;
	void *state = inner(&states, port);
	struct port_conf *conf = conf_of(port);
	struct info *sw = own_info();

	KEEP_BOUND(ring);
	if (!sw || !conf || !state || ring >= cfg.rings)
		return BROKEN;
	KEEP_BOUND(ring);
	/* Before it touches a state that may be another port's. A module's memory is one port's. */
	if (is_stale(sw, conf, ticket) || (WITH_MODULE && port != cfg.port))
		return STALE;
	struct tx_state *tx = tx_of(state, ring);
	if (__sync_lock_test_and_set(&tx->busy, 1))
		return BUSY;
	/* And since `busy` is set: who makes it stale and then sees that nothing is busy knows that no run goes on. */
	if (is_stale(sw, conf, ticket)) {
		__sync_lock_test_and_set(&tx->busy, 0);
		return STALE;
	}
	tx->quota = sw->quota;
	tx->port = port;
	tx->ticket = ticket;
	tx->nics = 0;
	__u64 unit = sw->age_unit;
	tx->ns = bpf_ktime_get_ns();
	tx->now = tx->ns / (unit ? unit : 1);
	__u32 features = READ_ONCE(conf->features) | READ_ONCE(sw->shared);
	fdb_sweep(tx->now);
	int answer = send_burst(tx, ring, features);
	__u32 nics = READ_ONCE(tx->nics);
	__sync_lock_test_and_set(&tx->busy, 0);
	return answer | nics;
}
