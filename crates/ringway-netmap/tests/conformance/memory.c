/* Regions: their numbers, their pools, and buffers that pass from one port to another. */
#include "frames.h"

TEST(interfaces_share_region_1)
{
	struct port a, b, host;

	open_port(&a, interface_a());
	open_port(&b, interface_b());
	bind_port(&host, interface_a(), NR_REG_SW, 0, 0);
	SAME(a.reg.nr_mem_id, 1);
	SAME(b.reg.nr_mem_id, 1);
	SAME(host.reg.nr_mem_id, 1);
	SAME(a.reg.nr_memsize, b.reg.nr_memsize);
}

TEST(switch_ports_have_regions_of_their_own)
{
	struct port a, b, nic;

	open_port(&a, switch_name("a"));
	open_port(&b, switch_name("b"));
	open_port(&nic, interface_a());
	CHECK(a.reg.nr_mem_id > 1 && b.reg.nr_mem_id > 1);
	CHECK(a.reg.nr_mem_id != b.reg.nr_mem_id);
	SAME(nic.reg.nr_mem_id, 1);
}

TEST(ends_of_a_pipe_share_a_region)
{
	struct pair p;

	open_pair(&p, PIPE);
	SAME(p.a.reg.nr_mem_id, p.b.reg.nr_mem_id);
}

/* A program that maps region 1 once finds both ports in it. */
TEST(one_mapping_serves_two_ports)
{
	struct port a, b;
	struct netmap_if *nifp;
	struct netmap_ring *ring;
	long end = milliseconds() + WAIT_MS;

	open_port(&a, interface_a());
	open_port(&b, interface_b());
	nifp = NETMAP_IF(a.memory, b.reg.nr_offset);
	CHECK(strncmp(nifp->ni_name, interface_b(), IFNAMSIZ) == 0);
	ring = NETMAP_RXRING(nifp, 0);
	munmap(b.memory, b.reg.nr_memsize);
	b.memory = NULL;
	send_frame(&a, 1, 60);
	while (nm_ring_empty(ring) && milliseconds() < end) {
		sync_rx(&b);
		rest(1);
	}
	CHECK(!nm_ring_empty(ring));
	check_frame(buffer(ring, slot_at(ring, 0)), slot_at(ring, 0)->len, 1, 60);
}

/* The same from a second mapping of the same descriptor, and from a part of it. */
TEST(a_region_is_mapped_twice)
{
	struct port a;
	char *again;

	open_port(&a, virtual_name("{1"));
	again = (char *)mmap(NULL, a.reg.nr_memsize, PROT_READ | PROT_WRITE, MAP_SHARED, a.fd, 0);
	CHECK(again != MAP_FAILED && again != a.memory);
	tx(&a)->slot[0].ptr = 0x1234;
	SAME(NETMAP_TXRING(NETMAP_IF(again, a.reg.nr_offset), 0)->slot[0].ptr, 0x1234);
	WORKS(munmap(a.memory, a.reg.nr_memsize));
	a.memory = again;
	SAME(NETMAP_IF(again, a.reg.nr_offset)->ni_version, NETMAP_API);
}

/* A bridge exchanges buffers instead of copying: b and m are its ports, a and n the ends of the wires. */
TEST(a_bridge_exchanges_buffers)
{
	struct port a, b, m, n;
	uint32_t sent, total;

	open_port(&a, interface_a());
	open_port(&b, interface_b());
	open_port(&m, interface_m());
	bind_port(&n, interface_n(), NR_REG_ALL_NIC, 0, 0);
	SAME(b.reg.nr_mem_id, m.reg.nr_mem_id);
	if (n.nifp->ni_rx_rings > 1 && n.nifp->ni_tx_rings > 1)
		total = 100;
	else
		total = 2 * rx(&b)->num_slots;
	for (sent = 0; sent < total; sent++) {
		struct netmap_slot *from, *to;
		uint32_t index;

		send_frame(&a, sent, 60);
		CHECK((from = await_frame(&b, WAIT_MS)) != NULL);
		while (nm_ring_empty(tx(&m)))
			sync_tx(&m);
		to = slot_at(tx(&m), 0);
		index = to->buf_idx;
		to->buf_idx = from->buf_idx;
		from->buf_idx = index;
		to->len = from->len;
		to->flags = from->flags = NS_BUF_CHANGED;
		check_frame(NETMAP_BUF(tx(&m), to->buf_idx), to->len, sent, 60);
		advance(rx(&b), 1);
		advance(tx(&m), 1);
		sync_rx(&b);
		sync_tx(&m);
		if (n.nifp->ni_rx_rings == 1)
			expect_frame(&n, sent, 60);
	}
}

static uint64_t end_of(uint64_t offset, uint32_t count, uint32_t size)
{
	return offset + (uint64_t)count * size;
}

/* Interfaces, rings, buffers: in this order, from the start of pages, and all within the region. */
static void check_pools(const char *name, uint16_t mem_id, uint16_t expected)
{
	struct nmreq_pools_info info;

	memset(&info, 0, sizeof(info));
	info.nr_mem_id = mem_id;
	SAME(request(NETMAP_REQ_POOLS_INFO_GET, name, &info), 0);
	SAME(info.nr_mem_id, expected);
	CHECK(info.nr_if_pool_objtotal > 0 && info.nr_ring_pool_objtotal > 0 && info.nr_buf_pool_objtotal > 0);
	CHECK(info.nr_if_pool_objsize > 0 && info.nr_ring_pool_objsize > 256 && info.nr_buf_pool_objsize >= 64);
	SAME(info.nr_if_pool_offset % 4096, 0);
	SAME(info.nr_ring_pool_offset % 4096, 0);
	/* Buffers begin where a driver puts a frame: the first one 256 bytes behind a page. */
	SAME(info.nr_buf_pool_offset % 256, 0);
	CHECK(info.nr_ring_pool_offset >= end_of(info.nr_if_pool_offset, info.nr_if_pool_objtotal, info.nr_if_pool_objsize));
	CHECK(info.nr_buf_pool_offset >= end_of(info.nr_ring_pool_offset, info.nr_ring_pool_objtotal, info.nr_ring_pool_objsize));
	CHECK(info.nr_memsize >= end_of(info.nr_buf_pool_offset, info.nr_buf_pool_objtotal, info.nr_buf_pool_objsize));
}

TEST(pools_of_region_1) { check_pools("", 1, 1); }
TEST(pools_of_an_interface) { check_pools(interface_a(), 0, 1); }

TEST(pools_agree_with_the_rings)
{
	struct port p;
	struct nmreq_pools_info info;

	open_port(&p, interface_a());
	memset(&info, 0, sizeof(info));
	SAME(request(NETMAP_REQ_POOLS_INFO_GET, interface_a(), &info), 0);
	SAME(info.nr_memsize, p.reg.nr_memsize);
	SAME(info.nr_buf_pool_objsize, tx(&p)->nr_buf_size);
	CHECK((char *)tx(&p) >= p.memory + info.nr_ring_pool_offset && (char *)tx(&p) < p.memory + info.nr_buf_pool_offset);
	CHECK((char *)p.nifp >= p.memory + info.nr_if_pool_offset && (char *)p.nifp < p.memory + info.nr_ring_pool_offset);
}

TEST(pools_without_name_and_region_are_refused)
{
	struct nmreq_pools_info info;

	memset(&info, 0, sizeof(info));
	CHECK(request(NETMAP_REQ_POOLS_INFO_GET, "", &info) != 0);
	info.nr_mem_id = UINT16_MAX;
	CHECK(request(NETMAP_REQ_POOLS_INFO_GET, "", &info) != 0);
}

static void check_info(const char *name, uint32_t mode)
{
	struct nmreq_port_info_get info;
	struct port p;

	bind_port(&p, name, mode, 0, 0);
	memset(&info, 0, sizeof(info));
	SAME(request(NETMAP_REQ_PORT_INFO_GET, name, &info), 0);
	SAME(info.nr_memsize, p.reg.nr_memsize);
	SAME(info.nr_mem_id, p.reg.nr_mem_id);
	SAME(info.nr_tx_slots, p.reg.nr_tx_slots);
	SAME(info.nr_rx_slots, p.reg.nr_rx_slots);
	SAME(info.nr_tx_rings, p.reg.nr_tx_rings);
	SAME(info.nr_rx_rings, p.reg.nr_rx_rings);
	SAME(info.nr_host_tx_rings, p.reg.nr_host_tx_rings);
	SAME(info.nr_host_rx_rings, p.reg.nr_host_rx_rings);
}

TEST(info_of_an_interface_is_what_binding_says) { check_info(interface_a(), NR_REG_NIC_SW); }
TEST(info_of_an_interface_with_two_rings) { check_info(interface_m(), NR_REG_ALL_NIC); }
TEST(info_of_a_pipe_is_what_binding_says) { check_info(virtual_name("{1"), NR_REG_ALL_NIC); }
TEST(info_of_a_switch_port_is_what_binding_says) { check_info(switch_name("a"), NR_REG_ALL_NIC); }

/* An empty name asks about a region; 0 means 1. */
TEST(info_without_a_name_is_of_region_1)
{
	struct nmreq_port_info_get zero, one;

	memset(&zero, 0, sizeof(zero));
	memset(&one, 0, sizeof(one));
	one.nr_mem_id = 1;
	SAME(request(NETMAP_REQ_PORT_INFO_GET, "", &zero), 0);
	SAME(request(NETMAP_REQ_PORT_INFO_GET, "", &one), 0);
	CHECK(zero.nr_memsize > 0);
	SAME(zero.nr_memsize, one.nr_memsize);
}

TEST(info_of_an_unknown_interface_is_refused)
{
	struct nmreq_port_info_get info;

	memset(&info, 0, sizeof(info));
	SAME(request(NETMAP_REQ_PORT_INFO_GET, "cfnosuch0", &info), ENXIO);
}

/* Asking may make a port and drops it again: afterwards it is bound alone. */
TEST(info_leaves_no_port_behind)
{
	struct nmreq_port_info_get info;
	struct port p;

	memset(&info, 0, sizeof(info));
	SAME(request(NETMAP_REQ_PORT_INFO_GET, switch_name("a"), &info), 0);
	CHECK(info.nr_tx_slots > 0 && info.nr_mem_id > 1);
	bind_port(&p, switch_name("a"), NR_REG_ALL_NIC, 0, NR_EXCLUSIVE);
}
