/* A descriptor that came by dup, fork, exec or over a socket is one; a number that was closed is none. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

static int device(void)
{
	int fd = open("/dev/netmap", O_RDWR);
	CHECK(fd >= 0);
	return fd;
}

static void ends_well(pid_t child)
{
	int status;
	CHECK(child > 0 && waitpid(child, &status, 0) == child);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void dups(void)
{
	int fd = device(), null = open("/dev/null", O_RDWR);
	int copies[] = { dup(fd), dup2(fd, 100), dup3(fd, 101, O_CLOEXEC), fcntl(fd, F_DUPFD, 200),
			 fcntl(fd, F_DUPFD_CLOEXEC, 201) };

	CHECK(close(fd) == 0);
	FAILS(ioctl(fd, NIOCTXSYNC, NULL), EBADF);
	for (int i = 0; i < 5; i++) {
		CHECK(UNBOUND(copies[i]));
		/* Something else takes its number. */
		CHECK(dup2(null, copies[i]) == copies[i]);
		FAILS(ioctl(copies[i], NIOCTXSYNC, NULL), ENOTTY);
		CHECK(write(copies[i], "x", 1) == 1);
		CHECK(close(copies[i]) == 0);
	}
	CHECK(close(null) == 0);
}

/* Numbers that were closed, and given again, by ways that no library sees. */
static void raw(void)
{
	int fd = device(), copy = syscall(SYS_dup, fd), null, pipes[2];
	struct pollfd p = { copy, POLLIN, 0 };

	CHECK(copy >= 0 && UNBOUND(copy));
	CHECK(poll(&p, 1, 0) == 1 && p.revents == POLLERR);
	CHECK(syscall(SYS_close, copy) == 0);
	null = syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDWR);
	CHECK(null == copy && write(null, "x", 1) == 1);
	FAILS(ioctl(null, NIOCCTRL, NULL), ENOTTY);
	CHECK(close(null) == 0 && syscall(SYS_close, fd) == 0);
	CHECK(pipe(pipes) == 0);
	CHECK(write(pipes[1], "x", 1) == 1);
	char byte;
	CHECK(read(pipes[0], &byte, 1) == 1);
	CHECK(close(pipes[0]) == 0 && close(pipes[1]) == 0);
}

static void forks(void)
{
	int fd = device();
	pid_t child = fork();

	if (child == 0) {
		CHECK(UNBOUND(fd) && close(fd) == 0);
		FAILS(ioctl(fd, NIOCTXSYNC, NULL), EBADF);
		int own = device();
		CHECK(UNBOUND(own));
		exit(0);
	}
	ends_well(child);
	CHECK(UNBOUND(fd));
	/* The child of a vfork closes descriptors in its parent's memory. */
	child = vfork();
	if (child == 0) {
		close(fd);
		_exit(0);
	}
	ends_well(child);
	CHECK(UNBOUND(fd) && close(fd) == 0);
}

/* The ways by which an unknown descriptor shows, each in a process of its own. */
static int foreign(const char *way, int fd)
{
	if (!strcmp(way, "ioctl")) {
		CHECK(UNBOUND(fd));
	} else if (!strcmp(way, "mmap")) {
		CHECK(mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED);
		char byte; /* known from now on */
		FAILS(read(fd, &byte, 1), EINVAL);
	} else if (!strcmp(way, "poll")) {
		struct pollfd p = { fd, POLLIN, 0 };
		CHECK(poll(&p, 1, 1000) == 1 && p.revents == POLLERR);
	} else if (!strcmp(way, "ppoll")) {
		struct pollfd p = { fd, POLLOUT, 0 };
		CHECK(ppoll(&p, 1, NULL, NULL) == 1 && p.revents == POLLERR);
	} else if (!strcmp(way, "mixed")) {
		int known = device();
		struct pollfd p[] = { { known, POLLIN, 0 }, { fd, POLLIN, 0 } };
		CHECK(poll(p, 2, 0) == 2 && p[0].revents == POLLERR && p[1].revents == POLLERR);
	} else if (!strcmp(way, "select")) {
		fd_set r, w;
		struct timeval t = { 1, 0 };
		FD_ZERO(&r);
		FD_ZERO(&w);
		FD_SET(fd, &r);
		FD_SET(fd, &w);
		CHECK(select(fd + 1, &r, &w, NULL, &t) == 2);
		char byte;
		FAILS(read(fd, &byte, 1), EINVAL);
	} else if (!strcmp(way, "epoll")) {
		struct epoll_event e = { EPOLLIN, { .u64 = 7 } };
		int ep = epoll_create1(0);
		CHECK(epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e) == 0);
		CHECK(epoll_wait(ep, &e, 1, 1000) == 1 && e.events == EPOLLERR && e.data.u64 == 7);
	} else {
		return 2;
	}
	CHECK(UNBOUND(fd));
	return 0;
}

static const char *const ways[] = { "ioctl", "mmap", "poll", "ppoll", "mixed", "select", "epoll" };
#define WAYS (sizeof(ways) / sizeof(*ways))

static void execs(const char *self)
{
	int fd = device(), hidden = open("/dev/netmap", O_RDWR | O_CLOEXEC);
	char number[16], closed[16];

	snprintf(number, sizeof(number), "%d", fd);
	snprintf(closed, sizeof(closed), "%d", hidden);
	for (unsigned int i = 0; i < WAYS; i++) {
		pid_t child = fork();
		if (child == 0) {
			execl(self, self, ways[i], number, closed, (char *)NULL);
			exit(127);
		}
		ends_well(child);
	}
	CHECK(UNBOUND(fd) && close(fd) == 0 && close(hidden) == 0);
}

static void send_fd(int to, int fd)
{
	char byte = 0, room[CMSG_SPACE(sizeof(int))] = "";
	struct iovec piece = { &byte, 1 };
	struct msghdr msg = { .msg_iov = &piece, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof(room) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(int));
	CHECK(sendmsg(to, &msg, 0) == 1);
}

static int receive_fd(int from)
{
	char byte, room[CMSG_SPACE(sizeof(int))];
	struct iovec piece = { &byte, 1 };
	struct msghdr msg = { .msg_iov = &piece, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof(room) };
	int fd;

	CHECK(recvmsg(from, &msg, 0) == 1 && CMSG_FIRSTHDR(&msg));
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(int));
	return fd;
}

static void passed(void)
{
	int pair[2];

	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
	for (unsigned int i = 0; i < WAYS; i++) {
		pid_t child = fork();
		if (child == 0)
			exit(foreign(ways[i], receive_fd(pair[1])));
		int fd = device();
		send_fd(pair[0], fd);
		CHECK(close(fd) == 0); /* the child has it still */
		ends_well(child);
	}
	/* Back to the process that has it: the same one, by another number. */
	int fd = device(), again;
	send_fd(pair[0], fd);
	again = receive_fd(pair[1]);
	CHECK(again != fd && UNBOUND(again) && close(fd) == 0 && UNBOUND(again) && close(again) == 0);
	CHECK(close(pair[0]) == 0 && close(pair[1]) == 0);
}

/* Sockets of the same kind that are none. */
static void lookalikes(void)
{
	int pair[2];
	char text[8] = "";

	CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) == 0);
	FAILS(ioctl(pair[0], NIOCTXSYNC, NULL), ENOTTY);
	CHECK(send(pair[1], "hello", 5, 0) == 5 && close(pair[1]) == 0);
	struct pollfd p = { pair[0], POLLIN, 0 };
	CHECK(poll(&p, 1, 0) == 1 && (p.revents & (POLLIN | POLLHUP)) == (POLLIN | POLLHUP));
	FAILS(ioctl(pair[0], NIOCTXSYNC, NULL), ENOTTY);
	CHECK(read(pair[0], text, sizeof(text)) == 5 && !memcmp(text, "hello", 5));
	CHECK(close(pair[0]) == 0);
}

/* A daemon closes every number, and opens the device then. */
static void daemons(void)
{
	for (int way = 0; way < 3; way++) {
		pid_t child = fork();
		if (child > 0) {
			ends_well(child);
			continue;
		}
		int fd = device(), ep = epoll_create1(0);
		struct epoll_event e = { EPOLLIN, { .u64 = 1 } };
		CHECK(epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e) == 0);
		if (way == 0)
			for (int n = 3; n < 4096; n++)
				close(n);
		else if (way == 1)
			CHECK(close_range(3, ~0U, 0) == 0);
		else
			closefrom(3);
		FAILS(ioctl(fd, NIOCTXSYNC, NULL), EBADF);
		CHECK(device() == fd || UNBOUND(fd) || errno == EBADF);
		FAILS(epoll_wait(1000, &e, 1, 0), EBADF);
		int again = device();
		CHECK(UNBOUND(again) && close(again) == 0);
		exit(0);
	}
}

int main(int argc, char **argv)
{
	if (argc > 1) {
		FAILS(ioctl(atoi(argv[3]), NIOCTXSYNC, NULL), EBADF);
		return foreign(argv[1], atoi(argv[2]));
	}
	dups();
	raw();
	forks();
	execs(argv[0]);
	passed();
	lookalikes();
	daemons();
	return 0;
}
