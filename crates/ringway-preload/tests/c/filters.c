// SPDX-License-Identifier: MIT OR Apache-2.0
// Run as `filters DEVICE EXPRESSIONS`: for each line of the file EXPRESSIONS, prints how many packets of DEVICE match, and a sum
// of which they are. DEVICE is opened as a savefile if there is a file of that name, else live.
#include <pcap/pcap.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static unsigned long count, bytes, sum;

static void match(u_char *user, const struct pcap_pkthdr *h, const u_char *data) {
	(void)user;
	count++;
	bytes += h->caplen;
	for (bpf_u_int32 i = 0; i < h->caplen; i++)
		sum = sum * 31 + data[i];
}

int main(int argc, char **argv) {
	char err[PCAP_ERRBUF_SIZE], line[4096];
	if (argc != 3)
		return 2;
	int saved = access(argv[1], R_OK) == 0;
	FILE *expressions = fopen(argv[2], "r");
	while (fgets(line, sizeof(line), expressions)) {
		line[strcspn(line, "\n")] = 0;
		pcap_t *p = saved ? pcap_open_offline(argv[1], err) : pcap_open_live(argv[1], 262144, 0, 100, err);
		if (!p)
			return puts(err), 1;
		struct bpf_program prog;
		if (pcap_compile(p, &prog, line, 1, 0xffffff00)) {
			printf("%s: %s\n", line, pcap_geterr(p));
			pcap_close(p);
			continue;
		}
		int set = pcap_setfilter(p, &prog);
		pcap_freecode(&prog);
		count = bytes = sum = 0;
		int done = pcap_loop(p, -1, match, NULL);
		printf("%s: %d %d %lu packets of %lu bytes, %lx\n", line, set, done, count, bytes, sum);
		pcap_close(p);
	}
	return 0;
}
