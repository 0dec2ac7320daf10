/* Ports that stay: made, attached, listed, detached and deleted by requests. */
#include "frames.h"

static const char *interface_name(void)
{
	return virtual_name("");
}

/* The name of the attached port: the switch, and the interface as its port. */
static const char *attached_name(const char *interface)
{
	return switch_name(interface);
}

static int make(const char *name)
{
	struct nmreq_vale_newif body;

	memset(&body, 0, sizeof(body));
	return request(NETMAP_REQ_VALE_NEWIF, name, &body);
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
	*index = body.port_index;
	return error;
}

static int detach(const char *name, uint32_t *index)
{
	struct nmreq_vale_detach body;
	int error;

	memset(&body, 0, sizeof(body));
	error = request(NETMAP_REQ_VALE_DETACH, name, &body);
	*index = body.port_index;
	return error;
}

/* Goes through all ports of all switches, as vale-ctl does. Whether this one is there; its index. */
static int listed(const char *name, uint32_t *index)
{
	struct nmreq_vale_list body;
	struct nmreq_header header;
	int fd = device(), found = 0, rounds;

	memset(&body, 0, sizeof(body));
	for (rounds = 0; rounds < 10000; rounds++, body.nr_port_idx++) {
		fill_header(&header, NETMAP_REQ_VALE_LIST, "", &body);
		if (ioctl(fd, NIOCCTRL, &header) != 0)
			break;
		if (strncmp(header.nr_name, name, sizeof(header.nr_name)) == 0) {
			found++;
			*index = body.nr_port_idx;
		}
	}
	close(fd);
	if (rounds == 10000)
		FAIL("the list of ports has no end");
	CHECK(found <= 1);
	return found;
}

TEST(a_port_is_made_and_deleted)
{
	uint32_t i;

	for (i = 0; i < 3; i++) {
		SAME(make(interface_name()), 0);
		SAME(drop(interface_name()), 0);
	}
}

TEST(a_port_is_made_once)
{
	SAME(make(interface_name()), 0);
	CHECK(make(interface_name()) != 0);
	SAME(drop(interface_name()), 0);
}

TEST(an_unknown_port_is_not_deleted) { CHECK(drop(virtual_name("none")) != 0); }

TEST(an_unknown_port_is_not_detached)
{
	uint32_t index;

	CHECK(detach(switch_name("none"), &index) != 0);
}

TEST(an_ephemeral_port_is_listed_while_it_lives)
{
	struct port a, b;
	uint32_t index_a, index_b;

	CHECK(!listed(switch_name("a"), &index_a));
	open_port(&a, switch_name("a"));
	open_port(&b, switch_name("b"));
	CHECK(listed(switch_name("a"), &index_a));
	CHECK(listed(switch_name("b"), &index_b));
	CHECK(index_a != index_b);
	close_port(&a);
	CHECK(!listed(switch_name("a"), &index_a));
	CHECK(listed(switch_name("b"), &index_b));
}

TEST(a_made_port_is_attached_listed_and_used)
{
	struct port own, far;
	const char *name;
	uint32_t index, again;

	SAME(make(interface_name()), 0);
	name = attached_name(interface_name());
	SAME(attach(name, NR_REG_ALL_NIC, &index), 0);
	CHECK(listed(attached_name(interface_name()), &again));
	SAME(again, index);
	open_port(&own, attached_name(interface_name()));
	open_port(&far, switch_name("far"));
	send_frame(&own, 1, 60);
	expect_frame(&far, 1, 60);
	send_frame(&far, 2, 60);
	expect_frame(&own, 2, 60);
	close_port(&own);
	CHECK(listed(attached_name(interface_name()), &again));
	SAME(detach(attached_name(interface_name()), &again), 0);
	SAME(again, index);
	CHECK(!listed(attached_name(interface_name()), &again));
	SAME(drop(interface_name()), 0);
}

/* An interface becomes a port: what is on its link and the switch meet. */
TEST(an_interface_is_attached)
{
	struct port near, far;
	uint32_t index;

	SAME(attach(attached_name(interface_a()), NR_REG_ALL_NIC, &index), 0);
	open_port(&near, switch_name("near"));
	open_port(&far, interface_b());
	send_frame(&near, 1, 60);
	expect_frame(&far, 1, 60);
	send_frame(&far, 2, 60);
	expect_frame(&near, 2, 60);
	close_port(&far);
	SAME(detach(attached_name(interface_a()), &index), 0);
	open_port(&far, interface_a());
}

TEST(an_interface_is_attached_with_its_host)
{
	struct port near;
	uint32_t index;
	int host;

	SAME(attach(attached_name(interface_a()), NR_REG_NIC_SW, &index), 0);
	open_port(&near, switch_name("near"));
	host = raw_socket(interface_a());
	raw_send(host, interface_a(), 1, 60);
	expect_frame(&near, 1, 60);
	send_frame(&near, 2, 60);
	CHECK(raw_await(host, 2, 60, WAIT_MS));
	SAME(detach(attached_name(interface_a()), &index), 0);
}

static void old_command(const char *name, uint16_t command, int error)
{
	struct nmreq old;
	int fd = device(), got;

	memset(&old, 0, sizeof(old));
	snprintf(old.nr_name, sizeof(old.nr_name), "%s", name);
	old.nr_version = NETMAP_API;
	old.nr_cmd = command;
	got = ioctl(fd, NIOCREGIF, &old) == 0 ? 0 : errno;
	if (got != error)
		FAIL("command %u of %s: %s", command, name, strerror(got));
	close(fd);
}

/* The commands of old requests do the same. */
TEST(old_commands_make_attach_detach_and_delete)
{
	uint32_t index;

	old_command(interface_name(), NETMAP_BDG_NEWIF, 0);
	old_command(attached_name(interface_name()), NETMAP_BDG_ATTACH, 0);
	CHECK(listed(attached_name(interface_name()), &index));
	old_command(attached_name(interface_name()), NETMAP_BDG_DETACH, 0);
	CHECK(!listed(attached_name(interface_name()), &index));
	old_command(interface_name(), NETMAP_BDG_DELIF, 0);
}

TEST(an_unknown_old_command_is_refused) { old_command(interface_name(), 99, EINVAL); }

TEST(old_list_names_ports)
{
	struct port p;
	struct nmreq old;
	int fd = device(), found = 0, rounds;

	open_port(&p, switch_name("a"));
	memset(&old, 0, sizeof(old));
	for (rounds = 0; rounds < 1000; rounds++, old.nr_arg2++) {
		memset(old.nr_name, 0, sizeof(old.nr_name));
		old.nr_version = NETMAP_API;
		old.nr_cmd = NETMAP_BDG_LIST;
		if (ioctl(fd, NIOCGINFO, &old) != 0)
			break;
		found += strncmp(old.nr_name, switch_name("a"), sizeof(old.nr_name)) == 0;
	}
	SAME(found, 1);
}
