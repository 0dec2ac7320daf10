/* Options of a request: a list that the program makes, of which each entry is answered. */
#include "frames.h"

/* Registers a pipe with these options; 0 or errno. The descriptor stays open in *fd. */
static int bind_with(void *first, int *fd)
{
	struct port p;

	prepare(&p, NR_REG_ALL_NIC, 0, 0);
	p.fd = *fd = device();
	fill_header(&p.header, NETMAP_REQ_REGISTER, virtual_name("{1"), &p.reg);
	p.header.nr_options = (uintptr_t)first;
	return ioctl(p.fd, NIOCCTRL, &p.header) == 0 ? 0 : errno;
}

static struct nmreq_option option(uint32_t type, void *next)
{
	struct nmreq_option option = {.nro_next = (uintptr_t)next, .nro_reqtype = type};

	return option;
}

static void check_unbound(int fd)
{
	FAILS(ioctl(fd, NIOCTXSYNC, NULL), ENXIO);
}

TEST(an_unknown_option_is_refused)
{
	struct nmreq_option unknown = option(1234, NULL);
	int fd;

	SAME(bind_with(&unknown, &fd), EOPNOTSUPP);
	SAME(unknown.nro_status, EOPNOTSUPP);
	check_unbound(fd);
}

TEST(each_unknown_option_is_answered)
{
	struct nmreq_option last = option(1236, NULL), middle = option(1235, &last), first = option(1234, &middle);
	int fd;

	SAME(bind_with(&first, &fd), EOPNOTSUPP);
	SAME(first.nro_status, EOPNOTSUPP);
	SAME(middle.nro_status, EOPNOTSUPP);
	SAME(last.nro_status, EOPNOTSUPP);
	check_unbound(fd);
}

TEST(an_option_of_type_0_is_refused)
{
	struct nmreq_option zero = option(0, NULL);
	int fd;

	SAME(bind_with(&zero, &fd), EINVAL);
	check_unbound(fd);
}

TEST(an_option_that_comes_twice_is_refused)
{
	struct nmreq_opt_csb one, two;
	int fd;

	memset(&one, 0, sizeof(one));
	memset(&two, 0, sizeof(two));
	one.nro_opt = option(NETMAP_REQ_OPT_CSB, &two);
	two.nro_opt = option(NETMAP_REQ_OPT_CSB, NULL);
	SAME(bind_with(&one, &fd), EINVAL);
	check_unbound(fd);
}

TEST(offsets_that_come_twice_are_refused)
{
	struct nmreq_opt_offsets one, two;
	int fd;

	memset(&one, 0, sizeof(one));
	memset(&two, 0, sizeof(two));
	one.nro_opt = option(NETMAP_REQ_OPT_OFFSETS, &two);
	two.nro_opt = option(NETMAP_REQ_OPT_OFFSETS, NULL);
	SAME(bind_with(&one, &fd), EINVAL);
	check_unbound(fd);
}

TEST(a_long_list_of_options_is_refused)
{
	static struct nmreq_option list[400];
	size_t i;
	int fd;

	for (i = 0; i < 400; i++)
		list[i] = option((uint32_t)(1000 + i), i + 1 < 400 ? &list[i + 1] : NULL);
	SAME(bind_with(list, &fd), EMSGSIZE);
	check_unbound(fd);
}

TEST(a_circle_of_options_is_refused)
{
	struct nmreq_option one, two = option(1234, &one);
	int fd;

	one = option(1235, &two);
	SAME(bind_with(&one, &fd), EMSGSIZE);
	check_unbound(fd);
}

TEST(an_option_that_follows_itself_is_refused)
{
	struct nmreq_option one;
	int fd;

	one = option(1234, &one);
	SAME(bind_with(&one, &fd), EMSGSIZE);
	check_unbound(fd);
}

TEST(an_option_with_a_huge_size_is_refused)
{
	struct {
		struct nmreq_option option;
		char room[8192];
	} one;
	int fd;

	memset(&one, 0, sizeof(one));
	one.option = option(NETMAP_REQ_OPT_SYNC_KLOOP_EVENTFDS, NULL);
	one.option.nro_size = 8000;
	SAME(bind_with(&one, &fd), EMSGSIZE);
	check_unbound(fd);
}

TEST(an_option_that_leads_nowhere_is_a_fault)
{
	struct nmreq_option one = option(1234, (void *)16);
	int fd;

	SAME(bind_with((void *)16, &fd), EFAULT);
	SAME(bind_with(&one, &fd), EFAULT);
	check_unbound(fd);
}

/* Known options that are not served here are answered as unknown ones. */
static void unsupported(void *of, struct nmreq_option *head, uint32_t type)
{
	int fd;

	*head = option(type, NULL);
	SAME(bind_with(of, &fd), EOPNOTSUPP);
	SAME(head->nro_status, EOPNOTSUPP);
	check_unbound(fd);
}

TEST(option_external_memory_is_not_supported)
{
	struct nmreq_opt_extmem one;

	memset(&one, 0, sizeof(one));
	unsupported(&one, &one.nro_opt, NETMAP_REQ_OPT_EXTMEM);
}

TEST(option_csb_is_not_supported)
{
	struct nmreq_opt_csb one;

	memset(&one, 0, sizeof(one));
	unsupported(&one, &one.nro_opt, NETMAP_REQ_OPT_CSB);
}

TEST(option_offsets_is_not_supported)
{
	struct nmreq_opt_offsets one;

	memset(&one, 0, sizeof(one));
	one.nro_max_offset = 64;
	unsupported(&one, &one.nro_opt, NETMAP_REQ_OPT_OFFSETS);
}

TEST(option_kloop_mode_is_not_supported)
{
	struct nmreq_opt_sync_kloop_mode one;

	memset(&one, 0, sizeof(one));
	unsupported(&one, &one.nro_opt, NETMAP_REQ_OPT_SYNC_KLOOP_MODE);
}

TEST(option_kloop_eventfds_is_not_supported)
{
	struct nmreq_opt_sync_kloop_eventfds one;

	memset(&one, 0, sizeof(one));
	unsupported(&one, &one.nro_opt, NETMAP_REQ_OPT_SYNC_KLOOP_EVENTFDS);
}

TEST(unknown_options_of_a_question_are_refused)
{
	struct nmreq_option unknown = option(1234, NULL);
	struct nmreq_port_info_get info;
	struct nmreq_header header;
	int fd = device();

	memset(&info, 0, sizeof(info));
	fill_header(&header, NETMAP_REQ_PORT_INFO_GET, "", &info);
	header.nr_options = (uintptr_t)&unknown;
	FAILS(ioctl(fd, NIOCCTRL, &header), EOPNOTSUPP);
	SAME(unknown.nro_status, EOPNOTSUPP);
}

/* A descriptor that was refused for its options is bound without them. */
TEST(a_request_works_once_its_options_are_gone)
{
	struct nmreq_option unknown = option(1234, NULL);
	struct port p;

	prepare(&p, NR_REG_ALL_NIC, 0, 0);
	SAME(bind_with(&unknown, &p.fd), EOPNOTSUPP);
	SAME(try_bind(&p, virtual_name("{1")), 0);
	sync_tx(&p);
}
