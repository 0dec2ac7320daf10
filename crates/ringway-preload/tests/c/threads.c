// SPDX-License-Identifier: MIT OR Apache-2.0
// One handle in several threads, `threads NEAR FAR`. One thread loops, others send, count, change the filter and break. They end when
// all that was sent to the handle has come, or half a minute is over.
#include <net/ethernet.h>
#include <net/if.h>
#include <netpacket/packet.h>
#include <arpa/inet.h>
#include <pcap/pcap.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 300 };

static pcap_t *p;
static int far;
static atomic_uint got, broken, failed;
static atomic_int stop;

static void count(u_char *user, const struct pcap_pkthdr *h, const u_char *data) {
	(void)user, (void)h;
	if (data[12] == 0x88 && data[13] == 0xb5)
		got++;
}

static void *read_all(void *nothing) {
	while (!stop) {
		int end = pcap_loop(p, -1, count, NULL);
		broken += end == PCAP_ERROR_BREAK;
		failed += end != PCAP_ERROR_BREAK;
	}
	return nothing;
}

static void *send_out(void *nothing) {
	unsigned char f[60] = {2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xb6};
	for (int i = 0; i < ROUNDS; i++)
		failed += pcap_inject(p, f, sizeof(f)) != sizeof(f);
	return nothing;
}

static void *send_in(void *nothing) {
	unsigned char f[60] = {2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x88, 0xb5};
	for (int i = 0; i < ROUNDS; i++) {
		failed += send(far, f, sizeof(f), 0) != sizeof(f);
		usleep(100);
	}
	return nothing;
}

static void *change(void *nothing) {
	static const char *const filters[] = {"", "ether proto 0x88b5", "not ip"};
	for (int i = 0; i < ROUNDS; i++) {
		struct bpf_program prog;
		struct pcap_stat st;
		failed += pcap_compile(p, &prog, filters[i % 3], 1, 0) || pcap_setfilter(p, &prog) || pcap_stats(p, &st);
		pcap_freecode(&prog);
		pcap_geterr(p);
		if (i % 10 == 0)
			pcap_breakloop(p);
		usleep(100);
	}
	return nothing;
}

int main(int argc, char **argv) {
	char err[PCAP_ERRBUF_SIZE] = "";
	if (argc < 3)
		return 2;
	far = socket(AF_PACKET, SOCK_RAW, htons(ETH_P_ALL));
	struct sockaddr_ll at = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL), .sll_ifindex = if_nametoindex(argv[2])};
	p = pcap_create(argv[1], err);
	if (bind(far, (struct sockaddr *)&at, sizeof(at)) || !p || pcap_set_immediate_mode(p, 1) || pcap_activate(p)) {
		puts(err);
		return 1;
	}
	void *(*const work[])(void *) = {read_all, send_out, send_in, change};
	pthread_t threads[4];
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, work[i], NULL);
	for (int i = 1; i < 4; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; got < ROUNDS && i < 3000; i++)
		usleep(10000);
	stop = 1;
	pcap_breakloop(p);
	pthread_join(threads[0], NULL);
	pcap_close(p);
	printf("%u packets, broken %d, failed %u\n", got, broken > 0, failed);
	return 0;
}
