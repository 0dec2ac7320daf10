/* Wrong arguments are errors with a text and a cure, and change nothing. */
#include "check.h"

#define REFUSED(x) CHECK((x) == RW_INVALID && rw_error_kind() == RW_INVALID && rw_error()[0] && rw_error_cure())

static void null_pointers(void)
{
	struct rw_options options = RW_OPTIONS_INIT;
	struct rw_port *port = NULL;
	struct rw_ring *none = NULL;
	struct rw_port_info info;
	struct rw_buf buf;
	uint16_t next_hop;

	REFUSED(rw_open(NULL, &options, &port));
	REFUSED(rw_open("loop:", NULL, NULL));
	REFUSED(rw_open_all(NULL, 2, NULL, &port));
	CHECK(rw_open_all(NULL, 0, NULL, NULL) <= 0);
	REFUSED(rw_describe(NULL, &info));
	REFUSED(rw_read_counters(NULL, NULL));
	CHECK(rw_rx(NULL, 0) == NULL && rw_tx(NULL, 0) == NULL);
	REFUSED(rw_link_up(NULL));
	REFUSED(rw_ended(NULL));
	REFUSED(rw_port_fd(NULL));
	REFUSED(rw_ring_fd(NULL));
	REFUSED(rw_sync(NULL));
	REFUSED(rw_arm(NULL));
	REFUSED(rw_drain(NULL, 0));
	REFUSED(rw_forward(NULL, NULL, 1));
	REFUSED(rw_wait(NULL, 1, 0));
	REFUSED(rw_wait(&none, 1, 0));
	REFUSED(rw_waiter_new(0, NULL));
	REFUSED(rw_waiter_wait(NULL, NULL, 0, 0));
	REFUSED(rw_region_new(NULL, NULL));
	REFUSED(rw_buf_take(NULL, &buf));
	REFUSED(rw_buf_give(NULL, &buf));
	REFUSED(rw_open_ports(NULL));
	REFUSED(rw_switch_create(NULL, NULL, NULL));
	REFUSED(rw_switch_open("vale0", NULL));
	REFUSED(rw_switch_delete(NULL));
	REFUSED(rw_switch_add_port(NULL, "p"));
	REFUSED(rw_switch_add_nic(NULL, "p", 0));
	REFUSED(rw_switch_del_port(NULL, NULL, 0));
	REFUSED(rw_switch_ports(NULL, NULL));
	REFUSED(rw_switches(NULL));
	REFUSED(rw_switch_set_access(NULL, "p", 0, 0, 0));
	REFUSED(rw_switch_reload(NULL));
	REFUSED(rw_switch_get_conf(NULL, NULL, NULL));
	REFUSED(rw_switch_set_conf(NULL, NULL, NULL));
	REFUSED(rw_switch_fdb(NULL, NULL));
	REFUSED(rw_switch_fdb_set(NULL, NULL, 0, NULL));
	REFUSED(rw_switch_fdb_del(NULL, NULL, 0));
	REFUSED(rw_switch_fdb_flush(NULL));
	REFUSED(rw_fib_new(4, 0, NULL));
	REFUSED(rw_fib_insert(NULL, &buf, 8, 1));
	REFUSED(rw_fib_remove(NULL, &buf, 8));
	CHECK(rw_fib_count(NULL) == 0);
	REFUSED(rw_fib_reader_new(NULL, NULL));
	REFUSED(rw_fib_lookup(NULL, &buf));
	REFUSED(rw_fib_lookup_many(NULL, &buf, &next_hop, 1));
	rw_close(NULL);
	rw_waiter_free(NULL);
	rw_region_free(NULL);
	rw_switch_close(NULL);
	rw_fib_free(NULL);
	rw_fib_reader_free(NULL);
	CHECK(rw_drop_name(rw_drop_count()) == NULL && rw_drop_help(UINT32_MAX) == NULL);
	CHECK(rw_drop_count() <= RW_MAX_DROPS && strcmp(rw_drop_name(0), "ring_full") == 0 && rw_drop_help(0)[0]);
	CHECK(port == NULL);
}

static void options_of_other_versions(void)
{
	struct {
		struct rw_options known;
		uint64_t newer;
	} options = {RW_OPTIONS_INIT, 0};
	struct rw_port *port;

	options.known.size = sizeof(options);
	CHECK(rw_open("loop:", &options.known, &port) == 0);
	rw_close(port);
	options.newer = 1;
	REFUSED(rw_open("loop:", &options.known, &port));
	options.known.size = 8;
	REFUSED(rw_open("loop:", &options.known, &port));
	options.known.size = sizeof(options.known);
	options.known.gso = 9;
	REFUSED(rw_open("loop:", &options.known, &port));
	options.known.gso = 0;
	options.known.take = "no such filter (";
	REFUSED(rw_open("loop:", &options.known, &port));
}

static void rings(void)
{
	struct rw_port *port;
	struct rw_ring *twice[2];
	struct rw_frame frame;
	struct rw_slot slot;

	CHECK(rw_open("nonsense:x", NULL, &port) < 0 && rw_error_kind() < 0);
	CHECK(rw_open("loop:", NULL, &port) == 0);
	CHECK(rw_rx(port, 1) == NULL && rw_tx(port, 7) == NULL);
	twice[0] = twice[1] = rw_rx(port, 0);
	REFUSED(rw_wait(twice, 2, 0));
	REFUSED(rw_forward(twice[0], twice[0], 1));
	REFUSED(rw_forward(rw_tx(port, 0), twice[0], 1));
	REFUSED(rw_sync((struct rw_ring *)(uintptr_t)((char *)twice[0] + 1)));
	REFUSED(rw_drain(twice[0], 0));
	CHECK(rw_rx_next(twice[0], &frame) == 0 && rw_wait(twice, 1, 0) == 0);
	slot = rw_slot_get(twice[0], twice[0]->num_slots);
	CHECK(slot.buf_idx == 0 && rw_slot_buf(twice[0], slot) == NULL);
	rw_slot_put(twice[0], UINT32_MAX, slot);
	CHECK(rw_tx_commit(rw_tx(port, 0), rw_tx(port, 0)->buf_size + 1, 0) == 0);
	rw_close(port);
}

static void tables(void)
{
	const uint8_t address[4] = {10, 1, 2, 3};
	struct rw_fib_reader *reader;
	struct rw_fib *fib;

	REFUSED(rw_fib_new(5, 0, &fib));
	CHECK(rw_fib_new(4, 0, &fib) == 0);
	REFUSED(rw_fib_insert(fib, address, 33, 1));
	REFUSED(rw_fib_insert(fib, address, 8, 0));
	REFUSED(rw_fib_insert(fib, NULL, 8, 1));
	CHECK(rw_fib_insert(fib, address, 8, 7) == 0 && rw_fib_count(fib) == 1);
	CHECK(rw_fib_reader_new(fib, &reader) == 0);
	REFUSED(rw_fib_lookup_many(reader, address, NULL, 1));
	REFUSED(rw_fib_lookup_many(reader, address, (uint16_t *)(uintptr_t)address, SIZE_MAX));
	CHECK(rw_fib_lookup_many(reader, NULL, NULL, 0) == 0);
	CHECK(rw_fib_lookup(reader, address) == 7 && rw_fib_remove(fib, address, 8) == 1 && rw_fib_lookup(reader, address) == 0);
	rw_fib_free(fib);
	CHECK(rw_fib_lookup(reader, address) == 0);
	rw_fib_reader_free(reader);
}

int main(void)
{
	CHECK(rw_error()[0] == '\0' && rw_error_kind() == RW_OK && rw_error_cure() == NULL);
	null_pointers();
	options_of_other_versions();
	rings();
	tables();
	CHECK(rw_version()[0]);
	puts("ok");
	return 0;
}
