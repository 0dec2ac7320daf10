// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The generator for all routers, which runs an eBPF program once per live frame, and a router in XDP by the kernel's
// own tables.
#include "peer-bpf.h"

#include "peer-l3.h"

#include <sys/mman.h>
#include <unistd.h>

#define RUN_BURST 16384u // live frames per call
#define RUN_BATCH 64    // of them redirected at a time
#define POLL_NS 5000000l // how often it is looked whether to end
#define FRAME_LEN 60u
#define IP_AT 14
#define SUM_AT 24

static void configure(struct bpf_object *object, const struct l3_config *config)
{
	struct bpf_map *data = bpf_object__find_map_by_name(object, ".rodata");
	if (!data || bpf_map__set_initial_value(data, config, sizeof *config)) fail("unexpected eBPF object");
}

// The sum over the header of a frame whose own checksum and addresses are 0.
static void prepare_sum(uint8_t *frame)
{
	uint32_t sum = 0;
	uint16_t word;
	for (int i = IP_AT; i < IP_AT + 20; i += 2) {
		memcpy(&word, frame + i, 2);
		sum += word;
	}
	sum = (sum & 0xffff) + (sum >> 16);
	word = (uint16_t)(sum + (sum >> 16));
	memcpy(frame + SUM_AT, &word, 2);
}

// A file of a frame and the addresses of the flows, in the order in which they are sent, again and again.
static int load_flood(unsigned ifindex, const char *path, uint8_t *frame)
{
	FILE *file = fopen(path, "rb");
	if (!file || fread(frame, FRAME_LEN, 1, file) != 1) fail_os("cannot read %s", path);
	if (fseek(file, 0, SEEK_END)) fail_os("%s", path);
	size_t count = ((size_t)ftell(file) - FRAME_LEN) / sizeof(struct flow);
	if (!count || count & (count - 1)) fail("%s holds %zu flows, no power of two", path, count);
	struct l3_config config = { .ifindex = ifindex, .mask = (uint32_t)count - 1 };
	memcpy(config.frame, frame, FRAME_LEN);
	prepare_sum((uint8_t *)config.frame);

	struct bpf_object *object = object_open("peer_l3_flood");
	configure(object, &config);
	struct bpf_map *flows = bpf_object__find_map_by_name(object, "flows");
	if (bpf_map__set_max_entries(flows, (uint32_t)count)) fail("unexpected eBPF object");
	object_load(object);
	size_t size = count * sizeof(struct flow), page = (size_t)sysconf(_SC_PAGESIZE);
	void *values = mmap(NULL, (size + page - 1) / page * page, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(flows), 0);
	if (values == MAP_FAILED) fail_os("cannot map the flows");
	if (fseek(file, FRAME_LEN, SEEK_SET) || fread(values, size, 1, file) != 1) fail_os("cannot read %s", path);
	fclose(file);
	return program_fd(object, "flood");
}

static void flood(const char *interface, const char *path, uint64_t period)
{
	uint8_t frame[FRAME_LEN];
	int program = load_flood(need_interface(interface), path, frame);
	keep_attached(program);
	LIBBPF_OPTS(bpf_test_run_opts, run, .data_in = frame, .data_size_in = sizeof frame, .repeat = RUN_BURST,
	            .flags = BPF_F_TEST_XDP_LIVE_FRAMES, .batch_size = RUN_BATCH);
	struct sent before = interface_sent(interface);
	struct meter m = { .opened = now_ns() };
	peer_ready();
	meter_tick(&m);
	while (meter_runs(&m, period)) {
		if (bpf_prog_test_run_opts(program, &run)) {
			if (errno == EINTR) continue;
			fail_os("BPF_PROG_RUN with live frames");
		}
		m.packets += RUN_BURST;
		m.bytes += RUN_BURST * FRAME_LEN;
		meter_tick(&m);
	}
	meter_print(&m, interface_sent(interface).drops - before.drops);
}

static void wait_for_end(void)
{
	struct timespec nap = { .tv_nsec = POLL_NS };
	peer_ready();
	while (!stopping) nanosleep(&nap, NULL);
}

static void forward(int count, char **interfaces)
{
	struct bpf_object *object = object_open("peer_l3_forward");
	object_load(object);
	for (int i = 0; i < count; i++) {
		uint32_t index = need_interface(interfaces[i]);
		if (index >= MAX_PORTS) fail("interface %s has the number %u, above %u", interfaces[i], index, MAX_PORTS - 1);
		if (bpf_map_update_elem(map_fd(object, "ports"), &index, &index, 0)) fail_os("devmap");
		attach_xdp(program_fd(object, "forward"), index, interfaces[i], XDP_FLAGS_DRV_MODE);
	}
	wait_for_end();
	meter_print(&(struct meter){}, 0);
}

// How often the XDP program of an interface ran, and how long, by the kernel's own clock around each run.
static void clock_runs(const char *interface)
{
	int statistics = bpf_enable_stats(BPF_STATS_RUN_TIME); // as long as the descriptor is open
	if (statistics < 0) fail_os("cannot have the kernel time programs");
	wait_for_end();
	struct bpf_prog_info info = {};
	uint32_t id, len = sizeof info;
	int program = bpf_xdp_query_id((int)need_interface(interface), 0, &id) ? -1 : bpf_prog_get_fd_by_id(id);
	if (program < 0 || bpf_obj_get_info_by_fd(program, &info, &len)) fail_os("no XDP program on %s", interface);
	printf("{\"packets\":%llu,\"bytes\":0,\"seconds\":%.9f,\"drops\":0,\"total_packets\":%llu}\n", info.run_cnt,
	       (double)info.run_time_ns / 1e9, info.run_cnt);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	peer_begin("peer-l3");
	const char *verb = argc > 1 ? argv[1] : "";
	if (argc == 5 && !strcmp(verb, "flood"))
		flood(argv[2], argv[3], need_seconds(argv[4]));
	else if (argc >= 3 && !strcmp(verb, "forward"))
		forward(argc - 2, argv + 2);
	else if (argc == 3 && !strcmp(verb, "clock"))
		clock_runs(argv[2]);
	else
		fail("usage: peer-l3 flood IF FLOWS SECONDS | forward IF... | clock IF");
}
