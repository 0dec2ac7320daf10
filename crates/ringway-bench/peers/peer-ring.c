// SPDX-License-Identifier: MIT OR Apache-2.0
//
// DPDK's rte_ring and rte_mempool between threads, which are on CPUs as the suite says.
//
//   peer-ring ring CPUS BURST SECONDS mt|rts     half of the threads put tokens in, the others take them out.
//
//   peer-ring pool CPUS BURST SECONDS CACHE      each thread gets buffers and puts them back.
//
// CPUS has a number for each thread: 0,1,1,0. "mt" is the default of rings for any number of threads. "rts" is what DPDK
// advises for more threads than CPUs. CACHE is the size of a thread's cache, and 0 leaves it out.
//
// A thread that finds a ring full or empty looks PATIENCE times again, and then lets others run.
#include "peer-dpdk.h"

#include <pthread.h>
#include <rte_mempool.h>
#include <rte_ring.h>

#define TOKENS 4096u // room of the ring
#define BUFFERS 8191u // of the pool: a power of two less one suits it best
#define BUFFER_SIZE 64u
#define MAX_THREADS 64u
#define MAX_BURST 256u
#define PATIENCE 64u

struct worker {
	pthread_t thread;
	uint32_t cpu;
	void *(*work)(void *);
	_Alignas(128) volatile uint64_t done; // tokens
} __attribute__((aligned(128)));

static struct worker workers[MAX_THREADS];
static uint32_t threads, burst, cache_size;
static struct rte_ring *ring;
static struct rte_mempool *pool;
static pthread_barrier_t begin;

static void begin_work(const struct worker *w)
{
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET(w->cpu, &set);
	if (pthread_setaffinity_np(pthread_self(), sizeof set, &set)) fail("cannot run on CPU %u", w->cpu);
	pthread_barrier_wait(&begin);
}

static void wait_a_bit(uint32_t *tries)
{
	if (++*tries < PATIENCE) {
		rte_pause();
		return;
	}
	*tries = 0;
	sched_yield();
}

static void *produce(void *arg)
{
	struct worker *w = arg;
	void *tokens[MAX_BURST];
	uint32_t tries = 0;
	begin_work(w);
	for (uintptr_t next = 1; !stopping;) {
		for (uint32_t k = 0; k < burst; k++) tokens[k] = (void *)(next + k);
		uint32_t n = rte_ring_enqueue_burst(ring, tokens, burst, NULL);
		next += n;
		if (n) tries = 0;
		else wait_a_bit(&tries);
	}
	return NULL;
}

static void *consume(void *arg)
{
	struct worker *w = arg;
	void *tokens[MAX_BURST];
	uint32_t tries = 0;
	uintptr_t seen = 0;
	begin_work(w);
	while (!stopping) {
		uint32_t n = rte_ring_dequeue_burst(ring, tokens, burst, NULL);
		for (uint32_t k = 0; k < n; k++) seen += (uintptr_t)tokens[k];
		w->done += n;
		if (n) tries = 0;
		else wait_a_bit(&tries);
	}
	return (void *)seen;
}

static void *get_and_put(void *arg)
{
	struct worker *w = arg;
	void *buffers[MAX_BURST];
	uint32_t tries = 0;
	struct rte_mempool_cache *cache = cache_size ? rte_mempool_cache_create(cache_size, SOCKET_ID_ANY) : NULL;
	if (cache_size && !cache) fail("rte_mempool_cache_create: %s", rte_strerror(rte_errno));
	begin_work(w);
	while (!stopping) {
		if (rte_mempool_generic_get(pool, buffers, burst, cache)) {
			wait_a_bit(&tries);
			continue;
		}
		rte_mempool_generic_put(pool, buffers, burst, cache);
		w->done += burst;
		tries = 0;
	}
	return NULL;
}

static void read_cpus(char *list)
{
	for (char *word = strtok(list, ","); word; word = strtok(NULL, ",")) {
		if (threads == MAX_THREADS) fail("more than %u threads", MAX_THREADS);
		workers[threads++].cpu = need_number(word, "a CPU", 0, CPU_SETSIZE - 1);
	}
	if (!threads) fail("no CPU is named");
}

static void make_ring(const char *mode)
{
	if (threads % 2) fail("as many threads must put in as take out");
	bool rts = !strcmp(mode, "rts");
	if (!rts && strcmp(mode, "mt")) fail("no such mode: %s", mode);
	unsigned flags = RING_F_EXACT_SZ | (rts ? RING_F_MP_RTS_ENQ | RING_F_MC_RTS_DEQ : 0);
	ring = rte_ring_create("tokens", TOKENS, SOCKET_ID_ANY, flags);
	if (!ring) fail("rte_ring_create: %s", rte_strerror(rte_errno));
	for (uint32_t k = 0; k < threads; k++) workers[k].work = k < threads / 2 ? produce : consume;
}

static void make_pool(const char *cache)
{
	cache_size = need_number(cache, "CACHE", 0, RTE_MEMPOOL_CACHE_MAX_SIZE);
	pool = rte_mempool_create("buffers", BUFFERS, BUFFER_SIZE, 0, 0, NULL, NULL, NULL, NULL, SOCKET_ID_ANY, 0);
	if (!pool) fail("rte_mempool_create: %s", rte_strerror(rte_errno));
	for (uint32_t k = 0; k < threads; k++) workers[k].work = get_and_put;
}

static uint64_t done(void)
{
	uint64_t sum = 0;
	for (uint32_t k = 0; k < threads; k++) sum += workers[k].done;
	return sum;
}

static void sleep_until(uint64_t end)
{
	while (!stopping && now_ns() < end) {
		uint64_t left = end - now_ns();
		struct timespec nap = { 0, (long)(left < 20000000 ? left : 20000000) };
		nanosleep(&nap, NULL);
	}
}

static void measure(uint64_t period)
{
	pthread_barrier_init(&begin, NULL, threads + 1);
	for (uint32_t k = 0; k < threads; k++)
		if (pthread_create(&workers[k].thread, NULL, workers[k].work, &workers[k])) fail_os("pthread_create");
	pthread_barrier_wait(&begin);
	sleep_until(now_ns() + WARM_UP_NS);
	uint64_t start = now_ns(), before = done();
	sleep_until(start + period);
	uint64_t tokens = done() - before, took = now_ns() - start;
	stopping = 1;
	for (uint32_t k = 0; k < threads; k++) pthread_join(workers[k].thread, NULL);
	printf("{\"packets\":%" PRIu64 ",\"bytes\":0,\"seconds\":%.6f,\"drops\":0,\"total_packets\":%" PRIu64 "}\n", tokens,
	       (double)took / 1e9, done());
}

int main(int argc, char **argv)
{
	if (argc != 6) fail("usage: peer-ring ring|pool CPUS BURST SECONDS mt|rts|CACHE");
	read_cpus(argv[2]);
	burst = need_number(argv[3], "BURST", 1, MAX_BURST);
	uint64_t period = need_seconds(argv[4]);
	char first_cpu[16];
	snprintf(first_cpu, sizeof first_cpu, "%u", workers[0].cpu);
	dpdk_start("peer-ring", "64", first_cpu, NULL);
	peer_begin("peer-ring");
	if (!strcmp(argv[1], "ring")) make_ring(argv[5]);
	else if (!strcmp(argv[1], "pool")) make_pool(argv[5]);
	else fail("no such mode: %s", argv[1]);
	peer_ready();
	measure(period);
	return 0;
}
