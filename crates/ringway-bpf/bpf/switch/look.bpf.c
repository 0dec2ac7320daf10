// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What a port's user may know of its port: how far programs came, what they counted, and the ticket by which it sends. Each port has
// an instance of this program with its number and ticket frozen in; who may run it is the port's user. The state itself is root's.
#include "switch/requests.h"
#include "switch/state.h"

/* Answers DONE, or STALE when the port was deleted or given to others. A program of any generation answers. */
SEC("syscall")
int vale_look(struct look *look)
{
	__u32 ring = look->ring;
	struct port_conf *conf = conf_of(cfg.port);
	struct port_state *state = inner(&states, cfg.port);

	FORGET(ring);
	if (!conf || !state || READ_ONCE(conf->ticket) != cfg.ticket || !READ_ONCE(state->port))
		return STALE;
	if (ring >= cfg.rings)
		return BROKEN;
	FORGET(ring);
	struct tx_state *tx = tx_of(state, ring);
	struct rx_state *rx = rx_of(state, ring);
	look->dear = READ_ONCE(rx->dear);
	look->port = cfg.port;
	look->epoch = cfg.epoch;
	look->nic = READ_ONCE(state->nic);
	look->sent = READ_ONCE(tx->sent);
	look->head = READ_ONCE(rx->head);
	look->pub = READ_ONCE(rx->pub);
	look->ticket = cfg.ticket;
	__builtin_memcpy(&look->tx, &tx->n, sizeof(look->tx));
	__builtin_memcpy(&look->rx, &rx->n, sizeof(look->rx));
	return DONE;
}

char _license[] SEC("license") = "Dual BSD/GPL";
