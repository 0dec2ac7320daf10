// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Flows of applications on the system's sockets: clients and servers in one thread, around one epoll.
//
// As many flows as CONCURRENT run at the same time: one that ends makes room for the next. Each end walks through a list of steps. Messages
// are compared byte by byte, files and pages by their length. A flow is complete when both ends saw the other's end of each connection.
// A socket keeps the network namespace that it was made in, so the ends may have one each.
#include "peer-flows-steps.h"

#define TIMEOUT_NS 5000000000ull
#define DRAIN_NS 5000000000ull
#define LOOK_NS 100000000ull
#define EVENTS 256

static struct session *clients, *servers, *free_servers;
static uint32_t client_count, server_count;
static int doors[KINDS];
static struct counts total;
static bool starting = true;

// ---- Sessions

static void forget(struct session *s)
{
	for (int c = 0; c < CONNS; c++)
		if (s->conns[c].fd >= 0) close(s->conns[c].fd); // epoll forgets it too
	s->steps = NULL;
	if (!s->is_client) {
		s->next = free_servers;
		free_servers = s;
	}
}

static void end_with(struct session *s, enum failure why)
{
	total.failed[why]++;
	forget(s);
}

static void run(struct session *s)
{
	for (;;) {
		int outcome = step(s, &s->steps[s->at]);
		if (outcome == WAIT) return;
		if (outcome < 0) return end_with(s, (enum failure)(-outcome - 1));
		if (outcome == DONE) break;
		s->at++;
		s->done = 0;
	}
	if (s->is_client) total.clients++;
	else total.servers++;
	forget(s);
}

static void begin(struct session *s, const struct step *steps, int fd, uint32_t events)
{
	s->steps = steps;
	s->at = s->done = 0;
	s->begun = now_ns();
	s->knocked = false;
	s->conns[CONTROL] = (struct conn){ .fd = fd, .writable = !s->is_client, .owner = s };
	s->conns[DATA] = (struct conn){ .fd = -1, .owner = s };
	watch(&s->conns[CONTROL], events);
}

static void start_flow(struct session *s)
{
	enum kind kind = next_kind();
	int fd = new_socket(kind == DNS ? SOCK_DGRAM : SOCK_STREAM);
	if (fd < 0) {
		total.failed[failure_of(errno)]++;
		return;
	}
	s->id++;
	begin(s, scripts[kind].client, fd, kind == DNS ? EPOLLIN : BOTH_WAYS);
	if (!connect_to(fd, PORTS[kind])) end_with(s, failure_of(errno));
	else if (kind == DNS) run(s);
}

static void welcome(enum kind kind)
{
	int fd;
	while ((fd = accept4(doors[kind], NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
		struct session *s = free_servers;
		if (!s) {
			total.failed[NO_MEMORY]++;
			close(fd);
			continue;
		}
		free_servers = s->next;
		begin(s, scripts[kind].server, fd, BOTH_WAYS);
		run(s);
	}
}

// The server of datagrams has one socket and no sessions.
static void resolve(void)
{
	uint8_t asked[512], told[600];
	struct sockaddr_in from;
	socklen_t size = sizeof from;
	ssize_t n;
	while ((n = recvfrom(doors[DNS], asked, sizeof asked, 0, (struct sockaddr *)&from, &size)) >= 0) {
		uint32_t len = n < 34 ? 0 : answer(told, asked, (uint32_t)n);
		if (!len) total.failed[MISMATCH]++;
		else if (sendto(doors[DNS], told, len, 0, (struct sockaddr *)&from, size) < 0) total.failed[failure_of(errno)]++;
		else total.servers++;
	}
}

// ---- The loop

static void handle(const struct epoll_event *event)
{
	struct conn *c = event->data.ptr;
	struct session *s = c->owner;
	if (!s) {
		if (c->kind == DNS) resolve();
		else welcome(c->kind);
		return;
	}
	if (!s->steps) return; // it ended with an event before this one
	if (c == &s->listener) s->knocked = true;
	if (event->events & ~(uint32_t)EPOLLOUT) c->readable = true;
	if (event->events & EPOLLOUT) c->writable = true;
	run(s);
}

static uint32_t running(void)
{
	uint32_t n = 0;
	for (uint32_t k = 0; k < client_count; k++) n += clients[k].steps != NULL;
	return n;
}

// Ends of flows that wait for too long fail. A client's end comes first, and its server hears of it.
static void end_stuck(uint64_t now)
{
	for (uint32_t k = 0; k < client_count; k++)
		if (clients[k].steps && now - clients[k].begun > TIMEOUT_NS) end_with(&clients[k], TIMED_OUT);
	for (uint32_t k = 0; k < server_count; k++)
		if (servers[k].steps && now - servers[k].begun > 2 * TIMEOUT_NS) end_with(&servers[k], TIMED_OUT);
}

static void turn(void)
{
	struct epoll_event events[EVENTS];
	for (uint32_t k = 0; starting && k < client_count; k++)
		if (!clients[k].steps) start_flow(&clients[k]);
	int n = epoll_wait(epoll, events, EVENTS, 10);
	for (int k = 0; k < n; k++) handle(&events[k]);
}

// Turns until that time, or until nothing runs any more.
static void turns_until(uint64_t end)
{
	uint64_t looked = now_ns(), now;
	do {
		turn();
		now = now_ns();
		if (now - looked > LOOK_NS) {
			looked = now;
			end_stuck(now);
		}
	} while (!stopping && now < end && (starting || running()));
}

static void measure(uint64_t period)
{
	turns_until(now_ns() + WARM_UP_NS);
	uint64_t start = now_ns();
	struct counts before = total;
	struct segments sent_before = read_segments();
	turns_until(start + period);
	uint64_t end = now_ns();
	struct counts after = total;
	struct segments sent = read_segments();
	starting = false;
	turns_until(now_ns() + DRAIN_NS);
	uint64_t at_clients = after.clients - before.clients, at_servers = after.servers - before.servers;
	printf("{\"flows\":%" PRIu64 ",\"packets\":%" PRIu64 ",\"retransmitted\":%" PRIu64 ",\"seconds\":%.6f,\"unfinished\":%u,\"failed\":[",
	       at_clients < at_servers ? at_clients : at_servers, sent.in - sent_before.in, sent.repeated - sent_before.repeated,
	       (double)(end - start) / 1e9, running());
	for (int k = 0; k < FAILURES; k++) printf("%s%" PRIu64, k ? "," : "", total.failed[k]);
	puts("]}");
	fflush(stdout);
}

static void set_up_servers(void)
{
	static struct conn at_doors[KINDS];
	enter(place.server_ns);
	for (enum kind kind = 0; kind < KINDS; kind++) {
		doors[kind] = listen_at(PORTS[kind], kind == DNS ? SOCK_DGRAM : SOCK_STREAM);
		at_doors[kind] = (struct conn){ .fd = doors[kind], .kind = kind };
		watch(&at_doors[kind], EPOLLIN);
	}
	for (uint32_t k = 0; k < server_count; k++) {
		struct session *s = &servers[k];
		s->listener = (struct conn){ .fd = listen_at(0, SOCK_STREAM), .owner = s };
		s->listener_port = port_of(s->listener.fd);
		watch(&s->listener, EPOLLIN);
		s->next = free_servers;
		free_servers = s;
	}
	enter(place.client_ns);
}

static void set_up(uint32_t concurrent)
{
	client_count = concurrent;
	server_count = 2 * concurrent; // a server may end a little later than its client
	uint32_t files = 8 * concurrent + 64;
	if (descriptors(files) < files) fail("%u flows need %u open files: raise the limit (ulimit -n)", concurrent, files);
	clients = calloc(client_count, sizeof *clients);
	servers = calloc(server_count, sizeof *servers);
	epoll = epoll_create1(EPOLL_CLOEXEC);
	if (!clients || !servers || epoll < 0) fail_os("no room for %u flows", concurrent);
	for (uint32_t k = 0; k < client_count; k++) clients[k].is_client = true, clients[k].id = k << 16;
	set_up_servers();
}

int main(int argc, char **argv)
{
	peer_begin("peer-flows");
	if (argc != 7 && argc != 8) fail("usage: peer-flows ftp|http|dns|mix FILE PAGE CONCURRENT SECONDS SERVER [NAMESPACE]");
	if (!inet_aton(argv[6], &place.server)) fail("\"%s\" is no address", argv[6]);
	if (argc == 8) {
		place.client_ns = open_namespace("/proc/self/ns/net");
		place.server_ns = open_namespace(argv[7]);
	}
	choose_kinds(argv[1]);
	write_scripts(need_number(argv[2], "FILE", 1, 1 << 20), need_number(argv[3], "PAGE", 1, 1 << 20));
	set_up(need_number(argv[4], "CONCURRENT", 1, 10000));
	uint64_t period = need_seconds(argv[5]);
	peer_ready();
	measure(period);
}
