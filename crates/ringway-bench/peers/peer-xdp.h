// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//
// What peer-xdp.c and peer-xdp.bpf.c share. Include a header that defines __u32 and __u64 first.
#ifndef PEER_XDP_H
#define PEER_XDP_H

#define FRAME_HEAD 60 // bytes of each frame that the flood program writes
#define SEQUENCE_WORD_AT 42

// Read-only data of the programs, set before they are loaded.
struct flood_config {
	__u64 head[8]; // the first FRAME_HEAD bytes of the frame
};

struct count { __u64 packets, bytes; }; // per CPU and direction

#endif
