/* Frames of several slots, frames elsewhere in memory, headers before frames: ports of a switch. */
#include "frames.h"

/* Writes a frame over slots of a tx ring, in parts of `part` bytes. The last part says so if `finish`. Slots used. */
static uint32_t put_parts(struct netmap_ring *ring, const char *frame, uint32_t length, uint32_t part, int finish)
{
	uint32_t slots = 0, done = 0;

	for (; done < length; slots++) {
		struct netmap_slot *slot = slot_at(ring, 0);
		uint32_t bytes = length - done < part ? length - done : part;

		memcpy(buffer(ring, slot), frame + done, bytes);
		done += bytes;
		slot->len = (uint16_t)bytes;
		slot->flags = done < length || !finish ? NS_MOREFRAG : 0;
		advance(ring, 1);
	}
	return slots;
}

/* Collects the frame at head into `frame`; its length. The first slot says how many there are. */
static uint32_t take_parts(const struct port *p, char *frame, uint32_t room, uint32_t *slots)
{
	struct netmap_ring *ring = rx(p);
	uint32_t length = 0, said;
	struct netmap_slot *slot;

	if (!await(p, 1))
		FAIL("no frame comes");
	said = NS_RFRAGS(slot_at(ring, 0));
	for (*slots = 1;; (*slots)++) {
		if (nm_ring_empty(ring))
			FAIL("the frame ends after %u slots, %u bytes", *slots - 1, length);
		slot = slot_at(ring, 0);
		CHECK(length + slot->len <= room);
		memcpy(frame + length, buffer(ring, slot), slot->len);
		length += slot->len;
		advance(ring, 1);
		if (!(slot->flags & NS_MOREFRAG))
			break;
	}
	if (*slots > 1)
		SAME(said, *slots);
	return length;
}

static void parts(uint32_t length, uint32_t part)
{
	static char frame[65536], got[65536];
	struct pair p;
	uint32_t slots, sent;

	open_pair(&p, SWITCH);
	write_frame(frame, 9, length);
	sent = put_parts(tx(&p.a), frame, length, part, 1);
	put_frame(tx(&p.a), 10, 60);
	sync_tx(&p.a);
	SAME(take_parts(&p.b, got, sizeof(got), &slots), length);
	CHECK(slots >= 1 && slots <= sent);
	check_frame(got, length, 9, length);
	expect_frame(&p.b, 10, 60);
	drain(&p.a);
}

TEST(a_frame_of_10050_bytes_arrives_whole) { parts(10050, 2048); }
TEST(a_frame_in_two_slots_arrives_whole) { parts(3000, 2048); }
TEST(a_frame_in_small_parts_arrives_whole) { parts(1500, 100); }
TEST(a_frame_of_16_slots_arrives_whole) { parts(16 * 2000, 2000); }

TEST(long_frames_arrive_one_after_another)
{
	static char frame[16384], got[16384];
	struct pair p;
	uint32_t i, slots;

	open_pair(&p, SWITCH);
	for (i = 0; i < 500; i++) {
		uint32_t length = 2000 + i * 17 % 10000;

		write_frame(frame, i, length);
		while (nm_ring_space(tx(&p.a)) < 10)
			drain(&p.a);
		put_parts(tx(&p.a), frame, length, 2048, 1);
		sync_tx(&p.a);
		SAME(take_parts(&p.b, got, sizeof(got), &slots), length);
		check_frame(got, length, i, length);
	}
}

TEST(an_incomplete_frame_is_not_published)
{
	static char frame[8192];
	struct pair p;

	open_pair(&p, SWITCH);
	write_frame(frame, 1, 4096);
	put_parts(tx(&p.a), frame, 4096, 2048, 0);
	sync_tx(&p.a);
	SAME(await_frame(&p.b, QUIET_MS) == NULL, 1);
}

/* The data is in the program's own memory. */
TEST(frames_elsewhere_in_memory_are_sent)
{
	static char frames[20][2048];
	struct pair p;
	uint32_t i;

	open_pair(&p, SWITCH);
	for (i = 0; i < 20; i++) {
		struct netmap_slot *slot = slot_at(tx(&p.a), 0);

		write_frame(frames[i], i, 60 + i * 50);
		slot->len = (uint16_t)(60 + i * 50);
		slot->flags = NS_INDIRECT;
		slot->ptr = (uintptr_t)frames[i];
		advance(tx(&p.a), 1);
	}
	sync_tx(&p.a);
	for (i = 0; i < 20; i++)
		expect_frame(&p.b, i, 60 + i * 50);
	drain(&p.a);
}

/* An address that leads nowhere harms nobody. */
TEST(frames_nowhere_in_memory_are_not_sent)
{
	struct pair p;
	struct netmap_slot *slot;

	open_pair(&p, SWITCH);
	slot = slot_at(tx(&p.a), 0);
	slot->len = 60;
	slot->flags = NS_INDIRECT;
	slot->ptr = 16;
	advance(tx(&p.a), 1);
	ioctl(p.a.fd, NIOCTXSYNC, NULL);
	expect_none(&p.b);
}

static int header_request(uint16_t type, const char *name, uint32_t *length)
{
	struct nmreq_port_hdr body = {*length, 0};
	int error = request(type, name, &body);

	*length = body.nr_hdr_len;
	return error;
}

static void set_header(uint32_t length)
{
	struct port p;
	uint32_t got = 99;

	open_port(&p, switch_name("a"));
	SAME(header_request(NETMAP_REQ_PORT_HDR_SET, switch_name("a"), &length), 0);
	SAME(header_request(NETMAP_REQ_PORT_HDR_GET, switch_name("a"), &got), 0);
	SAME(got, length);
}

TEST(header_of_0_bytes) { set_header(0); }
TEST(header_of_10_bytes) { set_header(10); }
TEST(header_of_12_bytes) { set_header(12); }

/* Who does not say that it knows headers is not bound to a port that has them. */
TEST(a_port_with_headers_wants_their_knowledge)
{
	struct port p, q;
	uint32_t length = 12;

	open_port(&p, switch_name("a"));
	SAME(header_request(NETMAP_REQ_PORT_HDR_SET, switch_name("a"), &length), 0);
	refuse_bind(switch_name("a"), NR_REG_ALL_NIC, 0, 0, EIO);
	bind_port(&q, switch_name("a"), NR_REG_ALL_NIC, 0, NR_ACCEPT_VNET_HDR);
}

/* Between a port with headers and one without, the switch takes them off, and puts headers of zeros before frames. */
TEST(headers_are_taken_off_and_put_on)
{
	struct pair p;
	struct netmap_slot *slot;
	uint32_t length = 12, round;
	char *bytes;
	long end;

	open_pair(&p, SWITCH);
	SAME(header_request(NETMAP_REQ_PORT_HDR_SET, switch_name("a"), &length), 0);
	for (round = 0; round < 3; round++) {
		slot = slot_at(tx(&p.a), 0);
		put_frame(tx(&p.a), 7 + round, 60);
		bytes = buffer(tx(&p.a), slot);
		memmove(bytes + 12, bytes, 60);
		memset(bytes, 0xaa, 12);
		slot->len = 72;
		sync_tx(&p.a);
		SAME(slot->len, 72);
		SAME((unsigned char)bytes[0], 0xaa);
		expect_frame(&p.b, 7 + round, 60);
		send_frame(&p.b, 20 + round, 60);
		for (end = milliseconds() + WAIT_MS; nm_ring_empty(rx(&p.a)) && milliseconds() < end; rest(1))
			sync_rx(&p.a);
		CHECK(!nm_ring_empty(rx(&p.a)));
		slot = slot_at(rx(&p.a), 0);
		SAME(slot->len, 72);
		bytes = buffer(rx(&p.a), slot);
		SAME(bytes[0], 0);
		SAME(bytes[11], 0);
		check_frame(bytes + 12, 60, 20 + round, 60);
		advance(rx(&p.a), 1);
	}
}

TEST(a_fresh_port_has_no_header)
{
	struct port p;
	uint32_t length = 99;

	open_port(&p, switch_name("a"));
	SAME(header_request(NETMAP_REQ_PORT_HDR_GET, switch_name("a"), &length), 0);
	SAME(length, 0);
}

TEST(other_headers_are_refused)
{
	struct port p;
	uint32_t length = 11;

	open_port(&p, switch_name("a"));
	CHECK(header_request(NETMAP_REQ_PORT_HDR_SET, switch_name("a"), &length) != 0);
}
