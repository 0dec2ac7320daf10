/* The one rx ring of a host: frames of all CPUs come there, in the order in which each sent them. */
#include <sched.h>
#include <sys/socket.h>

#include "frames.h"
#include "process.h"

/* A host has one pair of rings, numbered after the rings of its interface, however many CPUs send. */
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

/* Frame i of a CPU. Whether a ring took it: one that nobody reads is full at last. */
static int offer(int host, int cpu, uint32_t i)
{
	uint32_t length = 60 + i % 1000;
	char frame[2048];

	write_frame(frame, (uint32_t)cpu << 16 | i, length);
	if (send(host, frame, length, 0) == (ssize_t)length)
		return 1;
	SAME(errno, ENOBUFS);
	return 0;
}

static void send_from(int host, int cpu, uint32_t first, uint32_t count)
{
	uint32_t i;

	run_on(cpu);
	for (i = first; i < first + count; i++)
		while (!offer(host, cpu, i))
			rest(1);
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

static void send_all(void *cpu)
{
	int host = raw_socket(interface_a());
	uint32_t i;

	for (i = 0; i < OF_EACH; i += 100) {
		send_from(host, *(int *)cpu, i, 100);
		rest(1);
	}
}

/* The frames of each CPU come in order, and all of them. */
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

/* Takes off what comes until nothing does for a moment: the host speaks of its own accord, too. */
static void await_silence(const struct port *p)
{
	long end = milliseconds() + 3 * WAIT_MS;

	while (poll_port(p, POLLIN, QUIET_MS) && milliseconds() < end)
		advance(rx(p), nm_ring_space(rx(p)));
}

TEST(poll_wakes_for_each_cpu)
{
	struct port p;
	int round;

	bind_port(&p, interface_a(), NR_REG_SW, 0, 0);
	for (round = 0; round < 2 * CPUS; round++) {
		struct lone_sender sender = {.cpu = round % CPUS};
		pid_t child;
		long begin;

		make_bell(&sender.go);
		child = start(send_one, &sender);
		await_silence(&p);
		ring_bell(&sender.go);
		begin = milliseconds();
		SAME(poll_port(&p, POLLIN, WAIT_MS), POLLIN);
		CHECK(milliseconds() - begin < WAIT_MS / 2);
		expect_frame(&p, (uint32_t)sender.cpu << 16 | 1, 61);
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

static void send_until_killed(void *cpu)
{
	int host = raw_socket(interface_a());
	uint32_t i;

	run_on(*(int *)cpu);
	for (i = 0;; i = (i + 1) % 60000)
		offer(host, *(int *)cpu, i);
}

static void receive_until_killed(void *argument)
{
	const struct port *p = argument;

	for (;;) {
		sync_rx(p);
		advance(rx(p), nm_ring_space(rx(p)));
	}
}

/* No two slots of a ring have one buffer. */
static void check_buffers(struct netmap_ring *ring)
{
	static char used[1 << 20];
	uint32_t i;

	memset(used, 0, sizeof(used));
	for (i = 0; i < ring->num_slots; i++) {
		uint32_t index = ring->slot[i].buf_idx;

		CHECK(index >= 2 && index < sizeof(used) && !used[index]);
		used[index] = 1;
	}
}

/* Takes frames for a moment, and checks each. */
static uint32_t take_good(const struct port *p, int ms)
{
	long end = milliseconds() + ms;
	uint32_t taken = 0;

	for (; milliseconds() < end; sync_rx(p)) {
		for (; !nm_ring_empty(rx(p)); advance(rx(p), 1)) {
			struct netmap_slot *slot = slot_at(rx(p), 0);
			uint32_t number;

			if (!is_frame(buffer(rx(p), slot), slot->len))
				continue;
			number = frame_number(buffer(rx(p), slot));
			check_frame(buffer(rx(p), slot), slot->len, number, 60 + (number & 0xffff) % 1000);
			taken++;
		}
	}
	return taken;
}

/* A process that is killed while it gathers frames loses no buffer, and leaves no frame that nobody sent. */
TEST(a_killed_reader_leaves_the_ring_of_the_host_to_the_other)
{
	static int cpus[CPUS] = {0, 1};
	struct port p;
	pid_t senders[CPUS];
	int round, i;

	bind_port(&p, interface_a(), NR_REG_SW, 0, 0);
	for (i = 0; i < CPUS; i++)
		senders[i] = start(send_until_killed, &cpus[i]);
	for (round = 0; round < 40; round++) {
		pid_t reader = start(receive_until_killed, &p);

		rest(20);
		end_by_kill(reader);
		sync_rx(&p);
		check_buffers(rx(&p));
		CHECK(take_good(&p, 10) > 0);
	}
	for (i = 0; i < CPUS; i++)
		end_by_kill(senders[i]);
}
