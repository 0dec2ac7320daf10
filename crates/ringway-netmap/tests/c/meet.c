/* Sends each test frame that comes back, as one of the next flow: meet PORT
 * At SIGTERM it closes the port and ends. */
#define _GNU_SOURCE
#include "bind.h"

/* Answers what has come; the rings have room for as many frames each way. */
static void answer(struct netmap_ring *rx, struct netmap_ring *tx)
{
	while (!nm_ring_empty(rx) && !nm_ring_empty(tx)) {
		struct netmap_slot *in = &rx->slot[rx->head], *out = &tx->slot[tx->head];
		const char *frame = NETMAP_BUF(rx, in->buf_idx);

		if (is_test_frame(frame, in->len)) {
			write_frame(NETMAP_BUF(tx, out->buf_idx), word_at(frame, FLOW_AT) + 1, word_at(frame, NUMBER_AT));
			out->len = FRAME;
			tx->head = tx->cur = nm_ring_next(tx, tx->head);
		}
		rx->head = rx->cur = nm_ring_next(rx, rx->head);
	}
}

int main(int argc, char **argv)
{
	struct bound port;

	begin();
	if (argc != 2)
		FAIL("meet PORT");
	port = bind_port(argv[1], 0, 0, NULL);
	ready();
	while (!stopping) {
		struct pollfd wait = {.fd = port.fd, .events = POLLIN};

		if (poll(&wait, 1, 100) < 0 && errno != EINTR)
			FAIL("poll: %s", strerror(errno));
		answer(NETMAP_RXRING(port.nifp, 0), NETMAP_TXRING(port.nifp, 0));
		if (ioctl(port.fd, NIOCTXSYNC, NULL))
			FAIL("NIOCTXSYNC: %s", strerror(errno));
	}
	return close(port.fd);
}
