/* Slots with words that must not be believed. */
#include "frames.h"

/* A slot that must not be read: it is not sent, and frames after it are, once it is repaired. */
static void bad_slot(enum link link, const uint32_t *index, uint16_t length)
{
	struct pair p;
	struct netmap_ring *ring;
	struct netmap_slot *bad, *came = NULL;
	uint32_t good, i;

	open_pair(&p, link);
	ring = tx(&p.a);
	bad = slot_at(ring, 0);
	good = bad->buf_idx;
	put_frame(ring, 1, 60);
	bad->buf_idx = index ? *index : good;
	bad->len = length;
	ioctl(p.a.fd, NIOCTXSYNC, NULL); /* it may say EIO */
	expect_none(&p.b);
	bad->buf_idx = good;
	bad->len = 60;
	for (i = 0; i < 1000 && !came; i++) {
		if (!nm_ring_empty(ring))
			put_frame(ring, 100 + i, 61);
		sync_tx(&p.a);
		came = await_frame(&p.b, 1);
	}
	if (!came)
		FAIL("the ring does not go on");
}

static void bad_index(enum link link, uint32_t index)
{
	bad_slot(link, &index, 60);
}

TEST(an_index_outside_the_region_is_not_sent_to_a_link) { bad_index(VETH, 0x40000000); }
TEST(index_0_is_not_sent_to_a_link) { bad_index(VETH, 0); }
TEST(index_1_is_not_sent_to_a_link) { bad_index(VETH, 1); }
TEST(the_largest_index_is_not_sent_to_a_link) { bad_index(VETH, UINT32_MAX); }
TEST(a_length_above_the_buffer_is_not_sent_to_a_link) { bad_slot(VETH, NULL, UINT16_MAX); }
TEST(an_index_outside_the_region_is_not_sent_to_a_switch) { bad_index(SWITCH, 0x40000000); }
TEST(the_largest_index_is_not_sent_to_a_switch) { bad_index(SWITCH, UINT32_MAX); }
TEST(a_length_above_the_buffer_is_not_sent_to_a_switch) { bad_slot(SWITCH, NULL, UINT16_MAX); }

/* Nothing is written to what a bad index of an rx slot names: frames come by other slots, whole. */
static void bad_rx_slot(enum link link)
{
	struct pair p;
	struct netmap_ring *ring;
	uint32_t i, came = 0;

	open_pair(&p, link);
	ring = rx(&p.b);
	send_frame(&p.a, 0, 60);
	expect_frame(&p.b, 0, 60);
	ring->slot[0].buf_idx = 0x40000000;
	ring->slot[0].flags = NS_BUF_CHANGED;
	sync_rx(&p.b);
	for (i = 1; i < 4 * ring->num_slots && came == 0; i++) {
		struct netmap_slot *slot;

		if (!nm_ring_empty(tx(&p.a)))
			put_frame(tx(&p.a), i, 60);
		sync_tx(&p.a);
		slot = await_frame(&p.b, 1);
		came += slot != NULL;
	}
	CHECK(came > 0);
}

TEST(a_bad_index_in_rx_leaves_the_link_at_work) { bad_rx_slot(VETH); }
TEST(a_bad_index_in_rx_leaves_the_switch_at_work) { bad_rx_slot(SWITCH); }
