/* Switches: who receives what, and ports that stay. */
#include "frames.h"

struct three {
	struct port a, b, c;
};

static void open_three(struct three *t)
{
	open_port(&t->a, switch_name("a"));
	open_port(&t->b, switch_name("b"));
	open_port(&t->c, switch_name("c"));
}

static void send_between(const struct port *p, uint32_t number, uint8_t from, uint8_t to)
{
	put_frame_between(tx(p), number, 60, from, to);
	sync_tx(p);
}

TEST(group_addresses_reach_all_others)
{
	struct three t;

	open_three(&t);
	send_between(&t.a, 1, 1, 0);
	expect_frame(&t.b, 1, 60);
	expect_frame(&t.c, 1, 60);
	expect_none(&t.a);
}

TEST(broadcast_reaches_all_others)
{
	struct three t;

	open_three(&t);
	put_frame(tx(&t.a), 1, 60);
	memset(buffer(tx(&t.a), &tx(&t.a)->slot[0]), 0xff, 6);
	sync_tx(&t.a);
	CHECK(await_frame(&t.b, WAIT_MS) != NULL);
	CHECK(await_frame(&t.c, WAIT_MS) != NULL);
	expect_none(&t.a);
}

TEST(unknown_stations_are_sought_at_all_others)
{
	struct three t;

	open_three(&t);
	send_between(&t.a, 1, 1, 99);
	expect_frame(&t.b, 1, 60);
	expect_frame(&t.c, 1, 60);
}

TEST(stations_are_learned)
{
	struct three t;

	open_three(&t);
	send_between(&t.b, 1, 2, 0);
	expect_frame(&t.a, 1, 60);
	expect_frame(&t.c, 1, 60);
	send_between(&t.a, 2, 1, 2);
	expect_frame(&t.b, 2, 60);
	expect_none(&t.c);
}

TEST(a_station_that_moves_is_learned_again)
{
	struct three t;

	open_three(&t);
	send_between(&t.b, 1, 2, 0);
	send_between(&t.c, 2, 2, 0);
	expect_frame(&t.a, 1, 60);
	expect_frame(&t.a, 2, 60);
	expect_frame(&t.b, 2, 60);
	expect_frame(&t.c, 1, 60);
	send_between(&t.a, 3, 1, 2);
	expect_frame(&t.c, 3, 60);
	expect_none(&t.b);
}

TEST(a_sender_may_forbid_to_learn)
{
	struct three t;

	open_three(&t);
	put_frame_between(tx(&t.b), 1, 60, 2, 0);
	tx(&t.b)->slot[0].flags |= NS_NO_LEARN;
	sync_tx(&t.b);
	expect_frame(&t.a, 1, 60);
	expect_frame(&t.c, 1, 60);
	send_between(&t.a, 2, 1, 2);
	expect_frame(&t.b, 2, 60);
	expect_frame(&t.c, 2, 60);
}

TEST(frames_below_14_bytes_are_dropped)
{
	struct three t;

	open_three(&t);
	put_frame(tx(&t.a), 1, 60);
	tx(&t.a)->slot[0].len = 13;
	put_frame(tx(&t.a), 2, 60);
	sync_tx(&t.a);
	SAME(await(&t.b, 1), 1);
	expect_frame(&t.b, 2, 60);
	expect_none(&t.b);
	drain(&t.a);
}

TEST(switches_do_not_meet)
{
	struct port a, b;

	open_port(&a, switch_name("a"));
	open_port(&b, other_switch_name("b"));
	send_frame(&a, 1, 60);
	expect_none(&b);
	drain(&a);
}

/* A receiver that does not read loses frames; the sender never waits. */
TEST(a_full_receiver_loses_and_the_sender_goes_on)
{
	struct three t;
	uint32_t total, i, seen = 0, last = 0;
	struct netmap_slot *slot;

	open_three(&t);
	total = 3 * rx(&t.b)->num_slots;
	for (i = 0; i < total; i++) {
		if (nm_ring_empty(tx(&t.a)))
			drain(&t.a);
		put_frame(tx(&t.a), i, 60);
		if (i % 50 == 49)
			sync_tx(&t.a);
	}
	drain(&t.a);
	while ((slot = await_frame(&t.b, QUIET_MS)) != NULL) {
		uint32_t number = frame_number(buffer(rx(&t.b), slot));

		CHECK(seen == 0 || number > last);
		last = number;
		seen++;
		advance(rx(&t.b), 1);
	}
	CHECK(seen >= rx(&t.b)->num_slots - 1 && seen < total);
	send_frame(&t.a, total, 60);
	expect_frame(&t.b, total, 60);
}

/* The upper byte of a slot's flags names a port: for one value the frame reaches b alone, for another c alone. */
TEST(a_sender_may_name_the_port)
{
	struct three t;
	uint32_t value, only_b = 0, only_c = 0;

	open_three(&t);
	for (value = 1; value < 8; value++) {
		int at_b, at_c;

		put_frame_between(tx(&t.a), value, 60, 1, 0);
		slot_at(tx(&t.a), tx(&t.a)->num_slots - 1)->flags |= (uint16_t)(value << NS_PORT_SHIFT);
		sync_tx(&t.a);
		at_b = await_frame(&t.b, 50) != NULL;
		at_c = await_frame(&t.c, 50) != NULL;
		advance(rx(&t.b), (uint32_t)at_b);
		advance(rx(&t.c), (uint32_t)at_c);
		only_b += at_b && !at_c;
		only_c += at_c && !at_b;
	}
	CHECK(only_b == 1 && only_c == 1);
}

TEST(an_ephemeral_port_goes_with_its_last_user)
{
	struct three t;
	struct port again;

	open_three(&t);
	close_port(&t.b);
	send_frame(&t.a, 1, 60);
	expect_frame(&t.c, 1, 60);
	open_port(&again, switch_name("b"));
	expect_none(&again);
	send_frame(&t.a, 2, 60);
	expect_frame(&again, 2, 60);
}

TEST(many_ports_of_a_switch)
{
	struct port ports[16];
	char name[8];
	uint32_t i;

	for (i = 0; i < 16; i++) {
		snprintf(name, sizeof(name), "p%u", i);
		open_port(&ports[i], switch_name(name));
	}
	send_frame(&ports[7], 1, 60);
	for (i = 0; i < 16; i++)
		if (i != 7)
			expect_frame(&ports[i], 1, 60);
	expect_none(&ports[7]);
}
