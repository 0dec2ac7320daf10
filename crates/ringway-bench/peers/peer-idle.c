// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Memory of open TCP connections on the system's sockets: what the kernel's slabs and the program have more than before, once each connection
// has exchanged a message each way. Both ends are here, each watched by an epoll. All slabs of the machine count, so other programs do too.
// There are fewer connections than asked for where the limit of open files is lower.
#include "peer-flows.h"

#define PORT 7
#define OF_A_PORT 40000u // fewer connections than ports of a client's address

static const char HELLO[] = "hello\r\n";

// The number behind a name in a file of /proc, in bytes.
static uint64_t memory_of(const char *file, const char *name)
{
	char line[256];
	uint64_t kib = 0;
	FILE *f = fopen(file, "r");
	if (!f) fail_os("%s", file);
	while (fgets(line, sizeof line, f))
		if (!strncmp(line, name, strlen(name)) && sscanf(line + strlen(name), ": %" SCNu64 " kB", &kib) == 1) break;
	fclose(f);
	if (!kib) fail("%s has no %s", file, name);
	return kib << 10;
}

static void exchange(int from, int to)
{
	char heard[sizeof HELLO];
	size_t len = sizeof HELLO - 1;
	if (send(from, HELLO, len, MSG_NOSIGNAL) != (ssize_t)len) fail_os("send");
	if (recv(to, heard, len, MSG_WAITALL) != (ssize_t)len || memcmp(heard, HELLO, len)) fail_os("recv");
}

static void watch_end(int fd)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLET, .data.fd = fd };
	if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event)) fail_os("epoll_ctl");
}

static void open_connection(int listener, uint16_t port)
{
	int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = place.server };
	if (client < 0 || connect(client, (struct sockaddr *)&to, sizeof to)) fail_os("connect to port %u", port);
	struct pollfd one = { .fd = listener, .events = POLLIN };
	int server = -1;
	while (server < 0 && poll(&one, 1, 5000) > 0) server = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	if (server < 0) fail_os("accept at port %u", port);
	exchange(client, server);
	exchange(server, client);
	watch_end(client);
	watch_end(server);
}

int main(int argc, char **argv)
{
	peer_begin("peer-idle");
	if (argc != 3 && argc != 4) fail("usage: peer-idle CONNECTIONS SERVER [NAMESPACE]");
	uint32_t connections = need_number(argv[1], "CONNECTIONS", 1, 500000);
	if (!inet_aton(argv[2], &place.server)) fail("\"%s\" is no address", argv[2]);
	if (argc == 4) {
		place.client_ns = open_namespace("/proc/self/ns/net");
		place.server_ns = open_namespace(argv[3]);
	}
	uint32_t files = descriptors(2 * connections + 64);
	if (files < 2 * connections + 64) connections = (files - 64) / 2;
	if ((epoll = epoll_create1(EPOLL_CLOEXEC)) < 0) fail_os("epoll_create1");
	peer_ready();
	uint64_t kernel = memory_of("/proc/meminfo", "Slab"), own = memory_of("/proc/self/status", "VmRSS");
	int listener = -1;
	uint32_t n = 0;
	for (; n < connections && !stopping; n++) {
		uint16_t port = (uint16_t)(PORT + n / OF_A_PORT);
		if (n % OF_A_PORT == 0) {
			enter(place.server_ns);
			listener = listen_at(port, SOCK_STREAM);
			enter(place.client_ns);
		}
		open_connection(listener, port);
	}
	uint64_t kernel_now = memory_of("/proc/meminfo", "Slab"), own_now = memory_of("/proc/self/status", "VmRSS");
	printf("{\"connections\":%u,\"kernel_bytes\":%" PRId64 ",\"own_bytes\":%" PRId64 "}\n", n, (int64_t)(kernel_now - kernel),
	       (int64_t)(own_now - own));
	fflush(stdout);
}
