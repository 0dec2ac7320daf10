// SPDX-License-Identifier: MIT OR Apache-2.0
// Sends without end, or COUNT packets, and captures what comes meanwhile: `flood DEVICE [COUNT]`.
#include <errno.h>
#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>

static void ignore(u_char *user, const struct pcap_pkthdr *h, const u_char *data) {
	(void)user, (void)h, (void)data;
}

int main(int argc, char **argv) {
	char err[PCAP_ERRBUF_SIZE] = "";
	unsigned char frame[200] = {255, 255, 255, 255, 255, 255, 2, 0, 0, 0, 0, 1, 0x88, 0xb5};
	unsigned long count = argc > 2 ? strtoul(argv[2], NULL, 10) : -1UL;
	pcap_t *p = pcap_open_live(argc > 1 ? argv[1] : "", 65535, 1, 10, err);
	struct bpf_program prog;
	if (!p) {
		fprintf(stderr, "%s\n", err);
		return 1;
	}
	if (pcap_setnonblock(p, 1, err) || pcap_compile(p, &prog, "not udp", 1, 0) || pcap_setfilter(p, &prog)) {
		pcap_perror(p, err);
		return 1;
	}
	pcap_freecode(&prog);
	puts("ready");
	fflush(stdout);
	for (unsigned long i = 0; i < count; i++) {
		if ((pcap_inject(p, frame, sizeof(frame)) < 0 && errno != ENOBUFS) || pcap_dispatch(p, -1, ignore, NULL) < 0) {
			pcap_perror(p, argv[1]);
			return 1;
		}
	}
	pcap_close(p);
	return 0;
}
