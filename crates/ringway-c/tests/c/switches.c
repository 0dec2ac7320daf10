/* A switch: settings of its ports, its table of addresses, and what becomes of frames then: switches vale7. Needs root. */
#include "check.h"

static const uint8_t there[6] = {2, 0, 0, 0, 0, 9}, here[6] = {2, 0, 0, 0, 0, 1};
static struct rw_port *ports[3];

/* Sends one frame from port 0; which ports receive it, as bits. */
static unsigned int received(const uint8_t *to)
{
	uint8_t frame[60] = {0};
	struct rw_frame got;
	unsigned int seen = 0, i;

	memcpy(frame, to, 6);
	memcpy(frame + 6, here, 6);
	CHECK(rw_tx_push(rw_tx(ports[0], 0), frame, sizeof(frame)) && rw_sync(rw_tx(ports[0], 0)) >= 0);
	for (i = 1; i < 3; i++) {
		CHECK(rw_sync(rw_rx(ports[i], 0)) >= 0);
		while (rw_rx_next(rw_rx(ports[i], 0), &got)) {
			CHECK(got.total == 60 && memcmp(got.data, to, 6) == 0);
			seen |= 1u << i;
		}
	}
	return seen;
}

int main(int argc, char **argv)
{
	static const char *const names[3] = {"p0", "p1", "p2"};
	struct rw_switch_spec spec = {128, 1, 0, 0, 60000, "bridge"};
	struct rw_switch_port_conf conf, set;
	struct rw_switch_port *listed;
	struct rw_fdb_entry *table;
	struct rw_switch *sw, *again;
	char **all, name[80];
	int i, n, found = 0;

	CHECK(argc == 2);
	spec.ageing_ms = -7;
	CHECK(rw_switch_create(argv[1], &spec, &sw) == RW_INVALID);
	spec.ageing_ms = 60000;
	CHECK(rw_switch_create(argv[1], &spec, &sw) == 0 && rw_switch_create(argv[1], &spec, &again) == RW_BUSY);
	CHECK(rw_switch_open("vale-none", &again) == RW_NOT_FOUND && rw_switch_open(argv[1], &again) == 0);
	rw_switch_close(again);
	CHECK((n = rw_switches(&all)) > 0);
	for (i = 0; i < n; i++)
		found |= strcmp(all[i], argv[1]) == 0;
	free(all);
	CHECK(found);
	for (i = 0; i < 3; i++) {
		snprintf(name, sizeof(name), "%s:%s", argv[1], names[i]);
		CHECK(rw_switch_add_port(sw, names[i]) > 0 && rw_open(name, NULL, &ports[i]) == 0);
	}

	CHECK(received(there) == 6);
	CHECK(rw_switch_fdb_set(sw, there, 0, "p2") == 0 && received(there) == 4);
	CHECK((n = rw_switch_fdb(sw, &table)) == 2);
	for (i = 0; i < n; i++)
		CHECK(memcmp(table[i].mac, here, 6) == 0 ? table[i].age_ms >= 0 : table[i].age_ms == -1 && table[i].port != 0);
	free(table);
	CHECK(rw_switch_fdb_set(sw, there, 0, NULL) == 0 && received(there) == 0);
	CHECK(rw_switch_fdb_del(sw, there, 0) == 1 && rw_switch_fdb_del(sw, there, 0) == 0 && received(there) == 6);
	CHECK(rw_switch_fdb_flush(sw) == 1 && rw_switch_fdb_set(sw, there, 70000, NULL) == RW_INVALID);
	CHECK(rw_switch_fdb_set(sw, there, 0, "none") == RW_NOT_FOUND);

	memset(&set, 0, sizeof(set));
	set.isolated = 1;
	set.storm[RW_STORM_BROADCAST] = 1000;
	set.storm[RW_STORM_UNKNOWN] = RW_STORM_NONE;
	set.mirror = RW_MIRROR_TX;
	strcpy(set.mirror_to, "p2");
	CHECK(rw_switch_set_conf(sw, "p0", &set) == 0 && rw_switch_get_conf(sw, "p0", &conf) == 0);
	CHECK(memcmp(&set, &conf, sizeof(set)) == 0 && received(there) == 4);
	memset(&set, 0, sizeof(set));
	set.vlan_mode = RW_VLAN_TRUNK;
	set.vlan = 5;
	rw_vlan_allow(&set, 5);
	rw_vlan_allow(&set, 4000);
	CHECK(rw_switch_set_conf(sw, "p1", &set) == 0 && rw_switch_get_conf(sw, "p1", &conf) == 0);
	CHECK(memcmp(&set, &conf, sizeof(set)) == 0);
	set.vlan_mode = 7;
	CHECK(rw_switch_set_conf(sw, "p1", &set) == RW_INVALID && rw_switch_get_conf(sw, "p9", &conf) == RW_NOT_FOUND);
	CHECK(rw_switch_reload(sw) == 0 && rw_switch_del_port(sw, "p2", 0) == RW_BUSY);

	CHECK((n = rw_switch_ports(sw, &listed)) == 3);
	CHECK(strcmp(listed[0].name, "p0") == 0 && listed[0].flags == RW_SWITCH_PORT_OPEN && listed[0].counters.tx.frames_in == 5);
	free(listed);
	rw_close(ports[1]);
	CHECK(rw_switch_set_access(sw, "p1", 1000, UINT32_MAX, 0600) == 0 && rw_switch_del_port(sw, "p1", 0) == 0);
	CHECK(rw_switch_delete(sw) < 0);
	rw_close(ports[0]);
	rw_close(ports[2]);
	CHECK(rw_switch_delete(sw) == 0 && rw_switch_open(argv[1], &again) == RW_NOT_FOUND);
	puts("ok");
	return 0;
}
