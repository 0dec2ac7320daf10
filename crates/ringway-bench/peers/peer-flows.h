// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Sessions, connections and steps of peer-flows, and the sockets under them.
#ifndef PEER_FLOWS_H
#define PEER_FLOWS_H

#include "peer.h"

#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum kind { FTP, HTTP, DNS, KINDS };
static const uint16_t PORTS[KINDS] = { 21, 80, 53 };

// In the order of Ringway's reasons.
enum failure { TIMED_OUT, RESET, MISMATCH, REFUSED, NO_PORT, NO_MEMORY, CHECK, UNREACHABLE, FAILURES };

#define BOTH_WAYS (EPOLLIN | EPOLLOUT | EPOLLRDHUP)

// What became of a step: it waits for an event, it is over, all steps are, or it failed.
enum { WAIT, NEXT, DONE };
#define FAILED(why) (-(int)(why)-1)

enum { CONTROL, DATA, CONNS };

struct session;

// A connection. Events tell when it can be read and written, a call that would block when it can't.
struct conn {
	int fd;
	bool readable, writable;
	enum kind kind;        // of a door, which has no owner
	struct session *owner;
};

struct step {
	enum { SEND, TAKE, TAKE_BODY, SEND_PASSIVE, TAKE_PASSIVE, OPEN_DATA, ACCEPT_DATA, FINISH, TAKE_END, LEAVE, ASK, HEAR, END } op;
	int conn;
	const uint8_t *bytes;
	uint32_t len;
};

// One end of a flow.
struct session {
	const struct step *steps; // NULL while it is free
	uint32_t at, done;        // the step, and bytes of it that are over
	uint32_t id;              // tells a client's flows apart
	uint64_t begun;
	bool is_client, knocked;  // a connection waits at the listener
	struct conn conns[CONNS], listener;
	uint16_t port, listener_port;
	uint8_t line[64];
	struct session *next;
};

struct counts { uint64_t clients, servers, failed[FAILURES]; };

static struct { struct in_addr server; int client_ns, server_ns; } place = { .client_ns = -1, .server_ns = -1 };
static int epoll;

static inline enum failure failure_of(int error)
{
	switch (error) {
	case ECONNREFUSED: return REFUSED;
	case ETIMEDOUT: return TIMED_OUT;
	case EADDRINUSE:
	case EADDRNOTAVAIL: return NO_PORT;
	case ENOMEM:
	case ENOBUFS:
	case EMFILE: return NO_MEMORY;
	case EHOSTUNREACH:
	case ENETUNREACH: return UNREACHABLE;
	default: return RESET;
	}
}

// Sockets made from now on are in that namespace.
static inline void enter(int ns)
{
	if (ns >= 0 && setns(ns, CLONE_NEWNET)) fail_os("setns");
}

static inline int open_namespace(const char *path)
{
	int ns = open(path, O_RDONLY | O_CLOEXEC);
	if (ns < 0) fail_os("%s", path);
	return ns;
}

static inline void watch(struct conn *c, uint32_t events)
{
	struct epoll_event event = { .events = events | EPOLLET, .data.ptr = c };
	if (epoll_ctl(epoll, EPOLL_CTL_ADD, c->fd, &event)) fail_os("epoll_ctl");
}

static inline int new_socket(int type) { return socket(AF_INET, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0); }

static inline bool connect_to(int fd, uint16_t port)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = place.server };
	return !connect(fd, (struct sockaddr *)&to, sizeof to) || errno == EINPROGRESS;
}

// Where a server waits; port 0 is any. What it sends leaves at once, as a server's replies do.
static inline int listen_at(uint16_t port, int type)
{
	struct sockaddr_in here = { .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = place.server };
	int fd = new_socket(type), on = 1, room = 8 << 20;
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on)) fail_os("socket");
	if (bind(fd, (struct sockaddr *)&here, sizeof here)) fail_os("bind to port %u", port);
	if (type == SOCK_DGRAM) setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room);
	else if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) || listen(fd, 4096)) fail_os("listen");
	return fd;
}

static inline uint16_t port_of(int fd)
{
	struct sockaddr_in here;
	socklen_t size = sizeof here;
	if (getsockname(fd, (struct sockaddr *)&here, &size)) fail_os("getsockname");
	return ntohs(here.sin_port);
}

// Packets that the stack took of the network, and segments that it sent again.
struct segments { uint64_t in, repeated; };

static inline void add_segments(struct segments *sum)
{
	char line[1024];
	uint64_t in, repeated;
	FILE *f = fopen("/proc/self/net/snmp", "r");
	if (!f) fail_os("/proc/self/net/snmp");
	while (fgets(line, sizeof line, f)) {
		if (sscanf(line, "Tcp: %*u %*u %*u %*d %*u %*u %*u %*u %*u %" SCNu64 " %*u %" SCNu64, &in, &repeated) == 2)
			sum->in += in, sum->repeated += repeated;
		else if (sscanf(line, "Udp: %" SCNu64, &in) == 1) sum->in += in;
	}
	fclose(f);
}

static inline struct segments read_segments(void)
{
	struct segments sum = { 0, 0 };
	if (place.server_ns >= 0) {
		enter(place.server_ns);
		add_segments(&sum);
		enter(place.client_ns);
	}
	add_segments(&sum);
	return sum;
}

// Has room for so many descriptors, or as many as the limit allows; returns how many.
static inline uint32_t descriptors(uint32_t count)
{
	struct rlimit now, limit = { count, count };
	if (getrlimit(RLIMIT_NOFILE, &now)) fail_os("getrlimit");
	if (now.rlim_max >= count) limit.rlim_max = now.rlim_max;
	if (!setrlimit(RLIMIT_NOFILE, &limit)) return count;
	now.rlim_cur = now.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &now)) fail_os("setrlimit");
	return (uint32_t)now.rlim_max;
}

#endif
