/* Processes that are killed: what they leave to others, and that they leave nothing else. */
#include "frames.h"
#include "process.h"

static struct bell done;

static void use_until_killed(void *pair)
{
	struct pair *p = (struct pair *)pair;
	uint32_t i;

	ring_bell(&done);
	for (i = 0;; i++) {
		if (!nm_ring_empty(tx(&p->a)))
			put_frame(tx(&p->a), i, 60);
		ioctl(p->a.fd, NIOCTXSYNC, NULL);
		ioctl(p->b.fd, NIOCRXSYNC, NULL);
		advance(rx(&p->b), nm_ring_space(rx(&p->b)));
	}
}

/* Takes what is in an rx ring, and what comes in the next moment. */
static void read_all(const struct port *p)
{
	int round;

	for (round = 0; round < 5; round++) {
		sync_rx(p);
		advance(rx(p), nm_ring_space(rx(p)));
		sync_rx(p);
		rest(2);
	}
}

/* One of two processes that use the same rings is killed at any moment; the other one goes on. */
TEST_LINKS(a_killed_process_leaves_the_rings_to_the_other, p)
{
	uint32_t round;

	make_bell(&done);
	for (round = 0; round < 10; round++) {
		pid_t other = start(use_until_killed, p);
		struct netmap_slot *slot;

		hear_bell(&done);
		rest(5);
		end_by_kill(other);
		sync_tx(&p->a);
		read_all(&p->b);
		drain(&p->a);
		send_frame(&p->a, 1000000 + round, 60);
		slot = await_frame(&p->b, WAIT_MS);
		while (slot && frame_number(buffer(rx(&p->b), slot)) != 1000000 + round) {
			advance(rx(&p->b), 1);
			slot = await_frame(&p->b, WAIT_MS);
		}
		CHECK(slot != NULL);
		advance(rx(&p->b), 1);
	}
}

/* Binds, sends and is killed; nothing stays behind, however often. */
static void bind_and_wait(void *name)
{
	struct port p;

	prepare(&p, NR_REG_ALL_NIC, 0, NR_EXCLUSIVE);
	p.reg.nr_extra_bufs = 2000;
	SAME(try_bind(&p, (const char *)name), 0);
	SAME(p.reg.nr_extra_bufs, 2000);
	send_frame(&p, 1, 60);
	ring_bell(&done);
	rest(60000);
}

static void killed_often(const char *name)
{
	int i;

	make_bell(&done);
	for (i = 0; i < 30; i++) {
		pid_t other = start(bind_and_wait, (void *)(uintptr_t)name);

		hear_bell(&done);
		end_by_kill(other);
	}
}

TEST(killed_processes_leave_nothing_of_an_interface) { killed_often(interface_a()); }
TEST(killed_processes_leave_nothing_of_a_pipe) { killed_often(name_of(interface_a(), "{1")); }
