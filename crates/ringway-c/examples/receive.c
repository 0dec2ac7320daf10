/* Counts the frames that a port receives: receive PORT [FRAMES]. "receive ebpf:eth0" until Ctrl-C, "receive null: 1000000". */
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
	uint64_t frames = 0, bytes = 0, max = argc > 2 ? strtoull(argv[2], NULL, 10) : UINT64_MAX;
	struct rw_port_counters counters;
	struct rw_port *port;
	struct rw_frame frame;
	struct rw_ring *rx;
	uint32_t i;

	if (argc < 2 || rw_open(argv[1], NULL, &port) < 0) {
		fprintf(stderr, "receive: %s\n", argc < 2 ? "which port?" : rw_error());
		return 1;
	}
	signal(SIGINT, on_signal);
	signal(SIGTERM, on_signal);
	rx = rw_rx(port, 0);
	while (!stop && frames < max && !(rw_ended(port) && rw_avail(rx) == 0)) {
		/* Wakes at once for a frame, and ten times a second to look at `stop`. */
		if (rw_wait(&rx, 1, 100) < 0) {
			fprintf(stderr, "receive: %s\n", rw_error());
			break;
		}
		while (frames < max && rw_rx_next(rx, &frame)) {
			frames++;
			bytes += frame.total;
		}
	}
	printf("%" PRIu64 " frames, %" PRIu64 " bytes\n", frames, bytes);
	rw_read_counters(port, &counters);
	for (i = 0; i < rw_drop_count(); i++)
		if (counters.rx.drops[i])
			printf("%" PRIu64 " lost: %s (%s)\n", counters.rx.drops[i], rw_drop_name(i), rw_drop_help(i));
	rw_close(port);
	return 0;
}
