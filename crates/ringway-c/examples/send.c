/* Sends frames: send PORT FRAMES [BYTES]. "send ebpf:eth0 1000" sends broadcasts of 60 bytes, of an Ethernet type for experiments. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ringway.h>

int main(int argc, char **argv)
{
	uint64_t sent = 0, frames = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
	uint32_t len = argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 10) : 60;
	struct rw_port_counters counters;
	struct rw_port *port;
	struct rw_ring *tx;
	uint8_t *data;

	if (argc < 3) {
		fprintf(stderr, "usage: send PORT FRAMES [BYTES]\n");
		return 2;
	}
	if (rw_open(argv[1], NULL, &port) < 0) {
		fprintf(stderr, "send: %s\n", rw_error());
		return 1;
	}
	tx = rw_tx(port, 0);
	if (len < 22 || len > tx->buf_size) {
		fprintf(stderr, "send: frames of 22 to %u bytes fit one slot\n", tx->buf_size);
		return 1;
	}
	while (sent < frames) {
		while (sent < frames && (data = rw_tx_next(tx)) != NULL) {
			memset(data, 0xff, 6);
			memcpy(data + 6, "\x02\x00\x00\x00\x00\x01\x88\xb5", 8);
			memcpy(data + 14, &sent, sizeof(sent));
			memset(data + 22, 0, len - 22);
			rw_tx_commit(tx, len, 0);
			sent++;
		}
		/* Sends what is there, and waits for free slots where the other side is slower. */
		if (rw_sync(tx) < 0 || (sent < frames && rw_wait(&tx, 1, 1000) < 0)) {
			fprintf(stderr, "send: %s\n", rw_error());
			return 1;
		}
	}
	rw_drain(tx, 1000);
	rw_read_counters(port, &counters);
	printf("%" PRIu64 " frames left, %" PRIu64 " bytes\n", counters.tx.frames_out, counters.tx.bytes_out);
	rw_close(port);
	return 0;
}
