// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What every peer shares: signals, clock, the frame, the meter and the last line.
//
// A peer prints "ready" on stderr once it is set up, and one line of JSON on stdout when it ends. A peer that
// cannot start prints one line on stderr. Its exit code is 1, or EXIT_UNAVAILABLE when the kernel lacks the
// feature.
//
// The first 200 ms, counted from the first packet, are warm-up: "packets", "bytes" and "seconds" leave them out
// and run up to the last packet seen. "total_packets" and "drops" cover the whole run.
#ifndef PEER_H
#define PEER_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#define WARM_UP_NS 200000000ull
#define IDLE_NS 2000000000ull // a receiver without traffic starts its clock after this time
#define MIN_LEN 60u           // lengths are without the frame check sequence
#define MAX_LEN 1514u
#define EXIT_UNAVAILABLE 77

static volatile sig_atomic_t stopping, reporting;

__attribute__((noreturn, format(printf, 2, 3))) static inline void quit(int code, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(code);
}

// Ends the program with a reason; fail_os adds what the system said.
#define fail(...) quit(EXIT_FAILURE, __VA_ARGS__)
#define fail_os(format, ...) \
	quit(errno == EAFNOSUPPORT || errno == ENOSYS ? EXIT_UNAVAILABLE : EXIT_FAILURE, format ": %s", \
	     ##__VA_ARGS__, strerror(errno))

static inline uint64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

static inline void on_signal(int number)
{
	if (number == SIGUSR1) reporting = 1;
	else stopping = 1;
}

static inline unsigned need_interface(const char *name)
{
	unsigned index = if_nametoindex(name);
	if (!index) fail_os("no interface %s", name);
	return index;
}

static inline uint32_t need_number(const char *text, const char *what, uint32_t min, uint32_t max)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);
	if (*end || end == text || n < min || n > max) fail("%s must be %u to %u, not \"%s\"", what, min, max, text);
	return (uint32_t)n;
}

static inline uint64_t need_seconds(const char *text)
{
	char *end;
	double s = strtod(text, &end);
	if (*end || end == text || !(s > 0 && s <= 86400)) fail("SECONDS must be above 0, not \"%s\"", text);
	return (uint64_t)(s * 1e9);
}

// Names the process, pins it to the CPU that PEER_CPU asks for and takes over the signals.
static inline void peer_begin(const char *name)
{
	prctl(PR_SET_NAME, name);
	const char *cpu = getenv("PEER_CPU");
	if (cpu && *cpu) {
		cpu_set_t set;
		CPU_ZERO(&set);
		CPU_SET(need_number(cpu, "PEER_CPU", 0, CPU_SETSIZE - 1), &set);
		if (sched_setaffinity(0, sizeof set, &set)) fail_os("cannot run on CPU %s", cpu);
	}
	struct sigaction action = { .sa_handler = on_signal }; // without SA_RESTART: poll returns at once
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGUSR1, &action, NULL);
}

static inline void peer_ready(void) { fputs("ready\n", stderr); }

// The frame that every sender sends: UDP 10.0.0.1 to 10.0.0.2 port 9, a sequence number as payload.
#define SEQUENCE_AT 42

static inline void frame_init(uint8_t *frame, uint32_t len)
{
	static const uint8_t header[42] = { 2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0, 0x45, 0, 0, 0, 0, 0, 0, 0,
		64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0x10, 0, 0, 9, 0, 0, 0, 0 };
	memset(frame, 0, len);
	memcpy(frame, header, sizeof header);
	uint16_t ip_len = htons((uint16_t)(len - 14)), udp_len = htons((uint16_t)(len - 34)), word;
	memcpy(frame + 16, &ip_len, 2);
	memcpy(frame + 38, &udp_len, 2);
	uint32_t sum = 0;
	for (int i = 14; i < 34; i += 2) {
		memcpy(&word, frame + i, 2);
		sum += word;
	}
	sum = (sum & 0xffff) + (sum >> 16);
	word = (uint16_t)~(sum + (sum >> 16));
	memcpy(frame + 24, &word, 2);
}

static inline void frame_number(uint8_t *frame, uint64_t sequence)
{
	memcpy(frame + SEQUENCE_AT, &sequence, sizeof sequence);
}

// Every receiver reads one word of every frame, as any use of it would.
static inline void frame_touch(const void *frame) { (void)*(const volatile uint8_t *)frame; }

// Counts packets and knows when measuring started. Add to packets and bytes, then tick.
struct meter {
	uint64_t packets, bytes;              // since the start
	uint64_t opened, first, start, last;  // times: set up, first packet, end of warm-up, last packet
	uint64_t warm_packets, warm_bytes;    // packets and bytes at the end of warm-up
};

static inline uint64_t meter_tick(struct meter *m)
{
	uint64_t now = now_ns();
	if (!m->first) m->first = now;
	if (!m->start && now - m->first >= WARM_UP_NS) {
		m->start = now;
		m->warm_packets = m->packets;
		m->warm_bytes = m->bytes;
	}
	return m->last = now;
}

// True until `period` has been measured. Reads the clock.
static inline bool meter_runs(const struct meter *m, uint64_t period)
{
	return !stopping && now_ns() < (m->first ? m->first : m->opened + IDLE_NS) + WARM_UP_NS + period;
}

static inline void meter_print(const struct meter *m, uint64_t drops)
{
	uint64_t packets = m->start ? m->packets - m->warm_packets : 0;
	uint64_t bytes = m->start ? m->bytes - m->warm_bytes : 0;
	double seconds = m->start ? (double)(m->last - m->start) / 1e9 : 0;
	printf("{\"packets\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"seconds\":%.6f,\"drops\":%" PRIu64
	       ",\"total_packets\":%" PRIu64 "}\n", packets, bytes, seconds, drops, m->packets);
	fflush(stdout);
}

// The kernel's transmit counters of an interface of this network namespace.
struct sent { uint64_t packets, drops; };

static inline struct sent interface_sent(const char *name)
{
	struct sent sent = { 0, 0 };
	char line[512], at[IF_NAMESIZE];
	FILE *f = fopen("/proc/self/net/dev", "r");
	if (!f) fail_os("/proc/self/net/dev");
	while (fgets(line, sizeof line, f)) {
		uint64_t packets, drops;
		if (sscanf(line, " %15[^:]: %*u %*u %*u %*u %*u %*u %*u %*u %*u %" SCNu64 " %*u %" SCNu64, at, &packets,
		           &drops) == 3 && !strcmp(at, name))
			sent = (struct sent){ packets, drops };
	}
	fclose(f);
	return sent;
}

#endif
