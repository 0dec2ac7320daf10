// SPDX-License-Identifier: MIT OR Apache-2.0
// A daemon: `daemon PORT` sends three packets close to each other. It goes on in a child while its first process ends, and sends
// three more. Then it sends what it receives, once.
#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void send_three(pcap_t *p, unsigned char first) {
	unsigned char packet[60];
	for (unsigned char n = first; n < first + 3; n++) {
		memset(packet, 0xff, 6);
		memcpy(packet + 6, "\2\0\0\0\0\1\x88\xb5", 8);
		memset(packet + 14, n, sizeof(packet) - 14);
		if (pcap_inject(p, packet, sizeof(packet)) != sizeof(packet))
			pcap_perror(p, "inject");
	}
}

int main(int argc, char **argv) {
	char err[PCAP_ERRBUF_SIZE];
	pcap_t *p = argc == 2 ? pcap_open_live(argv[1], 65535, 1, 10, err) : NULL;
	if (!p) {
		fprintf(stderr, "%s\n", err);
		return 1;
	}
	send_three(p, 1);
	pid_t parent = getpid();
	if (fork() > 0)
		exit(0);
	while (getppid() == parent)
		usleep(1000);
	send_three(p, 4);
	struct pcap_pkthdr *header;
	const unsigned char *packet;
	int got;
	while ((got = pcap_next_ex(p, &header, &packet)) == 0)
		;
	if (got == 1)
		pcap_inject(p, packet, header->caplen);
	printf("%d\n", got);
	pcap_close(p);
	return 0;
}
