/* Descriptors: copies of them, in this process and in children, and what is left when they go. */
#include "frames.h"
#include "process.h"

/* The port by another number. */
static struct port copy_of(const struct port *p, int fd)
{
	struct port copy = *p;

	WORKS(fd);
	copy.fd = fd;
	return copy;
}

TEST_LINKS(a_copy_of_the_descriptor_serves, p)
{
	struct port copy = copy_of(&p->a, dup(p->a.fd));

	put_frame(tx(&p->a), 1, 60);
	sync_tx(&copy);
	expect_frame(&p->b, 1, 60);
	WORKS(close(p->a.fd));
	send_frame(&copy, 2, 60);
	expect_frame(&p->b, 2, 60);
	SAME(poll_port(&copy, POLLOUT, WAIT_MS), POLLOUT);
}

TEST(every_way_to_copy_a_descriptor)
{
	struct pair p;
	struct port copy;

	open_pair(&p, PIPE);
	copy = copy_of(&p.a, dup2(p.a.fd, 100));
	send_frame(&copy, 1, 60);
	copy = copy_of(&p.a, dup3(p.a.fd, 101, O_CLOEXEC));
	send_frame(&copy, 2, 60);
	copy = copy_of(&p.a, fcntl(p.a.fd, F_DUPFD, 102));
	send_frame(&copy, 3, 60);
	copy = copy_of(&p.a, fcntl(p.a.fd, F_DUPFD_CLOEXEC, 103));
	send_frame(&copy, 4, 60);
	WORKS(close(p.a.fd));
	WORKS(close(100));
	WORKS(close(101));
	WORKS(close(102));
	send_frame(&copy, 5, 60);
	expect_frame(&p.b, 1, 60);
	expect_frame(&p.b, 2, 60);
	expect_frame(&p.b, 3, 60);
	expect_frame(&p.b, 4, 60);
	expect_frame(&p.b, 5, 60);
}

/* A number that was a port's and is something else now is something else. */
TEST(a_number_that_was_replaced_is_no_port)
{
	struct port p;
	int ends[2];
	struct pollfd one;

	open_port(&p, virtual_name("{1"));
	WORKS(pipe(ends));
	WORKS(dup2(ends[0], p.fd));
	one.fd = p.fd;
	one.events = POLLIN;
	SAME(poll(&one, 1, 20), 0);
	SAME(write(ends[1], "x", 1), 1);
	SAME(poll(&one, 1, WAIT_MS), 1);
	CHECK(ioctl(p.fd, NIOCTXSYNC, NULL) == -1);
	bind_port(&p, virtual_name("{1"), NR_REG_ALL_NIC, 0, NR_EXCLUSIVE);
}

TEST(the_last_copy_frees_the_port)
{
	struct port p;
	int copy;

	bind_port(&p, virtual_name("{1"), NR_REG_ALL_NIC, 0, NR_EXCLUSIVE);
	WORKS(copy = dup(p.fd));
	close_port(&p);
	refuse_bind(virtual_name("{1"), NR_REG_ALL_NIC, 0, 0, EBUSY);
	WORKS(close(copy));
	bind_port(&p, virtual_name("{1"), NR_REG_ALL_NIC, 0, NR_EXCLUSIVE);
}

static struct bell go, done;

static void send_in_turn(void *pair)
{
	struct pair *p = (struct pair *)pair;
	uint32_t i;

	for (i = 0; i < 50; i++) {
		hear_bell(&go);
		send_frame(&p->a, 2 * i + 1, 60);
		ring_bell(&done);
	}
}

/* Parent and child send by one descriptor, in turn. */
TEST_LINKS(parent_and_child_send, p)
{
	pid_t child;
	uint32_t i;

	make_bell(&go);
	make_bell(&done);
	child = start(send_in_turn, p);
	for (i = 0; i < 50; i++) {
		send_frame(&p->a, 2 * i, 60);
		ring_bell(&go);
		hear_bell(&done);
		expect_frame(&p->b, 2 * i, 60);
		expect_frame(&p->b, 2 * i + 1, 60);
	}
	join(child);
	send_frame(&p->a, 100, 60);
	expect_frame(&p->b, 100, 60);
}

static void receive_in_turn(void *pair)
{
	struct pair *p = (struct pair *)pair;
	uint32_t i;

	for (i = 0; i < 50; i++) {
		hear_bell(&go);
		expect_frame(&p->b, 2 * i + 1, 60);
		ring_bell(&done);
	}
	sync_rx(&p->b);
}

TEST_LINKS(parent_and_child_receive, p)
{
	pid_t child;
	uint32_t i;

	make_bell(&go);
	make_bell(&done);
	child = start(receive_in_turn, p);
	for (i = 0; i < 50; i++) {
		send_frame(&p->a, 2 * i, 60);
		expect_frame(&p->b, 2 * i, 60);
		send_frame(&p->a, 2 * i + 1, 60);
		ring_bell(&go);
		hear_bell(&done);
	}
	join(child);
	send_frame(&p->a, 100, 60);
	expect_frame(&p->b, 100, 60);
}

static void send_all(void *pair)
{
	struct pair *p = (struct pair *)pair;
	uint32_t i;

	close_port(&p->b);
	for (i = 0; i < 500; i++) {
		while (nm_ring_empty(tx(&p->a)))
			poll_port(&p->a, POLLOUT, WAIT_MS);
		put_frame(tx(&p->a), i, 60);
		sync_tx(&p->a);
	}
	drain(&p->a);
}

/* One side in each process: each closes the other one's half. */
TEST_LINKS(parent_reads_what_the_child_sends, p)
{
	pid_t child = start(send_all, p);
	uint32_t i;

	close_port(&p->a);
	for (i = 0; i < 500; i++)
		expect_frame(&p->b, i, 60);
	sync_rx(&p->b);
	join(child);
}

static void bind_inherited(void *port)
{
	struct port *p = (struct port *)port;

	SAME(try_bind(p, virtual_name("{1")), 0);
	send_frame(p, 1, 60);
}

/* The binding belongs to the open file: a child binds, and the parent sends. */
TEST(a_child_binds_the_parents_descriptor)
{
	struct port p, far;
	struct nmreq_register reg;
	struct nmreq_header header;

	prepare(&p, NR_REG_ALL_NIC, 0, 0);
	p.fd = device();
	open_port(&far, virtual_name("}1"));
	join(start(bind_inherited, &p));
	sync_tx(&p);
	expect_frame(&far, 1, 60);
	memset(&reg, 0, sizeof(reg));
	reg.nr_mode = NR_REG_ALL_NIC;
	fill_header(&header, NETMAP_REQ_REGISTER, virtual_name("{1"), &reg);
	FAILS(ioctl(p.fd, NIOCCTRL, &header), EBUSY);
}
