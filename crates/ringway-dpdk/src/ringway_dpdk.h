/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What Ringway calls of its DPDK plugin, libringway_dpdk.so. The Rust side of this is crates/ringway-sys/src/dpdk/abi.rs.
 *
 * The library exports one symbol, `ringway_dpdk`, a table of functions. Its first word is the version, RINGWAY_DPDK_ABI: a caller looks
 * at nothing else of a table that has another one.
 *
 * Threads: one thread at a time uses the receiving side of a queue, and one its sending side. All other functions may be called from
 * any thread at any time, but none of a port after `close` of it has begun.
 *
 * Failures are negative error numbers; `error` then has a line of text about the last failure of the calling thread.
 */
#ifndef RINGWAY_DPDK_H
#define RINGWAY_DPDK_H

#include <stdint.h>

#define RINGWAY_DPDK_ABI 2

/* Frames of one call at most, and parts of one frame. */
#define RINGWAY_DPDK_FRAMES 64
#define RINGWAY_DPDK_SEGMENTS 64

struct ringway_dpdk_port;

/* Why a received frame can't be had. */
enum ringway_dpdk_unusable {
	RINGWAY_DPDK_TOO_MANY_PARTS = 1, /* more than RINGWAY_DPDK_SEGMENTS */
	RINGWAY_DPDK_NO_TAG = 2,         /* the tag that the device took off can't be put back */
};

/* Bytes of a frame that lie together. `data` is null in the only part of a frame that can't be had: `len` is why then. */
struct ringway_dpdk_part {
	void *data;
	uint32_t len;
	uint32_t more; /* whether the next part belongs to the same frame */
};

/* Of a device over an interface of the kernel the caller sees to this itself: the driver would leave its flag behind. */
enum ringway_dpdk_promiscuous {
	RINGWAY_DPDK_TRY = 0, /* on, where the device can */
	RINGWAY_DPDK_ON = 1,
	RINGWAY_DPDK_OFF = 2,
};

struct ringway_dpdk_ask {
	const char *devargs;
	uint32_t queues;      /* of each direction */
	uint32_t descriptors; /* of each queue; the device may want others */
	uint32_t mtu;         /* 0 for the device's */
	uint32_t promiscuous; /* enum ringway_dpdk_promiscuous */
};

struct ringway_dpdk_is {
	char driver[64];
	uint32_t mtu;
	uint32_t room;           /* bytes of a frame that can be sent */
	uint32_t descriptors[2]; /* to receive, to send */
	uint32_t rss;            /* whether the device shares frames out among queues by their flows */
	uint32_t interface;      /* index of the kernel's interface behind it, or 0 */
};

/* Since the port was opened. */
struct ringway_dpdk_stats {
	uint64_t sent;         /* frames that the device sent */
	uint64_t failed;       /* frames that it could not send */
	uint64_t missed;       /* received frames without a descriptor */
	uint64_t broken;       /* received frames with an error */
	uint64_t out_of_memory; /* received frames without a buffer */
};

struct ringway_dpdk {
	uint32_t abi;
	uint32_t size; /* bytes of this table */

	/* Starts DPDK in this process, with the arguments of rte_eal_init; `loud` has its log go to standard error too. Once. */
	int (*start)(int argc, char **argv, int loud);

	/* Makes the device of `devargs` and starts it. */
	int (*open)(const struct ringway_dpdk_ask *ask, struct ringway_dpdk_is *is, struct ringway_dpdk_port **port);
	void (*close)(struct ringway_dpdk_port *port);

	/* Gives the frames of the call before back and takes up to RINGWAY_DPDK_FRAMES new ones. Their parts go to `parts`, which has room
	 * for RINGWAY_DPDK_FRAMES * RINGWAY_DPDK_SEGMENTS; returns how many. */
	int (*receive)(struct ringway_dpdk_port *port, uint32_t queue, struct ringway_dpdk_part *parts);

	/* Up to `n` buffers for frames to send, RINGWAY_DPDK_FRAMES at most; returns how many there are. */
	int (*reserve)(struct ringway_dpdk_port *port, uint32_t queue, struct ringway_dpdk_part *buffers, uint32_t n);

	/* Has frames sent which the first `n` reserved buffers hold, and before them the frames that still wait; returns how many the
	 * device took of all. The others wait for the next call. While frames wait, `n` is 0. */
	int (*send)(struct ringway_dpdk_port *port, uint32_t queue, const struct ringway_dpdk_part *frames, uint32_t n);

	/* Frees the frames that wait. */
	void (*discard)(struct ringway_dpdk_port *port, uint32_t queue);

	/* 1 or 0: whether the link is up. */
	int (*link)(struct ringway_dpdk_port *port);
	int (*stats)(struct ringway_dpdk_port *port, struct ringway_dpdk_stats *stats);
	const char *(*error)(void);
};

#endif
