/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Takes each frame of the wire into the switch, by the same rules as a sender's program. A frame to another NIC is redirected; one to
 * virtual ports is copied into their rings. */
#pragma once
#include "nic/wire.h"
#include "nic/with_rules.h"
#include "nic/host_in.h"

/* One of the ports that a frame to all goes to. */
static long flood_nth(__u32 i, struct wire *wire)
{
	if (i >= wire->info->nports || i >= PORTS)
		return 1;
	__u32 dest = wire->info->ports[i];
	if (dest == 0 || dest == cfg.port || dest == FLOOD)
		return 0;
	if (is_nic(dest)) {
		if (is_host(dest)) {
			wire->hosts = 1;
			return 0;
		}
		wire->nics++;
		wire->one = dest;
		return 0;
	}
	int got = deliver_wire(wire->ctx, dest, wire->len);
	if (got >= 0)
		wire->offered++;
	wire->reached += got > 0;
	return 0;
}

/* Counts the frame for the NICs, of which there are several, or which can't be given the frame. */
static long flood_nic(__u32 i, struct wire *wire)
{
	if (i >= wire->info->nports || i >= PORTS)
		return 1;
	__u32 dest = wire->info->ports[i];
	if (dest == 0 || dest == cfg.port || dest == FLOOD || !is_nic(dest))
		return 0;
	if (wire->bad)
		count_withheld(dest, wire->bad & REASON_BITS);
	else
		count_handed(dest, wire->len);
	return 0;
}

/* A frame to all other ports. The kernel copies a redirected frame only when it is in one piece: one that is not reaches a
 * NIC when that is the only other one. */
__noinline int flood_wire(struct xdp_md *ctx, __u32 len, __u32 linear)
{
	__u32 zero = 0, self = cfg.port;
	struct wire wire = { .ctx = ctx, .info = bpf_map_lookup_elem(&info, &zero), .len = len, .linear = linear };
	struct nic_cpu *cpu = nic_of(self);

	if (!wire.info || !cpu)
		return XDP_DROP;
	wire.offered = wire.reached = wire.nics = READ_ONCE(wire.info->zero); /* as common/loop.h says */
	bpf_loop(PORTS, flood_nth, &wire, 0);
	if (wire.hosts)
		return flood_host(ctx, len, wire.offered, wire.reached);
	cpu->copies += wire.offered + wire.nics;
	if (wire.nics > 1 && linear != len)
		wire.bad = TOO_LONG;
	else if (wire.nics && nic.software && finish_sum(ctx))
		wire.bad = BAD_OFFLOAD;
	if (wire.nics == 1 && !wire.bad)
		count_handed(wire.one, len);
	else if (wire.nics)
		bpf_loop(PORTS, flood_nic, &wire, 0);
	int given = wire.nics && !wire.bad;
	if (!wire.reached && !given)
		return count_lost(cpu, wire.offered ? RECEIVER_FULL : wire.nics ? wire.bad & REASON_BITS : NO_DESTINATION);
	cpu->tx.out++;
	cpu->tx.bytes += len;
	if (!given)
		return XDP_DROP;
	return wire.nics > 1 ? redirect_to_all_nics() : redirect_to_nic(wire.one);
}

/* A frame to a port that no interface of the switch stands for. */
__noinline int slow_wire(struct xdp_md *ctx, __u32 dest, __u32 len)
{
	__u32 self = cfg.port;
	struct nic_cpu *cpu = nic_of(self);

	if (!cpu)
		return XDP_DROP;
	if (is_nic(dest)) {
		if (is_host(dest))
			return host_wire(ctx, dest, len);
		/* The interface is gone: its counters say so. */
		cpu->copies++;
		cpu->tx.out++;
		cpu->tx.bytes += len;
		count_handed(dest, len);
		return XDP_DROP;
	}
	int got = deliver_wire(ctx, dest, len);
	if (got < 0)
		return count_lost(cpu, NO_DESTINATION);
	cpu->copies++;
	if (!got)
		return count_lost(cpu, RECEIVER_FULL);
	cpu->tx.out++;
	cpu->tx.bytes += len;
	return XDP_DROP;
}

/* Sends a frame where its addresses say. `border`: of a frame that is timed. */
static __always_inline int route_plain(struct xdp_md *ctx, struct nic_cpu *cpu, __u64 dst, __u64 src, __u32 len, __u32 linear,
				       __u64 *border)
{
	if (DECISION == HUB) {
		end_wire_stage(border, DECIDE);
		return flood_wire(ctx, len, linear);
	}
	NIC_CUT(NIC_CHECKED);
	learn_source(cpu, src);
	NIC_CUT(NIC_LEARNED);
	__u64 entry = look_up_port(cpu, dst);
	end_wire_stage(border, DECIDE);
	if (!entry)
		return flood_wire(ctx, len, linear);
	NIC_CUT(NIC_FOUND);
	__u32 dest = entry & 0xff;
	if (entry & ENTRY_BLACKHOLE)
		return count_lost(cpu, BLACKHOLE);
	if (dest == cfg.port)
		return count_lost(cpu, SAME_PORT);
	if (redirect_to_nic(dest) != XDP_REDIRECT)
		return slow_wire(ctx, dest, len);
	cpu->copies++;
	if (nic.software && has_unfinished_sum(ctx) && finish_sum(ctx)) {
		count_withheld(dest, BAD_OFFLOAD);
		return count_lost(cpu, BAD_OFFLOAD);
	}
	cpu->tx.out++;
	cpu->tx.bytes += len;
	count_handed(dest, len);
	return XDP_REDIRECT;
}

static __always_inline __u64 destination_at(void *pkt)
{
	return *(__u32 *)pkt | (__u64) * (__u16 *)(pkt + 4) << 32;
}

static __always_inline __u64 source_at(void *pkt)
{
	return *(__u16 *)(pkt + 6) | (__u64) * (__u32 *)(pkt + 8) << 16;
}

/* The rest of a timed frame's way. The caller looked at its length; the verifier does not know that here. */
__noinline int route_timed(struct xdp_md *ctx, __u32 len, __u32 linear)
{
	__u32 self = cfg.port;
	__u64 border = bpf_ktime_get_ns();
	struct nic_cpu *cpu = nic_of(self);
	void *pkt = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;

	if (!cpu || pkt + ETH_HLEN > end)
		return XDP_DROP;
	int verdict = route_plain(ctx, cpu, destination_at(pkt), source_at(pkt), len, linear, &border);
	end_timed_frame(&border);
	return verdict;
}

/* Frames of a NIC take the way of nic/with_rules.h where a port has VLANs or other features: the NIC, or one that it may send to.
 * They also take it where the switch has a user's module. */
static __always_inline int enter_from_wire(struct xdp_md *ctx)
{
	__u32 zero = 0, self = cfg.port;
	struct nic_cpu *cpu = nic_of(self);
	struct info *sw = bpf_map_lookup_elem(&info, &zero);

	if (!cpu || !sw)
		return XDP_DROP;
	cpu->tx.in++;
	NIC_CUT(NIC_RECEIVED);
	if (drop_meta(ctx))
		return count_lost(cpu, NO_MEMORY);
	void *pkt = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	if (pkt + ETH_HLEN > end)
		return count_lost(cpu, TOO_SHORT);
	__u32 linear = end - pkt, len = wire_len(ctx, linear);
	if (len > MAX_FRAME)
		return count_lost(cpu, TOO_LONG);
	__u64 dst = destination_at(pkt), src = source_at(pkt);
	__u64 jiffies = bpf_jiffies64(); /* a load, not a call */
	if (jiffies != cpu->tick && IS_TIMED(cpu, jiffies))
		return WITH_MODULE || READ_ONCE(sw->wires) ? route_with_rules_timed(ctx, len, linear) : route_timed(ctx, len, linear);
	if (WITH_MODULE || READ_ONCE(sw->wires))
		return enter_with_rules(ctx, len, linear);
	return route_plain(ctx, cpu, dst, src, len, linear, 0);
}
