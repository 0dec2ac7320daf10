// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//
// What peer-l3.c and peer-l3.bpf.c share. Include a header that defines __u32 and __u64 first.
#ifndef PEER_L3_H
#define PEER_L3_H

#define FRAME_WORDS 8 // of 8 bytes: a frame of 60 and what pads the last word
#define MAX_PORTS 4096u // above the numbers of all interfaces that frames leave by

// Addresses of one frame, in network order.
struct flow { __u32 source, destination; };

// Read-only data of the programs, set before they are loaded.
struct l3_config {
	__u64 frame[FRAME_WORDS]; // the frame without addresses; its checksum is not inverted and lacks theirs
	__u32 ifindex;            // where it goes
	__u32 mask;               // one less than the number of flows, a power of two
};

#endif
