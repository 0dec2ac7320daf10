/* Ends the program, with the line, when something is not so. */
#include <stdio.h>
#include <stdlib.h>

#include <ringway.h>

#define CHECK(x)                                                                                       \
	do {                                                                                           \
		if (!(x)) {                                                                            \
			fprintf(stderr, "%s:%d: not so: %s (%s)\n", __FILE__, __LINE__, #x, rw_error()); \
			exit(1);                                                                       \
		}                                                                                      \
	} while (0)
