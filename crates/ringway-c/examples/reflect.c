/* Sends each frame back where it came from, by several threads: reflect THREADS PORT [FRAMES]. */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <ringway.h>

static struct rw_engine *engine;
static uint64_t reflected, max;

static void *reflect(void *unused)
{
	struct rw_burst *burst = NULL;
	uint32_t i, k;
	int n = 1, ended = 0;

	while (__atomic_load_n(&reflected, __ATOMIC_RELAXED) < max && !(ended && n == 0)) {
		ended = rw_engine_ended(engine); /* before it receives: what came before the end is there then */
		n = rw_engine_receive(engine, &burst, 50);
		for (i = 0; n >= 0 && i < burst->count; i++) {
			struct rw_engine_frame *frame = &burst->frames[i];

			for (k = 0; k < 6 && frame->len >= 12; k++) {
				uint8_t byte = frame->data[k];

				frame->data[k] = frame->data[6 + k];
				frame->data[6 + k] = byte;
			}
			frame->to = frame->port;
		}
		if (n < 0 || rw_engine_send(engine, &burst, -1) < 0) {
			fprintf(stderr, "reflect: %s\n", rw_error());
			break;
		}
		__atomic_fetch_add(&reflected, (uint64_t)n, __ATOMIC_RELAXED);
	}
	rw_burst_free(burst);
	return unused;
}

int main(int argc, char **argv)
{
	int i, threads = argc > 2 ? atoi(argv[1]) : 0;
	pthread_t thread[64];

	max = argc > 3 ? strtoull(argv[3], NULL, 10) : UINT64_MAX;
	if (threads < 1 || threads > 64 || rw_engine_open((const char *const *)&argv[2], 1, NULL, &engine) < 0) {
		fprintf(stderr, "reflect: %s\n", threads < 1 || threads > 64 ? "how many threads, which port?" : rw_error());
		return 1;
	}
	for (i = 0; i < threads; i++)
		pthread_create(&thread[i], NULL, reflect, NULL);
	for (i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	printf("%s\n", reflected >= max ? "all reflected" : "ended");
	rw_engine_close(engine);
	return 0;
}
