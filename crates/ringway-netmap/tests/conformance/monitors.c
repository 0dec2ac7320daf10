/* Monitors: what they see, when, and that nobody else notices them. */
#include "frames.h"

struct watched {
	struct pair p;
	struct port monitor;
};

static void watch(struct watched *w, enum link link, int of_a, uint64_t flags)
{
	static const char *const ends[3][2] = {[PIPE] = {"{1", "}1"}, [SWITCH] = {"a", "b"}};
	const char *name;

	open_pair(&w->p, link);
	if (link == VETH)
		name = of_a ? interface_a() : interface_b();
	else if (link == PIPE)
		name = virtual_name(ends[link][!of_a]);
	else
		name = switch_name(ends[link][!of_a]);
	bind_port(&w->monitor, name, NR_REG_ALL_NIC, 0, flags);
}

/* One case a kind of link. */
#define TEST_MONITOR(id, of_a, flags, argument)                           \
	static void id(struct watched *);                                 \
	static void id##_open(enum link link)                             \
	{                                                                 \
		struct watched both;                                      \
		watch(&both, link, of_a, flags);                          \
		id(&both);                                                \
	}                                                                 \
	TEST(id##_on_veth) { id##_open(VETH); }                           \
	TEST(id##_on_switch) { id##_open(SWITCH); }                       \
	TEST(id##_on_pipe) { id##_open(PIPE); }                           \
	static void id(struct watched *argument)

TEST_MONITOR(a_monitor_has_the_rings_of_its_port, 1, NR_MONITOR_TX, w)
{
	SAME(w->monitor.reg.nr_flags, NR_MONITOR_TX);
	CHECK(w->monitor.nifp->ni_rx_rings >= w->p.a.nifp->ni_tx_rings);
	CHECK(w->monitor.rx_of >= 0);
}

/* Copies of what is sent are there once it was sent. */
TEST_MONITOR(a_monitor_copies_what_is_sent, 1, NR_MONITOR_TX, w)
{
	uint32_t i;

	for (i = 0; i < 10; i++)
		put_frame(tx(&w->p.a), i, 60 + i);
	expect_none(&w->monitor);
	sync_tx(&w->p.a);
	for (i = 0; i < 10; i++)
		expect_frame(&w->monitor, i, 60 + i);
	for (i = 0; i < 10; i++)
		expect_frame(&w->p.b, i, 60 + i);
}

/* Copies of what came are there before the reader takes it. */
TEST_MONITOR(a_monitor_copies_what_arrives, 0, NR_MONITOR_RX, w)
{
	uint32_t i;

	for (i = 0; i < 10; i++)
		put_frame(tx(&w->p.a), i, 60 + i);
	sync_tx(&w->p.a);
	SAME(await(&w->p.b, 10), 10);
	SAME(rx(&w->p.b)->head, 0);
	for (i = 0; i < 10; i++)
		expect_frame(&w->monitor, i, 60 + i);
	for (i = 0; i < 10; i++)
		expect_frame(&w->p.b, i, 60 + i);
}

TEST_MONITOR(a_tx_monitor_does_not_see_what_arrives, 1, NR_MONITOR_TX, w)
{
	send_frame(&w->p.b, 1, 60);
	expect_frame(&w->p.a, 1, 60);
	expect_none(&w->monitor);
}

TEST_MONITOR(an_rx_monitor_does_not_see_what_is_sent, 1, NR_MONITOR_RX, w)
{
	send_frame(&w->p.a, 1, 60);
	expect_frame(&w->p.b, 1, 60);
	expect_none(&w->monitor);
}

/* With both flags both come. A mark is on frames that were sent. */
TEST_MONITOR(a_monitor_of_both_directions_marks_what_is_sent, 1, NR_MONITOR_TX | NR_MONITOR_RX, w)
{
	struct netmap_slot *slot;

	send_frame(&w->p.a, 1, 60);
	expect_frame(&w->p.b, 1, 60);
	slot = await_frame(&w->monitor, WAIT_MS);
	CHECK(slot != NULL);
	check_frame(buffer(rx(&w->monitor), slot), slot->len, 1, 60);
	CHECK(slot->flags & NS_TXMON);
	advance(rx(&w->monitor), 1);
	send_frame(&w->p.b, 2, 60);
	SAME(await(&w->p.a, 1), 1);
	slot = await_frame(&w->monitor, WAIT_MS);
	CHECK(slot != NULL);
	check_frame(buffer(rx(&w->monitor), slot), slot->len, 2, 60);
	CHECK(!(slot->flags & NS_TXMON));
}

/* Without a copy: after the frame was consumed. */
TEST_MONITOR(a_zero_copy_monitor_sees_what_was_sent, 1, NR_MONITOR_TX | NR_ZCOPY_MON, w)
{
	uint32_t i;

	for (i = 0; i < 10; i++)
		put_frame(tx(&w->p.a), i, 60 + i);
	sync_tx(&w->p.a);
	for (i = 0; i < 10; i++)
		expect_frame(&w->p.b, i, 60 + i);
	sync_rx(&w->p.b);
	drain(&w->p.a);
	for (i = 0; i < 10; i++)
		expect_frame(&w->monitor, i, 60 + i);
}

TEST_MONITOR(a_zero_copy_monitor_sees_what_was_read, 0, NR_MONITOR_RX | NR_ZCOPY_MON, w)
{
	uint32_t i;

	for (i = 0; i < 10; i++)
		put_frame(tx(&w->p.a), i, 60 + i);
	sync_tx(&w->p.a);
	SAME(await(&w->p.b, 10), 10);
	expect_none(&w->monitor);
	for (i = 0; i < 10; i++)
		expect_frame(&w->p.b, i, 60 + i);
	sync_rx(&w->p.b);
	for (i = 0; i < 10; i++)
		expect_frame(&w->monitor, i, 60 + i);
}

/* What a monitor has no room for it misses; the port loses nothing. */
static void overflow(struct watched *w)
{
	uint32_t total = 3 * rx(&w->monitor)->num_slots, sent, seen = 0, last = 0;
	struct netmap_slot *slot;

	for (sent = 0; sent < total; sent++) {
		send_frame(&w->p.a, sent, 60);
		expect_frame(&w->p.b, sent, 60);
	}
	sync_rx(&w->p.b);
	drain(&w->p.a);
	while ((slot = await_frame(&w->monitor, QUIET_MS)) != NULL) {
		uint32_t number = frame_number(buffer(rx(&w->monitor), slot));

		check_frame(buffer(rx(&w->monitor), slot), slot->len, number, 60);
		CHECK(seen == 0 || number > last);
		last = number;
		seen++;
		advance(rx(&w->monitor), 1);
	}
	CHECK(seen > 0 && seen <= total);
}

TEST_MONITOR(a_full_monitor_hinders_nobody, 1, NR_MONITOR_TX, w)
{
	overflow(w);
}

TEST_MONITOR(a_full_zero_copy_monitor_hinders_nobody, 1, NR_MONITOR_TX | NR_ZCOPY_MON, w)
{
	overflow(w);
}

TEST_MONITOR(a_monitor_that_closes_leaves_its_port_at_work, 1, NR_MONITOR_TX | NR_MONITOR_RX, w)
{
	send_frame(&w->p.a, 1, 60);
	expect_frame(&w->p.b, 1, 60);
	close_port(&w->monitor);
	send_frame(&w->p.a, 2, 60);
	expect_frame(&w->p.b, 2, 60);
	send_frame(&w->p.b, 3, 60);
	expect_frame(&w->p.a, 3, 60);
}

TEST_MONITOR(poll_wakes_a_monitor, 1, NR_MONITOR_TX, w)
{
	SAME(poll_port(&w->monitor, POLLIN, 50), 0);
	send_frame(&w->p.a, 1, 60);
	SAME(poll_port(&w->monitor, POLLIN, WAIT_MS), POLLIN);
	expect_frame(&w->monitor, 1, 60);
}

/* Two monitors of one port each have all frames. */
TEST(two_monitors_see_the_same)
{
	struct watched w;
	struct port second;
	uint32_t i;

	watch(&w, VETH, 1, NR_MONITOR_TX);
	bind_port(&second, interface_a(), NR_REG_ALL_NIC, 0, NR_MONITOR_TX);
	for (i = 0; i < 10; i++)
		send_frame(&w.p.a, i, 60);
	for (i = 0; i < 10; i++) {
		expect_frame(&w.monitor, i, 60);
		expect_frame(&second, i, 60);
	}
}
