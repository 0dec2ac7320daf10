/* The inline functions: frames of several slots, exchange of buffers, heads out of range. */
#include "check.h"

static uint8_t sent[10000], got[10000];

/* One frame of any length goes round, whole. */
static void lengths(struct rw_port *out, struct rw_port *in)
{
	struct rw_ring *tx = rw_tx(out, 0), *rx = rw_rx(in, 0);
	static const size_t sizes[] = {14, 60, 2047, 2048, 2049, 4096, 5000, 9999};
	struct rw_frame frame;
	uint32_t k, len, sum;
	size_t i;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		CHECK(rw_tx_push(tx, sent, sizes[i]) == 1 && rw_sync(tx) >= 0 && rw_sync(rx) > 0);
		memset(got, 0, sizeof(got));
		CHECK(rw_rx_next(rx, &frame) == 1 && frame.total == sizes[i]);
		CHECK(frame.slots == (sizes[i] + tx->buf_size - 1) / tx->buf_size);
		for (sum = k = 0; k < frame.slots; k++, sum += len)
			CHECK(rw_frame_part(rx, &frame, k, &len) != NULL);
		CHECK(sum == frame.total && rw_frame_part(rx, &frame, k, &len) == NULL && rw_frame_offload(rx, &frame) == 0);
		CHECK(rw_frame_copy(rx, &frame, got, sizeof(got)) == sizes[i] && memcmp(sent, got, sizes[i]) == 0);
		CHECK(rw_frame_copy(rx, &frame, got, 10) == 10);
		CHECK(rw_rx_next(rx, &frame) == 0);
	}
	CHECK(rw_drain(tx, 0) == 0);
	CHECK(rw_tx_push(tx, sent, (size_t)tx->buf_size * (RW_MAX_CHAIN + 1)) == 0);
}

/* Frames that are moved keep their bytes, and no slot loses its buffer: more rounds than there are slots. */
static void moves(struct rw_port *from, struct rw_port *to, int exchanges)
{
	struct rw_ring *tx = rw_tx(from, 0), *rx = rw_rx(from, 0), *out = rw_tx(to, 0), *in = rw_rx(to, 0);
	struct rw_frame frame;
	uint32_t i;

	CHECK(exchanges == (rx->exchanges_in != NULL && rx->exchanges_in == out->exchanges_in));
	for (i = 0; i < 3 * rx->num_slots; i++) {
		size_t size = i % 5 ? 60 + i % 1000 : 5000;
		const uint8_t *data;
		memcpy(sent, &i, sizeof(i));
		CHECK(rw_tx_push(tx, sent, size) == 1 && rw_sync(tx) >= 0 && rw_sync(rx) > 0 && rw_rx_next(rx, &frame) == 1);
		data = frame.data;
		CHECK(rw_tx_move(out, rx, &frame) == 1 && rw_sync(out) >= 0 && rw_sync(in) > 0 && rw_rx_next(in, &frame) == 1);
		CHECK(frame.total == size && rw_frame_copy(in, &frame, got, sizeof(got)) == size && memcmp(sent, got, size) == 0);
		CHECK(!exchanges || frame.slots > 1 || frame.data == data);
	}
}

/* The program keeps a frame's buffer, and sends it later. */
static void buffers(void)
{
	struct rw_options options = RW_OPTIONS_INIT;
	struct rw_buf bufs[2], copy;
	struct rw_ring *rx, *tx;
	struct rw_frame frame;
	struct rw_port *port;
	uint8_t *data;

	options.extra_bufs = 2;
	CHECK(rw_open("loop:", &options, &port) == 0);
	rx = rw_rx(port, 0);
	tx = rw_tx(port, 0);
	CHECK(rw_buf_take(port, &bufs[0]) == 0 && rw_buf_take(port, &bufs[1]) == 0 && bufs[0].data != bufs[1].data);
	CHECK(rw_buf_take(port, &copy) == RW_UNFIT && bufs[0].size == rx->buf_size);
	CHECK(rw_tx_push(tx, sent, 60) && rw_sync(tx) >= 0 && rw_sync(rx) == 1 && rw_rx_next(rx, &frame));
	data = frame.data;
	CHECK(rw_buf_exchange(rx, frame.at, &bufs[0]) == 1 && bufs[0].data == data && memcmp(data, sent, 60) == 0);
	CHECK(rw_sync(rx) == 0 && rw_buf_exchange(tx, tx->head, &bufs[0]) == 1 && rw_tx_next(tx) == data);
	CHECK(rw_tx_commit(tx, 60, 0) && rw_sync(tx) >= 0 && rw_sync(rx) == 1 && rw_rx_next(rx, &frame));
	CHECK(memcmp(frame.data, sent, 60) == 0);
	CHECK(rw_buf_give(port, &bufs[0]) == 0 && rw_buf_give(port, &bufs[1]) == 0);
	CHECK(rw_buf_give(port, &bufs[0]) == RW_INVALID);
	CHECK(rw_buf_exchange(rx, 0, &bufs[0]) == 0);
	rw_close(port);
}

/* Ports that are opened one after the other in one region. */
static void regions(void)
{
	struct rw_region_spec spec = {2, 4, 64, 4 * 64 + RW_FIRST_BUF, 2048, 0};
	struct rw_options options = RW_OPTIONS_INIT;
	struct rw_port *ports[2], *none;
	struct rw_region *region;

	CHECK(rw_region_new(&spec, &region) == 0);
	options.region = region;
	options.slots = 64;
	CHECK(rw_open("loop:", &options, &ports[0]) == 0 && rw_open("loop:", &options, &ports[1]) == 0);
	CHECK(rw_open("loop:", &options, &none) == RW_INVALID);
	rw_region_free(region);
	moves(ports[0], ports[1], 1);
	rw_close(ports[0]);
	rw_close(ports[1]);
	spec.buf_size = 7;
	CHECK(rw_region_new(&spec, &region) == RW_INVALID);
}

/* A wrong head moves nothing, and a bad slot is skipped; both are counted. */
static void faults(void)
{
	struct rw_port_counters counters;
	struct rw_ring *rx, *tx;
	struct rw_frame frame;
	struct rw_slot slot;
	struct rw_port *port;
	uint32_t head;

	CHECK(rw_open("loop:", NULL, &port) == 0);
	rx = rw_rx(port, 0);
	tx = rw_tx(port, 0);
	head = tx->head;
	tx->head = tx->num_slots + 7;
	CHECK(rw_rx_next(tx, &frame) == 0 || tx->head != head);
	tx->head = UINT32_MAX;
	CHECK(rw_sync(tx) > 0 && tx->head == head);
	CHECK(rw_tx_push(tx, sent, 60) && rw_tx_push(tx, sent, 61) && rw_tx_push(tx, sent, 5000) && rw_tx_push(tx, sent, 62));
	CHECK(rw_sync(tx) >= 0 && rw_sync(rx) == 6);
	slot = rw_slot_get(rx, rx->head);
	slot.buf_idx = 0xffffffff;
	rw_slot_put(rx, rx->head, slot);
	slot = rw_slot_get(rx, rx->head + 3);
	slot.len = 0xffff;
	rw_slot_put(rx, rx->head + 3, slot);
	CHECK(rw_rx_next(rx, &frame) && frame.len == 61 && rw_rx_next(rx, &frame) && frame.len == 62 && rx->skipped == 2);
	CHECK(rw_sync(rx) == 0 && rx->skipped == 0 && rw_read_counters(port, &counters) == 0);
	CHECK(counters.tx.resets == 1 && counters.rx.drops[1] == 2 && strcmp(rw_drop_name(1), "bad_slot") == 0);
	CHECK(counters.rx.frames_in == 4 && counters.rx.frames_out == 2 && counters.tx.frames_out == 4);
	rw_close(port);
}

int main(int argc, char **argv)
{
	static const char *const names[2] = {"loop:", "loop:"};
	struct rw_port *together[2], *alone, *ends[2];
	struct rw_port_info info;
	char name[2][80];
	size_t i;

	CHECK(argc == 2);
	for (i = 0; i < sizeof(sent); i++)
		sent[i] = (uint8_t)(i * 7 + i / 256);
	CHECK(rw_open_all(names, 2, NULL, together) == 0 && rw_open("loop:", NULL, &alone) == 0);
	for (i = 0; i < 2; i++) {
		snprintf(name[i], sizeof(name[i]), "pipe:accessors%s%c1", argv[1], i ? '}' : '{');
		CHECK(rw_open(name[i], NULL, &ends[i]) == 0);
	}
	CHECK(rw_describe(ends[0], &info) == 0 && strcmp(info.name, name[0]) == 0 && info.rx_rings == 1 && info.backend[0]);
	lengths(alone, alone);
	lengths(ends[0], ends[1]);
	moves(together[0], together[1], 1);
	moves(alone, together[1], 0);
	buffers();
	regions();
	faults();
	rw_close(ends[0]);
	rw_close(ends[1]);
	rw_close(alone);
	rw_close(together[0]);
	rw_close(together[1]);
	puts("ok");
	return 0;
}
