// SPDX-License-Identifier: MIT OR Apache-2.0
// Prints the data that libpcap exports.
#include <pcap/pcap.h>
#include <stdio.h>

struct eproto {
	const char *s;
	unsigned short p;
};
extern struct eproto eproto_db[];
extern char pcap_version[];

int main(void) {
	puts(pcap_version);
	for (struct eproto *e = eproto_db; e->s; e++)
		printf("%s %x\n", e->s, e->p);
	return 0;
}
