// SPDX-License-Identifier: MIT OR Apache-2.0
//
// AF_XDP sockets in copy mode on queue 0, on the system calls alone. Forwarding passes frames from one socket's
// receive ring to the other's transmit ring through a shared umem: no copy in user space.
#include "peer-bpf.h"

#include <linux/if_xdp.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef XDP_MAX_TX_SKB_BUDGET
#define XDP_MAX_TX_SKB_BUDGET 9 // Linux 6.17: frames per send call, 32 without it
#endif
#define FRAME_SIZE 2048u
#define RING_SIZE 2048u
#define SOCKET_FRAMES (2 * RING_SIZE) // a full fill ring and a full transmit ring
#define RX_POLL_MS 20
#define RELEASE_NS 1000000000u // the kernel lets go of a closed socket's queue in the background

// Frames that no ring holds.
struct pool {
	uint8_t *memory;
	uint64_t size;
	uint32_t free;
	uint64_t frames[2 * SOCKET_FRAMES];
};

// One direction of the kernel interface: the producer side fills [producer, consumer + size), the consumer side
// empties [consumer, producer). Each side writes its own index only, so it may read that one plainly.
struct ring { uint32_t *producer, *consumer, *flags; void *entries; };

struct xsk {
	const char *name;
	int fd;
	struct ring fill, completion, rx, tx;
	struct pool *pool;
};

static uint32_t ring_used(const struct ring *r)
{
	return __atomic_load_n(r->producer, __ATOMIC_ACQUIRE) - *r->consumer;
}

static uint32_t ring_room(const struct ring *r)
{
	return RING_SIZE - (*r->producer - __atomic_load_n(r->consumer, __ATOMIC_ACQUIRE));
}

static void ring_publish(uint32_t *index, uint32_t n) { __atomic_store_n(index, *index + n, __ATOMIC_RELEASE); }

static uint64_t *ring_frame(const struct ring *r, uint32_t i) { return (uint64_t *)r->entries + (i & (RING_SIZE - 1)); }

static struct xdp_desc *ring_desc(const struct ring *r, uint32_t i)
{
	return (struct xdp_desc *)r->entries + (i & (RING_SIZE - 1));
}

static uint32_t at_most(uint32_t a, uint32_t b) { return a < b ? a : b; }

static void pool_init(struct pool *p, uint32_t frames)
{
	p->size = (uint64_t)frames * FRAME_SIZE;
	p->memory = mmap(NULL, p->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (p->memory == MAP_FAILED) fail_os("memory for %u frames", frames);
	for (p->free = 0; p->free < frames; p->free++) p->frames[p->free] = (uint64_t)p->free * FRAME_SIZE;
}

static struct ring map_ring(int fd, int option, off_t page, const struct xdp_ring_offset *at, size_t entry)
{
	uint32_t size = RING_SIZE;
	if (setsockopt(fd, SOL_XDP, option, &size, sizeof size)) fail_os("AF_XDP ring");
	uint8_t *p = mmap(NULL, at->desc + RING_SIZE * entry, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, page);
	if (p == MAP_FAILED) fail_os("mmap of an AF_XDP ring");
	return (struct ring){ (uint32_t *)(p + at->producer), (uint32_t *)(p + at->consumer),
		                  (uint32_t *)(p + at->flags), p + at->desc };
}

// A socket with its four rings. The first registers the pool's memory; `share` makes another use the same.
static struct xsk xsk_open(const char *name, struct pool *pool, const struct xsk *share)
{
	struct xsk x = { .name = name, .pool = pool, .fd = socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0) };
	if (x.fd < 0) fail_os("socket(AF_XDP)");
	struct sockaddr_xdp address = { .sxdp_family = AF_XDP, .sxdp_ifindex = need_interface(name) };
	struct xdp_umem_reg umem = { .addr = (uintptr_t)pool->memory, .len = pool->size, .chunk_size = FRAME_SIZE };
	if (share) {
		address.sxdp_flags = XDP_SHARED_UMEM; // its mode is the first socket's
		address.sxdp_shared_umem_fd = (uint32_t)share->fd;
	} else {
		address.sxdp_flags = XDP_COPY | XDP_USE_NEED_WAKEUP;
		if (setsockopt(x.fd, SOL_XDP, XDP_UMEM_REG, &umem, sizeof umem)) fail_os("XDP_UMEM_REG");
	}
	struct xdp_mmap_offsets at;
	socklen_t size = sizeof at;
	if (getsockopt(x.fd, SOL_XDP, XDP_MMAP_OFFSETS, &at, &size)) fail_os("XDP_MMAP_OFFSETS");
	x.fill = map_ring(x.fd, XDP_UMEM_FILL_RING, XDP_UMEM_PGOFF_FILL_RING, &at.fr, sizeof(uint64_t));
	x.completion = map_ring(x.fd, XDP_UMEM_COMPLETION_RING, XDP_UMEM_PGOFF_COMPLETION_RING, &at.cr, sizeof(uint64_t));
	x.rx = map_ring(x.fd, XDP_RX_RING, XDP_PGOFF_RX_RING, &at.rx, sizeof(struct xdp_desc));
	x.tx = map_ring(x.fd, XDP_TX_RING, XDP_PGOFF_TX_RING, &at.tx, sizeof(struct xdp_desc));
	uint32_t budget = RING_SIZE;
	(void)setsockopt(x.fd, SOL_XDP, XDP_MAX_TX_SKB_BUDGET, &budget, sizeof budget); // faster where it exists
	uint64_t end = now_ns() + RELEASE_NS;
	while (bind(x.fd, (struct sockaddr *)&address, sizeof address)) {
		if (errno != EBUSY || stopping || now_ns() > end) fail_os("AF_XDP bind to %s", name);
		nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
	}
	return x;
}

// Leads the interface's frames into the socket.
static void xsk_attach(const struct xsk *x)
{
	struct bpf_object *object = object_open("peer_afxdp");
	object_load(object);
	uint32_t queue = 0;
	if (bpf_map_update_elem(map_fd(object, "sockets"), &queue, &x->fd, 0)) fail_os("xskmap");
	attach_xdp(program_fd(object, "to_socket"), need_interface(x->name), x->name, XDP_FLAGS_DRV_MODE);
}

// Sent frames go back to the pool.
static void reap(struct xsk *x)
{
	uint32_t n = ring_used(&x->completion);
	for (uint32_t i = 0; i < n; i++) {
		uint64_t frame = *ring_frame(&x->completion, *x->completion.consumer + i);
		x->pool->frames[x->pool->free++] = frame & ~(uint64_t)(FRAME_SIZE - 1);
	}
	ring_publish(x->completion.consumer, n);
}

// Free frames go to the kernel, which receives into them.
static void refill(struct xsk *x)
{
	uint32_t n = at_most(ring_room(&x->fill), x->pool->free);
	for (uint32_t i = 0; i < n; i++) *ring_frame(&x->fill, *x->fill.producer + i) = x->pool->frames[--x->pool->free];
	if (n) ring_publish(x->fill.producer, n);
}

// Sends what is in the transmit ring. The kernel stops early when its budget (EAGAIN) or its memory (ENOBUFS) is
// used up or the driver drops a frame (EBUSY); the rest goes with the next call.
static void kick(struct xsk *x)
{
	while (__atomic_load_n(x->tx.flags, __ATOMIC_RELAXED) & XDP_RING_NEED_WAKEUP) {
		int done = sendto(x->fd, NULL, 0, MSG_DONTWAIT, NULL, 0) >= 0;
		reap(x);
		if (done || stopping) return;
		if (errno != EAGAIN && errno != EBUSY && errno != ENOBUFS && errno != EINTR) fail_os("send on %s", x->name);
	}
}

static uint64_t rx_drops(const struct xsk *x)
{
	struct xdp_statistics s = { 0 };
	socklen_t size = sizeof s;
	getsockopt(x->fd, SOL_XDP, XDP_STATISTICS, &s, &size);
	return s.rx_dropped + s.rx_ring_full + s.rx_fill_ring_empty_descs;
}

static void transmit(const char *interface, uint32_t len, uint32_t burst, uint64_t period)
{
	static struct pool pool;
	pool_init(&pool, SOCKET_FRAMES);
	struct xsk x = xsk_open(interface, &pool, NULL);
	for (uint32_t i = 0; i < pool.free; i++) frame_init(pool.memory + pool.frames[i], len);
	struct sent before = interface_sent(interface);
	struct meter m = { .opened = now_ns() };
	peer_ready();
	meter_tick(&m);
	while (meter_runs(&m, period)) {
		for (uint32_t sent = 0; sent < 64; sent += burst) { // a look at the clock per 64 frames or burst
			uint32_t n = at_most(burst, at_most(ring_room(&x.tx), pool.free));
			for (uint32_t i = 0; i < n; i++) {
				uint64_t frame = pool.frames[--pool.free];
				frame_number(pool.memory + frame, m.packets + i);
				*ring_desc(&x.tx, *x.tx.producer + i) = (struct xdp_desc){ .addr = frame, .len = len };
			}
			ring_publish(x.tx.producer, n);
			kick(&x);
			reap(&x);
			m.packets += n;
		}
		m.bytes = m.packets * len;
		meter_tick(&m);
	}
	m.packets -= ring_used(&(struct ring){ .producer = x.tx.producer, .consumer = x.tx.consumer }); // cut off
	meter_print(&m, interface_sent(interface).drops - before.drops);
}

static void receive(const char *interface, uint32_t burst, uint64_t period)
{
	static struct pool pool;
	pool_init(&pool, SOCKET_FRAMES);
	struct xsk x = xsk_open(interface, &pool, NULL);
	refill(&x);
	xsk_attach(&x);
	struct pollfd fd = { .fd = x.fd, .events = POLLIN };
	struct meter m = { .opened = now_ns() };
	peer_ready();
	while (meter_runs(&m, period)) {
		uint32_t n = at_most(ring_used(&x.rx), burst);
		if (!n) {
			poll(&fd, 1, RX_POLL_MS);
			continue;
		}
		for (uint32_t i = 0; i < n; i++) {
			const struct xdp_desc *d = ring_desc(&x.rx, *x.rx.consumer + i);
			frame_touch(pool.memory + d->addr);
			m.bytes += d->len;
			pool.frames[pool.free++] = d->addr & ~(uint64_t)(FRAME_SIZE - 1);
		}
		ring_publish(x.rx.consumer, n);
		refill(&x);
		m.packets += n;
		meter_tick(&m);
	}
	meter_print(&m, rx_drops(&x));
}

// One burst from one socket to the other. What finds no room waits in the receive ring.
static uint32_t pass(struct xsk *from, struct xsk *to, uint32_t burst, struct meter *m)
{
	uint32_t n = at_most(at_most(ring_used(&from->rx), ring_room(&to->tx)), burst);
	for (uint32_t i = 0; i < n; i++) {
		const struct xdp_desc *d = ring_desc(&from->rx, *from->rx.consumer + i);
		*ring_desc(&to->tx, *to->tx.producer + i) = (struct xdp_desc){ .addr = d->addr, .len = d->len };
		m->bytes += d->len;
	}
	if (n) {
		ring_publish(from->rx.consumer, n);
		ring_publish(to->tx.producer, n);
		m->packets += n;
	}
	if (ring_room(&to->tx) < RING_SIZE) kick(to);
	reap(to);
	refill(from);
	return n;
}

static void forward(const char *a, const char *b, uint32_t burst, bool both)
{
	static struct pool pool;
	pool_init(&pool, 2 * SOCKET_FRAMES);
	struct xsk xa = xsk_open(a, &pool, NULL), xb = xsk_open(b, &pool, &xa);
	refill(&xa);
	xsk_attach(&xa);
	if (both) {
		refill(&xb);
		xsk_attach(&xb);
	}
	uint64_t sent = interface_sent(a).drops + interface_sent(b).drops;
	struct pollfd fds[2] = { { .fd = xa.fd, .events = POLLIN }, { .fd = xb.fd, .events = POLLIN } };
	struct meter m = { .opened = now_ns() };
	peer_ready();
	while (!stopping) {
		uint32_t n = pass(&xa, &xb, burst, &m);
		if (both) n += pass(&xb, &xa, burst, &m);
		if (n) meter_tick(&m);
		else poll(fds, both ? 2 : 1, RX_POLL_MS);
	}
	sent = interface_sent(a).drops + interface_sent(b).drops - sent;
	meter_print(&m, rx_drops(&xa) + (both ? rx_drops(&xb) : 0) + sent);
}

int main(int argc, char **argv)
{
	peer_begin("peer-afxdp");
	const char *verb = argc > 1 ? argv[1] : "";
	if (argc == 6 && !strcmp(verb, "tx"))
		transmit(argv[2], need_number(argv[3], "LEN", MIN_LEN, MAX_LEN),
		         need_number(argv[4], "BURST", 1, RING_SIZE), need_seconds(argv[5]));
	else if (argc == 5 && !strcmp(verb, "rx"))
		receive(argv[2], need_number(argv[3], "BURST", 1, RING_SIZE), need_seconds(argv[4]));
	else if (argc == 5 && (!strcmp(verb, "forward") || !strcmp(verb, "forward1")))
		forward(argv[2], argv[3], need_number(argv[4], "BURST", 1, RING_SIZE), !strcmp(verb, "forward"));
	else
		fail("usage: peer-afxdp tx IF LEN BURST SECONDS | rx IF BURST SECONDS | forward A B BURST"
		     " | forward1 A B BURST");
}
