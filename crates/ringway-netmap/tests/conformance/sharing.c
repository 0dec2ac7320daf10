/* Rings that several descriptors have, and rings that one has alone. */
#include "frames.h"
#include "process.h"

static void exclusive_first(const char *name)
{
	struct port p;

	bind_port(&p, name, NR_REG_ALL_NIC, 0, NR_EXCLUSIVE);
	refuse_bind(name, NR_REG_ALL_NIC, 0, 0, EBUSY);
	refuse_bind(name, NR_REG_ALL_NIC, 0, NR_EXCLUSIVE, EBUSY);
	close_port(&p);
	open_port(&p, name);
}

static void exclusive_second(const char *name)
{
	struct port p;

	open_port(&p, name);
	refuse_bind(name, NR_REG_ALL_NIC, 0, NR_EXCLUSIVE, EBUSY);
	close_port(&p);
	bind_port(&p, name, NR_REG_ALL_NIC, 0, NR_EXCLUSIVE);
}

TEST(an_interface_bound_alone_is_busy) { exclusive_first(interface_a()); }
TEST(an_interface_in_use_is_not_bound_alone) { exclusive_second(interface_a()); }
TEST(a_pipe_bound_alone_is_busy) { exclusive_first(virtual_name("{1")); }
TEST(a_pipe_in_use_is_not_bound_alone) { exclusive_second(virtual_name("{1")); }
TEST(a_switch_port_bound_alone_is_busy) { exclusive_first(switch_name("a")); }
TEST(a_switch_port_in_use_is_not_bound_alone) { exclusive_second(switch_name("a")); }

/* A refused descriptor is unbound, and may be bound to what is free. */
TEST(a_refused_descriptor_is_bound_elsewhere)
{
	struct port p, q;

	bind_port(&p, virtual_name("{1"), NR_REG_ALL_NIC, 0, NR_EXCLUSIVE);
	prepare(&q, NR_REG_ALL_NIC, 0, 0);
	SAME(try_bind(&q, virtual_name("{1")), EBUSY);
	FAILS(ioctl(q.fd, NIOCRXSYNC, NULL), ENXIO);
	SAME(try_bind(&q, virtual_name("}1")), 0);
	send_frame(&p, 1, 60);
	expect_frame(&q, 1, 60);
}

TEST(both_ends_of_a_pipe_are_bound_alone)
{
	struct port p, q;

	bind_port(&p, virtual_name("{1"), NR_REG_ALL_NIC, 0, NR_EXCLUSIVE);
	bind_port(&q, virtual_name("}1"), NR_REG_ALL_NIC, 0, NR_EXCLUSIVE);
	send_frame(&p, 1, 60);
	expect_frame(&q, 1, 60);
}

TEST(rings_of_link_and_host_are_bound_alone_beside_each_other)
{
	struct port nic, host;

	bind_port(&nic, interface_a(), NR_REG_ALL_NIC, 0, NR_EXCLUSIVE);
	bind_port(&host, interface_a(), NR_REG_SW, 0, NR_EXCLUSIVE);
	refuse_bind(interface_a(), NR_REG_NIC_SW, 0, 0, EBUSY);
	refuse_bind(interface_a(), NR_REG_ONE_SW, 0, 0, EBUSY);
}

TEST(rings_of_two_directions_are_bound_alone_beside_each_other)
{
	struct port out, in, far;

	bind_port(&out, interface_a(), NR_REG_ALL_NIC, 0, NR_EXCLUSIVE | NR_TX_RINGS_ONLY);
	bind_port(&in, interface_a(), NR_REG_ALL_NIC, 0, NR_EXCLUSIVE | NR_RX_RINGS_ONLY);
	open_port(&far, interface_b());
	refuse_bind(interface_a(), NR_REG_ALL_NIC, 0, 0, EBUSY);
	send_frame(&out, 1, 60);
	expect_frame(&far, 1, 60);
	send_frame(&far, 2, 60);
	expect_frame(&in, 2, 60);
}

TEST(two_rings_of_an_interface_are_bound_alone)
{
	struct port one, two;

	bind_port(&one, interface_m(), NR_REG_ONE_NIC, 0, NR_EXCLUSIVE);
	if (one.nifp->ni_tx_rings < 2)
		SKIP("the interface has one ring");
	refuse_bind(interface_m(), NR_REG_ONE_NIC, 0, 0, EBUSY);
	refuse_bind(interface_m(), NR_REG_ALL_NIC, 0, 0, EBUSY);
	bind_port(&two, interface_m(), NR_REG_ONE_NIC, 1, NR_EXCLUSIVE);
	close_port(&one);
	refuse_bind(interface_m(), NR_REG_ALL_NIC, 0, 0, EBUSY);
	close_port(&two);
	open_port(&one, interface_m());
}

/* Two descriptors of one ring: one fills it, the other one's sync sends. */
static void shared_tx(const char *name, const char *far_name)
{
	struct port one, two, far;

	open_port(&one, name);
	open_port(&two, name);
	open_port(&far, far_name);
	SAME(one.reg.nr_mem_id, two.reg.nr_mem_id);
	put_frame(tx(&one), 1, 60);
	SAME(tx(&two)->head, 1);
	sync_tx(&two);
	expect_frame(&far, 1, 60);
	put_frame(tx(&two), 2, 60);
	sync_tx(&one);
	expect_frame(&far, 2, 60);
	close_port(&one);
	send_frame(&two, 3, 60);
	expect_frame(&far, 3, 60);
}

TEST(descriptors_share_a_tx_ring_of_an_interface) { shared_tx(interface_a(), interface_b()); }
TEST(descriptors_share_a_tx_ring_of_a_switch_port) { shared_tx(switch_name("a"), switch_name("b")); }
TEST(descriptors_share_a_tx_ring_of_a_pipe) { shared_tx(virtual_name("{1"), virtual_name("}1")); }

static void shared_rx(const char *name, const char *far_name)
{
	struct port one, two, far;

	open_port(&one, name);
	open_port(&two, name);
	open_port(&far, far_name);
	send_frame(&far, 1, 60);
	expect_frame(&one, 1, 60);
	SAME(rx(&two)->head, rx(&one)->head);
	send_frame(&far, 2, 60);
	expect_frame(&two, 2, 60);
	sync_rx(&one);
	expect_none(&one);
	close_port(&two);
	send_frame(&far, 3, 60);
	expect_frame(&one, 3, 60);
}

TEST(descriptors_share_an_rx_ring_of_an_interface) { shared_rx(interface_a(), interface_b()); }
TEST(descriptors_share_an_rx_ring_of_a_switch_port) { shared_rx(switch_name("a"), switch_name("b")); }
TEST(descriptors_share_an_rx_ring_of_a_pipe) { shared_rx(virtual_name("{1"), virtual_name("}1")); }

/* The same with two processes that bound the ring by themselves, in turn. */
static struct bell go, done;

static void other_half(void *name)
{
	struct port p;
	uint32_t i;

	open_port(&p, (const char *)name);
	ring_bell(&done);
	for (i = 0; i < 50; i++) {
		hear_bell(&go);
		send_frame(&p, 2 * i + 1, 60);
		ring_bell(&done);
	}
}

static void shared_by_processes(const char *name, const char *far_name)
{
	struct port p, far;
	pid_t other;
	uint32_t i;

	make_bell(&go);
	make_bell(&done);
	other = start(other_half, (void *)(uintptr_t)name);
	hear_bell(&done);
	open_port(&p, name);
	open_port(&far, far_name);
	for (i = 0; i < 50; i++) {
		send_frame(&p, 2 * i, 60);
		ring_bell(&go);
		hear_bell(&done);
	}
	for (i = 0; i < 100; i++)
		expect_frame(&far, i, 60);
	join(other);
	send_frame(&p, 100, 60);
	expect_frame(&far, 100, 60);
}

TEST(processes_share_a_tx_ring_of_an_interface) { shared_by_processes(interface_a(), interface_b()); }
TEST(processes_share_a_tx_ring_of_a_switch_port) { shared_by_processes(switch_name("a"), switch_name("b")); }
TEST(processes_share_a_tx_ring_of_a_pipe) { shared_by_processes(virtual_name("{1"), virtual_name("}1")); }

/* Exclusive holds against other processes, and ends with the process. */
static void hold_alone(void *name)
{
	struct port p;

	bind_port(&p, (const char *)name, NR_REG_ALL_NIC, 0, NR_EXCLUSIVE);
	ring_bell(&done);
	rest(60000);
}

static void alone_until_killed(const char *name)
{
	struct port p;
	pid_t other;

	make_bell(&done);
	other = start(hold_alone, (void *)(uintptr_t)name);
	hear_bell(&done);
	refuse_bind(name, NR_REG_ALL_NIC, 0, 0, EBUSY);
	end_by_kill(other);
	bind_port(&p, name, NR_REG_ALL_NIC, 0, NR_EXCLUSIVE);
}

TEST(an_interface_is_free_when_its_only_process_is_killed) { alone_until_killed(interface_a()); }
TEST(a_pipe_is_free_when_its_only_process_is_killed) { alone_until_killed(virtual_name("{1")); }
TEST(a_switch_port_is_free_when_its_only_process_is_killed) { alone_until_killed(switch_name("a")); }
