/* Other processes of a case. */
#ifndef PROCESS_H
#define PROCESS_H

#include <sys/types.h>

#include "port.h"

/* Runs a function in a process of its own. A check that fails there ends it. */
pid_t start(void (*function)(void *), void *argument);
/* Waits for its end, which must be a good one. */
void join(pid_t child);
/* Kills it. */
void end_by_kill(pid_t child);

/* Sends a descriptor over a unix socket, and takes it there. */
void pass(int socket, int fd);
int take(int socket);

/* Replaces the process by this program, which serves the descriptor by its number: sends frame `number`, or awaits it. */
enum job { JOB_SEND, JOB_RECEIVE };
__attribute__((noreturn)) void exec_server(const struct port *p, enum job job, uint32_t number);
int process_serve(int count, char **words);

/* A word from one process to another: each side of a pipe. */
struct bell {
	int ends[2];
};
void make_bell(struct bell *bell);
void ring_bell(const struct bell *bell);
void hear_bell(const struct bell *bell);

#endif
