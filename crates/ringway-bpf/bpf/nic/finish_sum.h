/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Checksums that a host left to its interface, for frames that go on by another one.
 *
 * Behind a veth or tap nothing finishes them, and the note that they are unfinished does not travel with the bytes. But what the
 * stack left in the field is known: the sum of the pseudo-header (RFC 9293 3.1, RFC 768, RFC 8200 8.1). A finished checksum that
 * happens to be the same number stays the same when it is finished again.
 */
#pragma once
#include "switch/vlan/rules.h"

/* Whether the checksum of a frame was left to be done. Not a function of its own: with the usual mitigations of AMD's processors (Safe
 * RET) the return from one takes some 40 cycles, a third of what a frame costs. */
static __always_inline int has_unfinished_sum(struct xdp_md *ctx)
{
	void *pkt = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct l4 l;

	return unfinished_sum(pkt, end, &l) != 0;
}

/* Finishes the checksum of a frame if that was left to be done. Returns -1 when it was and can't be: not all of the frame is in
 * one piece. */
__noinline int finish_sum(struct xdp_md *ctx)
{
	void *pkt = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	__u32 nothing = 0;
	__u64 sum = 0;
	struct l4 l;
	struct info *sw = bpf_map_lookup_elem(&info, &nothing);

	if (!sw)
		return 0;
	__u16 *field = unfinished_sum(pkt, end, &l);
	if (!field)
		return 0;
	if (!add_up(pkt, end, l.at, l.len, READ_ONCE(sw->zero), &sum))
		return -1;
	__u32 done = ~fold(sum) & 0xffff;
	*field = done ? done : 0xffff;
	return 0;
}
