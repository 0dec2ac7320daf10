/* Rings of the host: what its stack sends and receives, and frames that pass from one side to the other. */
#include "frames.h"

/* The host's frames come by any of its rings. All must come, to one of these ports. */
static void from_host(struct port *ports, uint32_t count)
{
	int host = raw_socket(interface_a());
	uint32_t seen = 0, i;
	long end = milliseconds() + WAIT_MS;

	for (i = 0; i < 20; i++)
		raw_send(host, interface_a(), i, 60 + i);
	for (i = 0; seen != (1u << 20) - 1 && milliseconds() < end; i++) {
		struct port *p = &ports[i % count];
		struct netmap_slot *slot = await_frame(p, 1);

		if (slot) {
			uint32_t number = frame_number(buffer(rx(p), slot));

			check_frame(buffer(rx(p), slot), slot->len, number, 60 + number);
			seen |= 1u << number;
			advance(rx(p), 1);
		}
	}
	if (seen != (1u << 20) - 1)
		FAIL("mask %x says which of the frames 0 to 19 come", seen);
}

TEST(frames_of_the_host_come_in_mode_2)
{
	struct port p;

	bind_port(&p, interface_a(), NR_REG_SW, 0, 0);
	from_host(&p, 1);
}

TEST(frames_of_the_host_come_in_mode_8)
{
	struct port ports[64];
	uint32_t count = 1, i;

	for (i = 0; i < count; i++) {
		bind_port(&ports[i], interface_a(), NR_REG_ONE_SW, (uint16_t)i, 0);
		count = ports[i].nifp->ni_host_rx_rings;
		CHECK(count >= 1 && count <= 64);
	}
	from_host(ports, count);
}

static void to_host(uint32_t mode)
{
	struct port p;
	int host = raw_socket(interface_a());

	bind_port(&p, interface_a(), mode, 0, 0);
	send_frame(&p, 5, 100);
	CHECK(raw_await(host, 5, 100, WAIT_MS));
	send_frame(&p, 6, 1000);
	CHECK(raw_await(host, 6, 1000, WAIT_MS));
	drain(&p);
}

TEST(the_host_receives_frames_sent_in_mode_2) { to_host(NR_REG_SW); }
TEST(the_host_receives_frames_sent_in_mode_8) { to_host(NR_REG_ONE_SW); }

/* In mode 3 both kinds of rings are at hand: the host's follow the interface's. */
TEST(mode_3_tells_host_and_link_apart)
{
	struct port all, far;
	struct netmap_slot *slot;
	int host;

	bind_port(&all, interface_a(), NR_REG_NIC_SW, 0, 0);
	open_port(&far, interface_b());
	host = raw_socket(interface_a());
	put_frame(NETMAP_TXRING(all.nifp, all.nifp->ni_tx_rings), 1, 60);
	put_frame(tx(&all), 2, 60);
	sync_tx(&all);
	CHECK(raw_await(host, 1, 60, WAIT_MS));
	expect_frame(&far, 2, 60);
	expect_none(&far);
	raw_send(host, interface_a(), 3, 70);
	CHECK((slot = await_frame(&all, WAIT_MS)) != NULL);
	check_frame(buffer(rx(&all), slot), slot->len, 3, 70);
	CHECK(all.rx_of >= (int)all.nifp->ni_rx_rings);
	advance(rx(&all), 1);
	send_frame(&far, 4, 80);
	expect_frame(&all, 4, 80);
	CHECK(all.rx_of < (int)all.nifp->ni_rx_rings);
}

/* While the interface's rings are bound, the host neither gets its frames nor sends to the link. */
TEST(frames_of_the_link_bypass_the_host)
{
	struct port a, b;
	int host = raw_socket(interface_a());

	open_port(&a, interface_a());
	open_port(&b, interface_b());
	send_frame(&b, 1, 60);
	expect_frame(&a, 1, 60);
	CHECK(!raw_await(host, 1, 60, QUIET_MS));
}

TEST(the_host_gets_frames_again_after_close)
{
	struct port a, b;
	int host = raw_socket(interface_a());
	uint32_t i;

	open_port(&a, interface_a());
	open_port(&b, interface_b());
	close_port(&a);
	for (i = 0; i < 30; i++) {
		send_frame(&b, i, 60);
		if (raw_await(host, i, 60, 100))
			return;
	}
	FAIL("the host gets nothing");
}

/* A frame of the link that its reader releases with NS_FORWARD goes on to the host; one without the flag does not. */
TEST(forwarded_frames_of_the_link_reach_the_host)
{
	struct port a, b;
	struct netmap_slot *slot;
	int host = raw_socket(interface_a());

	bind_port(&a, interface_a(), NR_REG_NIC_SW, 0, 0);
	open_port(&b, interface_b());
	rx(&a)->flags |= NR_FORWARD;
	send_frame(&b, 1, 90);
	CHECK((slot = await_frame(&a, WAIT_MS)) != NULL);
	advance(rx(&a), 1);
	send_frame(&b, 2, 91);
	CHECK((slot = await_frame(&a, WAIT_MS)) != NULL);
	SAME(frame_number(buffer(rx(&a), slot)), 2);
	slot->flags |= NS_FORWARD;
	advance(rx(&a), 1);
	sync_rx(&a);
	sync_tx(&a);
	CHECK(raw_await(host, 2, 91, WAIT_MS));
	CHECK(!raw_await(host, 1, 90, QUIET_MS));
}

/* Without NR_FORWARD on the ring the flag of a slot says nothing. */
TEST(forwarding_needs_the_flag_of_the_ring)
{
	struct port a, b;
	struct netmap_slot *slot;
	int host = raw_socket(interface_a());

	bind_port(&a, interface_a(), NR_REG_NIC_SW, 0, 0);
	open_port(&b, interface_b());
	send_frame(&b, 1, 90);
	CHECK((slot = await_frame(&a, WAIT_MS)) != NULL);
	slot->flags |= NS_FORWARD;
	advance(rx(&a), 1);
	sync_rx(&a);
	sync_tx(&a);
	CHECK(!raw_await(host, 1, 90, QUIET_MS));
}

TEST(forwarded_frames_of_the_host_reach_the_link)
{
	struct port a, b;
	struct netmap_slot *slot;
	uint32_t i;
	int host;

	bind_port(&a, interface_a(), NR_REG_NIC_SW, 0, 0);
	open_port(&b, interface_b());
	host = raw_socket(interface_a());
	for (i = 0; i < a.nifp->ni_host_rx_rings; i++)
		NETMAP_RXRING(a.nifp, a.nifp->ni_rx_rings + i)->flags |= NR_FORWARD;
	raw_send(host, interface_a(), 4, 90);
	CHECK((slot = await_frame(&a, WAIT_MS)) != NULL);
	slot->flags |= NS_FORWARD;
	advance(rx(&a), 1);
	sync_rx(&a);
	sync_tx(&a);
	expect_frame(&b, 4, 90);
}

/* Poll wakes for frames of the host too. */
TEST(poll_waits_for_the_host)
{
	struct port p;
	int host;

	bind_port(&p, interface_a(), NR_REG_SW, 0, 0);
	host = raw_socket(interface_a());
	SAME(poll_port(&p, POLLIN, 50), 0);
	raw_send(host, interface_a(), 1, 60);
	SAME(poll_port(&p, POLLIN, WAIT_MS), POLLIN);
	expect_frame(&p, 1, 60);
}
