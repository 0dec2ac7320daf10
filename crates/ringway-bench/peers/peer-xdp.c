// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The kernel's fast path without a program in user space: redirect, sink, pass; and the generator for all receivers
// and forwarders, which runs an eBPF program once per live frame.
#include "peer-bpf.h"

#include "peer-xdp.h"

#include <unistd.h>

#define BPF_TCX_INGRESS ((enum bpf_attach_type)46) // newer than Debian 12's linux/bpf.h
#define RUN_BURST 16384u     // live frames per call
#define RUN_BATCH 64         // of them redirected at a time
#define PACE_NS 100000u      // with a rate: frames of this time go together
#define POLL_NS 5000000l     // how often counters are read

static struct count read_counts(int map)
{
	int cpus = libbpf_num_possible_cpus();
	struct count sum = { 0, 0 }, values[cpus > 0 ? cpus : 1];
	for (uint32_t direction = 0; direction < 2; direction++) {
		if (bpf_map_lookup_elem(map, &direction, values)) fail_os("cannot read the counters");
		for (int cpu = 0; cpu < cpus; cpu++) {
			sum.packets += values[cpu].packets;
			sum.bytes += values[cpu].bytes;
		}
	}
	return sum;
}

// Follows the counters until a signal; SIGUSR1 prints a line and goes on. `a` and `b` may lose redirected frames.
static void follow(int map, const char *a, const char *b)
{
	struct timespec pause = { .tv_nsec = POLL_NS };
	uint64_t lost = a ? interface_sent(a).drops + interface_sent(b).drops : 0;
	struct meter m = { .opened = now_ns() };
	peer_ready();
	for (bool last = false; !last;) {
		last = stopping;
		struct count c = read_counts(map);
		if (c.packets != m.packets) {
			m.packets = c.packets;
			m.bytes = c.bytes;
			meter_tick(&m);
		}
		if (reporting || last) {
			reporting = 0;
			meter_print(&m, a ? interface_sent(a).drops + interface_sent(b).drops - lost : 0);
		}
		if (!last) nanosleep(&pause, NULL);
	}
}

static void attach_tc(int program, unsigned ifindex, const char *where)
{
	if (bpf_link_create(program, (int)ifindex, BPF_TCX_INGRESS, NULL) >= 0) return;
	if (errno != EINVAL) fail_os("cannot attach a tc program to %s", where);
	// No tcx before Linux 6.6. The filter goes with its interface, which this lab made.
	LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = (int)ifindex, .attach_point = BPF_TC_INGRESS);
	LIBBPF_OPTS(bpf_tc_opts, filter, .prog_fd = program);
	int made = bpf_tc_hook_create(&hook);
	if ((made && made != -EEXIST) || bpf_tc_attach(&hook, &filter)) fail_os("cannot attach a tc filter to %s", where);
}

// Counts what arrives at all of the interfaces and drops it, or lets it go on to the host.
static void count(char **interfaces, const char *program)
{
	struct bpf_object *object = object_open("peer_sink");
	object_load(object);
	for (; *interfaces; interfaces++) {
		unsigned index = need_interface(*interfaces);
		if (!strcmp(program, "sink_skb")) attach_tc(program_fd(object, program), index, *interfaces);
		else attach_xdp(program_fd(object, program), index, *interfaces, XDP_FLAGS_DRV_MODE);
	}
	follow(map_fd(object, "counts"), NULL, NULL);
}

static void redirect(const char *a, const char *b)
{
	unsigned indexes[2] = { need_interface(a), need_interface(b) };
	struct bpf_object *object = object_open("peer_redirect");
	object_load(object);
	for (uint32_t i = 0; i < 2; i++)
		if (bpf_map_update_elem(map_fd(object, "ports"), &i, &indexes[i], 0)) fail_os("devmap");
	attach_xdp(program_fd(object, "first_to_second"), indexes[0], a, XDP_FLAGS_DRV_MODE);
	attach_xdp(program_fd(object, "second_to_first"), indexes[1], b, XDP_FLAGS_DRV_MODE);
	follow(map_fd(object, "counts"), a, b);
}

static int load_flood(const uint8_t *frame)
{
	struct bpf_object *object = object_open("peer_flood");
	struct flood_config config = { 0 };
	memcpy(config.head, frame, FRAME_HEAD);
	struct bpf_map *data = bpf_object__find_map_by_name(object, ".rodata");
	if (!data || bpf_map__set_initial_value(data, &config, sizeof config)) fail("unexpected eBPF object");
	object_load(object);
	return program_fd(object, "flood");
}

// RATE 0 is as fast as it goes.
static void flood(const char *interface, uint32_t len, uint64_t period, uint32_t rate, uint32_t burst)
{
	uint8_t frame[MAX_LEN];
	frame_init(frame, len);
	int program = load_flood(frame);
	keep_attached(program);
	if (rate && rate / (1000000000u / PACE_NS) < burst) burst = rate / (1000000000u / PACE_NS) ?: 1;
	struct xdp_md from = { .data_end = len, .ingress_ifindex = need_interface(interface) };
	LIBBPF_OPTS(bpf_test_run_opts, run, .ctx_in = &from, .ctx_size_in = sizeof from, .data_in = frame,
	            .data_size_in = len, .repeat = (int)burst, .flags = BPF_F_TEST_XDP_LIVE_FRAMES,
	            .batch_size = RUN_BATCH);
	prctl(PR_SET_TIMERSLACK, 1);
	struct sent before = interface_sent(interface);
	struct meter m = { .opened = now_ns() };
	peer_ready();
	meter_tick(&m);
	while (meter_runs(&m, period)) {
		if (rate) {
			uint64_t due = m.first + (uint64_t)((double)m.packets * 1e9 / rate);
			struct timespec at = { .tv_sec = (time_t)(due / 1000000000), .tv_nsec = (long)(due % 1000000000) };
			if (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL)) continue;
		}
		if (bpf_prog_test_run_opts(program, &run)) {
			if (errno == EINTR) continue;
			fail_os("BPF_PROG_RUN with live frames");
		}
		m.packets += burst;
		m.bytes += (uint64_t)burst * len;
		meter_tick(&m);
	}
	nanosleep(&(struct timespec){ .tv_nsec = POLL_NS }, NULL); // the last frames are on their way
	struct sent after = interface_sent(interface);
	if (m.packets && after.packets == before.packets && after.drops == before.drops)
		fail("%s took no frame: the other end of a veth must run NAPI (ethtool -K PEER gro on, or XDP there)",
		     interface);
	meter_print(&m, after.drops - before.drops);
}

int main(int argc, char **argv)
{
	peer_begin("peer-xdp");
	const char *verb = argc > 1 ? argv[1] : "";
	if (argc >= 3 && (!strcmp(verb, "sink") || !strcmp(verb, "pass")))
		count(argv + 2, verb);
	else if (argc >= 3 && !strcmp(verb, "sink-skb"))
		count(argv + 2, "sink_skb");
	else if (argc == 4 && !strcmp(verb, "redirect"))
		redirect(argv[2], argv[3]);
	else if (argc >= 5 && argc <= 7 && !strcmp(verb, "flood"))
		flood(argv[2], need_number(argv[3], "LEN", MIN_LEN, MAX_LEN), need_seconds(argv[4]),
		      argc > 5 ? need_number(argv[5], "RATE_PPS", 0, 1000000000) : 0,
		      argc > 6 ? need_number(argv[6], "BURST", 1, 65536) : RUN_BURST);
	else
		fail("usage: peer-xdp redirect A B | sink IF... | sink-skb IF... | pass IF..."
		     " | flood IF LEN SECONDS [RATE_PPS [BURST]]");
}
