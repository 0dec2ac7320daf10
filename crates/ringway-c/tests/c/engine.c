/* An engine from C: threads that receive and send, frames made, wrong lengths and ports, counters. */
#include <pthread.h>
#include <sys/resource.h>

#include "check.h"

enum { FRAMES = 10000, THREADS = 3 };

static struct rw_engine *engine;
static int seen;

static void *turn(void *unused)
{
	struct rw_burst *burst = NULL;
	uint32_t i;

	while (__atomic_load_n(&seen, __ATOMIC_RELAXED) < FRAMES) {
		int n = rw_engine_receive(engine, &burst, 10);

		CHECK(n >= 0 && (uint32_t)n == burst->count);
		for (i = 0; i < burst->count; i++) {
			CHECK(burst->frames[i].len == 60 && burst->frames[i].port == 0 && burst->frames[i].data[59] == 7);
			CHECK(burst->frames[i].to == RW_NOWHERE);
		}
		__atomic_fetch_add(&seen, n, __ATOMIC_RELAXED);
	}
	rw_burst_free(burst);
	return unused;
}

static void wrong_arguments(void)
{
	const char *names[] = {"loop:"}, *bad[] = {"nothing:"};
	struct rw_engine_options options = RW_ENGINE_OPTIONS_INIT;
	struct rw_burst *burst = NULL;

	CHECK(rw_engine_open(names, 0, NULL, &engine) == RW_INVALID);
	CHECK(rw_engine_open(bad, 1, NULL, &engine) == RW_BAD_NAME);
	CHECK(rw_engine_open(NULL, 1, NULL, &engine) == RW_INVALID);
	CHECK(rw_engine_open(names, 1, NULL, NULL) == RW_INVALID);
	options.size = 1;
	CHECK(rw_engine_open(names, 1, &options, &engine) == RW_INVALID);
	CHECK(rw_engine_receive(NULL, &burst, 0) == RW_INVALID && burst == NULL);
	CHECK(rw_engine_ended(NULL) == RW_INVALID);
	rw_burst_free(NULL);
	rw_engine_close(NULL);
}

/* A call that fails ends the frames of the burst, and shows none of them. */
static void receive_fails(void)
{
	const char *names[] = {"loop:"};
	struct rw_engine_options options = RW_ENGINE_OPTIONS_INIT;
	struct rw_burst *burst = NULL;
	struct rlimit limit, none;
	int i;

	options.flows = 1;
	CHECK(rw_engine_open(names, 1, &options, &engine) == 0);
	CHECK(rw_engine_make(engine, &burst, 5000) == 0 && rw_engine_make(engine, &burst, 60) == 1 && burst->count == 2);
	CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
	none = limit;
	none.rlim_cur = 0;
	CHECK(setrlimit(RLIMIT_NOFILE, &none) == 0);
	CHECK(rw_engine_receive(engine, &burst, 0) < 0 && burst->count == 0);
	CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
	for (i = 0; i < RW_BURST; i++)
		CHECK(burst->frames[i].data == NULL && burst->frames[i].len == 0);
	CHECK(rw_engine_receive(engine, &burst, 0) == 0 && burst->count == 0);
	rw_burst_free(burst);
	rw_engine_close(engine);
}

int main(void)
{
	const char *names[] = {"loop:"};
	struct rw_engine_options options = RW_ENGINE_OPTIONS_INIT;
	struct rw_engine_counts counts;
	struct rw_burst *burst = NULL;
	pthread_t thread[THREADS];
	int i, made = 0;

	wrong_arguments();
	options.threads = THREADS + 1;
	options.gather_us = 100;
	CHECK(rw_engine_open(names, 1, &options, &engine) == 0);
	CHECK(rw_engine_receive(engine, NULL, 0) == RW_INVALID);
	for (i = 0; i < THREADS; i++)
		CHECK(pthread_create(&thread[i], NULL, turn, NULL) == 0);
	while (made < FRAMES) {
		int place = rw_engine_make(engine, &burst, 60);

		CHECK(place >= 0);
		if (place < RW_BURST) {
			memset(burst->frames[place].data, 7, 60);
			burst->frames[place].to = 0;
			made++;
		}
		if (place == RW_BURST || made == FRAMES)
			CHECK(rw_engine_send(engine, &burst, -1) == 1 && burst->count == 0);
	}
	for (i = 0; i < THREADS; i++)
		CHECK(pthread_join(thread[i], NULL) == 0);
	CHECK(rw_engine_make(engine, &burst, 60) == 0 && burst->frames[0].room >= 2048);
	burst->frames[0].len = burst->frames[0].room + 1;
	CHECK(rw_engine_send(engine, &burst, 0) == RW_INVALID);
	burst->frames[0].len = 60;
	burst->frames[0].to = 1;
	CHECK(rw_engine_send(engine, &burst, 0) == RW_INVALID);
	burst->frames[0].to = RW_NOWHERE;
	CHECK(rw_engine_send(engine, &burst, 0) == 1);
	CHECK(rw_engine_receive(engine, &burst, 0) == 0 && rw_engine_ended(engine) == 0);
	CHECK(rw_engine_read_counts(engine, &counts) == 0);
	CHECK(counts.made == FRAMES + 1 && counts.taken == FRAMES && counts.sent == FRAMES && counts.let_go == FRAMES + 1);
	rw_burst_free(burst);
	rw_engine_close(engine);
	receive_fails();
	puts("ok");
	return 0;
}
