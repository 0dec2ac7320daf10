/* Pipes: names, ends, and the exchange of slots. */
#include "frames.h"

static void open_ends(struct pair *p, const char *one, const char *other)
{
	open_port(&p->a, one);
	open_port(&p->b, other);
}

static void check_both_ways(struct pair *p)
{
	send_frame(&p->a, 1, 60);
	expect_frame(&p->b, 1, 60);
	send_frame(&p->b, 2, 70);
	expect_frame(&p->a, 2, 70);
}

TEST(pipe_on_a_name_that_does_not_exist)
{
	struct pair p;

	open_ends(&p, virtual_name("{1"), virtual_name("}1"));
	check_both_ways(&p);
}

TEST(pipe_on_an_interface)
{
	struct pair p;

	open_ends(&p, name_of(interface_a(), "{1"), name_of(interface_a(), "}1"));
	check_both_ways(&p);
	SAME(p.a.reg.nr_mem_id, 1);
	SAME(p.b.reg.nr_mem_id, 1);
}

TEST(pipe_on_a_switch_port)
{
	struct port parent;
	struct pair p;

	open_port(&parent, switch_name("a"));
	open_ends(&p, switch_name("a{1"), switch_name("a}1"));
	check_both_ways(&p);
	/* The region of a switch port has no room: the pipe has one of its own. */
	SAME(p.a.reg.nr_mem_id, p.b.reg.nr_mem_id);
	CHECK(p.a.reg.nr_mem_id > 1);
}

TEST(pipe_beside_the_rings_of_its_parent)
{
	struct pair link, p;

	open_pair(&link, VETH);
	open_ends(&p, name_of(interface_a(), "{1"), name_of(interface_a(), "}1"));
	check_both_ways(&p);
	check_both_ways(&link);
}

TEST(pipe_with_a_name_of_letters)
{
	struct pair p;

	open_ends(&p, virtual_name("{left7"), virtual_name("}left7"));
	check_both_ways(&p);
}

TEST(the_other_end_may_come_first)
{
	struct pair p;

	open_ends(&p, virtual_name("}1"), virtual_name("{1"));
	check_both_ways(&p);
}

TEST(pipe_in_mode_4)
{
	struct pair p;

	bind_port(&p.a, virtual_name("{1"), NR_REG_ONE_NIC, 0, 0);
	bind_port(&p.b, virtual_name("}1"), NR_REG_ONE_NIC, 0, 0);
	check_both_ways(&p);
}

TEST(pipe_in_mode_2_is_refused) { refuse_bind(virtual_name("{1"), NR_REG_SW, 0, 0, EINVAL); }
TEST(pipe_in_mode_3_is_refused) { refuse_bind(virtual_name("{1"), NR_REG_NIC_SW, 0, 0, EINVAL); }
TEST(pipe_in_mode_8_is_refused) { refuse_bind(virtual_name("{1"), NR_REG_ONE_SW, 0, 0, EINVAL); }
TEST(pipe_on_an_interface_in_mode_2_is_refused) { refuse_bind(name_of(interface_a(), "{1"), NR_REG_SW, 0, 0, EINVAL); }

/* The rings of both ends have the same number of slots, 4096 at most. */
TEST(ends_have_rings_of_the_same_size)
{
	struct pair p;

	open_ends(&p, name_of(interface_a(), "{1"), name_of(interface_a(), "}1"));
	SAME(tx(&p.a)->num_slots, rx(&p.b)->num_slots);
	SAME(tx(&p.b)->num_slots, rx(&p.a)->num_slots);
	SAME(p.a.nifp->ni_tx_rings, p.b.nifp->ni_rx_rings);
	CHECK(tx(&p.a)->num_slots <= 4096 && tx(&p.b)->num_slots <= 4096);
}

/* Both ends exist from the first bind on. */
TEST(frames_wait_for_an_end_that_is_bound_later)
{
	struct pair p;
	uint32_t i;

	open_port(&p.a, virtual_name("{1"));
	for (i = 0; i < 50; i++)
		put_frame(tx(&p.a), i, 60 + i);
	sync_tx(&p.a);
	open_port(&p.b, virtual_name("}1"));
	for (i = 0; i < 50; i++)
		expect_frame(&p.b, i, 60 + i);
}

/* No copy: the buffer that was filled arrives, and the writer gets another one. */
TEST(buffers_change_sides)
{
	struct pair p;
	struct netmap_slot *from, *to;
	uint32_t filled, empty;

	open_pair(&p, PIPE);
	from = slot_at(tx(&p.a), 0);
	to = slot_at(rx(&p.b), 0);
	filled = from->buf_idx;
	empty = to->buf_idx;
	CHECK(filled != empty);
	send_frame(&p.a, 1, 60);
	SAME(await(&p.b, 1), 1);
	SAME(to->buf_idx, filled);
	CHECK(to->flags & NS_BUF_CHANGED);
	advance(rx(&p.b), 1);
	sync_rx(&p.b);
	drain(&p.a);
	SAME(from->buf_idx, empty);
}

/* Through many rounds no buffer is lost and none appears twice. */
TEST(buffers_stay_the_same_set)
{
	struct pair p;
	uint32_t slots, i, round;
	unsigned char *seen;

	open_pair(&p, PIPE);
	slots = tx(&p.a)->num_slots;
	for (round = 0; round < 10 * slots; round++) {
		send_frame(&p.a, round, 60);
		SAME(await(&p.b, 1), 1);
		advance(rx(&p.b), 1);
		sync_rx(&p.b);
	}
	drain(&p.a);
	seen = (unsigned char *)calloc(p.a.reg.nr_memsize / tx(&p.a)->nr_buf_size, 1);
	for (i = 0; i < slots; i++) {
		CHECK(!seen[tx(&p.a)->slot[i].buf_idx]++);
		CHECK(!seen[rx(&p.b)->slot[i].buf_idx]++);
	}
	free(seen);
}

/* A full pipe: the writer has no slot until the reader gives back. All that was written arrives. */
TEST(a_full_pipe_takes_no_more)
{
	struct pair p;
	uint32_t put = 0, got = 0, slots;

	open_pair(&p, PIPE);
	slots = tx(&p.a)->num_slots;
	while (!nm_ring_empty(tx(&p.a)) && put < 4 * slots) {
		put_frame(tx(&p.a), put++, 60);
		sync_tx(&p.a);
	}
	sync_tx(&p.a);
	CHECK(nm_ring_empty(tx(&p.a)));
	CHECK(put >= slots - 1 && put < 3 * slots);
	for (; got < 10; got++)
		expect_frame(&p.b, got, 60);
	sync_rx(&p.b);
	sync_tx(&p.a);
	SAME(nm_ring_space(tx(&p.a)), 10);
	for (; got < put; got++) {
		sync_tx(&p.a);
		expect_frame(&p.b, got, 60);
	}
	expect_none(&p.b);
}

TEST(eight_pipes_of_one_parent)
{
	struct pair p[8];
	char ends[2][8];
	uint32_t i;

	for (i = 0; i < 8; i++) {
		snprintf(ends[0], sizeof(ends[0]), "{%u", i);
		snprintf(ends[1], sizeof(ends[1]), "}%u", i);
		open_ends(&p[i], name_of(interface_a(), ends[0]), name_of(interface_a(), ends[1]));
		SAME(p[i].a.reg.nr_mem_id, 1);
	}
	for (i = 0; i < 8; i++)
		send_frame(&p[i].a, i, 60);
	for (i = 0; i < 8; i++) {
		expect_frame(&p[i].b, i, 60);
		expect_none(&p[i].b);
	}
}

TEST(pipes_of_different_parents_are_different)
{
	struct pair p, q;

	open_ends(&p, virtual_name("x{1"), virtual_name("x}1"));
	open_ends(&q, virtual_name("y{1"), virtual_name("y}1"));
	send_frame(&p.a, 1, 60);
	expect_none(&q.b);
	expect_frame(&p.b, 1, 60);
	check_both_ways(&q);
}

/* The pipe lives as long as one of its ends. */
TEST(an_end_is_closed_and_bound_again)
{
	struct pair p;

	open_pair(&p, PIPE);
	check_both_ways(&p);
	close_port(&p.b);
	open_port(&p.b, virtual_name("}1"));
	check_both_ways(&p);
	close_port(&p.a);
	open_port(&p.a, virtual_name("{1"));
	check_both_ways(&p);
}

TEST(after_the_last_user_a_pipe_is_fresh)
{
	struct pair p;

	open_pair(&p, PIPE);
	send_frame(&p.a, 1, 60);
	close_port(&p.a);
	close_port(&p.b);
	open_pair(&p, PIPE);
	SAME(tx(&p.a)->head, 0);
	SAME(tx(&p.a)->tail, tx(&p.a)->num_slots - 1);
	expect_none(&p.b);
	check_both_ways(&p);
}

/* Frames of several slots keep their mark. */
TEST(parts_of_a_frame_pass_as_they_are)
{
	struct pair p;

	open_pair(&p, PIPE);
	put_frame(tx(&p.a), 1, 60);
	tx(&p.a)->slot[0].flags |= NS_MOREFRAG;
	put_frame(tx(&p.a), 2, 60);
	sync_tx(&p.a);
	SAME(await(&p.b, 2), 2);
	CHECK(rx(&p.b)->slot[0].flags & NS_MOREFRAG);
	CHECK(!(rx(&p.b)->slot[1].flags & NS_MOREFRAG));
}
