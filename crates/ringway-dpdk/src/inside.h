/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the files of the plugin share. */
#ifndef RINGWAY_DPDK_INSIDE_H
#define RINGWAY_DPDK_INSIDE_H

#include <rte_devargs.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "ringway_dpdk.h"

/* The receiving side of a queue: the frames that the caller has. */
struct receiver {
	struct rte_mbuf *held[RINGWAY_DPDK_FRAMES];
	uint32_t count;
} __rte_cache_aligned;

/* The sending side of a queue. */
struct sender {
	struct rte_mbuf *reserved[RINGWAY_DPDK_FRAMES]; /* empty buffers, those of the caller among them */
	uint32_t empty;
	struct rte_mbuf *waiting[RINGWAY_DPDK_FRAMES]; /* frames that the device did not take: [first, end) */
	uint32_t first, end;
} __rte_cache_aligned;

struct queue {
	struct receiver rx;
	struct sender tx;
};

struct ringway_dpdk_port {
	struct ringway_dpdk_port *next;
	struct rte_devargs device; /* its bus and its name there */
	struct rte_mempool *pool;
	uint16_t id;
	uint16_t queues;
	uint32_t room;
	struct queue queue[];
};

/* log.c */
void start_log(int loud);
void forget_log(void);
int failed(int error, const char *what);
const char *last_error(void);

/* start.c */
int start(int argc, char **argv, int loud);

/* port.c */
int open_port(const struct ringway_dpdk_ask *ask, struct ringway_dpdk_is *is, struct ringway_dpdk_port **port);
void close_port(struct ringway_dpdk_port *port);
int port_link(struct ringway_dpdk_port *port);
int port_stats(struct ringway_dpdk_port *port, struct ringway_dpdk_stats *stats);

/* pool.c */
struct rte_mempool *make_pool(uint32_t buffers, uint32_t room);
void give_pool_back(struct rte_mempool *pool);
void know_thread(void);

/* burst.c */
int receive(struct ringway_dpdk_port *port, uint32_t queue, struct ringway_dpdk_part *parts);
int reserve(struct ringway_dpdk_port *port, uint32_t queue, struct ringway_dpdk_part *buffers, uint32_t n);
int send_frames(struct ringway_dpdk_port *port, uint32_t queue, const struct ringway_dpdk_part *frames, uint32_t n);
void discard(struct ringway_dpdk_port *port, uint32_t queue);
void free_queue(struct ringway_dpdk_port *port, uint32_t queue);

#endif
