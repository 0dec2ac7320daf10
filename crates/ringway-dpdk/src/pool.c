/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Buffers of ports, and the threads that use them.
 *
 * Each port has a pool. A frame that it sent may lie in a ring of another port of the process (net_ring) when it closes: its pool then
 * stays until the last buffer is back. DPDK caches free buffers for each thread that has a number with it. Threads of the program get
 * one at their first burst; a thread that ends, or that gets none, keeps no buffer. Once a port has closed, each thread gives the buffers
 * of its caches back at its next burst.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>

#include <rte_lcore.h>
#include <rte_mempool.h>

#include "inside.h"

#define CACHE 128
#define CACHED_BY_THREADS (16 * CACHE * 3 / 2)

/* Pools of closed ports with buffers elsewhere; the lock of port.c guards them. There are no more than ports were ever open at once
 * with frames in each other's rings. */
struct old_pool {
	struct old_pool *next;
	struct rte_mempool *pool;
};

/* Keeps pools that a walk of DPDK's list may see. DPDK's own locks do not: rte_mempool_walk takes one, and rte_mempool_free another. It is
 * taken last, and for as long as either. */
static pthread_mutex_t walk = PTHREAD_MUTEX_INITIALIZER;

static struct old_pool *old_pools;
static unsigned int pools_made;
static unsigned int pools_closed; /* written under the lock, read by all threads */

static __thread bool is_known;
static __thread unsigned int flushed; /* `pools_closed` when the thread gave its caches back */
static pthread_key_t thread_end;
static pthread_once_t thread_end_once = PTHREAD_ONCE_INIT;

/*
 * Whether no thread uses a pool any more. Nobody takes buffers out of an old one. The last thing that a thread writes when it gives some
 * back is the tail of the pool's ring, which this reads. A flush of a cache writes to the cache behind that, and free_pool waits for it.
 * Buffers in caches do not count: a thread may be writing them.
 */
static bool is_back(struct rte_mempool *pool)
{
	return rte_mempool_get_ops(pool->ops_index)->get_count(pool) == pool->size;
}

static void flush_cache(struct rte_mempool *pool, void *argument)
{
	(void)argument;
	rte_mempool_cache_flush(NULL, pool);
}

static void flush_caches(void)
{
	pthread_mutex_lock(&walk);
	rte_mempool_walk(flush_cache, NULL);
	pthread_mutex_unlock(&walk);
}

static void free_pool(struct rte_mempool *pool)
{
	pthread_mutex_lock(&walk);
	rte_mempool_free(pool);
	pthread_mutex_unlock(&walk);
}

static void free_old_pools(void)
{
	flush_caches();
	struct old_pool **at = &old_pools;
	while (*at != NULL) {
		struct old_pool *old = *at;
		if (!is_back(old->pool)) {
			at = &old->next;
			continue;
		}
		*at = old->next;
		free_pool(old->pool);
		free(old);
	}
}

struct rte_mempool *make_pool(uint32_t buffers, uint32_t room)
{
	char name[RTE_MEMPOOL_NAMESIZE];
	free_old_pools();
	snprintf(name, sizeof(name), "ringway-%u", pools_made++);
	return rte_pktmbuf_pool_create(name, buffers + CACHED_BY_THREADS, CACHE, 0, room + RTE_PKTMBUF_HEADROOM, SOCKET_ID_ANY);
}

void give_pool_back(struct rte_mempool *pool)
{
	struct old_pool *old = malloc(sizeof(*old));
	if (old == NULL)
		return; /* the pool stays for good */
	*old = (struct old_pool){ .next = old_pools, .pool = pool };
	old_pools = old;
	__atomic_add_fetch(&pools_closed, 1, __ATOMIC_RELAXED);
	free_old_pools();
}

static void forget_thread(void *argument)
{
	(void)argument;
	flush_caches();
	rte_thread_unregister();
}

static void make_key(void)
{
	pthread_key_create(&thread_end, forget_thread);
}

static void learn_thread(void)
{
	is_known = true;
	if (rte_lcore_id() != LCORE_ID_ANY || rte_thread_register() != 0)
		return;
	pthread_once(&thread_end_once, make_key);
	pthread_setspecific(thread_end, &is_known);
}

void know_thread(void)
{
	unsigned int closed = __atomic_load_n(&pools_closed, __ATOMIC_RELAXED);
	if (likely(is_known && flushed == closed))
		return;
	if (!is_known)
		learn_thread();
	flushed = closed;
	flush_caches();
}
