/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* DPDK's log: the first line that a thread's call caused says best why the call failed. */
#define _GNU_SOURCE
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <rte_log.h>

#include "inside.h"

static bool is_loud;
static __thread char said[240];
static __thread char text[320];

/* DPDK flushes the stream for each line, in the thread that logs it. */
static ssize_t hear(void *cookie, const char *bytes, size_t len)
{
	(void)cookie;
	if (is_loud)
		fwrite(bytes, 1, len, stderr);
	size_t line = 0;
	while (line < len && bytes[line] != '\n')
		line++;
	if (said[0] == '\0' && line > 0)
		snprintf(said, sizeof(said), "%.*s", (int)line, bytes);
	return (ssize_t)len;
}

void start_log(int loud)
{
	cookie_io_functions_t functions = { .write = hear };
	is_loud = loud;
	FILE *stream = fopencookie(NULL, "w", functions);
	if (stream != NULL)
		rte_openlog_stream(stream); /* for the life of the process, as DPDK keeps it */
}

void forget_log(void)
{
	said[0] = '\0';
}

int failed(int error, const char *what)
{
	if (said[0] != '\0')
		snprintf(text, sizeof(text), "%s: %s", what, said);
	else
		snprintf(text, sizeof(text), "%s", what);
	/* DPDK's functions return -1, too, for failures of any kind. */
	return error < -1 ? error : -EIO;
}

const char *last_error(void)
{
	return text;
}
