// SPDX-License-Identifier: MIT OR Apache-2.0
//
// libpcap as its programs use it: inject, dispatch, and both to forward.
#include "peer.h"

#include <pcap/pcap.h>
#include <poll.h>

#define SNAPLEN 65535
#define BUFFER_BYTES (16 << 20)
#define BURST 256           // packets per pcap_dispatch when forwarding: both directions get their turn
#define BLOCK_MS 1          // how long libpcap may hold a block of packets that is not full
#define REPLY_NS 100000000ull
#define PING_TYPE 0x88b5    // IEEE 802 local experimental

// Non-blocking: the caller polls, so that it can wait for two handles or for a deadline. Immediate mode hands
// over packet by packet (TPACKET_V2), else the kernel fills blocks (TPACKET_V3).
static pcap_t *open_handle(const char *interface, bool immediate, bool receive)
{
	char error[PCAP_ERRBUF_SIZE] = "";
	need_interface(interface);
	pcap_t *p = pcap_create(interface, error);
	if (!p) fail("pcap_create: %s", error);
	pcap_set_snaplen(p, SNAPLEN);
	pcap_set_buffer_size(p, BUFFER_BYTES);
	pcap_set_promisc(p, receive);
	pcap_set_timeout(p, BLOCK_MS);
	pcap_set_immediate_mode(p, immediate);
	int status = pcap_activate(p);
	if (status < 0) fail("%s: %s: %s", interface, pcap_statustostr(status), pcap_geterr(p));
	if (pcap_datalink(p) != DLT_EN10MB) fail("%s is not Ethernet", interface);
	if (pcap_setdirection(p, PCAP_D_IN)) fail("pcap_setdirection: %s", pcap_geterr(p));
	if (pcap_setnonblock(p, 1, error)) fail("pcap_setnonblock: %s", error);
	return p;
}

static void set_filter(pcap_t *p, const char *expression)
{
	struct bpf_program program;
	if (pcap_compile(p, &program, expression, 1, PCAP_NETMASK_UNKNOWN) || pcap_setfilter(p, &program))
		fail("filter \"%s\": %s", expression, pcap_geterr(p));
	pcap_freecode(&program);
}

static uint64_t kernel_drops(pcap_t *p)
{
	struct pcap_stat stats = { 0 };
	pcap_stats(p, &stats);
	return stats.ps_drop;
}

static int dispatch(pcap_t *p, int limit, pcap_handler handler, void *user)
{
	int n = pcap_dispatch(p, limit, handler, user);
	if (n < 0) fail("pcap_dispatch: %s", pcap_geterr(p));
	return n;
}

// libpcap has no burst: BURST only says how often the clock is read.
static void transmit(const char *interface, uint32_t len, uint32_t burst, uint64_t period)
{
	pcap_t *p = open_handle(interface, false, false);
	set_filter(p, "less 1"); // receives nothing
	uint8_t frame[MAX_LEN];
	frame_init(frame, len);
	struct sent before = interface_sent(interface);
	struct meter m = { .opened = now_ns() };
	uint64_t refused = 0;
	peer_ready();
	meter_tick(&m);
	while (meter_runs(&m, period)) {
		for (uint32_t i = 0; i < burst || i < 64; i++) {
			frame_number(frame, m.packets);
			if (pcap_inject(p, frame, len) == (int)len) m.packets++;
			else if (errno == ENOBUFS || errno == EAGAIN) refused++;
			else if (errno != EINTR) fail("pcap_inject: %s", pcap_geterr(p));
		}
		m.bytes = m.packets * len;
		meter_tick(&m);
	}
	uint64_t lost = interface_sent(interface).drops - before.drops; // counts most of the refused too
	meter_print(&m, lost > refused ? lost : refused);
	pcap_close(p);
}

static void count_packet(u_char *user, const struct pcap_pkthdr *header, const u_char *bytes)
{
	struct meter *m = (struct meter *)user;
	frame_touch(bytes);
	m->packets++;
	m->bytes += header->len;
}

static void receive(const char *interface, uint64_t period)
{
	pcap_t *p = open_handle(interface, false, true);
	struct pollfd fd = { .fd = pcap_get_selectable_fd(p), .events = POLLIN };
	struct meter m = { .opened = now_ns() };
	peer_ready();
	while (meter_runs(&m, period)) {
		if (dispatch(p, -1, count_packet, &m)) meter_tick(&m);
		else poll(&fd, 1, 20);
	}
	meter_print(&m, kernel_drops(p));
	pcap_close(p);
}

struct direction {
	pcap_t *from, *to;
	struct meter *meter;
	uint64_t refused;
};

static void forward_packet(u_char *user, const struct pcap_pkthdr *header, const u_char *bytes)
{
	struct direction *d = (struct direction *)user;
	if (pcap_inject(d->to, bytes, header->caplen) == (int)header->caplen) {
		d->meter->packets++;
		d->meter->bytes += header->caplen;
	} else {
		d->refused++;
	}
}

static void forward(const char *a, const char *b, bool both)
{
	struct meter m = { .opened = now_ns() };
	pcap_t *pa = open_handle(a, false, true), *pb = open_handle(b, false, true);
	if (!both) set_filter(pb, "less 1");
	struct direction ways[2] = { { pa, pb, &m, 0 }, { pb, pa, &m, 0 } };
	struct pollfd fds[2] = { { .fd = pcap_get_selectable_fd(pa), .events = POLLIN },
		                 { .fd = pcap_get_selectable_fd(pb), .events = POLLIN } };
	peer_ready();
	while (!stopping) {
		int n = dispatch(pa, BURST, forward_packet, (u_char *)&ways[0]);
		if (both) n += dispatch(pb, BURST, forward_packet, (u_char *)&ways[1]);
		if (n) meter_tick(&m);
		else poll(fds, both ? 2 : 1, 100);
	}
	meter_print(&m, kernel_drops(pa) + (both ? kernel_drops(pb) : 0) + ways[0].refused + ways[1].refused);
	pcap_close(pa);
	pcap_close(pb);
}

// A ping is an Ethernet frame of type PING_TYPE: "P" or "R" for reply at byte 14, its number at SEQUENCE_AT.
static void reply_packet(u_char *user, const struct pcap_pkthdr *header, const u_char *bytes)
{
	struct direction *d = (struct direction *)user;
	uint8_t frame[MAX_LEN];
	if (header->caplen > sizeof frame || header->caplen < MIN_LEN || bytes[14] != 'P') return;
	memcpy(frame, bytes, header->caplen);
	memcpy(frame, bytes + 6, 6);
	memcpy(frame + 6, bytes, 6);
	frame[14] = 'R';
	if (pcap_inject(d->to, frame, header->caplen) == (int)header->caplen) d->meter->packets++;
	else d->refused++;
	d->meter->bytes += header->caplen;
}

static void pong(const char *interface)
{
	struct meter m = { .opened = now_ns() };
	pcap_t *p = open_handle(interface, true, true);
	set_filter(p, "ether proto 0x88b5");
	struct direction echo = { p, p, &m, 0 };
	struct pollfd fd = { .fd = pcap_get_selectable_fd(p), .events = POLLIN };
	peer_ready();
	while (!stopping) {
		if (dispatch(p, -1, reply_packet, (u_char *)&echo)) meter_tick(&m);
		else poll(&fd, 1, 100);
	}
	meter_print(&m, kernel_drops(p) + echo.refused);
	pcap_close(p);
}

struct wait { uint64_t number, answered; }; // answered: time of the reply, 0 before it

static void match_reply(u_char *user, const struct pcap_pkthdr *header, const u_char *bytes)
{
	struct wait *w = (struct wait *)user;
	if (header->caplen >= MIN_LEN && bytes[14] == 'R' && !memcmp(bytes + SEQUENCE_AT, &w->number, 8))
		w->answered = now_ns();
}

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

static void ping(const char *interface, uint32_t count, uint32_t len, uint32_t interval_us)
{
	pcap_t *p = open_handle(interface, true, true);
	set_filter(p, "ether proto 0x88b5");
	struct pollfd fd = { .fd = pcap_get_selectable_fd(p), .events = POLLIN };
	uint8_t frame[MAX_LEN];
	frame_init(frame, len);
	frame[12] = PING_TYPE >> 8;
	frame[13] = PING_TYPE & 0xff;
	frame[14] = 'P';
	uint64_t *times = calloc(count, sizeof *times);
	if (!times) fail_os("memory for %u times", count);
	uint32_t answered = 0, asked = 0;
	peer_ready();
	uint64_t opened = now_ns();
	for (uint64_t number = 0; asked < count && !stopping; number++) {
		struct wait w = { .number = number };
		frame_number(frame, number);
		uint64_t sent = now_ns();
		if (pcap_inject(p, frame, len) != (int)len && errno != ENOBUFS) fail("pcap_inject: %s", pcap_geterr(p));
		while (!w.answered && !stopping && now_ns() - sent < REPLY_NS) {
			if (!dispatch(p, -1, match_reply, (u_char *)&w)) poll(&fd, 1, 10);
		}
		if (sent - opened >= WARM_UP_NS && (w.answered || !stopping)) {
			asked++;
			if (w.answered) times[answered++] = w.answered - sent;
		}
		uint64_t next = sent + interval_us * 1000ull;
		struct timespec until = { .tv_sec = (time_t)(next / 1000000000), .tv_nsec = (long)(next % 1000000000) };
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
	}
	qsort(times, answered, sizeof *times, by_size);
#define AT(percent) (answered ? times[(uint64_t)(answered - 1) * (percent) / 100] : 0)
	printf("{\"count\":%u,\"lost\":%u,\"p50_ns\":%" PRIu64 ",\"p90_ns\":%" PRIu64 ",\"p99_ns\":%" PRIu64
	       ",\"min_ns\":%" PRIu64 ",\"max_ns\":%" PRIu64 "}\n",
	       asked, asked - answered, AT(50), AT(90), AT(99), AT(0), AT(100));
	free(times);
	pcap_close(p);
}

int main(int argc, char **argv)
{
	peer_begin("peer-pcap");
	const char *verb = argc > 1 ? argv[1] : "";
	if (argc == 6 && !strcmp(verb, "tx"))
		transmit(argv[2], need_number(argv[3], "LEN", MIN_LEN, MAX_LEN), need_number(argv[4], "BURST", 1, 65536),
		         need_seconds(argv[5]));
	else if (argc == 4 && !strcmp(verb, "rx"))
		receive(argv[2], need_seconds(argv[3]));
	else if (argc == 4 && (!strcmp(verb, "forward") || !strcmp(verb, "forward1")))
		forward(argv[2], argv[3], !strcmp(verb, "forward"));
	else if (argc == 6 && !strcmp(verb, "ping"))
		ping(argv[2], need_number(argv[3], "COUNT", 1, 10000000), need_number(argv[4], "LEN", MIN_LEN, MAX_LEN),
		     need_number(argv[5], "INTERVAL_US", 0, 60000000));
	else if (argc == 3 && !strcmp(verb, "pong"))
		pong(argv[2]);
	else
		fail("usage: peer-pcap tx IF LEN BURST SECONDS | rx IF SECONDS | forward A B | forward1 A B"
		     " | ping IF COUNT LEN INTERVAL_US | pong IF");
}
