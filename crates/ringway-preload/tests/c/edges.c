// SPDX-License-Identifier: MIT OR Apache-2.0
// What libpcap does beside the straight way: orders that come early, forks, full disks, interfaces that go down or away. Run as
// `edges NEAR FAR` with the two ends of a veth pair, of which it deletes NEAR; `edges NEAR FAR down` only does that, and sets it down before.
#include <errno.h>
#include <fcntl.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netpacket/packet.h>
#include <arpa/inet.h>
#include <pcap/pcap.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *near, *far_name;
static int far;
static char errbuf[PCAP_ERRBUF_SIZE];

#define SHOW(call) printf("  %s = %d\n", #call, (int)(call))

static int open_far(const char *name) {
	int fd = socket(AF_PACKET, SOCK_RAW, htons(ETH_P_ALL));
	struct sockaddr_ll at = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL), .sll_ifindex = if_nametoindex(name)};
	if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at))) {
		perror(name);
		exit(1);
	}
	return fd;
}

static void send_one(void) {
	unsigned char f[60] = {2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x88, 0xb5};
	if (send(far, f, sizeof(f), 0) != sizeof(f))
		perror("send");
}

static void ip_link(const char *format) {
	char command[100] = "ip link ";
	snprintf(command + 8, sizeof(command) - 8, format, near);
	if (system(command))
		puts(command);
}

static pcap_t *open_near(void) {
	pcap_t *p = pcap_create(near, errbuf);
	pcap_set_immediate_mode(p, 1);
	pcap_set_timeout(p, 100);
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
	printf("  got %s caplen %u type %02x%02x\n", (char *)user, h->caplen, data[12], data[13]);
}

static void ignore(u_char *user, const struct pcap_pkthdr *h, const u_char *data) {
	(void)user, (void)h, (void)data;
}

// Leaves nothing to read.
static int at_once(pcap_t *p) {
	pcap_setnonblock(p, 1, errbuf);
	while (pcap_dispatch(p, -1, ignore, NULL) > 0) {}
	return pcap_setnonblock(p, 0, errbuf);
}

static void early(void) {
	puts("early");
	pcap_t *p = pcap_create(near, errbuf);
	pcap_set_immediate_mode(p, 1);
	pcap_breakloop(p);
	SHOW(pcap_activate(p));
	// libpcap sleeps until a packet comes before it looks at the order.
	send_one();
	SHOW(pcap_loop(p, -1, ignore, NULL));
	SHOW(at_once(p));
	SHOW(pcap_setnonblock(p, 1, errbuf));
	SHOW(pcap_dispatch(p, -1, got, NULL));
	struct pcap_pkthdr *header = NULL;
	const u_char *packet = (u_char *)near;
	SHOW(pcap_next_ex(p, &header, &packet));
	SHOW(header != NULL && packet == (u_char *)near);
	bpf_u_int32 net, mask;
	SHOW(pcap_lookupnet(near, &net, &mask, errbuf));
	printf("  %s\n", errbuf);
	SHOW(pcap_lookupnet("no-such-if", &net, &mask, errbuf));
	printf("  %s\n", errbuf);
	fflush(stdout);
	int saved = dup(2), full = open("/dev/full", O_WRONLY);
	dup2(full, 2);
	pcap_perror(p, "nobody reads this");
	dup2(saved, 2);
	pcap_close(p);
}

// Nulls, and arguments that make no sense, where libpcap takes them.
static void nulls(void) {
	puts("nulls");
	pcap_t *p = open_near();
	struct bpf_program prog = {0, NULL};
	struct pcap_pkthdr header = {.caplen = 60, .len = 60};
	bpf_u_int32 net, mask;
	pcap_freealldevs(NULL);
	pcap_free_datalinks(NULL);
	pcap_free_tstamp_types(NULL);
	pcap_freecode(&prog);
	SHOW(pcap_setfilter(p, &prog));
	printf("  %s\n", pcap_geterr(p));
	SHOW(pcap_offline_filter(&prog, &header, (const u_char *)errbuf));
	SHOW(bpf_filter(NULL, (const u_char *)errbuf, 60, 60));
	SHOW(pcap_compile(p, &prog, NULL, 1, 0));
	SHOW(pcap_setfilter(p, &prog));
	pcap_freecode(&prog);
	pcap_freecode(&prog);
	SHOW(pcap_dump_open(p, NULL) == NULL);
	printf("  %s\n", pcap_geterr(p));
	SHOW(pcap_open_offline(NULL, errbuf) == NULL);
	printf("  %s\n", errbuf);
	SHOW(pcap_lookupnet(NULL, &net, &mask, errbuf));
	SHOW(pcap_datalink_val_to_name(-1) == NULL);
	SHOW(pcap_datalink_name_to_val("nothing"));
	printf("  %s, %s, %s\n", pcap_statustostr(77), pcap_strerror(1), pcap_datalink_val_to_description_or_dlt(7777));
	pcap_close(p);
	p = pcap_create(NULL, errbuf);
	SHOW(p != NULL && pcap_activate(p) >= 0);
	SHOW(pcap_datalink(p));
	pcap_close(p);
	p = pcap_open_live(NULL, 100, 0, 10, errbuf);
	SHOW(p != NULL && pcap_inject(p, errbuf, 0));
	pcap_close(p);
}

// A child that closes its copy of a handle takes nothing from the parent, and a daemon reads what its parent opened.
static void forking(void) {
	puts("forking");
	pcap_t *p = open_near();
	pid_t child = fork();
	if (!child) {
		pcap_close(p);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	send_one();
	SHOW(pcap_loop(p, 1, got, (u_char *)"after the child closed"));
	pcap_close(p);
	p = open_near();
	child = fork();
	if (!child) {
		send_one();
		SHOW(pcap_loop(p, 1, got, (u_char *)"in the child"));
		_exit(0);
	}
	waitpid(child, NULL, 0);
	pcap_close(p);
}

// A link sends again once a worker of the kernel has seen that its other end is up.
static void wait_up(void) {
	struct ifreq request = {0};
	strncpy(request.ifr_name, far_name, IFNAMSIZ - 1);
	for (int i = 0; i < 2000 && !(request.ifr_flags & IFF_RUNNING); i++) {
		usleep(10000);
		if (ioctl(far, SIOCGIFFLAGS, &request))
			perror(far_name);
	}
	ip_link("set %s up"); // takes the lock under which the worker works: it is done
}

static void down(void) {
	puts("down");
	ip_link("set %s down");
	pcap_t *p = pcap_create(near, errbuf);
	SHOW(pcap_activate(p));
	pcap_close(p);
	SHOW(pcap_open_live(near, 100, 1, 10, errbuf) == NULL);
	printf("  %s\n", errbuf);
	ip_link("set %s up");
	p = open_near();
	int fd = pcap_get_selectable_fd(p);
	ip_link("set %s down");
	SHOW(readable(fd, 5000));
	SHOW(pcap_setnonblock(p, 1, errbuf));
	SHOW(pcap_dispatch(p, -1, got, NULL));
	SHOW(readable(fd, 20));
	usleep(150000);
	unsigned char frame[60] = {2};
	SHOW(pcap_sendpacket(p, frame, sizeof(frame)));
	printf("  %s\n", pcap_geterr(p));
	ip_link("set %s up");
	while (readable(far, 0) == 1) {
		char seen[2000];
		SHOW(recv(far, seen, sizeof(seen), 0) > 0);
	}
	wait_up();
	send_one();
	SHOW(readable(fd, 5000));
	SHOW(pcap_dispatch(p, -1, got, (u_char *)"up again"));
	pcap_close(p);
}

static int down_first; // and deleted behind that

static void *delete_later(void *nothing) {
	usleep(100000);
	if (down_first) {
		ip_link("set %s down");
		usleep(500000);
	}
	ip_link("del %s");
	return nothing;
}

// A program learns of it that sleeps in a loop or in poll, and one that never sleeps.
static void gone(void) {
	puts("gone");
	pcap_t *p = pcap_create(near, errbuf);
	pcap_set_immediate_mode(p, 1);
	SHOW(pcap_activate(p));
	int fd = pcap_get_selectable_fd(p);
	pthread_t thread;
	pthread_create(&thread, NULL, delete_later, NULL);
	SHOW(readable(fd, 10000));
	SHOW(pcap_loop(p, -1, got, NULL));
	printf("  %s\n", pcap_geterr(p));
	pthread_join(thread, NULL);
	SHOW(pcap_setnonblock(p, 1, errbuf));
	SHOW(pcap_dispatch(p, -1, got, NULL));
	printf("  %s\n", pcap_geterr(p));
	struct pcap_stat st;
	SHOW(pcap_stats(p, &st));
	pcap_close(p);
	p = pcap_create(near, errbuf);
	SHOW(pcap_activate(p));
	pcap_close(p);
}

int main(int argc, char **argv) {
	if (argc < 3)
		return 2;
	setvbuf(stdout, NULL, _IONBF, 0);
	near = argv[1];
	far_name = argv[2];
	far = open_far(argv[2]);
	down_first = argc > 3;
	if (down_first) {
		gone();
		return 0;
	}
	early();
	nulls();
	forking();
	down();
	gone();
	return 0;
}
