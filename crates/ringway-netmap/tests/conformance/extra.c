/* Extra buffers: the list, and what becomes of it at close. */
#include "frames.h"

static void open_with_extra(struct port *p, const char *name, uint32_t count)
{
	int error;

	prepare(p, NR_REG_ALL_NIC, 0, 0);
	p->reg.nr_extra_bufs = count;
	error = try_bind(p, name);
	if (error)
		FAIL("%s with %u extra buffers: %s", name, count, strerror(error));
}

static struct netmap_ring *any_ring(const struct port *p)
{
	return p->tx_of >= 0 ? tx(p) : rx(p);
}

/* The buffer after this one in the list. */
static uint32_t *link_of(const struct port *p, uint32_t index)
{
	return (uint32_t *)(void *)NETMAP_BUF(any_ring(p), index);
}

static int in_a_ring(const struct port *p, uint32_t index)
{
	struct netmap_ring *rings[2] = {tx(p), rx(p)};
	uint32_t r, i;

	for (r = 0; r < 2; r++)
		for (i = 0; i < rings[r]->num_slots; i++)
			if (rings[r]->slot[i].buf_idx == index)
				return 1;
	return 0;
}

/* Walks the list, which must have as many distinct buffers as were granted. */
static void check_list(const struct port *p, uint32_t wanted)
{
	uint32_t index = p->nifp->ni_bufs_head, count = 0;
	size_t most = p->reg.nr_memsize / any_ring(p)->nr_buf_size;
	unsigned char *seen = (unsigned char *)calloc(most, 1);

	CHECK(p->reg.nr_extra_bufs <= wanted);
	for (; index != 0; index = *link_of(p, index), count++) {
		if (index < 2 || index >= most)
			FAIL("buffer %u of the list is outside the region", index);
		if (seen[index]++)
			FAIL("buffer %u is twice in the list", index);
	}
	SAME(count, p->reg.nr_extra_bufs);
	free(seen);
}

static void check_extra(const char *name, uint32_t count)
{
	struct port p;
	uint32_t index, checked = 0;

	open_with_extra(&p, name, count);
	check_list(&p, count);
	if (p.reg.nr_extra_bufs < count)
		SKIP("%u of %u extra buffers are granted", p.reg.nr_extra_bufs, count);
	for (index = p.nifp->ni_bufs_head; index != 0 && checked < 10; index = *link_of(&p, index), checked++)
		CHECK(!in_a_ring(&p, index));
}

TEST(extra_buffers_of_an_interface) { check_extra(interface_a(), 1000); }
TEST(extra_buffers_of_a_pipe) { check_extra(virtual_name("{1"), 100); }
TEST(extra_buffers_of_a_switch_port) { check_extra(switch_name("a"), 100); }
TEST(one_extra_buffer) { check_extra(interface_a(), 1); }
TEST(four_thousand_extra_buffers) { check_extra(interface_a(), 4000); }

TEST(no_extra_buffers_are_an_empty_list)
{
	struct port p;

	open_port(&p, interface_a());
	SAME(p.reg.nr_extra_bufs, 0);
	SAME(p.nifp->ni_bufs_head, 0);
}

/* The number granted may be smaller than the wish; the list has that many. */
TEST(too_many_extra_buffers_are_fewer)
{
	struct port p;
	int error;

	prepare(&p, NR_REG_ALL_NIC, 0, 0);
	p.reg.nr_extra_bufs = 10000000;
	error = try_bind(&p, interface_a());
	SAME(error, 0);
	check_list(&p, 10000000);
}

TEST(two_descriptors_have_different_extra_buffers)
{
	struct port a, b;
	unsigned char *seen;
	uint32_t index;

	open_with_extra(&a, interface_a(), 500);
	open_with_extra(&b, interface_b(), 500);
	seen = (unsigned char *)calloc(a.reg.nr_memsize / tx(&a)->nr_buf_size, 1);
	for (index = a.nifp->ni_bufs_head; index != 0; index = *link_of(&a, index))
		seen[index] = 1;
	for (index = b.nifp->ni_bufs_head; index != 0; index = *link_of(&b, index))
		CHECK(!seen[index]);
	free(seen);
}

/* Opening and closing without end does not use the region up. */
static void open_often(const char *name, int times, uint32_t count)
{
	struct port p;
	int i;

	for (i = 0; i < times; i++) {
		open_with_extra(&p, name, count);
		if (p.reg.nr_extra_bufs != count)
			FAIL("time %d: %u of %u buffers", i, p.reg.nr_extra_bufs, count);
		close_port(&p);
	}
}

TEST(extra_buffers_of_an_interface_are_freed_at_close) { open_often(interface_a(), 60, 3000); }
TEST(extra_buffers_of_a_pipe_are_freed_at_close) { open_often(name_of(interface_a(), "{1"), 100, 3000); }

/* Extra buffers go into slots, and what was there into the list: at close all are freed. */
TEST(exchanged_extra_buffers_are_freed_at_close)
{
	struct port p;
	int i;
	uint32_t k;

	for (i = 0; i < 60; i++) {
		open_with_extra(&p, interface_a(), 3000);
		SAME(p.reg.nr_extra_bufs, 3000);
		for (k = 0; k < 200 && k < tx(&p)->num_slots - 1; k++) {
			struct netmap_slot *slot = slot_at(tx(&p), k);
			uint32_t taken = p.nifp->ni_bufs_head, old = slot->buf_idx;

			p.nifp->ni_bufs_head = *link_of(&p, taken);
			slot->buf_idx = taken;
			slot->flags = NS_BUF_CHANGED;
			*link_of(&p, old) = p.nifp->ni_bufs_head;
			p.nifp->ni_bufs_head = old;
		}
		check_list(&p, 3000);
		close_port(&p);
	}
}

TEST(frames_of_extra_buffers_arrive_whole)
{
	struct port a, b;
	uint32_t i, index;

	open_with_extra(&a, interface_a(), 50);
	open_port(&b, interface_b());
	for (i = 0; i < 50; i++) {
		struct netmap_slot *slot = slot_at(tx(&a), 0);

		index = a.nifp->ni_bufs_head;
		a.nifp->ni_bufs_head = *link_of(&a, index);
		write_frame(NETMAP_BUF(tx(&a), index), i, 60 + i);
		slot->buf_idx = index;
		slot->len = (uint16_t)(60 + i);
		slot->flags = NS_BUF_CHANGED;
		advance(tx(&a), 1);
	}
	sync_tx(&a);
	for (i = 0; i < 50; i++)
		expect_frame(&b, i, 60 + i);
}

TEST(the_null_port_has_memory_and_no_rings)
{
	struct port p;
	int error;

	prepare(&p, NR_REG_NULL, 0, 0);
	p.reg.nr_mem_id = 1;
	p.reg.nr_extra_bufs = 64;
	error = try_bind(&p, "");
	SAME(error, 0);
	SAME(p.reg.nr_mode, NR_REG_NULL);
	SAME(p.reg.nr_mem_id, 1);
	SAME(p.nifp->ni_tx_rings + p.nifp->ni_rx_rings + p.nifp->ni_host_tx_rings + p.nifp->ni_host_rx_rings, 0);
	SAME(p.reg.nr_extra_bufs, 64);
	CHECK(p.nifp->ni_bufs_head >= 2);
}

/* Its buffers are in the same region as the interface's, and usable there. */
TEST(buffers_of_the_null_port_are_in_the_region_of_interfaces)
{
	struct port null, a;
	uint32_t index, count = 0;

	prepare(&null, NR_REG_NULL, 0, 0);
	null.reg.nr_mem_id = 1;
	null.reg.nr_extra_bufs = 64;
	SAME(try_bind(&null, ""), 0);
	open_port(&a, interface_a());
	SAME(a.reg.nr_mem_id, 1);
	for (index = null.nifp->ni_bufs_head; index != 0; index = *link_of(&a, index), count++)
		CHECK(!in_a_ring(&a, index));
	SAME(count, 64);
}
