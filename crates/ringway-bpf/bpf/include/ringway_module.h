/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only OR BSD-2-Clause */
/* The interface of a switch's module: the function that decides where frames go. docs/modules.md tells how to use it.
 *
 *	#include "ringway_module.h"
 *
 *	RINGWAY_MODULE(frame)
 *	{
 *		return frame->head[0] & 1 ? RINGWAY_FLOOD : 2;
 *	}
 */
#pragma once
#include <linux/types.h>

/* Bytes of a frame that a module sees. */
#define RINGWAY_HEAD 64

/* What a module returns: one of these, or the number of a port, 1 to 254. Anything else is as RINGWAY_DROP. */
#define RINGWAY_DROP 0    /* the frame ends here, counted as `module` */
#define RINGWAY_FLOOD 255 /* to all ports but the one it came from */
#define RINGWAY_SET 256   /* to the ports whose bits are set in `to` */

struct ringway_frame {
	__u8 head[RINGWAY_HEAD]; /* the frame's first bytes; zero behind a shorter one */
	__u32 len;    /* bytes of the frame, or, with `more`, of its first slot */
	__u32 more;   /* not 0: the frame goes on in other slots */
	__u32 port;   /* number of the port that it came from */
	__u32 wanted; /* the port that the sender asks for in the slot's flags; 0: none. To be obeyed or not */
	__u64 to[4];  /* with RINGWAY_SET: port p is bit p % 64 of to[p / 64]; all 0 when the module is called */
};

/* Defines the module. The mark tells the kernel's verifier that the argument is never NULL; before Linux 6.8 it wants that checked. */
#define RINGWAY_MODULE(frame)                                                                               \
	static inline __attribute__((always_inline)) int ringway_decide(struct ringway_frame *frame);       \
	int ringway_module(struct ringway_frame *frame __attribute__((btf_decl_tag("arg:nonnull"))))        \
	{                                                                                                   \
		return frame ? ringway_decide(frame) : RINGWAY_DROP;                                        \
	}                                                                                                   \
	static inline __attribute__((always_inline)) int ringway_decide(struct ringway_frame *frame)
