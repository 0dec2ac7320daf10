/* Where head, cur and tail may be, and what happens when they are elsewhere. */
#include "frames.h"

static uint32_t next(const struct netmap_ring *ring, uint32_t index, uint32_t by)
{
	return (index + by) % ring->num_slots;
}

/* Three frames are out, so that the last good head is 3 and there is something before it. */
static struct netmap_ring *used_tx(struct pair *p)
{
	uint32_t i;

	for (i = 0; i < 3; i++)
		put_frame(tx(&p->a), i, 60);
	sync_tx(&p->a);
	for (i = 0; i < 3; i++)
		expect_frame(&p->b, i, 60);
	sync_rx(&p->b);
	drain(&p->a);
	return tx(&p->a);
}

/* Four frames wait, of which one was taken and given back. */
static struct netmap_ring *used_rx(struct pair *p)
{
	struct netmap_ring *ring = rx(&p->b);
	uint32_t i;

	for (i = 0; i < 4; i++)
		put_frame(tx(&p->a), i, 60);
	sync_tx(&p->a);
	SAME(await(&p->b, 4), 4);
	advance(ring, 1);
	sync_rx(&p->b);
	SAME(ring->head, 1);
	return ring;
}

/* The ring is as it was before the violation, and works. */
static void check_tx_reset(struct pair *p, uint32_t head, uint32_t cur, uint32_t tail)
{
	struct netmap_ring *ring = tx(&p->a);

	ring->head = head;
	ring->cur = cur;
	sync_tx(&p->a);
	SAME(ring->head, 3);
	SAME(ring->cur, 3);
	SAME(ring->tail, tail);
	send_frame(&p->a, 99, 60);
	expect_frame(&p->b, 99, 60);
}

static void check_rx_reset(struct pair *p, uint32_t head, uint32_t cur, uint32_t tail)
{
	struct netmap_ring *ring = rx(&p->b);
	uint32_t i;

	ring->head = head;
	ring->cur = cur;
	sync_rx(&p->b);
	SAME(ring->head, 1);
	SAME(ring->cur, 1);
	SAME(ring->tail, tail);
	for (i = 1; i < 4; i++)
		expect_frame(&p->b, i, 60);
	send_frame(&p->a, 99, 60);
	expect_frame(&p->b, 99, 60);
}

TEST_LINKS(tx_head_outside_the_ring_is_reset, p)
{
	struct netmap_ring *ring = used_tx(p);

	check_tx_reset(p, ring->num_slots + 5, ring->num_slots + 5, ring->tail);
}

/* Nobody reads, so the writer runs out of slots, and the slots before its head are on their way. */
TEST(tx_head_in_slots_that_are_on_their_way_is_reset)
{
	struct pair p;
	struct netmap_ring *ring;
	uint32_t head, frames = 0;

	open_pair(&p, PIPE);
	ring = tx(&p.a);
	while (!nm_ring_empty(ring) && frames < 4 * ring->num_slots) {
		put_frame(ring, frames++, 60);
		sync_tx(&p.a);
	}
	CHECK(nm_ring_empty(ring));
	head = ring->head;
	ring->head = ring->cur = next(ring, head, ring->num_slots - 5);
	sync_tx(&p.a);
	SAME(ring->head, head);
	SAME(ring->cur, head);
	SAME(ring->tail, head);
}

TEST_LINKS(tx_cur_outside_the_ring_is_reset, p)
{
	struct netmap_ring *ring = used_tx(p);

	check_tx_reset(p, 3, UINT32_MAX, ring->tail);
}

TEST_LINKS(tx_cur_before_head_is_reset, p)
{
	struct netmap_ring *ring = used_tx(p);

	check_tx_reset(p, 5, 4, ring->tail);
}

TEST_LINKS(rx_head_outside_the_ring_is_reset, p)
{
	struct netmap_ring *ring = used_rx(p);

	check_rx_reset(p, UINT32_MAX, UINT32_MAX, ring->tail);
}

TEST_LINKS(rx_head_beyond_tail_is_reset, p)
{
	struct netmap_ring *ring = used_rx(p);

	check_rx_reset(p, next(ring, ring->tail, 2), next(ring, ring->tail, 2), ring->tail);
}

TEST_LINKS(rx_head_that_goes_back_is_reset, p)
{
	struct netmap_ring *ring = used_rx(p);

	check_rx_reset(p, 0, 0, ring->tail);
}

TEST_LINKS(rx_cur_beyond_tail_is_reset, p)
{
	struct netmap_ring *ring = used_rx(p);

	check_rx_reset(p, 1, next(ring, ring->tail, 1), ring->tail);
}

TEST_LINKS(a_violation_in_tx_is_an_error_of_poll, p)
{
	struct netmap_ring *ring = used_tx(p);

	ring->head = ring->cur = ring->num_slots;
	CHECK(poll_port(&p->a, POLLOUT, 1000) & POLLERR);
	SAME(ring->head, 3);
	SAME(poll_port(&p->a, POLLOUT, 1000) & (POLLERR | POLLOUT), POLLOUT);
}

TEST_LINKS(a_violation_in_rx_is_an_error_of_poll, p)
{
	struct netmap_ring *ring = used_rx(p);

	ring->head = ring->cur = ring->num_slots;
	CHECK(poll_port(&p->b, POLLIN, 1000) & POLLERR);
	SAME(ring->head, 1);
	SAME(poll_port(&p->b, POLLIN, 1000) & (POLLERR | POLLIN), POLLIN);
}

TEST_LINKS(a_changed_tail_of_tx_is_put_back, p)
{
	struct netmap_ring *ring = used_tx(p);
	uint32_t tail = ring->tail;

	ring->tail = 17;
	sync_tx(&p->a);
	SAME(ring->tail, tail);
	put_frame(ring, 3, 60);
	ring->tail = UINT32_MAX;
	SAME(poll_port(&p->a, POLLOUT, 1000), POLLOUT);
	CHECK(ring->tail < ring->num_slots);
}

TEST_LINKS(a_changed_tail_of_rx_is_put_back, p)
{
	struct netmap_ring *ring = used_rx(p);
	uint32_t tail = ring->tail;

	ring->tail = ring->num_slots - 1;
	sync_rx(&p->b);
	SAME(ring->tail, tail);
	SAME(ring->head, 1);
}

/* A reset also takes bad words out of the slots. */
TEST_LINKS(a_reset_clears_bad_slots, p)
{
	struct netmap_ring *ring = used_tx(p);

	ring->slot[5].buf_idx = 0x7fffffff;
	ring->slot[5].len = 60;
	ring->slot[6].len = 60000;
	ring->head = ring->cur = UINT32_MAX;
	sync_tx(&p->a);
	SAME(ring->slot[5].buf_idx, 0);
	SAME(ring->slot[5].len, 0);
	SAME(ring->slot[6].len, 0);
	CHECK(ring->slot[6].buf_idx >= 2);
}

/* cur may run ahead: it says when to wake, and sends nothing. */
TEST_LINKS(cur_ahead_of_head_sends_nothing, p)
{
	struct netmap_ring *ring = tx(&p->a);

	write_frame(buffer(ring, slot_at(ring, 0)), 1, 60);
	slot_at(ring, 0)->len = 60;
	ring->cur = 5;
	sync_tx(&p->a);
	SAME(ring->head, 0);
	SAME(ring->cur, 5);
	expect_none(&p->b);
	ring->head = 1;
	sync_tx(&p->a);
	expect_frame(&p->b, 1, 60);
}

TEST_LINKS(cur_at_tail_of_tx_asks_for_new_slots_only, p)
{
	struct netmap_ring *ring = tx(&p->a);

	SAME(poll_port(&p->a, POLLOUT, 0), POLLOUT);
	ring->cur = ring->tail;
	SAME(poll_port(&p->a, POLLOUT, 50), 0);
	ring->cur = ring->head;
	SAME(poll_port(&p->a, POLLOUT, 0), POLLOUT);
}

TEST_LINKS(cur_at_tail_of_rx_asks_for_new_frames_only, p)
{
	struct netmap_ring *ring = used_rx(p);

	ring->cur = ring->tail;
	SAME(poll_port(&p->b, POLLIN, 50), 0);
	send_frame(&p->a, 4, 60);
	SAME(poll_port(&p->b, POLLIN, WAIT_MS), POLLIN);
	SAME(ring->head, 1);
	expect_frame(&p->b, 1, 60);
}
