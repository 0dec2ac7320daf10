#include <time.h>

#include "port.h"

static const char *from_environment(const char *name)
{
	const char *value = getenv(name);

	if (!value || !*value)
		SKIP("%s names no interface", name);
	return value;
}

const char *interface_a(void)
{
	return from_environment("CF_A");
}

const char *interface_b(void)
{
	return from_environment("CF_B");
}

const char *interface_m(void)
{
	return from_environment("CF_M");
}

const char *interface_n(void)
{
	return from_environment("CF_N");
}

static char *next_name(void)
{
	static char names[8][NETMAP_REQ_IFNAMSIZ];
	static unsigned int next;

	return names[next++ % 8];
}

const char *name_of(const char *interface, const char *suffix)
{
	char *name = next_name();

	snprintf(name, NETMAP_REQ_IFNAMSIZ, "%s%s", interface, suffix);
	return name;
}

/* The process group is the case's own, and the same in processes that it starts. */
static int number(void)
{
	return (int)getpgrp() % 10000; /* names have 15 bytes */
}

const char *virtual_name(const char *suffix)
{
	char *name = next_name();

	snprintf(name, NETMAP_REQ_IFNAMSIZ, "cf%d%s", number(), suffix);
	return name;
}

const char *switch_name(const char *port)
{
	char *name = next_name();

	snprintf(name, NETMAP_REQ_IFNAMSIZ, "vale%d:%s", number(), port);
	return name;
}

const char *other_switch_name(const char *port)
{
	char *name = next_name();

	snprintf(name, NETMAP_REQ_IFNAMSIZ, "valex%d:%s", number(), port);
	return name;
}

int device(void)
{
	int fd = open("/dev/netmap", O_RDWR);

	if (fd < 0)
		FAIL("/dev/netmap: %s", strerror(errno));
	return fd;
}

void fill_header(struct nmreq_header *header, uint16_t type, const char *name, void *body)
{
	memset(header, 0, sizeof(*header));
	header->nr_version = NETMAP_API;
	header->nr_reqtype = type;
	snprintf(header->nr_name, sizeof(header->nr_name), "%s", name);
	header->nr_body = (uintptr_t)body;
}

int request(uint16_t type, const char *name, void *body)
{
	struct nmreq_header header;
	int fd = device(), error;

	fill_header(&header, type, name, body);
	error = ioctl(fd, NIOCCTRL, &header) == 0 ? 0 : errno;
	close(fd);
	return error;
}

void prepare(struct port *p, uint32_t mode, uint16_t ring, uint64_t flags)
{
	memset(p, 0, sizeof(*p));
	p->fd = -1;
	p->reg.nr_mode = mode;
	p->reg.nr_ringid = ring;
	p->reg.nr_flags = flags;
}

static int first_ring(const struct netmap_if *nifp, uint32_t from, uint32_t count)
{
	uint32_t i;

	for (i = 0; i < count; i++)
		if (nifp->ring_ofs[from + i] != 0)
			return (int)i;
	return -1;
}

void map_port(struct port *p)
{
	uint32_t txs;

	p->memory = (char *)mmap(NULL, p->reg.nr_memsize, PROT_READ | PROT_WRITE, MAP_SHARED, p->fd, 0);
	if (p->memory == MAP_FAILED)
		FAIL("mmap: %s", strerror(errno));
	p->nifp = NETMAP_IF(p->memory, p->reg.nr_offset);
	txs = p->nifp->ni_tx_rings + p->nifp->ni_host_tx_rings;
	p->tx_of = first_ring(p->nifp, 0, txs);
	p->rx_of = first_ring(p->nifp, txs, p->nifp->ni_rx_rings + p->nifp->ni_host_rx_rings);
}

int try_bind(struct port *p, const char *name)
{
	if (p->fd < 0)
		p->fd = device();
	fill_header(&p->header, NETMAP_REQ_REGISTER, name, &p->reg);
	if (ioctl(p->fd, NIOCCTRL, &p->header) != 0)
		return errno;
	map_port(p);
	return 0;
}

void bind_port(struct port *p, const char *name, uint32_t mode, uint16_t ring, uint64_t flags)
{
	int error;

	prepare(p, mode, ring, flags);
	error = try_bind(p, name);
	if (error)
		FAIL("binding %s in mode %u: %s", name, mode, strerror(error));
}

void open_port(struct port *p, const char *name)
{
	bind_port(p, name, NR_REG_ALL_NIC, 0, 0);
}

void refuse_bind(const char *name, uint32_t mode, uint16_t ring, uint64_t flags, int error)
{
	struct port p;
	int got;

	prepare(&p, mode, ring, flags);
	got = try_bind(&p, name);
	if (got != error)
		FAIL("binding %s in mode %u: '%s', not '%s'", name, mode, got ? strerror(got) : "done", strerror(error));
	close(p.fd);
}

void close_port(struct port *p)
{
	if (p->memory)
		munmap(p->memory, p->reg.nr_memsize);
	if (close(p->fd) != 0)
		FAIL("close: %s", strerror(errno));
	p->fd = -1;
	p->memory = NULL;
}

struct netmap_ring *tx(const struct port *p)
{
	if (p->tx_of < 0)
		FAIL("no tx ring");
	return NETMAP_TXRING(p->nifp, p->tx_of);
}

struct netmap_ring *rx(const struct port *p)
{
	if (p->rx_of < 0)
		FAIL("no rx ring");
	return NETMAP_RXRING(p->nifp, p->rx_of);
}

struct netmap_slot *slot_at(struct netmap_ring *ring, uint32_t ahead)
{
	return &ring->slot[(ring->head + ahead) % ring->num_slots];
}

char *buffer(struct netmap_ring *ring, const struct netmap_slot *slot)
{
	return NETMAP_BUF(ring, slot->buf_idx);
}

void advance(struct netmap_ring *ring, uint32_t slots)
{
	uint32_t next = (ring->head + slots) % ring->num_slots;

	/* Another thread may sync meanwhile: the slots are written first, and cur is never before head. */
	__atomic_store_n(&ring->cur, next, __ATOMIC_RELEASE);
	__atomic_store_n(&ring->head, next, __ATOMIC_RELEASE);
}

void sync_tx(const struct port *p)
{
	if (ioctl(p->fd, NIOCTXSYNC, NULL) != 0)
		FAIL("NIOCTXSYNC: %s", strerror(errno));
}

void sync_rx(const struct port *p)
{
	if (ioctl(p->fd, NIOCRXSYNC, NULL) != 0)
		FAIL("NIOCRXSYNC: %s", strerror(errno));
}

short poll_port(const struct port *p, short events, int ms)
{
	struct pollfd one = {.fd = p->fd, .events = events};
	int ready = poll(&one, 1, ms);

	if (ready < 0)
		FAIL("poll: %s", strerror(errno));
	SAME(ready, one.revents != 0);
	return one.revents;
}

long milliseconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void rest(int ms)
{
	struct timespec time = {ms / 1000, (long)(ms % 1000) * 1000000};

	nanosleep(&time, NULL);
}
