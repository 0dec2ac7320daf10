/* Forwards between two ports, both ways: forward PORT PORT [FRAMES]. "forward ebpf:eth0 ebpf:eth1" until Ctrl-C. */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include <ringway.h>

static volatile sig_atomic_t stop;

static void on_signal(int signal)
{
	(void)signal;
	stop = 1;
}

int main(int argc, char **argv)
{
	uint64_t moved = 0, max = argc > 3 ? strtoull(argv[3], NULL, 10) : UINT64_MAX;
	const char *names[2] = {argc > 1 ? argv[1] : "", argc > 2 ? argv[2] : ""};
	struct rw_waiter *waiter;
	struct rw_ring *rx[2];
	struct rw_port *ports[2];
	int i, n;

	/* Together, so that both lie in one region, where frames are forwarded without a copy. */
	if (rw_open_all(names, 2, NULL, ports) < 0 || rw_waiter_new(50, &waiter) < 0) {
		fprintf(stderr, "forward: %s\n", rw_error());
		return 1;
	}
	signal(SIGINT, on_signal);
	signal(SIGTERM, on_signal);
	for (i = 0; i < 2; i++)
		rx[i] = rw_rx(ports[i], 0);
	while (!stop && moved < max) {
		if (rw_waiter_wait(waiter, rx, 2, 100) < 0)
			goto failed;
		for (i = 0; i < 2; i++) {
			struct rw_ring *tx = rw_tx(ports[1 - i], 0);
			if ((n = rw_forward(rx[i], tx, 1024)) < 0 || rw_sync(tx) < 0)
				goto failed;
			moved += (uint64_t)n;
		}
	}
	printf("%" PRIu64 " slots forwarded\n", moved);
	rw_waiter_free(waiter);
	rw_close(ports[0]);
	rw_close(ports[1]);
	return 0;
failed:
	fprintf(stderr, "forward: %s\n", rw_error());
	return 1;
}
