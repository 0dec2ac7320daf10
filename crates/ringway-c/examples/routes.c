/* Looks up addresses in a table of routes: routes PREFIX=NEXT_HOP... ADDRESS... "routes 10.0.0.0/8=1 10.1.0.0/16=2 10.1.2.3". */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>

#include <ringway.h>

enum { MOST = 64 };

int main(int argc, char **argv)
{
	struct in_addr addresses[MOST];
	uint16_t next_hops[MOST];
	struct rw_fib_reader *reader;
	struct rw_fib *fib;
	char text[INET_ADDRSTRLEN];
	int i, n = 0;

	if (rw_fib_new(4, 0, &fib) < 0)
		goto failed;
	for (i = 1; i < argc && n < MOST; i++) {
		unsigned int len = 0, next_hop = 0;
		char prefix[16];
		if (sscanf(argv[i], "%15[0-9.]/%u=%u", prefix, &len, &next_hop) != 3)
			prefix[0] = '\0';
		if (inet_pton(AF_INET, prefix[0] ? prefix : argv[i], &addresses[n]) != 1) {
			fprintf(stderr, "routes: %s is neither PREFIX=NEXT_HOP nor an address\n", argv[i]);
			return 2;
		}
		if (!prefix[0])
			n++;
		else if (rw_fib_insert(fib, &addresses[n], len, (uint16_t)next_hop) < 0)
			goto failed;
	}
	/* Each thread that looks up has a reader. Many addresses at once take less time than one after the other. */
	if (rw_fib_reader_new(fib, &reader) < 0 || rw_fib_lookup_many(reader, addresses, next_hops, (size_t)n) < 0)
		goto failed;
	for (i = 0; i < n; i++)
		printf("%s: %u\n", inet_ntop(AF_INET, &addresses[i], text, sizeof(text)), next_hops[i]);
	rw_fib_reader_free(reader);
	rw_fib_free(fib);
	return 0;
failed:
	fprintf(stderr, "routes: %s\n", rw_error());
	return 1;
}
