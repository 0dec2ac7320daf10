/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A request to take what a port's user sends: whether it may be served, and in which of two ways. */
#pragma once
#include "switch/plain.h"
#include "switch/requests.h"
#include "switch/vlan/copy.h"

/* `features`: of the sender, and those of receivers that it must know of. */
static __always_inline int send_burst(struct tx_state *t, __u32 ring, __u32 features)
{
	void *reg = inner(&regions, sender(t));

	FORGET(ring);
	if (!reg || ring >= cfg.rings)
		return BROKEN;
	FORGET(ring);
	__u32 head = READ_ONCE(ctl_of(reg, ring)->head);
	t->n.syncs++;
	if (head >= cfg.slots) {
		t->n.resets++;
		return DONE;
	}
	__u32 taken = features ? send_conf(t, ring, head) : send_plain(t, ring, head);
	if (taken)
		t->n.busy_syncs++;
	t->sent = (t->sent + taken) & MASK;
	WRITE_ONCE(*told_of(reg, ring), t->sent);
	return DONE;
}

/* A reload puts programs in place before it moves the generation: one that is ahead runs. */
static __always_inline int is_stale(struct info *i, struct port_conf *c, __u64 ticket)
{
	return (__s32)(READ_ONCE(i->generation) - cfg.generation) > 0 || !ticket || READ_ONCE(c->ticket) != ticket;
}

static __always_inline int serve(struct request *q)
{
	__u32 ring = q->ring, port = q->port;
	__u64 ticket = q->ticket;
	void *state = inner(&states, port);
	struct port_conf *c = conf_of(port);
	struct info *i = own_info();

	FORGET(ring);
	if (!i || !c || !state || ring >= cfg.rings)
		return BROKEN;
	FORGET(ring);
	/* Before it touches a state that may be another port's. A module's memory is one port's. */
	if (is_stale(i, c, ticket) || (WITH_MODULE && port != cfg.port))
		return STALE;
	struct tx_state *t = tx_of(state, ring);
	if (__sync_lock_test_and_set(&t->busy, 1))
		return BUSY;
	/* And since `busy` is set: who makes it stale and then sees that nothing is busy knows that no run goes on. */
	if (is_stale(i, c, ticket)) {
		__sync_lock_test_and_set(&t->busy, 0);
		return STALE;
	}
	__u64 unit = i->age_unit;
	t->ns = bpf_ktime_get_ns();
	t->now = t->ns / (unit ? unit : 1);
	t->quota = i->quota;
	t->port = port;
	t->ticket = ticket;
	t->nics = 0;
	__u32 features = READ_ONCE(c->features) | READ_ONCE(i->shared);
	fdb_sweep(t->now);
	int answer = send_burst(t, ring, features);
	__u32 nics = READ_ONCE(t->nics);
	__sync_lock_test_and_set(&t->busy, 0);
	return answer | nics;
}
