// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Loading and attaching the embedded eBPF object. BPF_OBJECT names the header made of it by the build:
// `static const unsigned char bpf_object_bytes[]`.
#ifndef PEER_BPF_H
#define PEER_BPF_H

#include "peer.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/if_link.h>

#include BPF_OBJECT

static inline int keep_warnings(enum libbpf_print_level level, const char *format, va_list args)
{
	return level == LIBBPF_WARN ? vfprintf(stderr, format, args) : 0;
}

static inline struct bpf_object *object_open(const char *name)
{
	libbpf_set_print(keep_warnings);
	LIBBPF_OPTS(bpf_object_open_opts, options, .object_name = name);
	struct bpf_object *object = bpf_object__open_mem(bpf_object_bytes, sizeof bpf_object_bytes, &options);
	if (!object) fail_os("cannot read the eBPF object");
	return object;
}

static inline void object_load(struct bpf_object *object)
{
	if (bpf_object__load(object)) fail_os("cannot load the eBPF programs");
}

static inline int program_fd(struct bpf_object *object, const char *name)
{
	return bpf_program__fd(bpf_object__find_program_by_name(object, name));
}

static inline int map_fd(struct bpf_object *object, const char *name)
{
	return bpf_object__find_map_fd_by_name(object, name);
}

// The link lives as long as its descriptor: whatever ends the process detaches the program.
static inline int attach_xdp(int program, unsigned ifindex, const char *where, uint32_t flags)
{
	LIBBPF_OPTS(bpf_link_create_opts, options, .flags = flags);
	int link = bpf_link_create(program, (int)ifindex, BPF_XDP, &options);
	if (link < 0) fail_os("cannot attach an XDP program to %s in %s mode", where,
	                      flags & XDP_FLAGS_DRV_MODE ? "native" : "generic");
	return link;
}

// Running a program that is attached nowhere costs two RCU grace periods (26 ms) per call. So it is attached to
// the loopback interface of a network namespace that has no name and that nothing else uses.
static inline void keep_attached(int program)
{
	int home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	if (home < 0 || unshare(CLONE_NEWNET)) fail_os("cannot make a network namespace");
	attach_xdp(program, 1, "lo", XDP_FLAGS_SKB_MODE);
	if (open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC) < 0) fail_os("cannot hold the network namespace");
	if (setns(home, CLONE_NEWNET)) fail_os("cannot go back to the first network namespace");
	close(home);
}

#endif
