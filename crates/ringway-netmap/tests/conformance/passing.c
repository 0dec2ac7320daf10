/* Descriptors in other programs, on their way over sockets, and in daemons that close all other numbers. */
#include <sys/socket.h>

#include "frames.h"
#include "process.h"

static struct bell go, done;

static void exec_to_send(void *port)
{
	exec_server((struct port *)port, JOB_SEND, 7);
}

static void exec_to_receive(void *port)
{
	exec_server((struct port *)port, JOB_RECEIVE, 8);
}

/* A program that was started later finds the descriptor by its number. */
TEST_LINKS(another_program_sends, p)
{
	join(start(exec_to_send, &p->a));
	expect_frame(&p->b, 7, 100);
	send_frame(&p->a, 1, 60);
	expect_frame(&p->b, 1, 60);
}

TEST_LINKS(another_program_receives, p)
{
	send_frame(&p->a, 8, 100);
	join(start(exec_to_receive, &p->b));
	send_frame(&p->a, 1, 60);
	expect_frame(&p->b, 1, 60);
}

static void exec_sleep(void *port)
{
	(void)port;
	execl("/bin/sleep", "sleep", "20", (char *)NULL);
	FAIL("sleep: %s", strerror(errno));
}

/* A program that the descriptor does not follow does not hold it. */
TEST(a_descriptor_that_closes_on_exec_is_freed)
{
	struct port p;
	pid_t child;
	int i, error = EBUSY;

	prepare(&p, NR_REG_ALL_NIC, 0, NR_EXCLUSIVE);
	WORKS(p.fd = open("/dev/netmap", O_RDWR | O_CLOEXEC));
	SAME(try_bind(&p, virtual_name("{1")), 0);
	child = start(exec_sleep, &p);
	close_port(&p);
	for (i = 0; i < 300 && error == EBUSY; i++) {
		prepare(&p, NR_REG_ALL_NIC, 0, NR_EXCLUSIVE);
		error = try_bind(&p, virtual_name("{1"));
		if (error)
			close(p.fd);
		rest(10);
	}
	SAME(error, 0);
	end_by_kill(child);
}

/* Over a unix socket to a process that never opened the device. */
struct passing {
	int ends[2];
};

static void serve_taken(void *passing)
{
	struct passing *way = (struct passing *)passing;
	struct port p;

	memset(&p, 0, sizeof(p));
	SAME(read(way->ends[1], &p.reg, sizeof(p.reg)), sizeof(p.reg));
	p.fd = take(way->ends[1]);
	map_port(&p);
	send_frame(&p, 1, 60);
	ring_bell(&done);
	expect_frame(&p, 2, 60);
	SAME(poll_port(&p, POLLIN, 20), 0);
	sync_rx(&p);
	hear_bell(&go);
	send_frame(&p, 3, 60);
	drain(&p);
}

static void pass_port(enum link link)
{
	struct passing way;
	struct pair p;
	pid_t other;

	make_bell(&go);
	make_bell(&done);
	WORKS(socketpair(AF_UNIX, SOCK_STREAM, 0, way.ends));
	other = start(serve_taken, &way);
	open_pair(&p, link);
	SAME(write(way.ends[0], &p.a.reg, sizeof(p.a.reg)), sizeof(p.a.reg));
	pass(way.ends[0], p.a.fd);
	hear_bell(&done);
	expect_frame(&p.b, 1, 60);
	send_frame(&p.b, 2, 60);
	close_port(&p.a);
	ring_bell(&go);
	expect_frame(&p.b, 3, 60);
	sync_rx(&p.b);
	join(other);
}

TEST(a_descriptor_is_passed_on_veth) { pass_port(VETH); }
TEST(a_descriptor_is_passed_on_switch) { pass_port(SWITCH); }
TEST(a_descriptor_is_passed_on_pipe) { pass_port(PIPE); }

/* While it is in a socket's queue it lives. */
TEST(a_descriptor_on_its_way_keeps_the_port)
{
	struct port p;
	int ends[2];

	WORKS(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
	bind_port(&p, virtual_name("{1"), NR_REG_ALL_NIC, 0, NR_EXCLUSIVE);
	pass(ends[0], p.fd);
	WORKS(close(p.fd));
	refuse_bind(virtual_name("{1"), NR_REG_ALL_NIC, 0, 0, EBUSY);
	p.fd = take(ends[1]);
	sync_tx(&p);
	close_port(&p);
	bind_port(&p, virtual_name("{1"), NR_REG_ALL_NIC, 0, NR_EXCLUSIVE);
}

/* A daemon closes all numbers that it does not know. */
TEST_LINKS(a_daemon_closes_all_other_numbers, p)
{
	int fd;

	for (fd = 3; fd < 1024; fd++)
		if (fd != p->a.fd && fd != p->b.fd)
			close(fd);
	send_frame(&p->a, 1, 60);
	expect_frame(&p->b, 1, 60);
	SAME(poll_port(&p->b, POLLIN, 20), 0);
	send_frame(&p->b, 2, 60);
	SAME(poll_port(&p->a, POLLIN, WAIT_MS), POLLIN);
	expect_frame(&p->a, 2, 60);
}

TEST_LINKS(a_daemon_closes_ranges_of_numbers, p)
{
	int low = dup2(p->a.fd, 500), high = dup2(p->b.fd, 501);

	CHECK(low == 500 && high == 501);
	if (close_range(3, 499, 0) != 0)
		SKIP("close_range: %s", strerror(errno));
	WORKS(close_range(502, ~0u, 0));
	p->a.fd = 500;
	p->b.fd = 501;
	send_frame(&p->a, 1, 60);
	expect_frame(&p->b, 1, 60);
	SAME(poll_port(&p->b, POLLIN, 20), 0);
}
