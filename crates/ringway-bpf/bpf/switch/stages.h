/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the stages of a burst cost: the clock at their borders, in one burst of STAGES_EVERY.
 *
 * A port is watched while it has the feature WATCHED. So a burst that nobody watches goes the way that it went before, and runs no
 * instruction for this. Each way has two functions of one body. `watched` is a constant there, and the compiler leaves the borders out
 * of the function that has none.
 *
 * Who watches moves `until` on again and again. A watcher that was killed does not, and a burst that was to be timed takes the feature away. */
#pragma once
#include "switch/state.h"

/* Ends a stage, which began where the one before it ended. Rings of a port may be sent from at once. */
static __always_inline void end_stage(struct tx_state *tx, enum stage stage)
{
	struct port_conf *conf = conf_of(sender(tx));
	__u64 now = bpf_ktime_get_ns();

	if (conf)
		__sync_fetch_and_add(&conf->stages.ns[stage], now - tx->border);
	tx->border = now;
}

/* Counts a burst that brought the frames that entered to more than `before`. */
static __always_inline void count_stages(struct tx_state *tx, __u64 before)
{
	struct port_conf *conf = conf_of(sender(tx));

	if (!conf)
		return;
	__sync_fetch_and_add(&conf->stages.bursts, 1);
	__sync_fetch_and_add(&conf->stages.frames, tx->n.in - before);
}

/* Whether a burst of a port with the feature is timed. When nobody watches any more, the port loses the feature. */
static __always_inline int is_timed(struct tx_state *tx)
{
	if ((__u32)tx->n.syncs % STAGES_EVERY)
		return 0;
	struct port_conf *conf = conf_of(sender(tx));
	if (!conf)
		return 0;
	if (tx->ns < READ_ONCE(conf->stages.until))
		return 1;
	__sync_fetch_and_and(&conf->features, ~WATCHED);
	return 0;
}
