/* What rings, slots and buffers are right after binding. */
#include "port.h"

static uint32_t all_rings(const struct netmap_if *nifp)
{
	return nifp->ni_tx_rings + nifp->ni_host_tx_rings + nifp->ni_rx_rings + nifp->ni_host_rx_rings;
}

static struct netmap_ring *ring_at(const struct port *p, uint32_t entry)
{
	return (struct netmap_ring *)(void *)((char *)p->nifp + p->nifp->ring_ofs[entry]);
}

static int is_tx(const struct netmap_if *nifp, uint32_t entry)
{
	return entry < nifp->ni_tx_rings + nifp->ni_host_tx_rings;
}

static void check_header(const struct port *p, uint32_t entry)
{
	struct netmap_ring *ring = ring_at(p, entry);
	int sends = is_tx(p->nifp, entry);
	uint32_t first_rx = p->nifp->ni_tx_rings + p->nifp->ni_host_tx_rings, number;

	SAME(ring->num_slots, sends ? p->reg.nr_tx_slots : p->reg.nr_rx_slots);
	CHECK(ring->nr_buf_size >= 64);
	SAME(ring->dir, sends ? 0 : 1);
	number = sends ? entry : entry - first_rx;
	if (number < (sends ? p->nifp->ni_tx_rings : p->nifp->ni_rx_rings))
		SAME(ring->ringid, number);
	SAME(ring->head, 0);
	SAME(ring->cur, 0);
	SAME(ring->tail, sends ? ring->num_slots - 1 : 0);
	SAME(ring->flags, 0);
	SAME(ring->offset_mask, 0);
	SAME((uintptr_t)ring % 128, 0);
}

/* Rings and all their buffers lie in the region, behind each other: the ring's end before buffer 0, and the last buffer's before its end. */
static void check_places(const struct port *p, uint32_t entry)
{
	struct netmap_ring *ring = ring_at(p, entry);
	char *end = (char *)ring + 256 + (size_t)ring->num_slots * sizeof(struct netmap_slot);
	char *limit = p->memory + p->reg.nr_memsize;
	uint32_t i;

	CHECK((char *)ring > p->memory && end <= (char *)ring + ring->buf_ofs);
	for (i = 0; i < ring->num_slots; i++) {
		uint32_t index = ring->slot[i].buf_idx;

		if (index < 2)
			FAIL("slot %u of entry %u has buffer %u", i, entry, index);
		if (NETMAP_BUF(ring, index) + ring->nr_buf_size > limit)
			FAIL("buffer %u of entry %u ends outside the region", index, entry);
		SAME(NETMAP_BUF_IDX(ring, NETMAP_BUF(ring, index)), index);
	}
}

/* No buffer is in two slots. `seen` has a byte for each. */
static void check_distinct(const struct port *p, uint32_t entry, unsigned char *seen)
{
	struct netmap_ring *ring = ring_at(p, entry);
	uint32_t i;

	for (i = 0; i < ring->num_slots; i++) {
		uint32_t index = ring->slot[i].buf_idx;

		if (seen[index]++)
			FAIL("buffer %u is in slot %u of entry %u and elsewhere", index, i, entry);
	}
}

static unsigned char *buffers_of(const struct port *p)
{
	unsigned char *seen = (unsigned char *)calloc(p->reg.nr_memsize / 64, 1);

	CHECK(seen != NULL);
	return seen;
}

static void each_ring(const struct port *p, void (*check)(const struct port *, uint32_t))
{
	uint32_t entry;

	for (entry = 0; entry < all_rings(p->nifp); entry++)
		if (p->nifp->ring_ofs[entry])
			check(p, entry);
}

static void check_all_distinct(const struct port *ports, size_t count)
{
	unsigned char *seen = buffers_of(&ports[0]);
	uint32_t entry;
	size_t i;

	for (i = 0; i < count; i++)
		for (entry = 0; entry < all_rings(ports[i].nifp); entry++)
			if (ports[i].nifp->ring_ofs[entry])
				check_distinct(&ports[i], entry, seen);
	free(seen);
}

TEST(fresh_rings_of_an_interface)
{
	struct port p;

	open_port(&p, interface_a());
	each_ring(&p, check_header);
}

TEST(fresh_rings_of_the_host)
{
	struct port p;

	bind_port(&p, interface_a(), NR_REG_SW, 0, 0);
	each_ring(&p, check_header);
}

TEST(fresh_rings_of_a_pipe)
{
	struct port p;

	open_port(&p, virtual_name("{1"));
	each_ring(&p, check_header);
}

TEST(fresh_rings_of_a_switch_port)
{
	struct port p;

	open_port(&p, switch_name("a"));
	each_ring(&p, check_header);
	CHECK(tx(&p)->nr_buf_size >= 1518);
}

TEST(buffers_of_an_interface_lie_in_the_region)
{
	struct port p;

	bind_port(&p, interface_a(), NR_REG_NIC_SW, 0, 0);
	each_ring(&p, check_places);
}

TEST(buffers_of_a_pipe_lie_in_the_region)
{
	struct port p;

	open_port(&p, virtual_name("{1"));
	each_ring(&p, check_places);
}

TEST(buffers_of_a_switch_port_lie_in_the_region)
{
	struct port p;

	open_port(&p, switch_name("a"));
	each_ring(&p, check_places);
}

TEST(no_buffer_is_in_two_slots_of_an_interface)
{
	struct port p;

	bind_port(&p, interface_a(), NR_REG_NIC_SW, 0, 0);
	check_all_distinct(&p, 1);
}

/* Interfaces share region 1, and their buffers differ there. */
TEST(no_buffer_is_in_slots_of_two_interfaces)
{
	struct port p[2];

	bind_port(&p[0], interface_a(), NR_REG_NIC_SW, 0, 0);
	bind_port(&p[1], interface_b(), NR_REG_NIC_SW, 0, 0);
	SAME(p[0].reg.nr_mem_id, p[1].reg.nr_mem_id);
	check_all_distinct(p, 2);
}

TEST(no_buffer_is_in_slots_of_a_pipe_and_its_parent)
{
	struct port p[2];

	open_port(&p[0], interface_a());
	open_port(&p[1], name_of(interface_a(), "{1"));
	SAME(p[0].reg.nr_mem_id, p[1].reg.nr_mem_id);
	check_all_distinct(p, 2);
}

/* All buffers can be written and keep what was written. */
TEST(buffers_do_not_overlap)
{
	struct port p;
	struct netmap_ring *ring;
	uint32_t i;

	open_port(&p, virtual_name("{1"));
	ring = tx(&p);
	for (i = 0; i < ring->num_slots; i++)
		memset(NETMAP_BUF(ring, ring->slot[i].buf_idx), (int)(i & 0xff), ring->nr_buf_size);
	for (i = 0; i < ring->num_slots; i++) {
		unsigned char *at = (unsigned char *)NETMAP_BUF(ring, ring->slot[i].buf_idx);

		CHECK(at[0] == (i & 0xff) && at[ring->nr_buf_size - 1] == (i & 0xff));
	}
	each_ring(&p, check_header);
}

/* The opaque part of a ring is the program's. */
TEST(the_programs_room_in_a_ring_is_left_alone)
{
	struct port p;
	struct netmap_ring *ring;

	open_port(&p, virtual_name("{1"));
	ring = tx(&p);
	memset(ring->sem, 0x5a, sizeof(ring->sem));
	sync_tx(&p);
	sync_rx(&p);
	CHECK(ring->sem[0] == 0x5a && ring->sem[127] == 0x5a);
}
