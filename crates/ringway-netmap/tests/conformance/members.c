/* Members of switches: what requests answer, and how long ports and switches stay. */
#include "frames.h"
#include "process.h"

static const char *own_name(void)
{
	return virtual_name("");
}

static int make(const char *name, struct nmreq_vale_newif *body)
{
	return request(NETMAP_REQ_VALE_NEWIF, name, body);
}

static void make_plain(const char *name)
{
	struct nmreq_vale_newif body;

	memset(&body, 0, sizeof(body));
	SAME(make(name, &body), 0);
}

static int drop(const char *name)
{
	return request(NETMAP_REQ_VALE_DELIF, name, NULL);
}

static int attach(const char *name, uint32_t mode, uint32_t *index)
{
	struct nmreq_vale_attach body;
	int error;

	memset(&body, 0, sizeof(body));
	body.reg.nr_mode = mode;
	error = request(NETMAP_REQ_VALE_ATTACH, name, &body);
	SAME(body.reg.nr_mode, mode);
	SAME(body.reg.nr_ringid, 0);
	if (index)
		*index = body.port_index;
	return error;
}

static int detach(const char *name)
{
	struct nmreq_vale_detach body;

	memset(&body, 0, sizeof(body));
	return request(NETMAP_REQ_VALE_DETACH, name, &body);
}

/* Asks for the place of a port by its name. */
static int place(const char *name, struct nmreq_vale_list *body)
{
	memset(body, 0xff, sizeof(*body));
	return request(NETMAP_REQ_VALE_LIST, name, body);
}

TEST(members_have_mode_1_or_3)
{
	static const uint32_t modes[] = {NR_REG_DEFAULT, NR_REG_SW, NR_REG_ONE_NIC, NR_REG_NULL, NR_REG_ONE_SW, 99};
	size_t i;

	for (i = 0; i < sizeof(modes) / sizeof(*modes); i++)
		SAME(attach(switch_name(interface_a()), modes[i], NULL), EINVAL);
}

TEST(an_unknown_interface_is_not_attached)
{
	struct nmreq_vale_list body;

	SAME(attach(switch_name("none"), NR_REG_ALL_NIC, NULL), ENXIO);
	SAME(place(switch_name("none"), &body), ENOENT);
}

TEST(a_name_without_a_switch_is_no_member)
{
	SAME(attach(interface_a(), NR_REG_ALL_NIC, NULL), EINVAL);
	SAME(detach(interface_a()), EINVAL);
	SAME(detach(virtual_name("{1")), EINVAL);
}

TEST(a_member_is_attached_once)
{
	SAME(attach(switch_name(interface_a()), NR_REG_ALL_NIC, NULL), 0);
	SAME(attach(switch_name(interface_a()), NR_REG_ALL_NIC, NULL), EBUSY);
	SAME(attach(other_switch_name(interface_a()), NR_REG_ALL_NIC, NULL), EBUSY);
	SAME(detach(switch_name(interface_a())), 0);
	SAME(detach(switch_name(interface_a())), ENXIO);
	SAME(attach(other_switch_name(interface_a()), NR_REG_ALL_NIC, NULL), 0);
	SAME(detach(other_switch_name(interface_a())), 0);
}

TEST(a_made_port_is_attached_once)
{
	make_plain(own_name());
	SAME(attach(switch_name(own_name()), NR_REG_ALL_NIC, NULL), 0);
	SAME(attach(switch_name(own_name()), NR_REG_ALL_NIC, NULL), EBUSY);
	SAME(attach(other_switch_name(own_name()), NR_REG_ALL_NIC, NULL), EBUSY);
	SAME(drop(own_name()), EBUSY);
	SAME(detach(switch_name(own_name())), 0);
	SAME(drop(own_name()), 0);
}

TEST(a_port_in_use_is_not_detached)
{
	struct port p;

	make_plain(own_name());
	SAME(attach(switch_name(own_name()), NR_REG_ALL_NIC, NULL), 0);
	open_port(&p, own_name());
	SAME(detach(switch_name(own_name())), EBUSY);
	close_port(&p);
	SAME(detach(switch_name(own_name())), 0);
	open_port(&p, switch_name("mine"));
	SAME(detach(switch_name("mine")), EBUSY);
	SAME(drop(own_name()), 0);
}

/* Its own name leads to the switch's port as well. */
TEST(a_made_port_is_bound_by_its_own_name)
{
	struct port own, far;

	make_plain(own_name());
	SAME(attach(switch_name(own_name()), NR_REG_ALL_NIC, NULL), 0);
	open_port(&own, own_name());
	open_port(&far, switch_name("far"));
	send_frame(&own, 1, 60);
	expect_frame(&far, 1, 60);
	send_frame(&far, 2, 60);
	expect_frame(&own, 2, 60);
	close_port(&own);
	SAME(detach(switch_name(own_name())), 0);
	SAME(drop(own_name()), 0);
}

TEST(facts_of_a_made_port)
{
	struct nmreq_vale_newif body;
	struct port p;

	memset(&body, 0, sizeof(body));
	body.nr_tx_slots = body.nr_rx_slots = 128;
	body.nr_tx_rings = 2;
	SAME(make(own_name(), &body), 0);
	SAME(body.nr_tx_slots, 128);
	SAME(body.nr_rx_slots, 128);
	SAME(body.nr_tx_rings, 2);
	SAME(body.nr_rx_rings, 1);
	open_port(&p, own_name());
	SAME(p.reg.nr_tx_slots, 128);
	SAME(p.reg.nr_tx_rings, 2);
	SAME(p.reg.nr_rx_rings, 1);
	CHECK(p.reg.nr_mem_id > 1);
	close_port(&p);
	SAME(drop(own_name()), 0);
}

TEST(names_of_made_ports_are_unique)
{
	struct nmreq_vale_newif body;

	memset(&body, 0, sizeof(body));
	SAME(make(interface_a(), &body), EEXIST);
	SAME(make(own_name(), &body), 0);
	SAME(make(own_name(), &body), EEXIST);
	SAME(drop(own_name()), 0);
	SAME(drop(own_name()), ENXIO);
	SAME(make("vale-is-a-switch", &body), EINVAL);
	SAME(make("x:y", &body), EINVAL);
	SAME(make("", &body), EINVAL);
}

/* In no switch: what is sent is gone, and nothing comes. */
TEST(a_made_port_in_no_switch_stands_alone)
{
	struct port p;
	uint32_t i;

	make_plain(own_name());
	open_port(&p, own_name());
	for (i = 0; i < 3 * tx(&p)->num_slots; i++) {
		if (nm_ring_empty(tx(&p)))
			drain(&p);
		put_frame(tx(&p), i, 60);
	}
	drain(&p);
	expect_none(&p);
	SAME(drop(own_name()), EBUSY);
	SAME(attach(switch_name(own_name()), NR_REG_ALL_NIC, NULL), EBUSY);
	close_port(&p);
	refuse_bind(own_name(), NR_REG_SW, 0, 0, EINVAL);
	SAME(drop(own_name()), 0);
}

static void make_in_child(void *name)
{
	make_plain((const char *)name);
	SAME(attach(switch_name((const char *)name), NR_REG_ALL_NIC, NULL), 0);
}

TEST(a_made_port_outlives_its_maker)
{
	struct port p;

	join(start(make_in_child, (void *)own_name()));
	open_port(&p, switch_name(own_name()));
	close_port(&p);
	SAME(detach(switch_name(own_name())), 0);
	SAME(drop(own_name()), 0);
}

TEST(list_finds_the_place_of_a_name)
{
	struct nmreq_vale_list body;
	struct port a;
	uint32_t index;

	open_port(&a, switch_name("a"));
	make_plain(own_name());
	SAME(attach(switch_name(own_name()), NR_REG_ALL_NIC, &index), 0);
	SAME(place(switch_name(own_name()), &body), 0);
	SAME(body.nr_port_idx, index);
	SAME(place(switch_name("b"), &body), ENOENT);
	SAME(place(other_switch_name("a"), &body), ENOENT);
	SAME(place(interface_a(), &body), EINVAL);
	SAME(detach(switch_name(own_name())), 0);
	SAME(drop(own_name()), 0);
}

/* Places grow, each names one port, and a request at a place finds the port that is there. */
TEST(list_goes_on_from_any_place)
{
	struct nmreq_vale_list body, again;
	struct nmreq_header header, other;
	struct port a, b, c;
	int fd = device(), mine = 0;
	uint64_t last = 0;

	open_port(&a, switch_name("a"));
	open_port(&b, switch_name("b"));
	open_port(&c, other_switch_name("c"));
	for (memset(&body, 0, sizeof(body));; body.nr_port_idx++) {
		uint64_t at;

		fill_header(&header, NETMAP_REQ_VALE_LIST, "", &body);
		if (ioctl(fd, NIOCCTRL, &header) != 0)
			break;
		at = ((uint64_t)body.nr_bridge_idx << 32) + body.nr_port_idx + 1;
		CHECK(at > last);
		last = at;
		again = body;
		fill_header(&other, NETMAP_REQ_VALE_LIST, "", &again);
		WORKS(ioctl(fd, NIOCCTRL, &other));
		CHECK(strcmp(header.nr_name, other.nr_name) == 0);
		CHECK(memcmp(&again, &body, sizeof(body)) == 0);
		SAME(place(header.nr_name, &again), 0);
		SAME(again.nr_port_idx, body.nr_port_idx);
		mine += strcmp(header.nr_name, switch_name("a")) == 0 || strcmp(header.nr_name, switch_name("b")) == 0 ||
			strcmp(header.nr_name, other_switch_name("c")) == 0;
	}
	SAME(errno, ENOENT);
	SAME(mine, 3);
}

/* A switch that was made for a port goes with it: later ports of that name are of a new one, which has learned nothing. */
TEST(a_made_switch_goes_with_its_last_port)
{
	struct nmreq_vale_list body;
	struct port p;
	uint32_t index;

	open_port(&p, switch_name("a"));
	SAME(place(switch_name("a"), &body), 0);
	close_port(&p);
	SAME(place(switch_name("a"), &body), ENOENT);
	open_port(&p, switch_name("b"));
	make_plain(own_name());
	SAME(attach(switch_name(own_name()), NR_REG_ALL_NIC, &index), 0);
	SAME(index, 2);
	close_port(&p);
	SAME(place(switch_name(own_name()), &body), 0);
	SAME(detach(switch_name(own_name())), 0);
	open_port(&p, switch_name("c"));
	SAME(place(switch_name("c"), &body), 0);
	SAME(body.nr_port_idx, 1);
	SAME(drop(own_name()), 0);
}

static void hold_until_killed(void *port)
{
	struct port p;

	open_port(&p, switch_name((const char *)port));
	ring_bell((const struct bell *)((const char *)port + 8));
	for (;;)
		rest(1000);
}

TEST(a_killed_user_leaves_no_port)
{
	struct {
		char port[8];
		struct bell bell;
	} shared = {"k", {{0, 0}}};
	struct nmreq_vale_list body;
	pid_t child;

	make_bell(&shared.bell);
	child = start(hold_until_killed, &shared);
	hear_bell(&shared.bell);
	SAME(place(switch_name("k"), &body), 0);
	end_by_kill(child);
	SAME(place(switch_name("k"), &body), ENOENT);
}

static int header_length(uint16_t type, const char *name, uint32_t *length)
{
	struct nmreq_port_hdr body;
	int error;

	memset(&body, 0, sizeof(body));
	body.nr_hdr_len = *length;
	error = request(type, name, &body);
	*length = body.nr_hdr_len;
	return error;
}

TEST(headers_are_of_switch_ports)
{
	struct port p;
	uint32_t none = 0, wrong = 11, asked = 99;

	SAME(header_length(NETMAP_REQ_PORT_HDR_SET, interface_a(), &none), ENXIO);
	SAME(header_length(NETMAP_REQ_PORT_HDR_SET, switch_name("a"), &none), ENXIO);
	SAME(header_length(NETMAP_REQ_PORT_HDR_GET, interface_a(), &asked), 0);
	SAME(asked, 0);
	open_port(&p, switch_name("a"));
	SAME(header_length(NETMAP_REQ_PORT_HDR_SET, switch_name("a"), &none), 0);
	SAME(header_length(NETMAP_REQ_PORT_HDR_SET, switch_name("a"), &wrong), EINVAL);
	asked = 99;
	SAME(header_length(NETMAP_REQ_PORT_HDR_GET, switch_name("a"), &asked), 0);
	SAME(asked, 0);
}

/* The old request for a new port has the facts, too. */
TEST(old_command_for_a_port_says_what_it_has)
{
	struct nmreq old;
	int fd = device();

	memset(&old, 0, sizeof(old));
	snprintf(old.nr_name, sizeof(old.nr_name), "%s", own_name());
	old.nr_version = NETMAP_API;
	old.nr_cmd = NETMAP_BDG_NEWIF;
	old.nr_tx_slots = 256;
	WORKS(ioctl(fd, NIOCREGIF, &old));
	SAME(old.nr_tx_slots, 256);
	SAME(old.nr_rx_slots, 256);
	SAME(old.nr_tx_rings, 1);
	SAME(old.nr_rx_rings, 1);
	SAME(drop(own_name()), 0);
}
