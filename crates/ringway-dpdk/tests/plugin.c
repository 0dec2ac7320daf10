/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What no device of a test does to the plugin: `build --test DIR` builds this, and dpdk_plugin.rs of the crate ringway runs it. */
#include "../src/burst.c"
#include "../src/pool.c"

#include <rte_eal.h>
#include <semaphore.h>
#include <stdlib.h>
#include <unistd.h>

#define CHECK(holds) \
	do { \
		if (!(holds)) { \
			fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #holds); \
			exit(1); \
		} \
	} while (0)

/* A chain of `n` buffers that has `segments` of them by its driver's word. */
static struct rte_mbuf *chain(struct rte_mempool *pool, int n, uint16_t segments)
{
	struct rte_mbuf *first = NULL, **at = &first;
	for (int i = 0; i < n; i++) {
		*at = rte_pktmbuf_alloc(pool);
		CHECK(*at != NULL && rte_pktmbuf_append(*at, 20) != NULL);
		at = &(*at)->next;
	}
	first->nb_segs = segments;
	return first;
}

static void free_chain(struct rte_mbuf *m)
{
	while (m != NULL) {
		struct rte_mbuf *next = m->next;
		m->next = NULL;
		m->nb_segs = 1;
		rte_pktmbuf_free_seg(m);
		m = next;
	}
}

/* The end of a chain is where its `next` ends, and no part is written behind the room for them. */
static void chains_end_where_they_end(struct rte_mempool *pool)
{
	static const struct { int n; uint16_t segments; uint32_t parts; } cases[] = {
		{ 1, 1, 1 }, { 64, 64, 64 }, { 65, 65, 1 }, { 65, 1, 1 }, { 200, 64, 1 }, { 3, 1, 3 },
	};
	for (size_t i = 0; i < RTE_DIM(cases); i++) {
		struct ringway_dpdk_part parts[RINGWAY_DPDK_SEGMENTS + 1];
		memset(parts, 0x5a, sizeof(parts));
		struct rte_mbuf *m = chain(pool, cases[i].n, cases[i].segments);
		uint32_t n = name_parts(&m, parts);
		CHECK(n == cases[i].parts);
		CHECK(parts[RINGWAY_DPDK_SEGMENTS].len == 0x5a5a5a5a);
		CHECK(parts[n - 1].more == 0);
		if (cases[i].n > RINGWAY_DPDK_SEGMENTS)
			CHECK(parts[0].data == NULL && parts[0].len == RINGWAY_DPDK_TOO_MANY_PARTS);
		else
			CHECK(parts[0].data == rte_pktmbuf_mtod(m, void *) && parts[0].len == 20);
		free_chain(m);
	}
}

static void tags_come_back_or_are_missed(struct rte_mempool *pool)
{
	struct ringway_dpdk_part part;
	struct rte_mbuf *m = chain(pool, 1, 1);
	m->ol_flags = RTE_MBUF_F_RX_VLAN_STRIPPED;
	m->vlan_tci = 0x0123;
	rte_mbuf_refcnt_set(m, 2);
	CHECK(name_parts(&m, &part) == 1 && part.data == NULL && part.len == RINGWAY_DPDK_NO_TAG && part.more == 0);
	rte_mbuf_refcnt_set(m, 1);
	CHECK(name_parts(&m, &part) == 1 && part.data != NULL && part.len == 24);
	CHECK(memcmp((char *)part.data + 12, "\x81\x00\x01\x23", 4) == 0);
	rte_pktmbuf_free(m);
}

struct other {
	struct rte_mempool *pool;
	struct rte_mbuf *buffer;
	sem_t has_freed, go_on, has_flushed;
};

/* Frees a buffer into the cache of its thread. */
static void *free_elsewhere(void *argument)
{
	struct other *other = argument;
	know_thread();
	CHECK(rte_lcore_id() != LCORE_ID_ANY);
	rte_pktmbuf_free(other->buffer);
	sem_post(&other->has_freed);
	sem_wait(&other->go_on);
	know_thread();
	sem_post(&other->has_flushed);
	sem_wait(&other->go_on);
	return NULL;
}

/* A pool stays as long as a buffer of it is elsewhere, also in a cache of a thread that may be writing there. */
static void pools_go_when_all_is_back(void)
{
	struct rte_mempool *pool = make_pool(64, 2048);
	char name[RTE_MEMPOOL_NAMESIZE];
	snprintf(name, sizeof(name), "%s", pool->name);
	struct other other = { .pool = pool, .buffer = rte_pktmbuf_alloc(pool) };
	struct rte_mbuf *held = rte_pktmbuf_alloc(pool);
	pthread_t thread;
	sem_init(&other.has_freed, 0, 0);
	sem_init(&other.go_on, 0, 0);
	sem_init(&other.has_flushed, 0, 0);
	CHECK(pthread_create(&thread, NULL, free_elsewhere, &other) == 0);
	sem_wait(&other.has_freed);
	give_pool_back(pool);
	CHECK(rte_mempool_lookup(name) == pool);
	rte_pktmbuf_free(held);
	free_old_pools();
	CHECK(rte_mempool_lookup(name) == pool);
	sem_post(&other.go_on);
	sem_wait(&other.has_flushed);
	free_old_pools();
	CHECK(rte_mempool_lookup(name) == NULL && old_pools == NULL);
	sem_post(&other.go_on);
	pthread_join(thread, NULL);
}

int main(void)
{
	char prefix[64];
	snprintf(prefix, sizeof(prefix), "--file-prefix=ringway-test-%d", (int)getpid());
	char *arguments[] = { "plugin", "--no-huge", "-m", "64", "--no-shconf", "--no-pci", "--no-telemetry", "--lcores=0@0", prefix, NULL };
	CHECK(rte_eal_init(RTE_DIM(arguments) - 1, arguments) >= 0);
	rmdir(rte_eal_get_runtime_dir());
	struct rte_mempool *pool = make_pool(512, 2048);
	CHECK(pool != NULL);
	chains_end_where_they_end(pool);
	tags_come_back_or_are_missed(pool);
	pools_go_when_all_is_back();
	give_pool_back(pool);
	CHECK(old_pools == NULL);
	puts("all holds");
	return 0;
}
