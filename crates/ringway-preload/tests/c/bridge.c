// SPDX-License-Identifier: MIT OR Apache-2.0
// A bridge written to libpcap and nothing else: `bridge A B` sends what A receives by B, and the other way round, until a signal.
#include <pcap/pcap.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>

static volatile sig_atomic_t stopped;

static void stop(int s) {
	(void)s;
	stopped = 1;
}

static pcap_t *open_port(const char *name) {
	char err[PCAP_ERRBUF_SIZE];
	pcap_t *p = pcap_create(name, err);
	if (!p || pcap_set_snaplen(p, 65535) || pcap_set_promisc(p, 1) || pcap_set_immediate_mode(p, 1) || pcap_activate(p) < 0) {
		fprintf(stderr, "%s: %s\n", name, p ? pcap_geterr(p) : err);
		return NULL;
	}
	pcap_setdirection(p, PCAP_D_IN);
	pcap_setnonblock(p, 1, err);
	return p;
}

static void forward(u_char *to, const struct pcap_pkthdr *h, const u_char *data) {
	if (pcap_inject((pcap_t *)to, data, h->caplen) < 0)
		pcap_perror((pcap_t *)to, "inject");
}

int main(int argc, char **argv) {
	if (argc != 3)
		return 2;
	pcap_t *a = open_port(argv[1]), *b = open_port(argv[2]);
	if (!a || !b)
		return 1;
	signal(SIGINT, stop);
	signal(SIGTERM, stop);
	struct pollfd fds[] = {{pcap_get_selectable_fd(a), POLLIN, 0}, {pcap_get_selectable_fd(b), POLLIN, 0}};
	puts("ready");
	fflush(stdout);
	while (!stopped) {
		poll(fds, 2, 1000);
		if (pcap_dispatch(a, -1, forward, (u_char *)b) < 0 || pcap_dispatch(b, -1, forward, (u_char *)a) < 0)
			return 1;
	}
	struct pcap_stat sa, sb;
	pcap_stats(a, &sa);
	pcap_stats(b, &sb);
	printf("%u %u %u %u\n", sa.ps_recv, sa.ps_drop, sb.ps_recv, sb.ps_drop);
	pcap_close(a);
	pcap_close(b);
	return 0;
}
