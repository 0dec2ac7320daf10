/* Runs cases:  conformance            all of them
 *              conformance --list     says their names
 *              conformance NAME...    runs these, or all whose names begin so
 * One line a case on stdout: ok, failed or skipped, name, reason. Status 0: none failed. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "process.h"
#include "suite.h"

enum { LIMIT_MS = 60000, SKIPPED = 77, REASON = 1024 };

static struct test *tests;

void suite_add(struct test *test)
{
	struct test **place = &tests;

	while (*place && strcmp((*place)->file, test->file) <= 0)
		place = &(*place)->next;
	test->next = *place;
	*place = test;
}

void suite_fail(const char *file, int line, const char *text, ...)
{
	const char *name = strrchr(file, '/');
	va_list list;

	va_start(list, text);
	fprintf(stderr, "%s:%d: ", name ? name + 1 : file, line);
	vfprintf(stderr, text, list);
	fputc('\n', stderr);
	va_end(list);
	fflush(NULL);
	_exit(1);
}

void suite_skip(const char *text, ...)
{
	va_list list;

	va_start(list, text);
	vfprintf(stderr, text, list);
	fputc('\n', stderr);
	va_end(list);
	fflush(NULL);
	_exit(SKIPPED);
}

static long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Reads what the case says until it ends or its time is over. Returns its wait status, or -1 for one that hangs. */
static int watch(pid_t child, int from, char *said)
{
	size_t have = 0;
	long end = now_ms() + LIMIT_MS;
	int status;

	for (;;) {
		struct pollfd wait = {.fd = from, .events = POLLIN};
		pid_t ended = waitpid(child, &status, WNOHANG);
		ssize_t got = poll(&wait, 1, ended == child ? 0 : 5) == 1 ? read(from, said + have, REASON - 1 - have) : 0;

		if (got > 0)
			have += (size_t)got;
		said[have] = '\0';
		if (have == REASON - 1)
			have /= 2;
		if (ended == child)
			return status;
		if (now_ms() > end) {
			kill(child, SIGKILL);
			waitpid(child, &status, 0);
			return -1;
		}
		if (got == 0 && (wait.revents & POLLHUP))
			usleep(2000);
	}
}

/* Runs a case by starting this program again, so that nothing is left of the case before. 1 if it failed, -1 if it was skipped. */
static int run(const struct test *test)
{
	char said[REASON] = "";
	int ends[2], status;
	pid_t child;

	if (pipe(ends) != 0)
		abort();
	fflush(NULL);
	child = fork();
	if (child == 0) {
		char *args[] = {(char *)"conformance", (char *)"--case", (char *)test->name, NULL};

		setpgid(0, 0);
		dup2(ends[1], 1);
		dup2(ends[1], 2);
		close(ends[0]);
		close(ends[1]);
		execv("/proc/self/exe", args);
		_exit(127);
	}
	close(ends[1]);
	status = watch(child, ends[0], said);
	kill(-child, SIGKILL); /* what the case started and left */
	close(ends[0]);
	said[strcspn(said, "\n")] = '\0';
	if (status == 0) {
		printf("ok %s\n", test->name);
		return 0;
	}
	if (WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED) {
		printf("skipped %s: %s\n", test->name, said);
		return -1;
	}
	printf("failed %s: ", test->name);
	if (status == -1)
		printf("not done after %d s. ", LIMIT_MS / 1000);
	else if (WIFSIGNALED(status))
		printf("ended by signal %d (%s). ", WTERMSIG(status), strsignal(WTERMSIG(status)));
	printf("%s\n", said);
	return 1;
}

static int chosen(const struct test *test, int count, char **names)
{
	int i;

	for (i = 0; i < count; i++)
		if (strncmp(test->name, names[i], strlen(names[i])) == 0)
			return 1;
	return count == 0;
}

static int run_case(const char *name)
{
	struct test *test;

	for (test = tests; test; test = test->next)
		if (strcmp(test->name, name) == 0) {
			test->run();
			return 0;
		}
	return 2;
}

int main(int argc, char **argv)
{
	int count[3] = {0, 0, 0}, list = argc == 2 && strcmp(argv[1], "--list") == 0;
	struct test *test;

	if (argc == 3 && strcmp(argv[1], "--case") == 0)
		return run_case(argv[2]);
	if (argc >= 2 && strcmp(argv[1], "--serve") == 0)
		return process_serve(argc - 2, argv + 2);
	for (test = tests; test; test = test->next) {
		if (!chosen(test, list ? 0 : argc - 1, argv + 1))
			continue;
		if (list)
			puts(test->name);
		else
			count[1 + run(test)]++;
		fflush(stdout);
	}
	if (!list)
		printf("%d ok, %d failed, %d skipped\n", count[1], count[2], count[0]);
	return count[2] > 0 || (!list && count[0] + count[1] == 0);
}
