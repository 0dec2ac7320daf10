/* Headers, bodies and types of requests, and what an unbound descriptor answers. */
#include "port.h"

static const char *pipe_name(void)
{
	return virtual_name("{1");
}

/* A request for the facts of a port, with a header changed by the case. */
static int ask(uint16_t version, uint32_t reserved, int body)
{
	struct nmreq_port_info_get info;
	struct nmreq_header header;
	int fd = device(), error;

	memset(&info, 0, sizeof(info));
	fill_header(&header, NETMAP_REQ_PORT_INFO_GET, "", body ? &info : NULL);
	header.nr_version = version;
	header.nr_reserved = reserved;
	error = ioctl(fd, NIOCCTRL, &header) == 0 ? 0 : errno;
	close(fd);
	return error;
}

TEST(header_version_13_is_refused) { SAME(ask(13, 0, 1), EINVAL); }
TEST(header_version_14_is_accepted) { SAME(ask(14, 0, 1), 0); }
TEST(header_version_15_is_accepted) { SAME(ask(15, 0, 1), 0); }
TEST(header_version_16_is_refused) { SAME(ask(16, 0, 1), EINVAL); }
TEST(header_version_0_is_refused) { SAME(ask(0, 0, 1), EINVAL); }
TEST(header_reserved_word_must_be_zero) { SAME(ask(14, 1, 1), EINVAL); }
TEST(header_without_a_body_is_refused) { SAME(ask(14, 0, 0), EINVAL); }

/* Each of these has a body by its type, and comes without one. */
TEST(requests_that_need_a_body_are_refused_without)
{
	static const uint16_t types[] = {
		NETMAP_REQ_REGISTER,	 NETMAP_REQ_PORT_INFO_GET,	 NETMAP_REQ_VALE_ATTACH,	  NETMAP_REQ_VALE_DETACH,
		NETMAP_REQ_VALE_LIST,	 NETMAP_REQ_PORT_HDR_SET,	 NETMAP_REQ_PORT_HDR_GET,	  NETMAP_REQ_VALE_NEWIF,
		NETMAP_REQ_POOLS_INFO_GET, NETMAP_REQ_VALE_POLLING_ENABLE, NETMAP_REQ_VALE_POLLING_DISABLE, NETMAP_REQ_SYNC_KLOOP_START,
	};
	size_t i;

	for (i = 0; i < sizeof(types) / sizeof(*types); i++) {
		int error = request(types[i], pipe_name(), NULL);

		if (error != EINVAL)
			FAIL("type %u without a body: %s", types[i], strerror(error));
	}
}

TEST(requests_without_a_body_are_refused_with_one)
{
	static const uint16_t types[] = {NETMAP_REQ_VALE_DELIF, NETMAP_REQ_SYNC_KLOOP_STOP, NETMAP_REQ_CSB_ENABLE};
	uint64_t body[16] = {0};
	size_t i;

	for (i = 0; i < sizeof(types) / sizeof(*types); i++) {
		int error = request(types[i], pipe_name(), body);

		if (error != EINVAL)
			FAIL("type %u with a body: %s", types[i], strerror(error));
	}
}

/* 0 and 16 are no types. */
TEST(unknown_types_are_refused)
{
	uint64_t body[16] = {0};

	SAME(request(0, pipe_name(), body), EINVAL);
	SAME(request(NETMAP_REQ_CSB_ENABLE + 1, pipe_name(), body), EINVAL);
	SAME(request(UINT16_MAX, pipe_name(), body), EINVAL);
}

TEST(a_header_that_leads_nowhere_is_a_fault)
{
	int fd = device();

	FAILS(ioctl(fd, NIOCCTRL, (void *)16), EFAULT);
	FAILS(ioctl(fd, NIOCCTRL, NULL), EFAULT);
}

TEST(a_body_that_leads_nowhere_is_a_fault)
{
	SAME(request(NETMAP_REQ_REGISTER, pipe_name(), (void *)16), EFAULT);
	SAME(request(NETMAP_REQ_PORT_INFO_GET, pipe_name(), (void *)16), EFAULT);
}

/* The version that came is not touched when a request fails. */
TEST(a_failed_request_leaves_the_descriptor_unbound)
{
	struct port p;

	prepare(&p, NR_REG_ALL_NIC, 0, 0);
	SAME(try_bind(&p, "cfnosuch0"), ENXIO);
	FAILS(ioctl(p.fd, NIOCTXSYNC, NULL), ENXIO);
	SAME(try_bind(&p, pipe_name()), 0);
	sync_tx(&p);
}

TEST(unbound_txsync_says_no_such_device)
{
	int fd = device();

	FAILS(ioctl(fd, NIOCTXSYNC, NULL), ENXIO);
}

TEST(unbound_rxsync_says_no_such_device)
{
	int fd = device();

	FAILS(ioctl(fd, NIOCRXSYNC, NULL), ENXIO);
}

/* A descriptor asks about ports and stays free to be bound. */
TEST(questions_do_not_bind)
{
	struct nmreq_port_info_get info;
	struct port p;

	prepare(&p, NR_REG_ALL_NIC, 0, 0);
	p.fd = device();
	memset(&info, 0, sizeof(info));
	fill_header(&p.header, NETMAP_REQ_PORT_INFO_GET, "", &info);
	WORKS(ioctl(p.fd, NIOCCTRL, &p.header));
	FAILS(ioctl(p.fd, NIOCRXSYNC, NULL), ENXIO);
	SAME(try_bind(&p, pipe_name()), 0);
}

TEST(the_device_is_opened_many_times)
{
	int fds[64];
	size_t i;

	for (i = 0; i < 64; i++)
		fds[i] = device();
	for (i = 0; i < 64; i++)
		WORKS(close(fds[i]));
	FAILS(ioctl(fds[0], NIOCTXSYNC, NULL), EBADF);
}

TEST(close_on_exec_is_as_asked)
{
	int plain = open("/dev/netmap", O_RDWR), closing = open("/dev/netmap", O_RDWR | O_CLOEXEC);

	CHECK(plain >= 0 && closing >= 0);
	SAME(fcntl(plain, F_GETFD) & FD_CLOEXEC, 0);
	SAME(fcntl(closing, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
}

TEST(openat_opens_the_device)
{
	int fd = openat(AT_FDCWD, "/dev/netmap", O_RDWR);

	WORKS(fd);
	FAILS(ioctl(fd, NIOCTXSYNC, NULL), ENXIO);
}

/* netmap's polling, its loop in the kernel, and cursors outside the region are not served here, and say so. */
static void refused_as_unsupported(uint16_t type, void *body)
{
	struct port p;

	open_port(&p, pipe_name());
	fill_header(&p.header, type, pipe_name(), body);
	FAILS(ioctl(p.fd, NIOCCTRL, &p.header), EOPNOTSUPP);
	sync_tx(&p);
}

TEST(kloop_start_is_not_supported)
{
	struct nmreq_sync_kloop_start body = {0, 0};

	refused_as_unsupported(NETMAP_REQ_SYNC_KLOOP_START, &body);
}

TEST(kloop_stop_is_not_supported) { refused_as_unsupported(NETMAP_REQ_SYNC_KLOOP_STOP, NULL); }

TEST(csb_is_not_supported) { refused_as_unsupported(NETMAP_REQ_CSB_ENABLE, NULL); }

TEST(polling_is_not_supported)
{
	struct nmreq_vale_polling body = {NETMAP_POLLING_MODE_SINGLE_CPU, 0, 1, 0};

	SAME(request(NETMAP_REQ_VALE_POLLING_ENABLE, switch_name("p"), &body), EOPNOTSUPP);
	SAME(request(NETMAP_REQ_VALE_POLLING_DISABLE, switch_name("p"), &body), EOPNOTSUPP);
}
