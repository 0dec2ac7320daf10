// SPDX-License-Identifier: MIT OR Apache-2.0
//
// AF_PACKET without rings: sendmmsg past the queueing discipline, recvmmsg.
#include "peer.h"

#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <sys/socket.h>

#define MAX_BURST 1024u // UIO_MAXIOV: the kernel takes no more messages per call
#define RX_BURST 256u
#define BUFFER_BYTES (16 << 20)

static uint8_t frames[MAX_BURST][2048] __attribute__((aligned(64)));
static struct iovec parts[MAX_BURST];
static struct mmsghdr messages[MAX_BURST];

static void set(int fd, int level, int option, int value, const char *name)
{
	if (setsockopt(fd, level, option, &value, sizeof value)) fail_os("%s", name);
}

// A raw socket on one interface; protocol 0 receives nothing.
static int open_socket(const char *interface, int protocol, uint32_t len)
{
	int fd = socket(AF_PACKET, SOCK_RAW, 0);
	if (fd < 0) fail_os("socket(AF_PACKET)");
	struct sockaddr_ll address = { .sll_family = AF_PACKET, .sll_protocol = htons((uint16_t)protocol),
		                       .sll_ifindex = (int)need_interface(interface) };
	if (protocol) set(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, 1, "PACKET_IGNORE_OUTGOING");
	if (bind(fd, (struct sockaddr *)&address, sizeof address)) fail_os("bind %s", interface);
	for (uint32_t i = 0; i < MAX_BURST; i++) {
		parts[i] = (struct iovec){ .iov_base = frames[i], .iov_len = len };
		messages[i].msg_hdr = (struct msghdr){ .msg_iov = &parts[i], .msg_iovlen = 1 };
	}
	return fd;
}

static void transmit(const char *interface, uint32_t len, uint32_t burst, uint64_t period)
{
	int fd = open_socket(interface, 0, len);
	set(fd, SOL_PACKET, PACKET_QDISC_BYPASS, 1, "PACKET_QDISC_BYPASS");
	set(fd, SOL_SOCKET, SO_SNDBUFFORCE, BUFFER_BYTES, "SO_SNDBUFFORCE");
	for (uint32_t i = 0; i < burst; i++) frame_init(frames[i], len);
	struct sent before = interface_sent(interface);
	struct meter m = { .opened = now_ns() };
	uint64_t refused = 0;
	peer_ready();
	meter_tick(&m);
	while (meter_runs(&m, period)) {
		for (uint32_t sent = 0; sent < 64; sent += burst) { // a look at the clock per 64 frames or burst
			for (uint32_t i = 0; i < burst; i++) frame_number(frames[i], m.packets + i);
			int n = sendmmsg(fd, messages, burst, 0);
			if (n > 0) m.packets += (uint32_t)n;
			else if (errno == ENOBUFS || errno == EAGAIN) refused++;
			else if (errno != EINTR) fail_os("sendmmsg");
		}
		m.bytes = m.packets * len;
		meter_tick(&m);
	}
	uint64_t lost = interface_sent(interface).drops - before.drops; // counts most of the refused too
	meter_print(&m, lost > refused ? lost : refused);
}

static void receive(const char *interface, uint64_t period)
{
	int fd = open_socket(interface, ETH_P_ALL, sizeof frames[0]);
	set(fd, SOL_SOCKET, SO_RCVBUFFORCE, BUFFER_BYTES, "SO_RCVBUFFORCE");
	struct packet_mreq promiscuous = { .mr_ifindex = (int)need_interface(interface), .mr_type = PACKET_MR_PROMISC };
	if (setsockopt(fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &promiscuous, sizeof promiscuous))
		fail_os("PACKET_ADD_MEMBERSHIP");
	struct timeval wake = { .tv_usec = 20000 };
	if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wake, sizeof wake)) fail_os("SO_RCVTIMEO");
	struct meter m = { .opened = now_ns() };
	peer_ready();
	while (meter_runs(&m, period)) {
		int n = recvmmsg(fd, messages, RX_BURST, MSG_WAITFORONE, NULL);
		if (n < 0 && errno != EAGAIN && errno != EINTR) fail_os("recvmmsg");
		if (n <= 0) continue;
		for (int i = 0; i < n; i++) {
			frame_touch(frames[i]);
			m.bytes += messages[i].msg_len;
		}
		m.packets += (uint32_t)n;
		meter_tick(&m);
	}
	struct tpacket_stats stats = { 0 };
	socklen_t size = sizeof stats;
	getsockopt(fd, SOL_PACKET, PACKET_STATISTICS, &stats, &size);
	meter_print(&m, stats.tp_drops);
}

int main(int argc, char **argv)
{
	peer_begin("peer-socket");
	if (argc == 6 && !strcmp(argv[1], "tx"))
		transmit(argv[2], need_number(argv[3], "LEN", MIN_LEN, MAX_LEN),
		         need_number(argv[4], "BURST", 1, MAX_BURST), need_seconds(argv[5]));
	else if (argc == 4 && !strcmp(argv[1], "rx"))
		receive(argv[2], need_seconds(argv[3]));
	else
		fail("usage: peer-socket tx IF LEN BURST SECONDS | rx IF SECONDS");
}
