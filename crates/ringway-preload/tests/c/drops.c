// SPDX-License-Identifier: MIT OR Apache-2.0
// More packets than there is room for, and what the statistics say: `drops NEAR FAR BUFFER`.
#include <arpa/inet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netpacket/packet.h>
#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { SENT = 8000 };

static unsigned got;

static void count(u_char *user, const struct pcap_pkthdr *h, const u_char *data) {
	(void)user, (void)h, (void)data;
	got++;
}

int main(int argc, char **argv) {
	char err[PCAP_ERRBUF_SIZE] = "";
	unsigned char f[200] = {2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x88, 0xb5};
	int fd = socket(AF_PACKET, SOCK_RAW, htons(ETH_P_ALL)), buffer = argc > 3 ? atoi(argv[3]) : 0;
	struct sockaddr_ll at = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL)};
	at.sll_ifindex = argc > 2 ? if_nametoindex(argv[2]) : 0;
	pcap_t *p = argc > 2 ? pcap_create(argv[1], err) : NULL;
	if (!p || bind(fd, (struct sockaddr *)&at, sizeof(at)) || pcap_set_buffer_size(p, buffer) || pcap_set_timeout(p, 10) ||
		pcap_set_snaplen(p, 200) || pcap_activate(p) < 0 || pcap_setnonblock(p, 1, err)) {
		printf("%s %s\n", err, p ? pcap_geterr(p) : "");
		return 1;
	}
	for (int sent = 0; sent < SENT;)
		sent += send(fd, f, sizeof(f), 0) == sizeof(f);
	// What is on its way arrives, and libpcap's buffer is handed over also when it is not full.
	struct pcap_stat st;
	for (int i = 0; i < 200 && (i == 0 || got + st.ps_drop < SENT); i++) {
		usleep(i == 0 ? 300000 : 100000);
		while (pcap_dispatch(p, -1, count, NULL) > 0) {}
		pcap_stats(p, &st);
	}
	printf("all received %d, some dropped %d, the rest handed out %d\n", st.ps_recv == SENT, st.ps_drop > 0,
		got + st.ps_drop == st.ps_recv);
	pcap_close(p);
	return 0;
}
