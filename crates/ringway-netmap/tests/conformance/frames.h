/* Frames that tell their number, length and content apart, and ways to send and await them. */
#ifndef FRAMES_H
#define FRAMES_H

#include "port.h"

enum { FRAME_TYPE = 0x88b5, WAIT_MS = 3000, QUIET_MS = 100 };

/* Writes a frame with this number to `at`. Its destination is a group address, unless `address` follows. */
void write_frame(void *at, uint32_t number, uint32_t length);
/* The same from station `from` to station `to`; 0 is the group address as `to`. */
void write_frame_between(void *at, uint32_t number, uint32_t length, uint8_t from, uint8_t to);
/* Whether it is a frame of this suite at all. */
int is_frame(const void *at, uint32_t length);
uint32_t frame_number(const void *at);
/* The frame must be this one, bytes and length. */
void check_frame(const void *at, uint32_t length, uint32_t number, uint32_t expected_length);

/* Puts a frame into the next slot of a tx ring and moves head and cur. */
void put_frame(struct netmap_ring *ring, uint32_t number, uint32_t length);
void put_frame_between(struct netmap_ring *ring, uint32_t number, uint32_t length, uint8_t from, uint8_t to);
/* One frame, synced. */
void send_frame(const struct port *p, uint32_t number, uint32_t length);
/* Syncs until so many slots wait in the rx ring, 3 seconds at most; how many do. */
uint32_t await(const struct port *p, uint32_t slots);
/* Awaits the next frame of this suite in any of the port's rx rings, and takes other frames off. NULL if none comes. It stays at head of
 * rx(p), which is the ring that it came by from then on. */
struct netmap_slot *await_frame(struct port *p, int ms);
/* Awaits this frame, checks it, and gives its slot back. */
void expect_frame(struct port *p, uint32_t number, uint32_t length);
/* No frame of this suite comes for a while. */
void expect_none(struct port *p);
/* Syncs until all frames of a tx ring are out. */
void drain(const struct port *p);

/* Two ports, such that each receives what the other sends. */
struct pair {
	struct port a, b;
};
enum link { VETH, SWITCH, PIPE };
void open_pair(struct pair *pair, enum link link);

/* One case a kind of link: TEST_LINKS(name, p) { ... p->a ... } */
#define TEST_LINKS(id, ends)                                                               \
	static void id(struct pair *ends);                                                 \
	static void id##_open(enum link link)                                              \
	{                                                                                  \
		struct pair both;                                                          \
		open_pair(&both, link);                                                    \
		id(&both);                                                                 \
	}                                                                                  \
	TEST(id##_on_veth) { id##_open(VETH); }                                            \
	TEST(id##_on_switch) { id##_open(SWITCH); }                                        \
	TEST(id##_on_pipe) { id##_open(PIPE); }                                            \
	static void id(struct pair *ends)

/* A packet socket on an interface: the host's side of it. */
int raw_socket(const char *interface);
void raw_send(int fd, const char *interface, uint32_t number, uint32_t length);
/* Awaits the frame with this number among what the interface received. Whether it came, unchanged. */
int raw_await(int fd, uint32_t number, uint32_t length, int ms);

#endif
