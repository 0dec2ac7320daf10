// SPDX-License-Identifier: MIT OR Apache-2.0
// Opens devices both ways and prints the results: `opens DEVICE...`.
#include <pcap/pcap.h>
#include <stdio.h>

int main(int argc, char **argv) {
	for (int i = 1; i < argc; i++) {
		char err[PCAP_ERRBUF_SIZE] = "";
		pcap_t *p = pcap_create(argv[i], err);
		if (p) {
			pcap_set_promisc(p, 1);
			int status = pcap_activate(p);
			printf("%d %s: %s\n", status, pcap_statustostr(status), pcap_geterr(p));
			pcap_close(p);
		} else {
			printf("not created: %s\n", err);
		}
		err[0] = 0;
		p = pcap_open_live(argv[i], 100, 1, 10, err);
		printf("%s\n", p ? "opened" : err);
		if (p)
			pcap_close(p);
	}
	pcap_if_t *all = NULL;
	char err[PCAP_ERRBUF_SIZE] = "";
	printf("%d %d %s\n", pcap_findalldevs(&all, err), all != NULL, err);
	pcap_freealldevs(all);
	return 0;
}
