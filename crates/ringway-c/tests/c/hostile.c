/* A thread writes wild words to the slots and headers in the region, while the inline functions work on the rings: hostile PORT PIPE.
 * On a loop they see these very slots; an end of a pipe has slots of its own. Whatever is read must lie in the buffers. */
#include <pthread.h>

#include "check.h"

enum { ROUNDS = 20000 };

static struct rw_ring *victims[4];
static int stop;
static volatile uint8_t sink;

static void *hostile(void *arg)
{
	uint64_t x = 88172645463325252u;
	(void)arg;
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		struct rw_ring *ring;
		uint32_t *header;
		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
		ring = victims[x % 4];
		header = (uint32_t *)ring->header;
		if (x >> 60 == 0) /* head, cur and tail, which lie behind each other */
			__atomic_store_n(&header[5 + x % 3], (uint32_t)(x >> 8), __ATOMIC_RELAXED);
		else
			__atomic_store_n((rw_word *)&header[64 + (x >> 4) % ring->num_slots * 4], x >> (x >> 58), __ATOMIC_RELAXED);
	}
	return NULL;
}

static void touch(const struct rw_ring *ring, uint8_t *data, uint32_t len)
{
	const uint8_t *end = ring->bufs + (size_t)ring->num_bufs * ring->buf_size;
	CHECK(data >= ring->bufs + (size_t)RW_FIRST_BUF * ring->buf_size && data + len <= end);
	if (len) {
		sink = data[0];
		data[len - 1] = sink;
	}
}

static void work(struct rw_ring *rx, struct rw_ring *tx)
{
	struct rw_frame frame;
	uint32_t k, len, round;
	uint8_t *data, out[4096] = {0};

	for (round = 0; round < ROUNDS; round++) {
		CHECK(rw_sync(rx) >= 0 && rw_sync(tx) >= 0);
		while (rw_rx_next(rx, &frame)) {
			CHECK(frame.slots >= 1 && frame.slots <= RW_MAX_CHAIN);
			for (k = 0; k < frame.slots; k++)
				if ((data = rw_frame_part(rx, &frame, k, &len)) != NULL)
					touch(rx, data, len);
			CHECK(rw_frame_copy(rx, &frame, out, sizeof(out)) <= sizeof(out));
			CHECK(round % 2 || rw_tx_move(tx, rx, &frame) <= 1);
		}
		for (k = 0; k < 8 && (data = rw_tx_next(tx)) != NULL; k++) {
			touch(tx, data, tx->buf_size);
			CHECK(rw_tx_commit(tx, round % tx->buf_size, 0) == 1);
		}
		rw_tx_push(tx, out, round % 4096);
		CHECK(rw_forward(rx, tx, 16) >= 0);
	}
}

static void against(struct rw_port *a, struct rw_port *b)
{
	pthread_t thread;
	victims[0] = rw_rx(a, 0);
	victims[1] = rw_tx(a, 0);
	victims[2] = rw_rx(b, 0);
	victims[3] = rw_tx(b, 0);
	__atomic_store_n(&stop, 0, __ATOMIC_RELAXED);
	CHECK(pthread_create(&thread, NULL, hostile, NULL) == 0);
	work(rw_rx(a, 0), rw_tx(b, 0));
	work(rw_rx(b, 0), rw_tx(a, 0));
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	CHECK(pthread_join(thread, NULL) == 0);
}

int main(int argc, char **argv)
{
	struct rw_options options = RW_OPTIONS_INIT;
	struct rw_port *loop, *ends[2];
	char name[2][80];
	int i;

	CHECK(argc == 3);
	options.slots = 64;
	CHECK(rw_open(argv[1], &options, &loop) == 0);
	for (i = 0; i < 2; i++) {
		snprintf(name[i], sizeof(name[i]), "%s%c1", argv[2], i ? '}' : '{');
		CHECK(rw_open(name[i], &options, &ends[i]) == 0);
	}
	against(loop, loop);
	against(ends[0], ends[1]);
	rw_close(ends[0]);
	rw_close(ends[1]);
	rw_close(loop);
	puts("ok");
	return 0;
}
