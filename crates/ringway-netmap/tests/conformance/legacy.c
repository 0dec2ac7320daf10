/* Requests of older programs: NIOCGINFO and NIOCREGIF with a struct nmreq, and the header-only nm_open. */
#define NETMAP_WITH_LIBS
#include <libnetmap.h>

#include "frames.h"

static void fill(struct nmreq *old, const char *name, uint32_t version)
{
	memset(old, 0, sizeof(*old));
	snprintf(old->nr_name, sizeof(old->nr_name), "%s", name);
	old->nr_version = version;
}

static int old_request(unsigned long number, struct nmreq *old)
{
	int fd = device(), error = ioctl(fd, number, old) == 0 ? 0 : errno;

	close(fd);
	return error;
}

/* Binds by the old request. The port gets what came back. */
static int old_bind(struct port *p, struct nmreq *old)
{
	int error;

	memset(p, 0, sizeof(*p));
	p->fd = device();
	error = ioctl(p->fd, NIOCREGIF, old) == 0 ? 0 : errno;
	if (error)
		return error;
	p->reg.nr_offset = old->nr_offset;
	p->reg.nr_memsize = old->nr_memsize;
	map_port(p);
	return 0;
}

static void version(uint32_t number, int error)
{
	struct nmreq old;
	struct port p;

	fill(&old, virtual_name("x{1"), number);
	SAME(old_bind(&p, &old), error);
	fill(&old, interface_a(), number);
	SAME(old_request(NIOCGINFO, &old), error);
}

TEST(old_requests_of_version_13_are_refused) { version(13, EINVAL); }
TEST(old_requests_of_version_14_are_accepted) { version(14, 0); }
TEST(old_requests_of_version_15_are_accepted) { version(15, 0); }
TEST(old_requests_of_version_16_are_accepted) { version(16, 0); }
TEST(old_requests_of_version_0_are_refused) { version(0, EINVAL); }

TEST(old_request_for_a_fact_says_what_binding_says)
{
	struct nmreq old;
	struct port p;

	open_port(&p, interface_a());
	fill(&old, interface_a(), NETMAP_API);
	SAME(old_request(NIOCGINFO, &old), 0);
	SAME(old.nr_memsize, (uint32_t)p.reg.nr_memsize);
	SAME(old.nr_tx_slots, p.reg.nr_tx_slots);
	SAME(old.nr_rx_slots, p.reg.nr_rx_slots);
	SAME(old.nr_tx_rings, p.reg.nr_tx_rings);
	SAME(old.nr_rx_rings, p.reg.nr_rx_rings);
	SAME(old.nr_arg2, p.reg.nr_mem_id);
}

TEST(old_request_for_an_unknown_interface_is_refused)
{
	struct nmreq old;
	struct port p;

	fill(&old, "cfnosuch0", NETMAP_API);
	SAME(old_request(NIOCGINFO, &old), ENXIO);
	SAME(old_bind(&p, &old), ENXIO);
}

TEST(old_request_that_leads_nowhere_is_a_fault)
{
	int fd = device();

	FAILS(ioctl(fd, NIOCREGIF, (void *)16), EFAULT);
	FAILS(ioctl(fd, NIOCGINFO, (void *)16), EFAULT);
}

static void check_old_rings(const struct port *p, int nic, int host)
{
	const struct netmap_if *nifp = p->nifp;
	uint32_t i, rx0 = nifp->ni_tx_rings + nifp->ni_host_tx_rings;

	for (i = 0; i < nifp->ni_tx_rings; i++)
		SAME(nifp->ring_ofs[i] != 0, nic);
	for (i = 0; i < nifp->ni_host_tx_rings; i++)
		SAME(nifp->ring_ofs[nifp->ni_tx_rings + i] != 0, host);
	for (i = 0; i < nifp->ni_rx_rings; i++)
		SAME(nifp->ring_ofs[rx0 + i] != 0, nic);
	for (i = 0; i < nifp->ni_host_rx_rings; i++)
		SAME(nifp->ring_ofs[rx0 + nifp->ni_rx_rings + i] != 0, host);
}

/* The mode is in flags, or, where that is 0, in bits of ringid. */
static void old_mode(uint16_t ringid, uint32_t flags, int nic, int host)
{
	struct nmreq old;
	struct port p;

	fill(&old, interface_a(), NETMAP_API);
	old.nr_ringid = ringid;
	old.nr_flags = flags;
	SAME(old_bind(&p, &old), 0);
	SAME(old.nr_ringid, ringid);
	SAME(old.nr_flags, flags);
	SAME(old.nr_tx_rings, p.nifp->ni_tx_rings);
	SAME(old.nr_rx_rings, p.nifp->ni_rx_rings);
	SAME(old.nr_arg2, 1);
	check_old_rings(&p, nic, host);
}

TEST(old_ringid_0_is_all_rings) { old_mode(0, 0, 1, 0); }
TEST(old_ringid_of_the_host) { old_mode(NETMAP_SW_RING, 0, 0, 1); }
TEST(old_ringid_of_one_ring) { old_mode(NETMAP_HW_RING | 0, 0, 1, 0); }
TEST(old_mode_1_is_all_rings) { old_mode(0, NR_REG_ALL_NIC, 1, 0); }
TEST(old_mode_2_is_the_host) { old_mode(0, NR_REG_SW, 0, 1); }
TEST(old_mode_3_is_both) { old_mode(0, NR_REG_NIC_SW, 1, 1); }
TEST(old_mode_4_is_one_ring) { old_mode(0, NR_REG_ONE_NIC, 1, 0); }

TEST(old_request_for_extra_buffers)
{
	struct nmreq old;
	struct port p;
	uint32_t index, count = 0;

	fill(&old, interface_a(), NETMAP_API);
	old.nr_arg3 = 100;
	SAME(old_bind(&p, &old), 0);
	SAME(old.nr_arg3, 100);
	for (index = p.nifp->ni_bufs_head; index != 0; count++)
		memcpy(&index, NETMAP_BUF(tx(&p), index), 4);
	SAME(count, 100);
}

TEST(old_second_bind_is_busy)
{
	struct nmreq old;
	struct port p;

	fill(&old, interface_a(), NETMAP_API);
	SAME(old_bind(&p, &old), 0);
	fill(&old, interface_a(), NETMAP_API);
	FAILS(ioctl(p.fd, NIOCREGIF, &old), EBUSY);
}

TEST(old_bit_no_tx_poll)
{
	struct nmreq old;
	struct port p, far;

	fill(&old, interface_a(), NETMAP_API);
	old.nr_ringid = NETMAP_NO_TX_POLL;
	SAME(old_bind(&p, &old), 0);
	open_port(&far, interface_b());
	put_frame(tx(&p), 1, 60);
	poll_port(&p, POLLIN, 10);
	expect_none(&far);
	SAME(poll_port(&p, POLLOUT, WAIT_MS), POLLOUT);
	expect_frame(&far, 1, 60);
}

/* Modes 5 and 6: the ends of a pipe, by a number in ringid. They are the same pipe as the newer names. */
TEST(old_pipe_modes)
{
	struct nmreq old;
	struct port one, other, newer;

	fill(&old, virtual_name("x"), NETMAP_API);
	old.nr_ringid = 3;
	old.nr_flags = NR_REG_PIPE_MASTER;
	SAME(old_bind(&one, &old), 0);
	fill(&old, virtual_name("x"), NETMAP_API);
	old.nr_ringid = 3;
	old.nr_flags = NR_REG_PIPE_SLAVE;
	SAME(old_bind(&other, &old), 0);
	send_frame(&one, 1, 60);
	expect_frame(&other, 1, 60);
	close_port(&other);
	open_port(&newer, virtual_name("x}3"));
	send_frame(&one, 2, 60);
	expect_frame(&newer, 2, 60);
}

TEST(old_and_new_requests_bind_the_same_switch_port)
{
	struct nmreq old;
	struct port p, far;

	fill(&old, switch_name("a"), NETMAP_API);
	SAME(old_bind(&p, &old), 0);
	open_port(&far, switch_name("b"));
	CHECK(old.nr_arg2 > 1);
	send_frame(&p, 1, 60);
	expect_frame(&far, 1, 60);
}

/* nm_open, nm_inject, nm_nextpkt and nm_dispatch of net/netmap_user.h. */
static struct nm_desc *must_open(const char *interface, const char *suffix, const struct nm_desc *parent)
{
	char name[80];
	struct nm_desc *d;

	snprintf(name, sizeof(name), "netmap:%s%s", interface, suffix);
	d = nm_open(name, NULL, parent ? NM_OPEN_NO_MMAP : 0, parent);
	if (!d)
		FAIL("nm_open of %s: %s", name, strerror(errno));
	return d;
}

static unsigned char *next_packet(struct nm_desc *d, struct nm_pkthdr *header)
{
	long end = milliseconds() + WAIT_MS;
	unsigned char *frame;

	do {
		WORKS(ioctl(d->fd, NIOCRXSYNC, NULL));
		frame = nm_nextpkt(d, header);
		if (frame)
			return frame;
		rest(1);
	} while (milliseconds() < end);
	FAIL("no packet");
}

TEST(header_only_functions_move_frames)
{
	struct nm_desc *a = must_open(interface_a(), "", NULL), *b = must_open(interface_b(), "", a);
	struct nm_pkthdr header;
	unsigned char *got;
	char frame[2048];

	CHECK(b->mem == a->mem && !b->done_mmap);
	write_frame(frame, 7, 200);
	SAME(nm_inject(a, frame, 200), 200);
	WORKS(ioctl(NETMAP_FD(a), NIOCTXSYNC, NULL));
	got = next_packet(b, &header);
	check_frame(got, header.len, 7, 200);
	SAME(nm_close(b), 0);
	SAME(nm_close(a), 0);
}

TEST(header_only_functions_find_rings_by_the_mode)
{
	struct nm_desc *nic = must_open(interface_m(), "", NULL), *host, *one;

	SAME(nic->first_tx_ring, 0);
	SAME(nic->last_tx_ring, nic->nifp->ni_tx_rings - 1);
	host = must_open(interface_m(), "^", NULL);
	SAME(host->first_rx_ring, host->nifp->ni_rx_rings);
	CHECK(NETMAP_RXRING(host->nifp, host->first_rx_ring)->dir == 1);
	one = must_open(interface_m(), "-0", NULL);
	SAME(one->first_tx_ring, 0);
	SAME(one->last_tx_ring, 0);
	CHECK(nm_open("netmap:cfnosuch0", NULL, 0, NULL) == NULL);
}

/* nmport_open and its companions of libnetmap.h. Ports of one region have one mapping. */
TEST(libnetmap_functions_move_frames)
{
	char name[80], frame[2048];
	struct nmport_d *a, *b;
	struct netmap_ring *ring;
	long end = milliseconds() + WAIT_MS;

	snprintf(name, sizeof(name), "netmap:%s", interface_a());
	CHECK((a = nmport_open(name)) != NULL);
	snprintf(name, sizeof(name), "netmap:%s-0", interface_b());
	CHECK((b = nmport_open(name)) != NULL);
	CHECK(a->mem == b->mem && a->nifp != b->nifp);
	write_frame(frame, 7, 200);
	SAME(nmport_inject(a, frame, 200), 200);
	WORKS(ioctl(a->fd, NIOCTXSYNC, NULL));
	ring = NETMAP_RXRING(b->nifp, b->first_rx_ring);
	while (nm_ring_empty(ring) && milliseconds() < end)
		WORKS(ioctl(b->fd, NIOCRXSYNC, NULL));
	CHECK(!nm_ring_empty(ring));
	check_frame(buffer(ring, slot_at(ring, 0)), slot_at(ring, 0)->len, 7, 200);
	nmport_close(a);
	CHECK(ring->dir == 1);
	nmport_close(b);
	errno = 0;
	CHECK(nmport_open("netmap:cfnosuch0") == NULL && errno == ENXIO);
}

TEST(libnetmap_finds_rings_by_the_table)
{
	char name[80];
	struct nmport_d *host;

	snprintf(name, sizeof(name), "netmap:%s^", interface_a());
	CHECK((host = nmport_open(name)) != NULL);
	SAME(host->first_tx_ring, host->nifp->ni_tx_rings);
	SAME(host->first_rx_ring, host->nifp->ni_rx_rings);
	SAME(host->last_rx_ring, host->nifp->ni_rx_rings + host->nifp->ni_host_rx_rings - 1);
}
