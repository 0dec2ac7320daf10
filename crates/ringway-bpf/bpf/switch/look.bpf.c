// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What a port's user may know of its port: how far programs came, what they counted, and the ticket by which it sends. Each port has
// an instance of this program with its number and ticket frozen in; who may run it is the port's user. The state itself is root's.
#include "switch/requests.h"
#include "switch/state.h"

/* Answers DONE, or STALE when the port was deleted or given to others. A program of any generation answers. */
SEC("syscall")
int vale_look(struct look *q)
{
	__u32 ring = q->ring;
	struct port_conf *c = conf_of(cfg.port);
	struct port_state *state = inner(&states, cfg.port);

	FORGET(ring);
	if (!c || !state || READ_ONCE(c->ticket) != cfg.ticket || !READ_ONCE(state->port))
		return STALE;
	if (ring >= cfg.rings)
		return BROKEN;
	FORGET(ring);
	struct tx_state *t = tx_of(state, ring);
	struct rx_state *r = rx_of(state, ring);
	q->dear = READ_ONCE(r->dear);
	q->port = cfg.port;
	q->epoch = cfg.epoch;
	q->nic = READ_ONCE(state->nic);
	q->sent = READ_ONCE(t->sent);
	q->head = READ_ONCE(r->head);
	q->pub = READ_ONCE(r->pub);
	q->ticket = cfg.ticket;
	__builtin_memcpy(&q->tx, &t->n, sizeof(q->tx));
	__builtin_memcpy(&q->rx, &r->n, sizeof(q->rx));
	return DONE;
}

char _license[] SEC("license") = "Dual BSD/GPL";
