/* Rings of one port in two threads, waiting by poll(2), and errors that belong to their thread. */
#include <poll.h>
#include <pthread.h>

#include "check.h"

enum { FRAMES = 200000 };

static void *sender(void *arg)
{
	struct rw_ring *tx = (struct rw_ring *)arg;
	uint8_t frame[60] = {0};
	uint32_t i = 0;

	CHECK(rw_error()[0] == '\0');
	while (i < FRAMES) {
		memcpy(frame, &i, sizeof(i));
		if (rw_tx_push(tx, frame, sizeof(frame)))
			i++;
		else
			CHECK(rw_wait((struct rw_ring *const *)&tx, 1, -1) >= 0);
		if (i % 256 == 0)
			CHECK(rw_sync(tx) >= 0);
	}
	CHECK(rw_drain(tx, -1) == 0);
	return NULL;
}

int main(void)
{
	struct rw_open_port *open;
	struct rw_frame frame;
	struct rw_ring *rx;
	struct rw_port *port;
	pthread_t thread;
	uint32_t seen = 0, number;
	int n;

	CHECK(rw_sync(NULL) == RW_INVALID);
	CHECK(rw_open("loop:", NULL, &port) == 0);
	rx = rw_rx(port, 0);
	CHECK(pthread_create(&thread, NULL, sender, rw_tx(port, 0)) == 0);
	while (seen < FRAMES) {
		struct pollfd poller = {rw_port_fd(port), POLLIN, 0};
		while (rw_rx_next(rx, &frame)) {
			memcpy(&number, frame.data, sizeof(number));
			CHECK(number == seen && frame.len == 60);
			seen++;
		}
		CHECK(rw_sync(rx) >= 0 && (n = rw_arm(rx)) >= 0);
		if (n == 0 && seen < FRAMES)
			CHECK(poll(&poller, 1, 1000) >= 0);
	}
	CHECK(pthread_join(thread, NULL) == 0 && rw_error_kind() == RW_INVALID && rw_ring_fd(rx) >= 0 && rw_link_up(port) == 1);
	CHECK((n = rw_open_ports(&open)) >= 0);
	while (n-- > 0)
		CHECK(open[n].name[0] && open[n].pid > 0);
	free(open);
	rw_close(port);
	puts("ok");
	return 0;
}
