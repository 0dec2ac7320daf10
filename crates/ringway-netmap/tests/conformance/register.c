/* Binding: modes, what goes in and comes back, which rings there are then. */
#include "port.h"

/* What must come back as it went in, and what must be filled. */
static void check_answer(const struct port *p, uint32_t mode, uint16_t ring, uint64_t flags)
{
	SAME(p->reg.nr_mode, mode);
	SAME(p->reg.nr_ringid, ring);
	SAME(p->reg.nr_flags, flags);
	CHECK(p->reg.nr_memsize > 0 && p->reg.nr_offset < p->reg.nr_memsize);
	CHECK(p->reg.nr_tx_rings > 0 && p->reg.nr_rx_rings > 0);
	CHECK(p->reg.nr_tx_slots > 1 && p->reg.nr_rx_slots > 1);
	CHECK(p->reg.nr_mem_id > 0);
	SAME(p->header.nr_version, NETMAP_API);
	SAME(p->header.nr_reqtype, NETMAP_REQ_REGISTER);
}

static int bound(const struct netmap_if *nifp, uint32_t entry)
{
	return nifp->ring_ofs[entry] != 0;
}

/* The table of rings has exactly the bound ones: `nic` and `host` say which, -1 all, -2 none, or one of them. */
static void check_table(const struct port *p, int nic_tx, int host_tx, int nic_rx, int host_rx)
{
	const struct netmap_if *nifp = p->nifp;
	uint32_t counts[4] = {nifp->ni_tx_rings, nifp->ni_host_tx_rings, nifp->ni_rx_rings, nifp->ni_host_rx_rings};
	int which[4] = {nic_tx, host_tx, nic_rx, host_rx};
	uint32_t entry = 0, group, i;

	for (group = 0; group < 4; group++)
		for (i = 0; i < counts[group]; i++, entry++) {
			int should = which[group] == -1 || which[group] == (int)i;

			if (bound(nifp, entry) != should)
				FAIL("entry %u, ring %u of group %u, is %s", entry, i, group, should ? "zero" : "not zero");
		}
}

static void check_mode(uint32_t mode, uint64_t flags, int nic_tx, int host_tx, int nic_rx, int host_rx)
{
	struct port p;

	bind_port(&p, interface_a(), mode, 0, flags);
	check_answer(&p, mode, 0, flags);
	check_table(&p, nic_tx, host_tx, nic_rx, host_rx);
}

TEST(mode_1_has_the_rings_of_the_interface) { check_mode(NR_REG_ALL_NIC, 0, -1, -2, -1, -2); }
TEST(mode_2_has_the_rings_of_the_host) { check_mode(NR_REG_SW, 0, -2, -1, -2, -1); }
TEST(mode_3_has_all_rings) { check_mode(NR_REG_NIC_SW, 0, -1, -1, -1, -1); }
TEST(mode_4_has_one_pair) { check_mode(NR_REG_ONE_NIC, 0, 0, -2, 0, -2); }
TEST(mode_8_has_one_pair_of_the_host) { check_mode(NR_REG_ONE_SW, 0, -2, 0, -2, 0); }
TEST(only_tx_rings_are_bound) { check_mode(NR_REG_ALL_NIC, NR_TX_RINGS_ONLY, -1, -2, -2, -2); }
TEST(only_rx_rings_are_bound) { check_mode(NR_REG_ALL_NIC, NR_RX_RINGS_ONLY, -2, -2, -1, -2); }
TEST(no_tx_poll_comes_back) { check_mode(NR_REG_ALL_NIC, NR_NO_TX_POLL, -1, -2, -1, -2); }
TEST(do_rx_poll_comes_back) { check_mode(NR_REG_ALL_NIC, NR_DO_RX_POLL, -1, -2, -1, -2); }
TEST(accepting_headers_comes_back) { check_mode(NR_REG_ALL_NIC, NR_ACCEPT_VNET_HDR, -1, -2, -1, -2); }

TEST(second_ring_of_two)
{
	struct port p;

	bind_port(&p, interface_m(), NR_REG_ONE_NIC, 0, 0);
	if (p.nifp->ni_tx_rings < 2 || p.nifp->ni_rx_rings < 2)
		SKIP("the interface has one ring");
	close_port(&p);
	bind_port(&p, interface_m(), NR_REG_ONE_NIC, 1, 0);
	check_answer(&p, NR_REG_ONE_NIC, 1, 0);
	check_table(&p, 1, -2, 1, -2);
	SAME(NETMAP_TXRING(p.nifp, 1)->ringid, 1);
	SAME(NETMAP_RXRING(p.nifp, 1)->ringid, 1);
}

TEST(descriptor_of_the_interface_says_what_it_is)
{
	struct port p;

	bind_port(&p, interface_a(), NR_REG_NIC_SW, 0, 0);
	CHECK(strncmp(p.nifp->ni_name, interface_a(), IFNAMSIZ) == 0);
	SAME(p.nifp->ni_version, NETMAP_API);
	SAME(p.nifp->ni_tx_rings, p.reg.nr_tx_rings);
	SAME(p.nifp->ni_rx_rings, p.reg.nr_rx_rings);
	SAME(p.nifp->ni_host_tx_rings, p.reg.nr_host_tx_rings);
	SAME(p.nifp->ni_host_rx_rings, p.reg.nr_host_rx_rings);
	CHECK(p.reg.nr_host_tx_rings >= 1 && p.reg.nr_host_rx_rings >= 1);
	SAME(p.nifp->ni_bufs_head, 0);
}

/* Newer programs skip zeros of the table, older ones compute the range from the mode: both find the same. */
TEST(rings_of_the_host_are_found_both_ways)
{
	struct port p;

	bind_port(&p, interface_a(), NR_REG_SW, 0, 0);
	SAME(p.tx_of, p.reg.nr_tx_rings);
	SAME(p.rx_of, p.reg.nr_rx_rings);
	close_port(&p);
	bind_port(&p, interface_a(), NR_REG_ALL_NIC, 0, 0);
	SAME(p.tx_of, 0);
	SAME(p.rx_of, 0);
}

static void second_bind_is_busy(const char *first, const char *second)
{
	struct port p;
	struct nmreq_register reg;

	open_port(&p, first);
	memset(&reg, 0, sizeof(reg));
	reg.nr_mode = NR_REG_ALL_NIC;
	fill_header(&p.header, NETMAP_REQ_REGISTER, second, &reg);
	FAILS(ioctl(p.fd, NIOCCTRL, &p.header), EBUSY);
	sync_tx(&p);
}

TEST(second_bind_of_the_same_port_is_busy) { second_bind_is_busy(virtual_name("{1"), virtual_name("{1")); }
TEST(second_bind_of_another_port_is_busy) { second_bind_is_busy(virtual_name("{1"), virtual_name("{2")); }
TEST(second_bind_of_an_interface_is_busy) { second_bind_is_busy(interface_a(), interface_a()); }
TEST(second_bind_of_a_switch_port_is_busy) { second_bind_is_busy(switch_name("a"), switch_name("b")); }

TEST(second_bind_by_the_old_request_is_busy)
{
	struct port p;
	struct nmreq old;

	open_port(&p, virtual_name("{1"));
	memset(&old, 0, sizeof(old));
	snprintf(old.nr_name, sizeof(old.nr_name), "%s", virtual_name("{1"));
	old.nr_version = NETMAP_API;
	old.nr_flags = NR_REG_ALL_NIC;
	FAILS(ioctl(p.fd, NIOCREGIF, &old), EBUSY);
}

TEST(unknown_interface_does_not_exist) { refuse_bind("cfnosuch0", NR_REG_ALL_NIC, 0, 0, ENXIO); }

/* Wishes may be ignored; what comes back is what there is. */
static void answers_are_facts(const char *name)
{
	struct port p;
	int error;

	prepare(&p, NR_REG_ALL_NIC, 0, 0);
	p.reg.nr_tx_slots = 64;
	p.reg.nr_rx_slots = 128;
	error = try_bind(&p, name);
	SAME(error, 0);
	SAME(tx(&p)->num_slots, p.reg.nr_tx_slots);
	SAME(rx(&p)->num_slots, p.reg.nr_rx_slots);
	SAME(p.nifp->ni_tx_rings, p.reg.nr_tx_rings);
	SAME(p.nifp->ni_rx_rings, p.reg.nr_rx_rings);
}

TEST(slots_answered_are_facts_of_an_interface) { answers_are_facts(interface_a()); }
TEST(slots_answered_are_facts_of_a_pipe) { answers_are_facts(virtual_name("{1")); }
TEST(slots_answered_are_facts_of_a_switch_port) { answers_are_facts(switch_name("a")); }

/* Closing unbinds: the port is bound again, as often as one likes. */
static void binds_again(const char *name)
{
	struct port p;
	int i;

	for (i = 0; i < 20; i++) {
		bind_port(&p, name, NR_REG_ALL_NIC, 0, NR_EXCLUSIVE);
		close_port(&p);
	}
}

TEST(an_interface_is_bound_again_after_close) { binds_again(interface_a()); }
TEST(a_pipe_is_bound_again_after_close) { binds_again(virtual_name("{1")); }
TEST(a_switch_port_is_bound_again_after_close) { binds_again(switch_name("a")); }

/* Several descriptors of one interface have their own descriptors of it, with their own zeros. */
TEST(each_binding_has_its_own_table)
{
	struct port nic, host;

	bind_port(&nic, interface_a(), NR_REG_ALL_NIC, 0, 0);
	bind_port(&host, interface_a(), NR_REG_SW, 0, 0);
	CHECK(nic.reg.nr_offset != host.reg.nr_offset);
	check_table(&nic, -1, -2, -1, -2);
	check_table(&host, -2, -1, -2, -1);
}
