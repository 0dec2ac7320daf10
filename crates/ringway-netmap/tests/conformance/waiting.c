/* select, ppoll and epoll, with netmap's descriptors among others. */
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/time.h>

#include "frames.h"
#include "process.h"

static int select_for(int read_fd, int write_fd, int *readable, int *writable, int ms)
{
	fd_set in, out;
	struct timeval time = {ms / 1000, ms % 1000 * 1000};
	int top = read_fd > write_fd ? read_fd : write_fd, ready;

	FD_ZERO(&in);
	FD_ZERO(&out);
	if (read_fd >= 0)
		FD_SET(read_fd, &in);
	if (write_fd >= 0)
		FD_SET(write_fd, &out);
	ready = select(top + 1, &in, &out, NULL, &time);
	*readable = read_fd >= 0 && FD_ISSET(read_fd, &in);
	*writable = write_fd >= 0 && FD_ISSET(write_fd, &out);
	return ready;
}

TEST_LINKS(select_waits_for_frames, p)
{
	int readable, writable;

	SAME(select_for(p->b.fd, -1, &readable, &writable, 50), 0);
	SAME(readable, 0);
	send_frame(&p->a, 1, 60);
	SAME(select_for(p->b.fd, -1, &readable, &writable, WAIT_MS), 1);
	SAME(readable, 1);
	expect_frame(&p->b, 1, 60);
}

TEST_LINKS(select_sends_what_is_there, p)
{
	int readable, writable;

	put_frame(tx(&p->a), 1, 60);
	SAME(select_for(-1, p->a.fd, &readable, &writable, WAIT_MS), 1);
	SAME(writable, 1);
	expect_frame(&p->b, 1, 60);
}

TEST(select_says_that_an_unbound_descriptor_is_ready)
{
	int fd = device(), readable, writable;

	/* An error makes a descriptor ready, for select has no other word for it. */
	CHECK(select_for(fd, fd, &readable, &writable, 1000) >= 1);
	CHECK(readable || writable);
}

TEST_LINKS(ppoll_waits_for_frames, p)
{
	struct pollfd one = {.fd = p->b.fd, .events = POLLIN};
	struct timespec brief = {0, 50000000}, more = {WAIT_MS / 1000, 0};

	SAME(ppoll(&one, 1, &brief, NULL), 0);
	send_frame(&p->a, 1, 60);
	SAME(ppoll(&one, 1, &more, NULL), 1);
	SAME(one.revents, POLLIN);
	expect_frame(&p->b, 1, 60);
}

static volatile sig_atomic_t usr1;

static void on_usr1(int signal)
{
	(void)signal;
	usr1++;
}

/* A signal that is blocked but for the sleep ends the sleep. */
TEST(ppoll_lets_signals_in_while_it_sleeps)
{
	struct port p;
	struct sigaction action;
	sigset_t blocked, open_mask;
	struct timespec more = {10, 0};
	struct pollfd one;

	memset(&action, 0, sizeof(action));
	action.sa_handler = on_usr1;
	sigaction(SIGUSR1, &action, NULL);
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGUSR1);
	sigprocmask(SIG_BLOCK, &blocked, &open_mask);
	open_port(&p, virtual_name("}1"));
	one.fd = p.fd;
	one.events = POLLIN;
	raise(SIGUSR1);
	SAME(usr1, 0);
	FAILS(ppoll(&one, 1, &more, &open_mask), EINTR);
	SAME(usr1, 1);
}

static int epoll_with(int fd, uint32_t events, uint64_t word)
{
	struct epoll_event event = {.events = events, .data.u64 = word};
	int epoll = epoll_create1(0);

	WORKS(epoll);
	WORKS(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event));
	return epoll;
}

TEST_LINKS(epoll_waits_for_frames, p)
{
	int epoll = epoll_with(p->b.fd, EPOLLIN, 0x1122334455667788);
	struct epoll_event event;

	SAME(epoll_wait(epoll, &event, 1, 50), 0);
	send_frame(&p->a, 1, 60);
	SAME(epoll_wait(epoll, &event, 1, WAIT_MS), 1);
	SAME(event.events & (EPOLLIN | EPOLLOUT | EPOLLERR), EPOLLIN);
	CHECK(event.data.u64 == 0x1122334455667788);
	expect_frame(&p->b, 1, 60);
	sync_rx(&p->b);
	SAME(epoll_wait(epoll, &event, 1, 50), 0);
}

TEST_LINKS(epoll_sends_what_is_there, p)
{
	int epoll = epoll_with(p->a.fd, EPOLLOUT, 1);
	struct epoll_event event;

	put_frame(tx(&p->a), 1, 60);
	SAME(epoll_wait(epoll, &event, 1, WAIT_MS), 1);
	SAME(event.events & (EPOLLIN | EPOLLOUT | EPOLLERR), EPOLLOUT);
	expect_frame(&p->b, 1, 60);
}

TEST_LINKS(epoll_forgets_what_is_deleted, p)
{
	int epoll = epoll_with(p->b.fd, EPOLLIN, 1);
	struct epoll_event event = {.events = EPOLLIN};

	WORKS(epoll_ctl(epoll, EPOLL_CTL_DEL, p->b.fd, NULL));
	send_frame(&p->a, 1, 60);
	SAME(epoll_wait(epoll, &event, 1, 50), 0);
	FAILS(epoll_ctl(epoll, EPOLL_CTL_DEL, p->b.fd, NULL), ENOENT);
	WORKS(epoll_ctl(epoll, EPOLL_CTL_ADD, p->b.fd, &event));
	SAME(epoll_wait(epoll, &event, 1, WAIT_MS), 1);
}

static void send_later(void *pair)
{
	struct pair *p = (struct pair *)pair;

	rest(150);
	send_frame(&p->a, 1, 60);
	drain(&p->a);
}

TEST_LINKS(epoll_is_woken_by_another_process, p)
{
	int epoll = epoll_with(p->b.fd, EPOLLIN, 1);
	struct epoll_event event;
	pid_t other = start(send_later, p);

	SAME(epoll_wait(epoll, &event, 1, 10000), 1);
	expect_frame(&p->b, 1, 60);
	sync_rx(&p->b);
	join(other);
}

/* A pipe of the system and a port in one call: each is ready by itself. */
TEST_LINKS(poll_mixes_ports_with_other_descriptors, p)
{
	int ends[2];
	struct pollfd both[3];

	WORKS(pipe(ends));
	memset(both, 0, sizeof(both));
	both[0].fd = ends[0];
	both[1].fd = -1;
	both[2].fd = p->b.fd;
	both[0].events = both[1].events = both[2].events = POLLIN;
	SAME(poll(both, 3, 50), 0);
	SAME(write(ends[1], "x", 1), 1);
	SAME(poll(both, 3, WAIT_MS), 1);
	CHECK(both[0].revents == POLLIN && both[1].revents == 0 && both[2].revents == 0);
	send_frame(&p->a, 1, 60);
	SAME(await(&p->b, 1), 1);
	SAME(poll(both, 3, WAIT_MS), 2);
	CHECK(both[0].revents == POLLIN && both[2].revents == POLLIN);
	SAME(read(ends[0], both, 1), 1);
	memset(both, 0, sizeof(both[0]));
	both[0].fd = ends[0];
	both[0].events = POLLIN;
	SAME(poll(both, 3, WAIT_MS), 1);
	CHECK(both[0].revents == 0 && both[2].revents == POLLIN);
}

static void write_later(void *ends)
{
	rest(150);
	SAME(write(((int *)ends)[1], "x", 1), 1);
}

TEST_LINKS(a_sleeper_is_woken_by_another_descriptor, p)
{
	int ends[2];
	struct pollfd both[2];
	pid_t other;

	WORKS(pipe(ends));
	memset(both, 0, sizeof(both));
	both[0].fd = p->b.fd;
	both[1].fd = ends[0];
	both[0].events = both[1].events = POLLIN;
	other = start(write_later, ends);
	SAME(poll(both, 2, 10000), 1);
	CHECK(both[0].revents == 0 && both[1].revents == POLLIN);
	join(other);
}

/* Two ports in one call, as a bridge has them. */
TEST_LINKS(poll_waits_for_two_ports, p)
{
	struct pollfd both[2] = {{.fd = p->a.fd, .events = POLLIN}, {.fd = p->b.fd, .events = POLLIN}};

	SAME(poll(both, 2, 50), 0);
	send_frame(&p->a, 1, 60);
	SAME(poll(both, 2, WAIT_MS), 1);
	CHECK(both[0].revents == 0 && both[1].revents == POLLIN);
	send_frame(&p->b, 2, 60);
	SAME(await(&p->a, 1), 1);
	SAME(poll(both, 2, WAIT_MS), 2);
}

TEST(epoll_in_one_set_with_other_descriptors)
{
	struct pair p;
	int ends[2], epoll;
	struct epoll_event event = {.events = EPOLLIN, .data.u64 = 2}, got[4];

	open_pair(&p, PIPE);
	WORKS(pipe(ends));
	epoll = epoll_with(p.b.fd, EPOLLIN, 1);
	WORKS(epoll_ctl(epoll, EPOLL_CTL_ADD, ends[0], &event));
	SAME(write(ends[1], "x", 1), 1);
	SAME(epoll_wait(epoll, got, 4, WAIT_MS), 1);
	SAME(got[0].data.u64, 2);
	send_frame(&p.a, 1, 60);
	SAME(epoll_wait(epoll, got, 4, WAIT_MS), 2);
	SAME(got[0].data.u64 + got[1].data.u64, 3);
}
