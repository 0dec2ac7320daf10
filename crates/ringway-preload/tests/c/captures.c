// SPDX-License-Identifier: MIT OR Apache-2.0
// Reads captures: `captures offline FILE...` savefiles, `captures live FILE...` the same files through ports that replay them.
// Prints for each file and filter how many packets there are, and a digest of their bytes. A line on standard error says what a
// port does not replay. A port has no lengths from before a capture cut its packets, so no filter here looks at them; libpcap also cuts
// records that are longer than their file says.
#include <pcap/pcap.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static const char *const filters[] = {
	"", "not arp", "tcp or udp", "ip6 or vlan or mpls", "ip[6:2] & 0x1fff = 0 and not (dst port 53 or icmp[0] = 8)",
	"ether[20:4] & 0xff00ff00 != 0 or (ip6 and ip6[6] = 17)",
};

struct sum {
	unsigned packets;
	uint64_t digest;
};

static void add(u_char *user, const struct pcap_pkthdr *h, const u_char *data) {
	struct sum *sum = (struct sum *)user;
	sum->packets++;
	for (bpf_u_int32 i = 0; i < h->caplen; i++)
		sum->digest = (sum->digest ^ data[i]) * 0x100000001b3;
}

static void read_all(pcap_t *p, const char *file, const char *filter) {
	struct bpf_program prog;
	struct sum sum = {0, 0xcbf29ce484222325};
	printf("%s '%s': ", file, filter);
	if (pcap_compile(p, &prog, filter, 1, 0)) {
		printf("%s\n", pcap_geterr(p));
		return;
	}
	int set = pcap_setfilter(p, &prog), end = pcap_loop(p, -1, add, (u_char *)&sum);
	pcap_freecode(&prog);
	printf("%d %d %u %016llx\n", set, end, sum.packets, (unsigned long long)sum.digest);
	if (end < 0)
		fprintf(stderr, "%s: %s\n", file, pcap_geterr(p));
}

int main(int argc, char **argv) {
	int live = argc > 1 && !strcmp(argv[1], "live");
	for (int i = 2; i < argc; i++) {
		for (size_t k = 0; k < sizeof(filters) / sizeof(*filters); k++) {
			char errbuf[PCAP_ERRBUF_SIZE] = "", port[4096];
			snprintf(port, sizeof(port), "pcap:%s@top", argv[i]);
			pcap_t *p = pcap_open_offline(argv[i], errbuf);
			if (p && live) {
				int longest = pcap_snapshot(p);
				pcap_close(p);
				p = pcap_open_live(port, longest, 0, 0, errbuf);
			}
			if (p) {
				read_all(p, argv[i], filters[k]);
				pcap_close(p);
			} else {
				printf("%s: not open\n", argv[i]);
				fprintf(stderr, "%s: %s\n", argv[i], errbuf);
				break;
			}
		}
	}
	return 0;
}
