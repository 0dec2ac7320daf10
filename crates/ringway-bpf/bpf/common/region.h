/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Where rings, slots and buffers lie in a region.
 *
 * port/ring.h and switch/state.h include this behind their `cfg`, which has the places as constants. By them the verifier proves
 * that accesses stay inside the region.
 */
#pragma once
#ifndef HAS_CFG
#error "include port/ring.h or switch/state.h, which declare `cfg`"
#endif
#include <linux/types.h>
#include "common/abi.h"
#include "common/bounds.h"

/* Rings are numbered tx rings first. */
static __always_inline struct ctl *ctl_of(void *reg, __u32 ring)
{
	return reg + cfg.ctl_ofs + (__u64)ring * sizeof(struct ctl);
}

static __always_inline __u64 *slot_of(void *reg, __u32 ring, __u32 i)
{
	return reg + cfg.rings_ofs + times(ring, cfg.ring_size) + RING_HEADER + (__u64)i * 16;
}

static __always_inline void *buf_of(void *reg, __u32 idx)
{
	return reg + cfg.bufs_ofs + times(idx, cfg.buf_size);
}
