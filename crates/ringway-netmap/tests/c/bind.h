/* Ports bound by the public ABI, for programs that are tests of themselves: a failure ends them with a line. */
#ifndef BIND_H
#define BIND_H

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include <net/netmap.h>
#include <net/netmap_user.h>

#define FAIL(...) (fprintf(stderr, __VA_ARGS__), fputc('\n', stderr), exit(1))

static volatile sig_atomic_t stopping, asked;

static inline void on_signal(int number)
{
	if (number == SIGUSR1)
		asked = 1;
	else
		stopping = 1;
}

/* SIGTERM ends the program, SIGUSR1 asks it how far it is. */
static inline void begin(void)
{
	struct sigaction action = {.sa_handler = on_signal};

	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGUSR1, &action, NULL);
	setvbuf(stdout, NULL, _IOLBF, 0);
}

static inline void ready(void)
{
	fputs("ready\n", stderr);
}

static inline uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* Marsaglia's xorshift. */
static inline uint64_t dice(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

struct bound {
	const char *name;
	int fd;
	struct nmreq_register reg;
	char *memory;
	struct netmap_if *nifp;
};

/* Binds all rings of a port, with these flags and extra buffers. A port in the memory of `other` shares its mapping. */
static inline struct bound bind_port(const char *name, uint64_t flags, uint32_t extra, const struct bound *other)
{
	struct bound p = {.name = name, .fd = open("/dev/netmap", O_RDWR)};
	struct nmreq_header header = {.nr_version = NETMAP_API, .nr_reqtype = NETMAP_REQ_REGISTER};

	if (p.fd < 0)
		FAIL("/dev/netmap: %s", strerror(errno));
	p.reg.nr_mode = NR_REG_ALL_NIC;
	p.reg.nr_flags = flags;
	p.reg.nr_extra_bufs = extra;
	header.nr_body = (uintptr_t)&p.reg;
	snprintf(header.nr_name, sizeof header.nr_name, "%s", name);
	if (ioctl(p.fd, NIOCCTRL, &header))
		FAIL("bind to %s: %s", name, strerror(errno));
	if (other && other->reg.nr_mem_id == p.reg.nr_mem_id)
		p.memory = other->memory;
	else
		p.memory = mmap(NULL, p.reg.nr_memsize, PROT_READ | PROT_WRITE, MAP_SHARED, p.fd, 0);
	if (p.memory == MAP_FAILED)
		FAIL("mmap of %s: %s", name, strerror(errno));
	p.nifp = NETMAP_IF(p.memory, p.reg.nr_offset);
	return p;
}

/* The frames of these tests: of a type that no stack takes, to a group address, with a flow and its number. */
enum { FRAME = 60, TYPE_AT = 12, FLOW_AT = 14, NUMBER_AT = 18 };

static inline int is_test_frame(const char *frame, unsigned length)
{
	return length >= FRAME && (uint8_t)frame[TYPE_AT] == 0x88 && (uint8_t)frame[TYPE_AT + 1] == 0xb5;
}

static inline uint32_t word_at(const char *frame, int at)
{
	uint32_t word;

	memcpy(&word, frame + at, sizeof word);
	return word;
}

static inline void write_frame(char *frame, uint32_t flow, uint32_t number)
{
	static const char head[14] = {3, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, (char)0x88, (char)0xb5};

	memset(frame, 0, FRAME);
	memcpy(frame, head, sizeof head);
	memcpy(frame + FLOW_AT, &flow, sizeof flow);
	memcpy(frame + NUMBER_AT, &number, sizeof number);
}

#endif
