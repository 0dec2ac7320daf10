/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a client may know of the state of its own port: how far programs came, and what they counted. The state itself is root's. */
#pragma once
#include "vale_send.h"

/* Asked and answered; vale/view.rs mirrors it. */
struct look {
	__u32 ring; /* of each direction; asked */
	__u32 dear; /* of the doorbell of the rx ring */
	__u32 port, epoch;
	__u32 nic;  /* as in the state */
	__u32 sent;
	__u64 head, pub;
	struct counters tx, rx;
};
_Static_assert(sizeof(struct look) == 552 && __builtin_offsetof(struct look, tx) == 40, "view.rs");

/* Answers DONE, or STALE when the port was deleted or given to others. A program of any generation answers. */
SEC("syscall")
int vale_look(struct look *q)
{
	__u32 ring = q->ring;
	struct port_conf *c = conf_of(cfg.port);
	struct port_state *state = inner(&states, cfg.port);

	asm volatile("" : "+r"(ring));
	if (!c || !state || READ_ONCE(c->epoch) != cfg.epoch || !READ_ONCE(state->port))
		return STALE;
	if (ring >= cfg.rings)
		return BROKEN;
	asm volatile("" : "+r"(ring));
	struct tx_state *t = tx_of(state, ring);
	struct rx_state *r = rx_of(state, ring);
	q->dear = READ_ONCE(r->dear);
	q->port = cfg.port;
	q->epoch = cfg.epoch;
	q->nic = READ_ONCE(state->nic);
	q->sent = READ_ONCE(t->sent);
	q->head = READ_ONCE(r->head);
	q->pub = READ_ONCE(r->pub);
	__builtin_memcpy(&q->tx, &t->n, sizeof(q->tx));
	__builtin_memcpy(&q->rx, &r->n, sizeof(q->rx));
	return DONE;
}
