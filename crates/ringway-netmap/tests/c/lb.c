/* Balances the flows of an interface over pipes, as netmap's lb does:  lb balance IF   lb consume PIPE [late]
 *
 * The balancer exchanges buffers between the rings of the interface and of the pipes. Frames that find their pipe full wait in extra
 * buffers, in order. Poll is its only sync. A consumer counts the frames of each flow, which come in order. A late one begins at SIGUSR1.
 * At SIGUSR1 a balancer says how many frames it has received. */
#include "bind.h"

enum { PIPES = 8, EXTRA = 4000, FLOWS = 4096, QUIET_MS = 5000, START_MS = 60000 };

/* Frames that wait for a pipe: a circle of buffers with their lengths. */
struct queue {
	struct {
		uint32_t buffer;
		uint16_t length;
	} waiting[EXTRA + 1];
	unsigned first, count;
};

struct balancer {
	struct bound interface, pipes[PIPES];
	struct queue queues[PIPES];
	uint32_t spare[EXTRA];
	unsigned spares;
	unsigned long received, delayed, lost;
};

/* Takes the list of extra buffers. */
static void take_spares(struct balancer *b)
{
	struct netmap_ring *ring = NETMAP_RXRING(b->interface.nifp, 0);
	uint32_t index = b->interface.nifp->ni_bufs_head;

	for (; index; memcpy(&index, NETMAP_BUF(ring, index), sizeof index)) {
		if (b->spares == EXTRA)
			FAIL("more extra buffers than were asked for");
		b->spare[b->spares++] = index;
	}
	if (b->spares != EXTRA || b->interface.reg.nr_extra_bufs != EXTRA)
		FAIL("%u extra buffers in the list, %u granted", b->spares, b->interface.reg.nr_extra_bufs);
	b->interface.nifp->ni_bufs_head = 0;
}

/* Puts spare buffers into the list, which is freed at close. */
static void leave_spares(struct balancer *b)
{
	struct netmap_ring *ring = NETMAP_RXRING(b->interface.nifp, 0);

	while (b->spares) {
		uint32_t index = b->spare[--b->spares];
		memcpy(NETMAP_BUF(ring, index), &b->interface.nifp->ni_bufs_head, sizeof index);
		b->interface.nifp->ni_bufs_head = index;
	}
}

/* Puts a buffer into the next slot of a pipe; the one that was there comes back. */
static uint32_t exchange(struct netmap_ring *ring, uint32_t buffer, uint16_t length)
{
	struct netmap_slot *slot = &ring->slot[ring->head];
	uint32_t other = slot->buf_idx;

	slot->buf_idx = buffer;
	slot->len = length;
	slot->flags = NS_BUF_CHANGED;
	ring->head = ring->cur = nm_ring_next(ring, ring->head);
	return other;
}

/* Sends what waits, as far as there is room. */
static void send_waiting(struct balancer *b, unsigned pipe)
{
	struct netmap_ring *ring = NETMAP_TXRING(b->pipes[pipe].nifp, 0);
	struct queue *queue = &b->queues[pipe];

	while (queue->count && !nm_ring_empty(ring)) {
		b->spare[b->spares++] = exchange(ring, queue->waiting[queue->first].buffer, queue->waiting[queue->first].length);
		queue->first = (queue->first + 1) % (EXTRA + 1);
		queue->count--;
	}
}

/* Gives the buffer of a received slot away, to its pipe or its queue; the slot gets another one. */
static void pass_on(struct balancer *b, struct netmap_slot *slot, unsigned pipe)
{
	struct netmap_ring *ring = NETMAP_TXRING(b->pipes[pipe].nifp, 0);
	struct queue *queue = &b->queues[pipe];

	if (!queue->count && !nm_ring_empty(ring)) {
		slot->buf_idx = exchange(ring, slot->buf_idx, slot->len);
	} else if (b->spares) {
		unsigned last = (queue->first + queue->count++) % (EXTRA + 1);
		queue->waiting[last].buffer = slot->buf_idx;
		queue->waiting[last].length = slot->len;
		slot->buf_idx = b->spare[--b->spares];
		b->delayed++;
	} else {
		b->lost++;
		return;
	}
	slot->flags = NS_BUF_CHANGED;
}

static unsigned pipe_of(uint32_t flow)
{
	return (flow * 2654435761u >> 16) % PIPES;
}

static void receive(struct balancer *b)
{
	struct netmap_ring *ring = NETMAP_RXRING(b->interface.nifp, 0);

	for (; !nm_ring_empty(ring); ring->head = ring->cur = nm_ring_next(ring, ring->head)) {
		struct netmap_slot *slot = &ring->slot[ring->head];
		const char *frame = NETMAP_BUF(ring, slot->buf_idx);
		if (!is_test_frame(frame, slot->len))
			continue;
		b->received++;
		pass_on(b, slot, pipe_of(word_at(frame, FLOW_AT)));
	}
}

static void balance(const char *name)
{
	static struct balancer b;
	static char names[PIPES][64];
	struct pollfd fds[PIPES + 1];

	b.interface = bind_port(name, 0, EXTRA, NULL);
	take_spares(&b);
	fds[PIPES] = (struct pollfd){.fd = b.interface.fd, .events = POLLIN};
	for (unsigned i = 0; i < PIPES; i++) {
		snprintf(names[i], sizeof names[i], "%s{%u", name, i);
		b.pipes[i] = bind_port(names[i], NR_EXCLUSIVE | NR_TX_RINGS_ONLY, 0, &b.interface);
		if (b.pipes[i].memory != b.interface.memory)
			FAIL("%s is not in the memory of %s", names[i], name);
		fds[i] = (struct pollfd){.fd = b.pipes[i].fd};
	}
	ready();
	while (!stopping) {
		if (asked) {
			asked = 0;
			printf("so far %lu\n", b.received);
		}
		for (unsigned i = 0; i < PIPES; i++)
			fds[i].events = b.queues[i].count ? POLLOUT : 0;
		if (poll(fds, PIPES + 1, 100) < 0 && errno != EINTR)
			FAIL("poll: %s", strerror(errno));
		for (unsigned i = 0; i <= PIPES; i++)
			if (fds[i].revents & POLLERR)
				FAIL("poll: a ring of %s was reset", i < PIPES ? names[i] : name);
		for (unsigned i = 0; i < PIPES; i++)
			send_waiting(&b, i);
		receive(&b);
	}
	for (unsigned i = 0; i < PIPES; i++)
		if (b.queues[i].count)
			FAIL("%u frames still wait for %s", b.queues[i].count, names[i]);
	leave_spares(&b);
	for (unsigned i = 0; i < PIPES; i++)
		close(b.pipes[i].fd);
	close(b.interface.fd);
	printf("received %lu delayed %lu lost %lu\n", b.received, b.delayed, b.lost);
}

/* Prints a line for each flow: its number and its frames. */
static void consume(const char *name, int late)
{
	static uint32_t next[FLOWS];
	struct bound p = bind_port(name, NR_RX_RINGS_ONLY, 0, NULL);
	struct netmap_ring *ring = NETMAP_RXRING(p.nifp, 0);
	struct pollfd fd = {.fd = p.fd, .events = POLLIN};
	unsigned long frames = 0;

	ready();
	while (late && !asked && !stopping)
		usleep(1000);
	if (late)
		puts("going");
	while (poll(&fd, 1, frames ? QUIET_MS : START_MS) > 0) {
		for (; !nm_ring_empty(ring); ring->head = ring->cur = nm_ring_next(ring, ring->head)) {
			const struct netmap_slot *slot = &ring->slot[ring->head];
			const char *frame = NETMAP_BUF(ring, slot->buf_idx);
			uint32_t flow = word_at(frame, FLOW_AT), number = word_at(frame, NUMBER_AT);
			if (!is_test_frame(frame, slot->len) || flow >= FLOWS)
				FAIL("%s: a frame that nobody sent", name);
			if (number != next[flow]++)
				FAIL("%s: frame %u of flow %u, not %u", name, number, flow, next[flow] - 1);
			frames++;
		}
	}
	close(p.fd);
	for (uint32_t flow = 0; flow < FLOWS; flow++)
		if (next[flow])
			printf("flow %u %u\n", flow, next[flow]);
}

int main(int count, char **words)
{
	begin();
	if (count == 3 && !strcmp(words[1], "balance"))
		balance(words[2]);
	else if ((count == 3 || count == 4) && !strcmp(words[1], "consume"))
		consume(words[2], count == 4);
	else
		FAIL("usage: lb balance IF | lb consume PIPE [late]");
	return 0;
}
