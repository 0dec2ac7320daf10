/* Rings of the host: what its stack sends and receives, and frames that pass from one side to the other. */
#include <sched.h>

#include "frames.h"
#include "process.h"

static void from_host(uint32_t mode)
{
	struct port p;
	int host;
	uint32_t i;

	bind_port(&p, interface_a(), mode, 0, 0);
	host = raw_socket(interface_a());
	for (i = 0; i < 20; i++)
		raw_send(host, interface_a(), i, 60 + i);
	for (i = 0; i < 20; i++)
		expect_frame(&p, i, 60 + i);
}

TEST(frames_of_the_host_come_in_mode_2) { from_host(NR_REG_SW); }
TEST(frames_of_the_host_come_in_mode_8) { from_host(NR_REG_ONE_SW); }

static void to_host(uint32_t mode)
{
	struct port p;
	int host = raw_socket(interface_a());

	bind_port(&p, interface_a(), mode, 0, 0);
	send_frame(&p, 5, 100);
	CHECK(raw_await(host, 5, 100, WAIT_MS));
	send_frame(&p, 6, 1000);
	CHECK(raw_await(host, 6, 1000, WAIT_MS));
	drain(&p);
}

TEST(the_host_receives_frames_sent_in_mode_2) { to_host(NR_REG_SW); }
TEST(the_host_receives_frames_sent_in_mode_8) { to_host(NR_REG_ONE_SW); }

/* In mode 3 both kinds of rings are at hand: the host's follow the interface's. */
TEST(mode_3_tells_host_and_link_apart)
{
	struct port all, far;
	int host;
	struct netmap_ring *host_tx, *host_rx;
	long end = milliseconds() + WAIT_MS;

	bind_port(&all, interface_a(), NR_REG_NIC_SW, 0, 0);
	open_port(&far, interface_b());
	host = raw_socket(interface_a());
	host_tx = NETMAP_TXRING(all.nifp, all.nifp->ni_tx_rings);
	host_rx = NETMAP_RXRING(all.nifp, all.nifp->ni_rx_rings);
	put_frame(host_tx, 1, 60);
	put_frame(tx(&all), 2, 60);
	sync_tx(&all);
	CHECK(raw_await(host, 1, 60, WAIT_MS));
	expect_frame(&far, 2, 60);
	expect_none(&far);
	raw_send(host, interface_a(), 3, 70);
	while (nm_ring_empty(host_rx) && milliseconds() < end) {
		sync_rx(&all);
		rest(1);
	}
	CHECK(!nm_ring_empty(host_rx));
	check_frame(buffer(host_rx, slot_at(host_rx, 0)), slot_at(host_rx, 0)->len, 3, 70);
	CHECK(nm_ring_empty(rx(&all)));
}

/* While the interface's rings are bound, the host neither gets its frames nor sends to the link. */
TEST(frames_of_the_link_bypass_the_host)
{
	struct port a, b;
	int host = raw_socket(interface_a());

	open_port(&a, interface_a());
	open_port(&b, interface_b());
	send_frame(&b, 1, 60);
	expect_frame(&a, 1, 60);
	CHECK(!raw_await(host, 1, 60, QUIET_MS));
}

TEST(the_host_gets_frames_again_after_close)
{
	struct port a, b;
	int host = raw_socket(interface_a());
	uint32_t i;

	open_port(&a, interface_a());
	open_port(&b, interface_b());
	close_port(&a);
	for (i = 0; i < 30; i++) {
		send_frame(&b, i, 60);
		if (raw_await(host, i, 60, 100))
			return;
	}
	FAIL("the host gets nothing");
}

/* A frame of the link that its reader releases with NS_FORWARD goes on to the host; one without the flag does not. */
TEST(forwarded_frames_of_the_link_reach_the_host)
{
	struct port a, b;
	struct netmap_slot *slot;
	int host = raw_socket(interface_a());

	bind_port(&a, interface_a(), NR_REG_NIC_SW, 0, 0);
	open_port(&b, interface_b());
	rx(&a)->flags |= NR_FORWARD;
	send_frame(&b, 1, 90);
	CHECK((slot = await_frame(&a, WAIT_MS)) != NULL);
	advance(rx(&a), 1);
	send_frame(&b, 2, 91);
	CHECK((slot = await_frame(&a, WAIT_MS)) != NULL);
	SAME(frame_number(buffer(rx(&a), slot)), 2);
	slot->flags |= NS_FORWARD;
	advance(rx(&a), 1);
	sync_rx(&a);
	sync_tx(&a);
	CHECK(raw_await(host, 2, 91, WAIT_MS));
	CHECK(!raw_await(host, 1, 90, QUIET_MS));
}

/* Without NR_FORWARD on the ring the flag of a slot says nothing. */
TEST(forwarding_needs_the_flag_of_the_ring)
{
	struct port a, b;
	struct netmap_slot *slot;
	int host = raw_socket(interface_a());

	bind_port(&a, interface_a(), NR_REG_NIC_SW, 0, 0);
	open_port(&b, interface_b());
	send_frame(&b, 1, 90);
	CHECK((slot = await_frame(&a, WAIT_MS)) != NULL);
	slot->flags |= NS_FORWARD;
	advance(rx(&a), 1);
	sync_rx(&a);
	sync_tx(&a);
	CHECK(!raw_await(host, 1, 90, QUIET_MS));
}

TEST(forwarded_frames_of_the_host_reach_the_link)
{
	struct port a, b;
	struct netmap_ring *ring;
	int host;
	long end = milliseconds() + WAIT_MS;

	bind_port(&a, interface_a(), NR_REG_NIC_SW, 0, 0);
	open_port(&b, interface_b());
	host = raw_socket(interface_a());
	ring = NETMAP_RXRING(a.nifp, a.nifp->ni_rx_rings);
	ring->flags |= NR_FORWARD;
	raw_send(host, interface_a(), 4, 90);
	while (nm_ring_empty(ring) && milliseconds() < end) {
		sync_rx(&a);
		rest(1);
	}
	CHECK(!nm_ring_empty(ring));
	slot_at(ring, 0)->flags |= NS_FORWARD;
	advance(ring, 1);
	sync_rx(&a);
	sync_tx(&a);
	expect_frame(&b, 4, 90);
}

/* Poll wakes for frames of the host too. */
TEST(poll_waits_for_the_host)
{
	struct port p;
	int host;

	bind_port(&p, interface_a(), NR_REG_SW, 0, 0);
	host = raw_socket(interface_a());
	SAME(poll_port(&p, POLLIN, 50), 0);
	raw_send(host, interface_a(), 1, 60);
	SAME(poll_port(&p, POLLIN, WAIT_MS), POLLIN);
	expect_frame(&p, 1, 60);
}

/* A host has one pair of rings, behind those of its interface, however many CPUs send. */
TEST(the_host_has_one_pair_of_rings)
{
	struct nmreq_port_info_get info;
	struct port p;

	bind_port(&p, interface_m(), NR_REG_NIC_SW, 0, 0);
	SAME(p.reg.nr_host_tx_rings, 1);
	SAME(p.reg.nr_host_rx_rings, 1);
	SAME(NETMAP_TXRING(p.nifp, p.nifp->ni_tx_rings)->ringid, p.nifp->ni_tx_rings);
	SAME(NETMAP_RXRING(p.nifp, p.nifp->ni_rx_rings)->ringid, p.nifp->ni_rx_rings);
	memset(&info, 0, sizeof(info));
	SAME(request(NETMAP_REQ_PORT_INFO_GET, interface_m(), &info), 0);
	SAME(info.nr_host_tx_rings, 1);
	SAME(info.nr_host_rx_rings, 1);
	refuse_bind(interface_m(), NR_REG_ONE_SW, 1, 0, EINVAL);
}

/* Has the calling process run on one CPU. */
static void run_on(int cpu)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(cpu, &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus) != 0)
		SKIP("CPU %d: %s", cpu, strerror(errno));
}

enum { CPUS = 2, OF_EACH = 3000, PARTS = 20 };

/* Frames of CPU c have numbers from c << 16 on. */
static void send_from(int host, int cpu, uint32_t first, uint32_t count)
{
	uint32_t i;

	run_on(cpu);
	for (i = first; i < first + count; i++)
		raw_send(host, interface_a(), (uint32_t)cpu << 16 | i, 60 + i % 1000);
}

/* Takes what is in the ring: the next frame of each CPU, nothing else. */
static void take_next(struct netmap_ring *ring, uint32_t *next)
{
	for (; !nm_ring_empty(ring); advance(ring, 1)) {
		struct netmap_slot *slot = slot_at(ring, 0);
		uint32_t number, cpu;

		if (!is_frame(buffer(ring, slot), slot->len))
			continue;
		number = frame_number(buffer(ring, slot));
		cpu = number >> 16;
		CHECK(cpu < CPUS);
		SAME(number & 0xffff, next[cpu]);
		check_frame(buffer(ring, slot), slot->len, number, 60 + next[cpu] % 1000);
		next[cpu]++;
	}
}

TEST(frames_of_all_cpus_come_in_one_ring)
{
	struct port p;
	uint32_t next[CPUS] = {0, 0}, part, of_part = OF_EACH / PARTS;
	long end;
	int host, cpu;

	bind_port(&p, interface_a(), NR_REG_SW, 0, 0);
	host = raw_socket(interface_a());
	for (part = 0; part < PARTS; part++) {
		for (cpu = 0; cpu < CPUS; cpu++)
			send_from(host, cpu, part * of_part, of_part);
		end = milliseconds() + WAIT_MS;
		while ((next[0] < (part + 1) * of_part || next[1] < (part + 1) * of_part) && milliseconds() < end) {
			SAME(poll_port(&p, POLLIN, WAIT_MS), POLLIN);
			take_next(rx(&p), next);
		}
	}
	for (cpu = 0; cpu < CPUS; cpu++)
		SAME(next[cpu], OF_EACH);
}

/* A sender on each CPU at once. What comes is in order, and no CPU's frames are left behind for those of the other. */
static void send_all(void *cpu)
{
	int host = raw_socket(interface_a());
	uint32_t i;

	for (i = 0; i < OF_EACH; i += 100) {
		send_from(host, *(int *)cpu, i, 100);
		rest(1);
	}
}

TEST(cpus_that_send_at_once_share_the_ring)
{
	static int cpus[CPUS] = {0, 1};
	struct port p;
	uint32_t next[CPUS] = {0, 0};
	long end = milliseconds() + 3 * WAIT_MS;
	pid_t senders[CPUS];
	int i;

	bind_port(&p, interface_a(), NR_REG_SW, 0, 0);
	for (i = 0; i < CPUS; i++)
		senders[i] = start(send_all, &cpus[i]);
	while ((next[0] < OF_EACH || next[1] < OF_EACH) && milliseconds() < end) {
		poll_port(&p, POLLIN, 100);
		take_next(rx(&p), next);
	}
	for (i = 0; i < CPUS; i++) {
		SAME(next[i], OF_EACH);
		join(senders[i]);
	}
}

struct lone_sender {
	int cpu;
	struct bell go;
};

static void send_one(void *argument)
{
	const struct lone_sender *sender = argument;
	int host = raw_socket(interface_a());

	hear_bell(&sender->go);
	rest(50);
	send_from(host, sender->cpu, 1, 1);
}

TEST(poll_wakes_for_each_cpu)
{
	struct lone_sender sender;
	struct port p;
	pid_t child;

	bind_port(&p, interface_a(), NR_REG_SW, 0, 0);
	for (sender.cpu = 0; sender.cpu < 2 * CPUS; sender.cpu++) {
		struct lone_sender one = {.cpu = sender.cpu % CPUS};
		long begin;

		make_bell(&one.go);
		child = start(send_one, &one);
		SAME(poll_port(&p, POLLIN, 20), 0);
		ring_bell(&one.go);
		begin = milliseconds();
		SAME(poll_port(&p, POLLIN, WAIT_MS), POLLIN);
		CHECK(milliseconds() - begin < WAIT_MS / 2);
		expect_frame(&p, (uint32_t)one.cpu << 16 | 1, 61);
		join(child);
	}
}

/* A ring that is full keeps what it has; the rest waits with the CPUs' rings, and comes when slots are free. */
TEST(frames_of_the_host_wait_for_free_slots)
{
	struct port p;
	uint32_t next[CPUS] = {0, 0}, i, half;
	int host, cpu;

	bind_port(&p, interface_a(), NR_REG_SW, 0, 0);
	host = raw_socket(interface_a());
	half = rx(&p)->num_slots / 2 + 100;
	for (cpu = 0; cpu < CPUS; cpu++)
		send_from(host, cpu, 0, half);
	sync_rx(&p);
	SAME(nm_ring_space(rx(&p)), rx(&p)->num_slots - 1);
	sync_rx(&p);
	SAME(nm_ring_space(rx(&p)), rx(&p)->num_slots - 1);
	for (i = 0; i < 3; i++) {
		take_next(rx(&p), next);
		sync_rx(&p);
	}
	SAME(next[0], half);
	SAME(next[1], half);
}

/* Two descriptors of the host share the ring: what one takes, the other does not see. */
TEST(descriptors_of_the_host_share_its_ring)
{
	struct port first, second;
	int host;

	bind_port(&first, interface_a(), NR_REG_SW, 0, 0);
	bind_port(&second, interface_a(), NR_REG_ONE_SW, 0, 0);
	host = raw_socket(interface_a());
	send_from(host, 0, 1, 1);
	send_from(host, 1, 2, 1);
	CHECK(await(&first, 2) >= 2);
	SAME(frame_number(buffer(rx(&first), slot_at(rx(&first), 0))) & 0xffff, 1);
	advance(rx(&first), 2);
	sync_rx(&first);
	CHECK(nm_ring_empty(rx(&second)));
	send_from(host, 1, 3, 1);
	expect_frame(&second, 1 << 16 | 3, 63);
}
