/* poll, select and epoll on a descriptor that is bound to nothing, among ordinary ones; signals that end a sleep. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

static int nm, ends[2];

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static void fill(void)
{
	CHECK(write(ends[1], "x", 1) == 1);
}

static void drain(void)
{
	char byte;
	CHECK(read(ends[0], &byte, 1) == 1);
}

static void polls(void)
{
	struct timespec second = { 1, 0 };
	struct pollfd one = { nm, POLLIN, 77 };
	struct pollfd p[] = { { ends[0], POLLIN, 77 }, { nm, POLLIN | POLLOUT, 77 }, { -1, POLLIN, 77 },
			      { ends[1], POLLOUT, 77 }, { 1000, POLLIN, 77 } };
	volatile nfds_t n = 5;

	CHECK(poll(&one, 1, -1) == 1 && one.revents == POLLERR);
	CHECK(poll(&one, 1, 0) == 1 && one.revents == POLLERR);
	one.events = 0;
	CHECK(poll(&one, 1, -1) == 1 && one.revents == POLLERR);
	CHECK(ppoll(&one, 1, &second, NULL) == 1 && one.revents == POLLERR);
	for (int full = 0; full < 2; full++) {
		for (int way = 0; way < 2; way++) {
			int ready = way ? ppoll(p, n, &second, NULL) : poll(p, n, -1);
			CHECK(ready == 3 + full);
			CHECK(p[0].revents == (full ? POLLIN : 0) && p[1].revents == POLLERR);
			CHECK(p[2].revents == 0 && p[3].revents == POLLOUT && p[4].revents == POLLNVAL);
		}
		if (!full)
			fill();
	}
	drain();
	second.tv_nsec = -1;
	FAILS(ppoll(&one, 1, &second, NULL), EINVAL);
	CHECK(poll(NULL, 0, 1) == 0);
}

static void selects(void)
{
	fd_set r, w, e;
	int n = (nm > ends[1] ? nm : ends[1]) + 1;

	for (int way = 0; way < 2; way++) {
		struct timeval t = { 5, 0 };
		struct timespec ts = { 5, 0 };
		fill();
		FD_ZERO(&r);
		FD_ZERO(&w);
		FD_ZERO(&e);
		FD_SET(nm, &r);
		FD_SET(ends[0], &r);
		FD_SET(nm, &w);
		FD_SET(nm, &e);
		CHECK((way ? pselect(n, &r, &w, &e, &ts, NULL) : select(n, &r, &w, &e, &t)) == 3);
		CHECK(FD_ISSET(nm, &r) && FD_ISSET(ends[0], &r) && FD_ISSET(nm, &w) && !FD_ISSET(nm, &e));
		CHECK(way || (t.tv_sec == 4 && t.tv_usec > 500000) || t.tv_sec == 5);
		drain();
		FD_SET(ends[0], &r);
		CHECK((way ? pselect(n, &r, NULL, NULL, &ts, NULL) : select(n, &r, NULL, NULL, &t)) == 1);
		CHECK(FD_ISSET(nm, &r) && !FD_ISSET(ends[0], &r));
	}
	struct timeval bad = { -1, 0 };
	FD_ZERO(&r);
	FD_SET(nm, &r);
	FAILS(select(n, &r, NULL, NULL, &bad), EINVAL);
	FD_SET(1000, &r);
	FAILS(select(1001, &r, NULL, NULL, NULL), EBADF);
}

static int find(const struct epoll_event *all, int n, unsigned long data)
{
	for (int i = 0; i < n; i++)
		if (all[i].data.u64 == data)
			return all[i].events;
	return 0;
}

static void epolls(int ep, int waits)
{
	struct epoll_event e = { EPOLLIN, { .u64 = ~1UL } }, got[4];
	struct timespec soon = { 0, 0 };
	int seen = 0;

	FAILS(epoll_ctl(ep, EPOLL_CTL_MOD, nm, &e), ENOENT);
	FAILS(epoll_ctl(ep, EPOLL_CTL_DEL, nm, &e), ENOENT);
	FAILS(epoll_ctl(ep, EPOLL_CTL_ADD, nm, NULL), EFAULT);
	FAILS(epoll_ctl(ep, EPOLL_CTL_ADD, nm, (void *)8), EFAULT);
	FAILS(epoll_ctl(ends[0], EPOLL_CTL_ADD, nm, &e), EINVAL);
	FAILS(epoll_ctl(1000, EPOLL_CTL_ADD, nm, &e), EBADF);
	CHECK(epoll_ctl(ep, EPOLL_CTL_ADD, nm, &e) == 0);
	FAILS(epoll_ctl(ep, EPOLL_CTL_ADD, nm, &e), EEXIST);
	e.data.u64 = 5;
	CHECK(epoll_ctl(ep, EPOLL_CTL_ADD, ends[0], &e) == 0);
	CHECK(epoll_wait(waits, got, 4, -1) == 1 && find(got, 1, ~1UL) == EPOLLERR);
	fill();
	CHECK(epoll_wait(waits, got, 4, -1) == 2);
	CHECK(find(got, 2, ~1UL) == EPOLLERR && find(got, 2, 5) == EPOLLIN);
	CHECK(epoll_pwait(waits, got, 4, 0, NULL) == 2 && epoll_pwait2(waits, got, 4, &soon, NULL) == 2);
	/* With room for one event, each of the two gets its turn. */
	for (int i = 0; i < 20; i++) {
		CHECK(epoll_wait(waits, got, 1, -1) == 1);
		seen |= got[0].data.u64 == 5 ? 1 : 2;
	}
	CHECK(seen == 3);
	drain();
	/* One that wants a single event. */
	e.events = EPOLLIN | EPOLLONESHOT;
	e.data.u64 = 9;
	CHECK(epoll_ctl(ep, EPOLL_CTL_MOD, nm, &e) == 0);
	CHECK(epoll_wait(waits, got, 4, -1) == 1 && find(got, 1, 9) == EPOLLERR);
	double start = now();
	CHECK(epoll_wait(waits, got, 4, 50) == 0 && now() - start > 0.045);
	CHECK(epoll_ctl(ep, EPOLL_CTL_MOD, nm, &e) == 0);
	CHECK(epoll_wait(waits, got, 4, -1) == 1 && find(got, 1, 9) == EPOLLERR);
	/* The epoll in a poll. */
	struct pollfd p = { waits, POLLIN, 0 };
	CHECK(poll(&p, 1, 0) == 0);
	e.events = EPOLLIN;
	CHECK(epoll_ctl(ep, EPOLL_CTL_MOD, nm, &e) == 0);
	CHECK(poll(&p, 1, -1) == 1 && p.revents == POLLIN);
	CHECK(epoll_ctl(ep, EPOLL_CTL_DEL, nm, NULL) == 0 && epoll_ctl(ep, EPOLL_CTL_DEL, ends[0], NULL) == 0);
	CHECK(epoll_wait(waits, got, 4, 0) == 0);
	FAILS(epoll_wait(waits, got, 0, 0), EINVAL);
}

/* A descriptor leaves its epolls with its last number. */
static void closed_in_epoll(void)
{
	int ep = epoll_create(1), fd = open("/dev/netmap", O_RDWR), copy = dup(fd);
	struct epoll_event e = { EPOLLIN, { .u64 = 3 } };

	CHECK(epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e) == 0);
	CHECK(close(fd) == 0 && epoll_wait(ep, &e, 1, 0) == 1);
	CHECK(close(copy) == 0 && epoll_wait(ep, &e, 1, 0) == 0);
	CHECK(close(ep) == 0);
	FAILS(epoll_wait(ep, &e, 1, 0), EBADF);
}

static volatile sig_atomic_t caught;

static void handler(int signal)
{
	caught = signal;
}

/* A sleep on what is not ready ends by a signal; the mask of a call counts. */
static void signals(void)
{
	struct epoll_event e = { EPOLLIN | EPOLLONESHOT, { .u64 = 3 } };
	struct sigaction action = { .sa_handler = handler };
	struct itimerval timer = { { 0, 0 }, { 0, 30000 } };
	int ep = epoll_create1(0);
	struct pollfd p = { ep, POLLIN, 0 };
	sigset_t blocked, none;

	CHECK(sigaction(SIGALRM, &action, NULL) == 0);
	CHECK(epoll_ctl(ep, EPOLL_CTL_ADD, nm, &e) == 0 && epoll_wait(ep, &e, 1, 0) == 1);
	CHECK(setitimer(ITIMER_REAL, &timer, NULL) == 0);
	FAILS(epoll_wait(ep, &e, 1, 5000), EINTR);
	CHECK(caught == SIGALRM);
	CHECK(setitimer(ITIMER_REAL, &timer, NULL) == 0);
	FAILS(poll(&p, 1, 5000), EINTR);
	sigemptyset(&none);
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGALRM);
	CHECK(sigprocmask(SIG_BLOCK, &blocked, NULL) == 0);
	caught = 0;
	raise(SIGALRM);
	CHECK(poll(&p, 1, 20) == 0 && !caught);
	FAILS(epoll_pwait(ep, &e, 1, 5000, &none), EINTR);
	CHECK(caught == SIGALRM);
	caught = 0;
	raise(SIGALRM);
	FAILS(ppoll(&p, 1, NULL, &none), EINTR);
	CHECK(caught == SIGALRM);
	/* What is ready goes first, and the signal stays. */
	caught = 0;
	raise(SIGALRM);
	struct pollfd ready = { nm, POLLIN, 0 };
	CHECK(ppoll(&ready, 1, NULL, &none) == 1 && ready.revents == POLLERR && !caught);
	CHECK(sigprocmask(SIG_SETMASK, &none, NULL) == 0 && caught == SIGALRM);
	CHECK(close(ep) == 0);
}

/* Threads that poll while others open and close. */
static void *poller(void *stop)
{
	while (!__atomic_load_n((int *)stop, __ATOMIC_RELAXED)) {
		struct pollfd p[] = { { nm, POLLIN, 0 }, { nm + 3, POLLOUT, 0 }, { nm + 4, POLLIN, 0 } };
		CHECK(poll(p, 3, 0) >= 1 && p[0].revents == POLLERR);
	}
	return NULL;
}

static void threads(void)
{
	pthread_t threads[2];
	int stop = 0;

	for (int i = 0; i < 2; i++)
		CHECK(pthread_create(&threads[i], NULL, poller, &stop) == 0);
	for (int i = 0; i < 2000; i++) {
		int fd = open("/dev/netmap", O_RDWR), copy = dup(fd);
		CHECK(fd >= 0 && copy >= 0 && UNBOUND(copy) && close(fd) == 0 && close(copy) == 0);
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < 2; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
}

int main(void)
{
	CHECK(pipe(ends) == 0);
	nm = open("/dev/netmap", O_RDWR);
	CHECK(nm >= 0);
	polls();
	selects();
	int ep = epoll_create1(EPOLL_CLOEXEC), copy = dup(ep);
	epolls(ep, ep);
	epolls(copy, ep);
	CHECK(close(ep) == 0);
	epolls(copy, copy);
	closed_in_epoll();
	signals();
	threads();
	return 0;
}
