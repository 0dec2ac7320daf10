/* Makes a switch, sends a frame from one of its ports to the other, shows what it counted, and deletes it: switch vale7. Needs root. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <ringway.h>

static void must(int result)
{
	if (result >= 0)
		return;
	fprintf(stderr, "switch: %s\n", rw_error());
	exit(1);
}

int main(int argc, char **argv)
{
	static const char frame[60] = "\xff\xff\xff\xff\xff\xff\x02\x00\x00\x00\x00\x01\x88\xb5hello";
	struct rw_switch_port *listed;
	struct rw_port *ports[2];
	struct rw_switch *sw;
	struct rw_frame got;
	char name[2][80];
	int i, n;

	if (argc < 2)
		return 2;
	must(rw_switch_create(argv[1], NULL, &sw));
	for (i = 0; i < 2; i++) {
		snprintf(name[i], sizeof(name[i]), "%s:p%d", argv[1], i);
		must(rw_switch_add_port(sw, i ? "p1" : "p0"));
		must(rw_open(name[i], NULL, &ports[i]));
	}
	if (!rw_tx_push(rw_tx(ports[0], 0), frame, sizeof(frame)))
		return 1;
	must(rw_sync(rw_tx(ports[0], 0)));
	must(rw_sync(rw_rx(ports[1], 0)));
	while (rw_rx_next(rw_rx(ports[1], 0), &got))
		printf("%s received %u bytes: %s\n", name[1], got.len, (const char *)got.data + 14);
	must(n = rw_switch_ports(sw, &listed));
	for (i = 0; i < n; i++)
		printf("%s (number %u): %" PRIu64 " received, %" PRIu64 " sent\n", listed[i].name, listed[i].number,
			listed[i].counters.rx.frames_out, listed[i].counters.tx.frames_in);
	free(listed);
	rw_close(ports[0]);
	rw_close(ports[1]);
	must(rw_switch_delete(sw));
	return 0;
}
