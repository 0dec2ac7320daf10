/* Flags of slots and rings, time stamps, buffers that are exchanged. */
#include <sys/time.h>

#include "frames.h"

/* A buffer that is in no ring. */
static uint32_t spare(struct port *p, const char *name)
{
	prepare(p, NR_REG_ALL_NIC, 0, 0);
	p->reg.nr_extra_bufs = 1;
	SAME(try_bind(p, name), 0);
	if (p->reg.nr_extra_bufs < 1)
		SKIP("no extra buffer is granted");
	return p->nifp->ni_bufs_head;
}

/* Frame 1 is in the spare buffer, which takes the place of the slot's. */
static void send_from_spare(struct port *a, uint32_t index)
{
	struct netmap_ring *ring = tx(a);
	struct netmap_slot *slot = slot_at(ring, 0);

	a->nifp->ni_bufs_head = slot->buf_idx;
	memset(buffer(ring, slot), 0, 4); /* the end of the list */
	write_frame(NETMAP_BUF(ring, index), 1, 80);
	slot->buf_idx = index;
	slot->len = 80;
	slot->flags = NS_BUF_CHANGED;
	advance(ring, 1);
	sync_tx(a);
}

TEST(an_exchanged_buffer_is_sent_to_a_link)
{
	struct port a, b;
	uint32_t index = spare(&a, interface_a());

	open_port(&b, interface_b());
	send_from_spare(&a, index);
	expect_frame(&b, 1, 80);
	drain(&a);
	SAME(tx(&a)->slot[0].flags & NS_BUF_CHANGED, 0);
}

TEST(an_exchanged_buffer_is_sent_to_a_switch)
{
	struct port a, b;
	uint32_t index = spare(&a, switch_name("a"));

	open_port(&b, switch_name("b"));
	send_from_spare(&a, index);
	expect_frame(&b, 1, 80);
	drain(&a);
	SAME(tx(&a)->slot[0].flags & NS_BUF_CHANGED, 0);
}

/* The reader puts another buffer into a slot; frames come into that one. */
static void receive_into_spare(struct port *a, struct port *b, uint32_t index)
{
	struct netmap_ring *ring = rx(b);
	struct netmap_slot *slot;
	uint32_t i, came = 0;

	send_frame(a, 1, 80);
	slot = await_frame(b, WAIT_MS);
	CHECK(slot != NULL);
	b->nifp->ni_bufs_head = slot->buf_idx;
	memset(buffer(ring, slot), 0, 4);
	slot->buf_idx = index;
	slot->flags = NS_BUF_CHANGED;
	advance(ring, 1);
	sync_rx(b);
	for (i = 2; i < 2 + 2 * ring->num_slots; i++) {
		send_frame(a, i, 80);
		slot = await_frame(b, WAIT_MS);
		if (!slot)
			FAIL("frame %u does not come", i);
		came += slot->buf_idx == index;
		check_frame(buffer(ring, slot), slot->len, i, 80);
		advance(ring, 1);
	}
	CHECK(came > 0);
}

TEST(a_buffer_exchanged_by_the_reader_is_filled_from_a_link)
{
	struct port a, b;
	uint32_t index = spare(&b, interface_b());

	open_port(&a, interface_a());
	receive_into_spare(&a, &b, index);
}

TEST(a_buffer_exchanged_by_the_reader_is_filled_by_a_switch)
{
	struct port a, b;
	uint32_t index = spare(&b, switch_name("b"));

	open_port(&a, switch_name("a"));
	receive_into_spare(&a, &b, index);
}

TEST_LINKS(frames_with_a_wish_to_be_reported_are_sent, p)
{
	struct netmap_ring *ring = tx(&p->a);
	uint32_t i;

	for (i = 0; i < 10; i++) {
		put_frame(ring, i, 60);
		ring->slot[i].flags = NS_REPORT;
	}
	sync_tx(&p->a);
	for (i = 0; i < 10; i++)
		expect_frame(&p->b, i, 60);
	sync_rx(&p->b);
	drain(&p->a);
}

static long long micros(struct timeval time)
{
	return time.tv_sec * 1000000LL + time.tv_usec;
}

static long long now(void)
{
	struct timeval time;

	gettimeofday(&time, NULL);
	return micros(time);
}

/* An rx ring is stamped at each sync, with the time of day. */
TEST_LINKS(received_frames_have_a_time, p)
{
	long long before = now(), first;

	send_frame(&p->a, 1, 60);
	SAME(await(&p->b, 1), 1);
	first = micros(rx(&p->b)->ts);
	if (first < before - 10000 || first > now() + 10000)
		FAIL("the time is %lld us off", first - now());
	advance(rx(&p->b), 1);
	rest(20);
	send_frame(&p->a, 2, 60);
	SAME(await(&p->b, 1), 1);
	CHECK(micros(rx(&p->b)->ts) > first + 10000);
}

TEST_LINKS(rings_are_stamped_when_they_ask_for_it, p)
{
	long long before, first;

	tx(&p->a)->flags = NR_TIMESTAMP;
	before = now();
	sync_tx(&p->a);
	first = micros(tx(&p->a)->ts);
	CHECK(first >= before - 10000 && first <= now() + 10000);
	rest(20);
	sync_tx(&p->a);
	CHECK(micros(tx(&p->a)->ts) > first + 10000);
	SAME(tx(&p->a)->flags, NR_TIMESTAMP);
}

TEST_LINKS(poll_stamps_too, p)
{
	long long before = now(), stamp;

	rx(&p->b)->flags = NR_TIMESTAMP;
	send_frame(&p->a, 1, 60);
	SAME(poll_port(&p->b, POLLIN, WAIT_MS), POLLIN);
	stamp = micros(rx(&p->b)->ts);
	CHECK(stamp >= before - 10000 && stamp <= now() + 10000);
}
