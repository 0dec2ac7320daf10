#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <linux/if_ether.h>
#include <sys/socket.h>

#include "frames.h"

static uint8_t pattern(uint32_t number, uint32_t at)
{
	return (uint8_t)(number * 31 + at * 7 + at / 256);
}

void write_frame_between(void *at, uint32_t number, uint32_t length, uint8_t from, uint8_t to)
{
	uint8_t *bytes = (uint8_t *)at;
	uint32_t i;

	memset(bytes, 0, 14);
	bytes[0] = to ? 2 : 3; /* 3: a group address */
	bytes[5] = to;
	bytes[6] = 2;
	bytes[11] = from;
	bytes[12] = FRAME_TYPE >> 8;
	bytes[13] = FRAME_TYPE & 0xff;
	for (i = 18; i < length; i++)
		bytes[i] = pattern(number, i);
	memcpy(bytes + 14, &number, 4);
}

void write_frame(void *at, uint32_t number, uint32_t length)
{
	write_frame_between(at, number, length, 0x77, 0);
}

int is_frame(const void *at, uint32_t length)
{
	const uint8_t *bytes = (const uint8_t *)at;

	return length >= 18 && bytes[12] == FRAME_TYPE >> 8 && bytes[13] == (FRAME_TYPE & 0xff);
}

uint32_t frame_number(const void *at)
{
	uint32_t number;

	memcpy(&number, (const char *)at + 14, 4);
	return number;
}

void check_frame(const void *at, uint32_t length, uint32_t number, uint32_t expected_length)
{
	const uint8_t *bytes = (const uint8_t *)at;
	uint32_t i;

	if (!is_frame(at, length))
		FAIL("frame %u is none of this suite, %u bytes", number, length);
	SAME(frame_number(at), number);
	SAME(length, expected_length);
	for (i = 18; i < length; i++)
		if (bytes[i] != pattern(number, i))
			FAIL("frame %u has another byte at %u of %u", number, i, length);
}

void put_frame_between(struct netmap_ring *ring, uint32_t number, uint32_t length, uint8_t from, uint8_t to)
{
	struct netmap_slot *slot = slot_at(ring, 0);

	CHECK(!nm_ring_empty(ring));
	write_frame_between(buffer(ring, slot), number, length, from, to);
	slot->len = (uint16_t)length;
	slot->flags = 0;
	advance(ring, 1);
}

void put_frame(struct netmap_ring *ring, uint32_t number, uint32_t length)
{
	put_frame_between(ring, number, length, 0x77, 0);
}

void send_frame(const struct port *p, uint32_t number, uint32_t length)
{
	put_frame(tx(p), number, length);
	sync_tx(p);
}

uint32_t await(const struct port *p, uint32_t slots)
{
	long end = milliseconds() + WAIT_MS;

	do {
		sync_rx(p);
		if (nm_ring_space(rx(p)) >= slots)
			break;
		rest(1);
	} while (milliseconds() < end);
	return nm_ring_space(rx(p));
}

/* What came that is no frame of this suite, for the reason of a failure. */
static struct {
	uint32_t count, length;
	uint8_t start[16];
} others;

static void note_other(const void *at, uint32_t length)
{
	others.count++;
	others.length = length;
	memcpy(others.start, at, sizeof(others.start));
}

/* The frame of this suite at head of a ring, after others were taken off. */
static struct netmap_slot *first_frame(struct netmap_ring *ring)
{
	for (; !nm_ring_empty(ring); advance(ring, 1)) {
		struct netmap_slot *slot = slot_at(ring, 0);

		if (is_frame(buffer(ring, slot), slot->len))
			return slot;
		note_other(buffer(ring, slot), slot->len);
	}
	return NULL;
}

struct netmap_slot *await_frame(struct port *p, int ms)
{
	int rings = (int)(p->nifp->ni_rx_rings + p->nifp->ni_host_rx_rings), i;
	const int64_t *places = p->nifp->ring_ofs + p->nifp->ni_tx_rings + p->nifp->ni_host_tx_rings;
	long end = milliseconds() + ms;
	struct netmap_slot *slot;

	do {
		sync_rx(p);
		for (i = 0; i < rings; i++) {
			slot = places[i] ? first_frame(NETMAP_RXRING(p->nifp, i)) : NULL;
			if (slot) {
				p->rx_of = i;
				return slot;
			}
		}
		rest(1);
	} while (milliseconds() < end);
	return NULL;
}

void expect_frame(struct port *p, uint32_t number, uint32_t length)
{
	struct netmap_slot *slot = await_frame(p, WAIT_MS);

	if (!slot && others.count)
		FAIL("frame %u does not come, but %u others, the last of %u bytes to %02x:%02x, type %02x%02x", number, others.count,
		     others.length, others.start[0], others.start[1], others.start[12], others.start[13]);
	if (!slot)
		FAIL("frame %u does not come", number);
	check_frame(buffer(rx(p), slot), slot->len, number, length);
	advance(rx(p), 1);
}

void expect_none(struct port *p)
{
	struct netmap_slot *slot = await_frame(p, QUIET_MS);

	if (slot)
		FAIL("frame %u comes, of %u bytes", frame_number(buffer(rx(p), slot)), slot->len);
}

void drain(const struct port *p)
{
	long end = milliseconds() + WAIT_MS;

	do {
		sync_tx(p);
		if (!nm_tx_pending(tx(p)))
			return;
		rest(1);
	} while (milliseconds() < end);
	FAIL("frames stay in the tx ring: head %u, tail %u", tx(p)->head, tx(p)->tail);
}

void open_pair(struct pair *pair, enum link link)
{
	static const char *const ends[][2] = {[SWITCH] = {"a", "b"}, [PIPE] = {"{1", "}1"}};

	if (link == VETH) {
		open_port(&pair->a, interface_a());
		open_port(&pair->b, interface_b());
		return;
	}
	open_port(&pair->a, link == PIPE ? virtual_name(ends[PIPE][0]) : switch_name(ends[SWITCH][0]));
	open_port(&pair->b, link == PIPE ? virtual_name(ends[PIPE][1]) : switch_name(ends[SWITCH][1]));
}

int raw_socket(const char *interface)
{
	struct sockaddr_ll address = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL)};
	int fd = socket(AF_PACKET, SOCK_RAW, htons(ETH_P_ALL));

	if (fd < 0)
		SKIP("packet sockets: %s", strerror(errno));
	address.sll_ifindex = (int)if_nametoindex(interface);
	WORKS(bind(fd, (struct sockaddr *)&address, sizeof(address)));
	return fd;
}

void raw_send(int fd, const char *interface, uint32_t number, uint32_t length)
{
	struct sockaddr_ll address = {.sll_family = AF_PACKET, .sll_protocol = htons(FRAME_TYPE), .sll_halen = 6};
	char frame[2048];

	write_frame(frame, number, length);
	address.sll_ifindex = (int)if_nametoindex(interface);
	SAME(sendto(fd, frame, length, 0, (struct sockaddr *)&address, sizeof(address)), length);
}

int raw_await(int fd, uint32_t number, uint32_t length, int ms)
{
	long end = milliseconds() + ms;
	char frame[2048];

	do {
		struct sockaddr_ll from;
		socklen_t size = sizeof(from);
		struct pollfd one = {.fd = fd, .events = POLLIN};
		ssize_t got;

		if (poll(&one, 1, 10) != 1)
			continue;
		got = recvfrom(fd, frame, sizeof(frame), 0, (struct sockaddr *)&from, &size);
		if (got > 0 && from.sll_pkttype != PACKET_OUTGOING && is_frame(frame, (uint32_t)got) && frame_number(frame) == number) {
			check_frame(frame, (uint32_t)got, number, length);
			return 1;
		}
	} while (milliseconds() < end);
	return 0;
}
