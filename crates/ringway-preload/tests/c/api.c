// SPDX-License-Identifier: MIT OR Apache-2.0
// What libpcap's functions return on a live device, printed line by line. Run as `api NEAR FAR` with the two ends of a veth pair:
// the program captures on NEAR, and sends what it wants to receive through a packet socket on FAR. The output has no times and no
// numbers that differ between two right implementations. With a third argument it goes on to what libpcap leaves open.
#include <errno.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netpacket/packet.h>
#include <pcap/pcap.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <arpa/inet.h>
#include <time.h>
#include <unistd.h>

static const char *near;
static int far;
static pcap_t *current;
static int seen, stop_after;
static char errbuf[PCAP_ERRBUF_SIZE];

#define SHOW(call) printf("  %s = %d\n", #call, (int)(call))
#define SHOW_ERR(p, call) (printf("  %s = %d", #call, (int)(call)), printf(" \"%s\"\n", pcap_geterr(p)))

static int open_far(const char *name) {
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK, htons(ETH_P_ALL));
	struct sockaddr_ll at = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL), .sll_ifindex = if_nametoindex(name)};
	if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at))) {
		perror(name);
		exit(1);
	}
	return fd;
}

// A UDP packet to that port, numbered by its last byte.
static void send_udp(int port, int number) {
	unsigned char f[60] = {2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0, 0x45, 0, 0, 46, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2,
		0, 9, port >> 8, port & 255, 0, 26};
	f[59] = number;
	if (send(far, f, sizeof(f), 0) != sizeof(f))
		perror("send");
}

static void send_many(int n) {
	for (int i = 0; i < n; i++)
		send_udp(7, i);
}

static pcap_t *open_near(int timeout, int immediate) {
	pcap_t *p = pcap_create(near, errbuf);
	pcap_set_snaplen(p, 65535);
	pcap_set_promisc(p, 1);
	pcap_set_timeout(p, timeout);
	pcap_set_immediate_mode(p, immediate);
	int status = pcap_activate(p);
	if (status < 0) {
		printf("activate: %d %s\n", status, pcap_geterr(p));
		exit(1);
	}
	return p;
}

static int readable(int fd, int ms) {
	struct pollfd f = {.fd = fd, .events = POLLIN};
	return poll(&f, 1, ms);
}

static void got(u_char *user, const struct pcap_pkthdr *h, const u_char *data) {
	printf("  got %s caplen %u len %u number %d\n", (char *)user, h->caplen, h->len, data[h->caplen - 1]);
	if (++seen == stop_after)
		pcap_breakloop(current);
}

// What there is without waiting for more.
static int at_once(pcap_t *p, const char *what) {
	pcap_setnonblock(p, 1, errbuf);
	int n = pcap_dispatch(p, -1, got, (u_char *)what);
	pcap_setnonblock(p, 0, errbuf);
	return n;
}

static void inactive(void) {
	puts("inactive");
	pcap_t *p = pcap_create(near, errbuf);
	struct pcap_stat st;
	struct pcap_pkthdr *h;
	const u_char *data;
	int *list;
	struct bpf_program prog;
	SHOW(pcap_datalink(p));
	SHOW(pcap_datalink_ext(p));
	SHOW(pcap_snapshot(p));
	SHOW(pcap_is_swapped(p));
	SHOW(pcap_major_version(p));
	SHOW(pcap_minor_version(p));
	SHOW(pcap_bufsize(p));
	SHOW(pcap_fileno(p));
	SHOW(pcap_get_selectable_fd(p));
	SHOW(pcap_file(p) == NULL);
	SHOW(pcap_get_tstamp_precision(p));
	SHOW(pcap_get_required_select_timeout(p) == NULL);
	SHOW_ERR(p, pcap_stats(p, &st));
	SHOW_ERR(p, pcap_dispatch(p, 1, got, NULL));
	SHOW_ERR(p, pcap_loop(p, 1, got, NULL));
	SHOW_ERR(p, pcap_next_ex(p, &h, &data));
	SHOW_ERR(p, pcap_inject(p, "", 1));
	SHOW_ERR(p, pcap_setdirection(p, PCAP_D_IN));
	SHOW_ERR(p, pcap_set_datalink(p, 1));
	SHOW_ERR(p, pcap_list_datalinks(p, &list));
	SHOW_ERR(p, pcap_compile(p, &prog, "tcp", 1, 0));
	memset(&prog, 0, sizeof(prog));
	SHOW_ERR(p, pcap_setfilter(p, &prog));
	SHOW_ERR(p, pcap_dump_open(p, "/dev/null") == NULL);
	errbuf[0] = 0;
	SHOW(pcap_getnonblock(p, errbuf));
	printf("  \"%s\"\n", errbuf);
	SHOW(pcap_setnonblock(p, 1, errbuf));
	printf("  \"%s\"\n", errbuf);
	SHOW(pcap_can_set_rfmon(p));
	SHOW(pcap_set_snaplen(p, -5));
	SHOW(pcap_set_buffer_size(p, -1));
	SHOW(pcap_set_timeout(p, 10));
	SHOW(pcap_set_promisc(p, 7));
	SHOW(pcap_set_tstamp_type(p, PCAP_TSTAMP_HOST));
	SHOW(pcap_set_tstamp_type(p, 77));
	SHOW(pcap_set_tstamp_precision(p, 5));
	SHOW(pcap_set_tstamp_precision(p, PCAP_TSTAMP_PRECISION_NANO));
	SHOW(pcap_get_tstamp_precision(p));
	SHOW(pcap_set_protocol_linux(p, 0));
	SHOW(pcap_activate(p));
	SHOW(pcap_getnonblock(p, errbuf));
	SHOW(pcap_dispatch(p, 1, got, NULL));
	SHOW(pcap_snapshot(p));
	SHOW(pcap_get_tstamp_precision(p));
	SHOW_ERR(p, pcap_activate(p));
	SHOW_ERR(p, pcap_set_snaplen(p, 100));
	SHOW_ERR(p, pcap_set_promisc(p, 1));
	SHOW_ERR(p, pcap_set_timeout(p, 1));
	SHOW_ERR(p, pcap_set_rfmon(p, 1));
	SHOW_ERR(p, pcap_can_set_rfmon(p));
	SHOW_ERR(p, pcap_set_immediate_mode(p, 1));
	SHOW_ERR(p, pcap_set_buffer_size(p, 1));
	SHOW_ERR(p, pcap_set_tstamp_precision(p, 0));
	SHOW_ERR(p, pcap_set_tstamp_type(p, 0));
	SHOW_ERR(p, pcap_set_protocol_linux(p, 0));
	pcap_close(p);
	p = pcap_create(near, errbuf);
	SHOW(pcap_set_rfmon(p, 1));
	SHOW_ERR(p, pcap_activate(p));
	pcap_close(p);
}

static void properties(void) {
	puts("properties");
	pcap_t *p = open_near(10, 1);
	int *list = NULL, n = pcap_list_datalinks(p, &list);
	printf("  datalinks %d: %d %d\n", n, list[0], list[1]);
	pcap_free_datalinks(list);
	n = pcap_list_tstamp_types(p, &list);
	printf("  timestamp types: %d, the first %d\n", n > 0, list[0]);
	pcap_free_tstamp_types(list);
	SHOW(pcap_datalink(p));
	SHOW(pcap_datalink_ext(p));
	SHOW(pcap_snapshot(p));
	SHOW(pcap_is_swapped(p));
	SHOW(pcap_major_version(p));
	SHOW(pcap_minor_version(p));
	SHOW(pcap_bufsize(p) > 0);
	SHOW(pcap_fileno(p) >= 0);
	SHOW(pcap_get_selectable_fd(p) >= 0);
	SHOW(pcap_file(p) == NULL);
	SHOW(pcap_get_required_select_timeout(p) == NULL);
	SHOW_ERR(p, pcap_set_datalink(p, DLT_RAW));
	SHOW_ERR(p, pcap_set_datalink(p, 9999));
	SHOW(pcap_set_datalink(p, DLT_EN10MB));
	SHOW(pcap_setdirection(p, PCAP_D_IN));
	SHOW_ERR(p, pcap_setdirection(p, 9));
	SHOW(pcap_getnonblock(p, errbuf));
	SHOW(pcap_setnonblock(p, 5, errbuf));
	SHOW(pcap_getnonblock(p, errbuf));
	SHOW(pcap_setnonblock(p, 0, errbuf));
	SHOW(pcap_getnonblock(p, errbuf));
	pcap_close(p);
}

static void reading(void) {
	puts("reading");
	pcap_t *p = current = open_near(20, 1);
	int fd = pcap_get_selectable_fd(p);
	struct pcap_pkthdr *h, header;
	const u_char *data;
	SHOW(readable(fd, 0));
	SHOW(pcap_setnonblock(p, 1, errbuf));
	SHOW(pcap_dispatch(p, -1, got, NULL));
	SHOW(pcap_next_ex(p, &h, &data));
	SHOW(pcap_next(p, &header) == NULL);
	send_many(5);
	SHOW(readable(fd, 1000));
	SHOW(readable(fd, 1000));
	SHOW(pcap_dispatch(p, 2, got, (u_char *)"two"));
	SHOW(readable(fd, 1000));
	SHOW(pcap_next_ex(p, &h, &data));
	printf("  %u %u %d\n", h->caplen, h->len, data[59]);
	data = pcap_next(p, &header);
	printf("  %u %u %d\n", header.caplen, header.len, data[59]);
	SHOW(readable(fd, 1000));
	SHOW(pcap_dispatch(p, 0, got, (u_char *)"rest"));
	SHOW(readable(fd, 0));
	SHOW(pcap_dispatch(p, 0, got, (u_char *)"rest"));
	SHOW(pcap_setnonblock(p, 0, errbuf));
	send_many(7);
	SHOW(pcap_loop(p, 4, got, (u_char *)"loop"));
	SHOW(pcap_loop(p, 3, got, (u_char *)"loop"));
	struct pcap_stat st;
	SHOW(pcap_stats(p, &st));
	printf("  stats %u %u %u\n", st.ps_recv, st.ps_drop, st.ps_ifdrop);
	pcap_close(p);
}

static void filtering(void) {
	puts("filtering");
	pcap_t *p = current = open_near(20, 1);
	struct bpf_program prog;
	SHOW_ERR(p, pcap_compile(p, &prog, "udp prt 7", 1, 0));
	SHOW_ERR(p, pcap_compile(p, &prog, "host 1.2.3.4 and", 1, 0));
	SHOW_ERR(p, pcap_setfilter(p, NULL));
	SHOW(pcap_compile(p, &prog, "udp dst port 7", 1, PCAP_NETMASK_UNKNOWN));
	SHOW(pcap_setfilter(p, &prog));
	pcap_freecode(&prog);
	for (int i = 0; i < 6; i++)
		send_udp(i % 2 ? 7 : 8, i);
	SHOW(pcap_loop(p, 2, got, (u_char *)"two that match"));
	SHOW(pcap_loop(p, 1, got, (u_char *)"the third"));
	SHOW(at_once(p, "none"));
	struct pcap_stat st;
	SHOW(pcap_stats(p, &st));
	printf("  stats %u\n", st.ps_recv);
	struct bpf_insn cut[] = {{0x06, 0, 0, 20}}, wrong[] = {{0x05, 0, 0, 77}};
	prog.bf_len = 1;
	prog.bf_insns = cut;
	SHOW(pcap_setfilter(p, &prog));
	send_udp(9, 9);
	SHOW(pcap_loop(p, 1, got, (u_char *)"cut"));
	prog.bf_insns = wrong;
	SHOW(pcap_setfilter(p, &prog) < 0);
	pcap_close(p);
}

static void on_signal(int s) {
	(void)s;
	pcap_breakloop(current);
}

static void *break_later(void *nothing) {
	usleep(50000);
	pcap_breakloop(current);
	return nothing;
}

static void *loop_for_ever(void *p) {
	pcap_loop(p, -1, got, (u_char *)"in a thread");
	return NULL;
}

static void breaking(void) {
	puts("breaking");
	pcap_t *p = current = open_near(0, 1);
	pcap_breakloop(p);
	SHOW(pcap_loop(p, 1, got, NULL));
	send_many(5);
	seen = 0;
	stop_after = 2;
	SHOW(pcap_loop(p, -1, got, (u_char *)"until two"));
	SHOW(pcap_dispatch(p, 3, got, (u_char *)"the rest"));
	stop_after = 0;
	signal(SIGALRM, on_signal);
	struct itimerval in = {.it_value = {.tv_usec = 50000}};
	setitimer(ITIMER_REAL, &in, NULL);
	SHOW(pcap_loop(p, -1, got, NULL));
	setitimer(ITIMER_REAL, &in, NULL);
	struct pcap_pkthdr *h;
	const u_char *data;
	SHOW(pcap_next_ex(p, &h, &data));
	pthread_t thread;
	pthread_create(&thread, NULL, break_later, NULL);
	SHOW(pcap_dispatch(p, -1, got, NULL));
	pthread_join(thread, NULL);
	send_many(1);
	SHOW(pcap_loop(p, 1, got, (u_char *)"afterwards"));
	void *end;
	pthread_create(&thread, NULL, loop_for_ever, p);
	usleep(50000);
	SHOW(pthread_cancel(thread));
	SHOW(pthread_join(thread, &end));
	SHOW(end == PTHREAD_CANCELED);
	send_many(1);
	SHOW(pcap_loop(p, 1, got, (u_char *)"after a cancelled read"));
	pcap_close(p);
}

static int arrived(void) {
	unsigned char buffer[4096];
	struct sockaddr_ll from;
	for (;;) {
		socklen_t len = sizeof(from);
		int n = recvfrom(far, buffer, sizeof(buffer), 0, (struct sockaddr *)&from, &len);
		if (n < 0 || from.sll_pkttype != PACKET_OUTGOING)
			return n;
	}
}

static void sending(void) {
	puts("sending");
	pcap_t *p = open_near(10, 1);
	unsigned char f[4000] = {2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xb5};
	while (arrived() >= 0) {}
	SHOW(pcap_inject(p, f, 60));
	SHOW((readable(far, 20000), arrived()));
	SHOW(pcap_sendpacket(p, f, 1514));
	SHOW((readable(far, 20000), arrived()));
	SHOW_ERR(p, (errno = 0, pcap_inject(p, f, 0)));
	SHOW_ERR(p, (errno = 0, pcap_sendpacket(p, f, 0)));
	SHOW_ERR(p, (errno = 0, pcap_inject(p, f, 4000)));
	SHOW(errno == EMSGSIZE);
	SHOW_ERR(p, pcap_sendpacket(p, f, 4000));
	SHOW_ERR(p, (errno = 0, pcap_inject(p, f, 10)));
	SHOW(errno == EINVAL);
	SHOW(at_once(p, "own"));
	pcap_perror(p, "prefix");
	pcap_close(p);
}

static void cutting(void) {
	puts("cutting");
	pcap_t *p = pcap_open_live(near, 40, 1, 20, errbuf);
	send_many(2);
	SHOW(pcap_loop(p, 2, got, (u_char *)"40 of 60"));
	SHOW(pcap_snapshot(p));
	pcap_close(p);
	p = pcap_open_live(near, 0, 1, 20, errbuf);
	SHOW(pcap_snapshot(p));
	send_many(1);
	SHOW(pcap_loop(p, 1, got, (u_char *)"whole"));
	pcap_close(p);
}

static void times(void) {
	puts("times");
	for (int nano = 0; nano < 2; nano++) {
		pcap_t *p = pcap_create(near, errbuf);
		pcap_set_immediate_mode(p, 1);
		SHOW(pcap_set_tstamp_precision(p, nano));
		SHOW(pcap_activate(p));
		struct timespec before, after;
		clock_gettime(CLOCK_REALTIME, &before);
		send_many(1);
		struct pcap_pkthdr *h;
		const u_char *data;
		SHOW(pcap_next_ex(p, &h, &data));
		clock_gettime(CLOCK_REALTIME, &after);
		long long unit = nano ? 1 : 1000, at = h->ts.tv_sec * 1000000000LL + h->ts.tv_usec * unit;
		SHOW(at + unit > before.tv_sec * 1000000000LL + before.tv_nsec);
		SHOW(at <= after.tv_sec * 1000000000LL + after.tv_nsec);
		pcap_close(p);
	}
}

static void dumping(void) {
	puts("dumping");
	char name[] = "/tmp/ringway-api-XXXXXX";
	close(mkstemp(name));
	for (int nano = 0; nano < 2; nano++) {
		pcap_t *p = pcap_create(near, errbuf);
		pcap_set_snaplen(p, 100);
		pcap_set_immediate_mode(p, 1);
		pcap_set_tstamp_precision(p, nano);
		pcap_activate(p);
		SHOW_ERR(p, pcap_dump_open(p, "/nonexistent/file") == NULL);
		pcap_dumper_t *d = pcap_dump_open(p, name);
		send_many(3);
		SHOW(pcap_loop(p, 3, pcap_dump, (u_char *)d));
		SHOW(pcap_dump_ftell(d));
		SHOW(pcap_dump_flush(d));
		pcap_dump_close(d);
		d = pcap_dump_open_append(p, name);
		send_many(1);
		SHOW(pcap_loop(p, 1, pcap_dump, (u_char *)d));
		pcap_dump_close(d);
		pcap_close(p);
		p = pcap_open_offline_with_tstamp_precision(name, nano, errbuf);
		SHOW(pcap_snapshot(p));
		SHOW(pcap_datalink(p));
		SHOW(pcap_loop(p, -1, got, (u_char *)"file"));
		pcap_close(p);
		FILE *file = fopen(name, "r");
		for (int i = 0; i < 24; i++)
			printf("%02x", fgetc(file));
		puts("");
		fclose(file);
	}
	unlink(name);
}

static void use(pcap_t *p, const char *expression) {
	struct bpf_program prog;
	if (pcap_compile(p, &prog, expression, 1, 0) || pcap_setfilter(p, &prog))
		pcap_perror(p, expression);
	pcap_freecode(&prog);
}

static void close_now(u_char *user, const struct pcap_pkthdr *h, const u_char *data) {
	got(user, h, data);
	pcap_close(current);
}

static void filter_now(u_char *user, const struct pcap_pkthdr *h, const u_char *data) {
	got(user, h, data);
	use(current, "udp port 8");
}

static void read_now(u_char *user, const struct pcap_pkthdr *h, const u_char *data) {
	struct pcap_pkthdr *inner;
	got(user, h, data);
	SHOW_ERR(current, pcap_next_ex(current, &inner, &data));
}

static long elapsed_ms(const struct timespec *since) {
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (now.tv_sec - since->tv_sec) * 1000 + (now.tv_nsec - since->tv_nsec) / 1000000;
}

static atomic_int looping;

static void note(u_char *user, const struct pcap_pkthdr *h, const u_char *data) {
	(void)user, (void)h, (void)data;
	looping = 1;
}

static void *close_later(void *p) {
	while (!looping)
		usleep(1000);
	usleep(50000);
	pcap_close(p);
	return NULL;
}

// Where libpcap loses packets, waits longer than it has to or does what it likes.
static void beyond(void) {
	puts("beyond");
	pcap_t *p = current = open_near(50, 0);
	struct timespec start;
	struct pcap_pkthdr *h;
	const u_char *data;
	clock_gettime(CLOCK_MONOTONIC, &start);
	SHOW(pcap_dispatch(p, -1, got, NULL));
	SHOW(pcap_next_ex(p, &h, &data));
	SHOW(elapsed_ms(&start) >= 90);
	use(p, "inbound and udp");
	send_udp(9, 10);
	SHOW(pcap_loop(p, 1, got, (u_char *)"inbound"));
	use(p, "outbound");
	send_udp(9, 11);
	SHOW(pcap_dispatch(p, -1, got, (u_char *)"outbound"));
	use(p, "");
	SHOW(pcap_setdirection(p, PCAP_D_OUT));
	send_udp(9, 12);
	SHOW(at_once(p, "out"));
	SHOW(pcap_setdirection(p, PCAP_D_IN));
	send_udp(9, 13);
	SHOW(at_once(p, "in"));
	send_many(3);
	SHOW(pcap_loop(p, 1, read_now, (u_char *)"nested"));
	SHOW(pcap_loop(p, 1, filter_now, (u_char *)"filtering"));
	send_udp(8, 14);
	SHOW(pcap_loop(p, 1, got, (u_char *)"port 8"));
	// What the filter refuses wakes who waits for the descriptor, but must not let a read block.
	int fd = pcap_get_selectable_fd(p);
	send_udp(9, 15);
	SHOW(readable(fd, 1000));
	SHOW(pcap_dispatch(p, -1, got, (u_char *)"refused"));
	SHOW(readable(fd, 0));
	use(p, "");
	send_many(5);
	SHOW(pcap_loop(p, 5, close_now, (u_char *)"closing"));
	p = current = open_near(0, 0);
	send_many(1);
	SHOW(pcap_dispatch(p, -1, got, (u_char *)"again"));
	pthread_t thread;
	pthread_create(&thread, NULL, close_later, p);
	send_many(1);
	SHOW(pcap_loop(p, -1, note, (u_char *)"closed by another thread"));
	pthread_join(thread, NULL);
	p = current = open_near(0, 0);
	pcap_close(p);
}

int main(int argc, char **argv) {
	if (argc < 3)
		return 2;
	setvbuf(stdout, NULL, _IONBF, 0);
	dup2(1, 2);
	near = argv[1];
	far = open_far(argv[2]);
	inactive();
	properties();
	reading();
	filtering();
	breaking();
	sending();
	cutting();
	times();
	dumping();
	if (argc > 3)
		beyond();
	return 0;
}
