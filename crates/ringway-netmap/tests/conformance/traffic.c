/* Frames through a pair of links, two ports of a switch and a pipe. */
#include "frames.h"

TEST_LINKS(one_frame, p)
{
	send_frame(&p->a, 1, 60);
	expect_frame(&p->b, 1, 60);
	expect_none(&p->b);
	expect_none(&p->a);
}

TEST_LINKS(frames_both_ways, p)
{
	send_frame(&p->a, 1, 100);
	send_frame(&p->b, 2, 200);
	expect_frame(&p->b, 1, 100);
	expect_frame(&p->a, 2, 200);
}

TEST_LINKS(nothing_comes_of_nothing, p)
{
	sync_tx(&p->a);
	expect_none(&p->b);
	SAME(rx(&p->b)->head, rx(&p->b)->tail);
}

/* Frames that are filled in are not sent before a sync. */
TEST_LINKS(frames_wait_for_the_sync, p)
{
	put_frame(tx(&p->a), 1, 60);
	expect_none(&p->b);
	sync_tx(&p->a);
	expect_frame(&p->b, 1, 60);
}

TEST_LINKS(lengths_are_kept, p)
{
	static const uint32_t lengths[] = {60, 61, 64, 65, 127, 128, 129, 255, 256, 511, 1000, 1023, 1024, 1500, 1513, 1514};
	uint32_t i;

	for (i = 0; i < sizeof(lengths) / sizeof(*lengths); i++)
		put_frame(tx(&p->a), i, lengths[i]);
	sync_tx(&p->a);
	for (i = 0; i < sizeof(lengths) / sizeof(*lengths); i++)
		expect_frame(&p->b, i, lengths[i]);
}

/* As many frames as the smaller ring holds, in one sync. */
TEST_LINKS(full_ring, p)
{
	uint32_t frames = tx(&p->a)->num_slots - 1, room = rx(&p->b)->num_slots - 1, i;

	frames = frames < room ? frames : room;
	for (i = 0; i < frames; i++)
		put_frame(tx(&p->a), i, 60 + i % 100);
	sync_tx(&p->a);
	for (i = 0; i < frames; i++)
		expect_frame(&p->b, i, 60 + i % 100);
	sync_rx(&p->b);
	drain(&p->a);
}

/* A tx ring has a slot less than its number, fresh and drained. */
TEST_LINKS(one_slot_stays_unused, p)
{
	SAME(nm_ring_space(tx(&p->a)), tx(&p->a)->num_slots - 1);
	send_frame(&p->a, 1, 60);
	expect_frame(&p->b, 1, 60);
	sync_rx(&p->b);
	drain(&p->a);
	SAME(nm_ring_space(tx(&p->a)), tx(&p->a)->num_slots - 1);
}

/* Three times around, in bursts that do not divide the ring. */
TEST_LINKS(rings_wrap, p)
{
	uint32_t total = 3 * tx(&p->a)->num_slots, sent = 0, got = 0, burst;

	while (got < total) {
		for (burst = 0; burst < 37 && sent < total && !nm_ring_empty(tx(&p->a)); burst++, sent++)
			put_frame(tx(&p->a), sent, 60 + sent % 50);
		sync_tx(&p->a);
		for (; got < sent; got++)
			expect_frame(&p->b, got, 60 + got % 50);
	}
	sync_rx(&p->b);
	drain(&p->a);
}

TEST_LINKS(tail_moves_once_frames_are_out, p)
{
	uint32_t i;

	for (i = 0; i < 10; i++)
		put_frame(tx(&p->a), i, 60);
	CHECK(nm_tx_pending(tx(&p->a)));
	sync_tx(&p->a);
	SAME(await(&p->b, 10), 10);
	advance(rx(&p->b), 10);
	sync_rx(&p->b);
	drain(&p->a);
	SAME(tx(&p->a)->head, 10);
	SAME(tx(&p->a)->tail, 9);
}

/* Slots that were given back stay untouched until the next sync of the receiver. */
TEST_LINKS(received_slots_are_given_back_at_the_next_sync, p)
{
	struct netmap_ring *ring = rx(&p->b);
	struct netmap_slot *first = &ring->slot[0];
	uint32_t i, index;

	put_frame(tx(&p->a), 7, 99);
	sync_tx(&p->a);
	SAME(await(&p->b, 1), 1);
	index = first->buf_idx;
	advance(ring, 1);
	for (i = 0; i < 20; i++)
		put_frame(tx(&p->a), 100 + i, 60);
	sync_tx(&p->a);
	rest(20);
	SAME(first->buf_idx, index);
	check_frame(NETMAP_BUF(ring, index), 99, 7, 99);
}

/* The reader takes half of what there is; the rest stays at head, and more follows behind it. */
TEST_LINKS(frames_stay_until_they_are_taken, p)
{
	uint32_t i;

	for (i = 0; i < 8; i++)
		put_frame(tx(&p->a), i, 60);
	sync_tx(&p->a);
	SAME(await(&p->b, 8), 8);
	for (i = 0; i < 4; i++)
		expect_frame(&p->b, i, 60);
	put_frame(tx(&p->a), 8, 60);
	sync_tx(&p->a);
	SAME(await(&p->b, 5), 5);
	for (; i < 9; i++)
		expect_frame(&p->b, i, 60);
}

/* A receiver that does not read loses nothing that fits its ring, and stays in order afterwards. */
TEST_LINKS(frames_wait_for_a_slow_reader, p)
{
	uint32_t i;

	for (i = 0; i < 100; i++)
		send_frame(&p->a, i, 60);
	rest(50);
	for (i = 0; i < 100; i++)
		expect_frame(&p->b, i, 60);
}

TEST_LINKS(each_buffer_may_be_exchanged_within_a_ring, p)
{
	struct netmap_ring *ring = tx(&p->a);
	struct netmap_slot *one = slot_at(ring, 0), *two = slot_at(ring, 1);
	uint32_t index = one->buf_idx;

	put_frame(ring, 1, 60);
	put_frame(ring, 2, 70);
	one->buf_idx = two->buf_idx;
	two->buf_idx = index;
	one->len = 70;
	two->len = 60;
	one->flags = two->flags = NS_BUF_CHANGED;
	sync_tx(&p->a);
	expect_frame(&p->b, 2, 70);
	expect_frame(&p->b, 1, 60);
}
