// SPDX-License-Identifier: MIT OR Apache-2.0
// `handler DEVICE`: reads by libpcap while a signal handler sends 5000 frames by a packet socket, as hping3 does.
#include <arpa/inet.h>
#include <net/if.h>
#include <netpacket/packet.h>
#include <pcap/pcap.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

static int sender;
static volatile sig_atomic_t sent, failed;
static long seen;

static void send_one(int signal) {
	(void)signal;
	unsigned char frame[60] = "\xff\xff\xff\xff\xff\xff\2\0\0\0\0\1\x88\xb5";
	if (sent == 5000)
		return;
	if (send(sender, frame, sizeof(frame), 0) != sizeof(frame))
		failed++;
	sent++;
}

static void count(unsigned char *user, const struct pcap_pkthdr *header, const unsigned char *frame) {
	(void)user, (void)header, (void)frame;
	seen++;
}

int main(int argc, char **argv) {
	char err[PCAP_ERRBUF_SIZE] = "no device";
	pcap_t *p = argc == 2 ? pcap_open_live(argv[1], 65535, 1, 1, err) : NULL;
	if (!p) {
		fprintf(stderr, "%s\n", err);
		return 1;
	}
	struct sockaddr_ll at = {.sll_family = AF_PACKET, .sll_ifindex = if_nametoindex(argv[1])};
	sender = socket(AF_PACKET, SOCK_RAW, 0);
	if (bind(sender, (struct sockaddr *)&at, sizeof(at))) {
		perror("bind");
		return 1;
	}
	struct sigaction action = {.sa_handler = send_one, .sa_flags = SA_RESTART};
	sigaction(SIGALRM, &action, NULL);
	struct itimerval each = {{0, 100}, {0, 100}};
	setitimer(ITIMER_REAL, &each, NULL);
	while (sent < 5000)
		if (pcap_dispatch(p, -1, count, NULL) < 0) {
			pcap_perror(p, "dispatch");
			return 1;
		}
	memset(&each, 0, sizeof(each));
	setitimer(ITIMER_REAL, &each, NULL);
	printf("sent %d, failed %d, %s\n", (int)sent, (int)failed, seen > 0 ? "some seen" : "none seen");
	pcap_close(p);
	return 0;
}
