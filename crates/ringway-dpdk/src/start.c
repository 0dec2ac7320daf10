/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Starting DPDK in a program that is not DPDK's: the calling thread keeps its CPUs, and the program its handlers of signals.
 *
 * rte_eal_init binds the thread that calls it to CPUs and makes threads that inherit its signal mask. So a thread of its own calls it,
 * with all signals blocked, and ends.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_errno.h>

#include "inside.h"

struct call {
	int argc;
	char **argv;
	int result;
	char text[320];
};

static void *initialise(void *argument)
{
	struct call *call = argument;
	forget_log();
	call->result = rte_eal_init(call->argc, call->argv);
	if (call->result < 0) {
		call->result = failed(-rte_errno, "DPDK does not start");
		snprintf(call->text, sizeof(call->text), "%s", last_error());
	}
	/* Empty, as nothing is shared; another process's has another name. */
	rmdir(rte_eal_get_runtime_dir());
	return NULL;
}

int start(int argc, char **argv, int loud)
{
	struct sigaction before[NSIG], now;
	struct call call = { .argc = argc, .argv = argv };
	pthread_t thread;
	sigset_t all, mask;

	start_log(loud);
	forget_log();
	for (int s = 1; s < NSIG; s++)
		sigaction(s, NULL, &before[s]);
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &mask);
	int error = pthread_create(&thread, NULL, initialise, &call);
	if (error == 0)
		pthread_join(thread, NULL);
	pthread_sigmask(SIG_SETMASK, &mask, NULL);
	for (int s = 1; s < NSIG; s++) {
		if (sigaction(s, NULL, &now) == 0 && memcmp(&now.sa_sigaction, &before[s].sa_sigaction, sizeof(now.sa_sigaction)) != 0)
			sigaction(s, &before[s], NULL);
	}
	if (error != 0)
		return failed(-error, "starting a thread failed");
	return call.result < 0 ? failed(call.result, call.text) : 0;
}
