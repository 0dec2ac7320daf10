#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "frames.h"
#include "process.h"

pid_t start(void (*function)(void *), void *argument)
{
	pid_t child = fork();

	if (child < 0)
		FAIL("fork: %s", strerror(errno));
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		function(argument);
		_exit(0);
	}
	return child;
}

void join(pid_t child)
{
	int status;

	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			FAIL("waitpid: %s", strerror(errno));
	if (WIFEXITED(status) && WEXITSTATUS(status) != 0)
		_exit(WEXITSTATUS(status)); /* it said why */
	if (WIFSIGNALED(status))
		FAIL("another process ended by signal %d", WTERMSIG(status));
}

void end_by_kill(pid_t child)
{
	int status;

	kill(child, SIGKILL);
	waitpid(child, &status, 0);
}

void pass(int socket, int fd)
{
	char byte = 'x';
	struct iovec data = {&byte, 1};
	union {
		char room[CMSG_SPACE(sizeof(int))];
		struct cmsghdr header;
	} control;
	struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = control.room, .msg_controllen = sizeof(control.room)};
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);

	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(header), &fd, sizeof(int));
	SAME(sendmsg(socket, &message, 0), 1);
}

int take(int socket)
{
	char byte;
	struct iovec data = {&byte, 1};
	union {
		char room[CMSG_SPACE(sizeof(int))];
		struct cmsghdr header;
	} control;
	struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = control.room, .msg_controllen = sizeof(control.room)};
	struct cmsghdr *header;
	int fd;

	SAME(recvmsg(socket, &message, 0), 1);
	header = CMSG_FIRSTHDR(&message);
	CHECK(header != NULL && header->cmsg_type == SCM_RIGHTS);
	memcpy(&fd, CMSG_DATA(header), sizeof(int));
	return fd;
}

void exec_server(const struct port *p, enum job job, uint32_t number)
{
	char words[5][32];
	char *args[8] = {(char *)"conformance", (char *)"--serve"};
	int i;

	snprintf(words[0], sizeof(words[0]), "%d", p->fd);
	snprintf(words[1], sizeof(words[1]), "%llu", (unsigned long long)p->reg.nr_offset);
	snprintf(words[2], sizeof(words[2]), "%llu", (unsigned long long)p->reg.nr_memsize);
	snprintf(words[3], sizeof(words[3]), "%d", (int)job);
	snprintf(words[4], sizeof(words[4]), "%u", number);
	for (i = 0; i < 5; i++)
		args[2 + i] = words[i];
	execv("/proc/self/exe", args);
	FAIL("execv: %s", strerror(errno));
}

int process_serve(int count, char **words)
{
	struct port p;

	SAME(count, 5);
	memset(&p, 0, sizeof(p));
	p.fd = atoi(words[0]);
	p.reg.nr_offset = strtoull(words[1], NULL, 10);
	p.reg.nr_memsize = strtoull(words[2], NULL, 10);
	map_port(&p);
	if (atoi(words[3]) == JOB_SEND) {
		long end = milliseconds() + QUIET_MS;

		send_frame(&p, (uint32_t)atoi(words[4]), 100);
		while (nm_tx_pending(tx(&p)) && milliseconds() < end)
			sync_tx(&p); /* a pipe whose reader rests says nothing yet */
	} else {
		expect_frame(&p, (uint32_t)atoi(words[4]), 100);
	}
	return 0;
}

void make_bell(struct bell *bell)
{
	WORKS(pipe(bell->ends));
}

void ring_bell(const struct bell *bell)
{
	SAME(write(bell->ends[1], "x", 1), 1);
}

void hear_bell(const struct bell *bell)
{
	char byte;

	SAME(read(bell->ends[0], &byte, 1), 1);
}
