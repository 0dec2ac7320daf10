// SPDX-License-Identifier: MIT OR Apache-2.0
//
// netmap's interface as its programs use it, and nothing else: an ioctl binds a port, slots are filled and read in
// mapped memory, ioctl and poll sync. Rings are the first ones: the beds' interfaces have one queue.
#include "peer.h"

#include <fcntl.h>
#include <net/netmap.h>
#include <net/netmap_user.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#define LEN MIN_LEN  // of every frame
#define WAIT_MS 20   // how long a poll waits, so that the program sees that it is to end
#define TURNS 64     // between two looks at the clock, where a turn is short
#define BLOCK 4096   // calls whose time is taken together
#define MOST_BLOCKS 65536

struct port {
	const char *name;
	int fd;
	struct nmreq_register request;
	char *memory;
	struct netmap_ring *tx, *rx;
};

// Binds all rings of a port. Ports with one memory share one mapping.
static struct port port_open(const char *name, const struct port *other)
{
	struct port p = { .name = name, .fd = open("/dev/netmap", O_RDWR), .request.nr_mode = NR_REG_ALL_NIC };
	if (p.fd < 0) fail("/dev/netmap is not served: %s", strerror(errno));
	struct nmreq_header header = { .nr_version = NETMAP_API, .nr_reqtype = NETMAP_REQ_REGISTER,
		                           .nr_body = (uintptr_t)&p.request };
	if (strlen(name) >= sizeof header.nr_name) fail("%s: longer than a name may be", name);
	strcpy(header.nr_name, name);
	if (ioctl(p.fd, NIOCCTRL, &header)) fail_os("cannot bind %s", name);
	bool shared = other && other->request.nr_mem_id == p.request.nr_mem_id;
	p.memory = shared ? other->memory
	                  : mmap(NULL, p.request.nr_memsize, PROT_READ | PROT_WRITE, MAP_SHARED, p.fd, 0);
	if (p.memory == MAP_FAILED) fail_os("cannot map the memory of %s", name);
	struct netmap_if *interface = NETMAP_IF(p.memory, p.request.nr_offset);
	p.tx = NETMAP_TXRING(interface, 0);
	p.rx = NETMAP_RXRING(interface, 0);
	return p;
}

static void sync_by(const struct port *p, unsigned long request)
{
	if (ioctl(p->fd, request)) fail_os("sync of %s", p->name);
}

// True when something is ready.
static bool poll_for(struct pollfd *fds, nfds_t count)
{
	int ready = poll(fds, count, WAIT_MS);
	if (ready < 0 && errno != EINTR) fail_os("poll");
	for (nfds_t i = 0; i < count; i++)
		if (ready > 0 && fds[i].revents & POLLERR) fail("poll: a ring was reset");
	return ready > 0;
}

static uint32_t at_most(uint32_t a, uint32_t b) { return a < b ? a : b; }

// Fills up to `most` free slots with whole frames.
static uint32_t fill(struct netmap_ring *ring, uint32_t most, const uint8_t *frame, uint64_t sequence)
{
	uint32_t n = at_most(nm_ring_space(ring), most), head = ring->head;
	for (uint32_t i = 0; i < n; i++) {
		struct netmap_slot *slot = &ring->slot[head];
		uint8_t *buffer = (uint8_t *)NETMAP_BUF(ring, slot->buf_idx);
		memcpy(buffer, frame, LEN);
		frame_number(buffer, sequence + i);
		slot->len = LEN;
		slot->flags = 0;
		head = nm_ring_next(ring, head);
	}
	ring->head = ring->cur = head;
	return n;
}

// Passes up to `most` free slots on without touching their buffers.
static uint32_t fill_untouched(struct netmap_ring *ring, uint32_t most)
{
	uint32_t n = at_most(nm_ring_space(ring), most), head = ring->head;
	for (uint32_t i = 0; i < n; i++) {
		ring->slot[head].len = LEN;
		ring->slot[head].flags = 0;
		head = nm_ring_next(ring, head);
	}
	ring->head = ring->cur = head;
	return n;
}

// Takes all frames that are there, and reads a word of each or its length alone.
static uint32_t drain(struct netmap_ring *ring, bool touch)
{
	uint32_t n = nm_ring_space(ring), head = ring->head;
	for (uint32_t i = 0; i < n; i++) {
		const struct netmap_slot *slot = &ring->slot[head];
		if (touch) frame_touch(NETMAP_BUF(ring, slot->buf_idx));
		else (void)*(const volatile uint16_t *)&slot->len;
		head = nm_ring_next(ring, head);
	}
	ring->head = ring->cur = head;
	return n;
}

static void transmit(const char *name, uint64_t period)
{
	struct port p = port_open(name, NULL);
	struct pollfd fd = { .fd = p.fd, .events = POLLOUT };
	uint8_t frame[LEN];
	frame_init(frame, LEN);
	struct sent before = interface_sent(name);
	struct meter m = { .opened = now_ns() };
	peer_ready();
	meter_tick(&m);
	while (meter_runs(&m, period)) {
		if (poll_for(&fd, 1)) m.packets += fill(p.tx, UINT32_MAX, frame, m.packets);
		m.bytes = m.packets * LEN;
		meter_tick(&m);
	}
	sync_by(&p, NIOCTXSYNC);
	meter_print(&m, interface_sent(name).drops - before.drops);
}

static void receive(const char *name, uint64_t period)
{
	struct port p = port_open(name, NULL);
	struct pollfd fd = { .fd = p.fd, .events = POLLIN };
	struct meter m = { .opened = now_ns() };
	peer_ready();
	while (meter_runs(&m, period)) {
		if (!poll_for(&fd, 1)) continue;
		uint32_t n = drain(p.rx, true);
		m.packets += n;
		m.bytes += n * LEN;
		meter_tick(&m);
	}
	meter_print(&m, 0);
}

// Moves up to `burst` frames: by exchanging buffers in one memory, else by copying.
static uint32_t move(struct netmap_ring *rx, struct netmap_ring *tx, uint32_t burst, bool swap)
{
	uint32_t n = at_most(at_most(nm_ring_space(rx), nm_ring_space(tx)), burst), from = rx->head, to = tx->head;
	for (uint32_t i = 0; i < n; i++) {
		struct netmap_slot *in = &rx->slot[from], *out = &tx->slot[to];
		if (swap) {
			uint32_t buffer = out->buf_idx;
			out->buf_idx = in->buf_idx;
			in->buf_idx = buffer;
			out->flags = in->flags = NS_BUF_CHANGED;
		} else {
			memcpy(NETMAP_BUF(tx, out->buf_idx), NETMAP_BUF(rx, in->buf_idx), in->len);
			out->flags = 0;
		}
		out->len = in->len;
		from = nm_ring_next(rx, from);
		to = nm_ring_next(tx, to);
	}
	rx->head = rx->cur = from;
	tx->head = tx->cur = to;
	return n;
}

// Poll collects what arrived, and sends what was moved before. A full ring is waited for, not its source.
static void bridge(const char *a, const char *b, uint32_t burst)
{
	struct port pa = port_open(a, NULL), pb = port_open(b, &pa);
	bool swap = pa.request.nr_mem_id == pb.request.nr_mem_id;
	struct pollfd fds[2] = { { .fd = pa.fd }, { .fd = pb.fd } };
	struct meter m = { .opened = now_ns() };
	peer_ready();
	while (!stopping) {
		fds[0].events = (nm_ring_empty(pa.rx) ? POLLIN : 0) | (nm_ring_empty(pb.rx) ? 0 : POLLOUT);
		fds[1].events = (nm_ring_empty(pb.rx) ? POLLIN : 0) | (nm_ring_empty(pa.rx) ? 0 : POLLOUT);
		if (!poll_for(fds, 2)) continue;
		uint32_t n = move(pa.rx, pb.tx, burst, swap) + move(pb.rx, pa.tx, burst, swap);
		m.packets += n;
		m.bytes += n * LEN;
		if (n) meter_tick(&m);
	}
	meter_print(&m, 0);
}

// A frame back by which a switch learns where frames go.
static void announce(const struct port *a, const struct port *b)
{
	uint8_t frame[LEN], source[6];
	frame_init(frame, LEN);
	memcpy(source, frame + 6, 6);
	memcpy(frame + 6, frame, 6);
	memcpy(frame, source, 6);
	fill(b->tx, 1, frame, 0);
	sync_by(b, NIOCTXSYNC);
	sync_by(a, NIOCRXSYNC);
	if (drain(a->rx, true) != 1) fail("no frame comes from %s to %s", b->name, a->name);
}

// One program with both ends: fills a burst and syncs, then syncs the other end and takes what is there.
static void in_turn(struct port *a, struct port *b, uint32_t burst, uint64_t period, bool touch)
{
	uint8_t frame[LEN];
	frame_init(frame, LEN);
	struct meter m = { .opened = now_ns() };
	peer_ready();
	meter_tick(&m);
	for (uint64_t sequence = 0; meter_runs(&m, period); meter_tick(&m)) {
		for (int turn = 0; turn < TURNS; turn++) {
			sequence += touch ? fill(a->tx, burst, frame, sequence) : fill_untouched(a->tx, burst);
			sync_by(a, NIOCTXSYNC);
			sync_by(b, NIOCRXSYNC);
			m.packets += drain(b->rx, touch);
		}
		m.bytes = m.packets * LEN;
	}
	meter_print(&m, 0);
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static double median(double *values, uint32_t count)
{
	qsort(values, count, sizeof *values, by_size);
	return values[count / 2];
}

// Sends a frame and takes the one that waits, by two ioctls or by one poll that finds it.
static void exchange(struct port *p, bool by_poll)
{
	fill_untouched(p->tx, 1);
	if (by_poll) {
		struct pollfd fd = { .fd = p->fd, .events = POLLIN };
		poll_for(&fd, 1);
	} else {
		sync_by(p, NIOCTXSYNC);
		sync_by(p, NIOCRXSYNC);
	}
	if (drain(p->rx, false) != 1 && !stopping) fail("%s: one frame was to come", p->name);
}

static double block(struct port *a, struct port *b, bool by_poll)
{
	uint64_t start = now_ns();
	for (int i = 0; i < BLOCK / 2; i++) {
		exchange(b, by_poll);
		exchange(a, by_poll);
	}
	return (double)(now_ns() - start) / BLOCK;
}

// What a call of poll costs that finds work, beside the same work by ioctls alone. Blocks of both take turns.
static void cost_of_poll(struct port *a, struct port *b, uint64_t period)
{
	static double synced[MOST_BLOCKS], polled[MOST_BLOCKS];
	fill_untouched(a->tx, 1);
	sync_by(a, NIOCTXSYNC);
	peer_ready();
	uint64_t start = now_ns();
	uint32_t blocks = 0;
	while (!stopping && blocks < MOST_BLOCKS && now_ns() - start < WARM_UP_NS + period) {
		double by_ioctl = block(a, b, false), by_poll = block(a, b, true);
		if (now_ns() - start < WARM_UP_NS) continue;
		synced[blocks] = by_ioctl;
		polled[blocks++] = by_poll;
	}
	if (!blocks) fail("nothing was measured");
	printf("{\"calls\":%" PRIu64 ",\"sync_ns\":%.1f,\"poll_ns\":%.1f}\n", (uint64_t)blocks * BLOCK,
	       median(synced, blocks), median(polled, blocks));
}

static void pair(const char *verb, char **words)
{
	struct port a = port_open(words[0], NULL), b = port_open(words[1], &a);
	bool burst = strcmp(verb, "poll");
	uint64_t period = need_seconds(words[burst ? 3 : 2]);
	if (!burst) return cost_of_poll(&a, &b, period);
	bool touch = !strcmp(verb, "vale");
	if (touch) announce(&a, &b);
	in_turn(&a, &b, need_number(words[2], "BURST", 1, 65536), period, touch);
}

int main(int argc, char **argv)
{
	peer_begin("peer-netmap");
	const char *verb = argc > 1 ? argv[1] : "";
	if (argc == 4 && !strcmp(verb, "tx"))
		transmit(argv[2], need_seconds(argv[3]));
	else if (argc == 4 && !strcmp(verb, "rx"))
		receive(argv[2], need_seconds(argv[3]));
	else if (argc == 5 && !strcmp(verb, "bridge"))
		bridge(argv[2], argv[3], need_number(argv[4], "BURST", 1, 65536));
	else if ((argc == 6 && (!strcmp(verb, "vale") || !strcmp(verb, "pipe"))) || (argc == 5 && !strcmp(verb, "poll")))
		pair(verb, argv + 2);
	else
		fail("usage: peer-netmap tx IF SECONDS | rx IF SECONDS | bridge A B BURST | vale A B BURST SECONDS"
		     " | pipe A B BURST SECONDS | poll A B SECONDS");
}
