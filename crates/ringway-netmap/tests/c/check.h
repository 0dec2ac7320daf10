/* What the programs of these tests share: the device's numbers, and checks that say where they failed. */
#ifndef CHECK_H
#define CHECK_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <net/netmap.h>

#define CHECK(what)                                                                                \
	do {                                                                                       \
		if (!(what)) {                                                                     \
			fprintf(stderr, "%s:%d: %s (errno %d: %s)\n", __FILE__, __LINE__, #what, \
				errno, strerror(errno));                                           \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

/* A call that fails with one error. */
#define FAILS(what, code) CHECK((what) == -1 && errno == (code))

/* Whether a number is a netmap descriptor that is bound to nothing. */
#define UNBOUND(fd) (ioctl((fd), NIOCTXSYNC, NULL) == -1 && errno == ENXIO)

#endif
