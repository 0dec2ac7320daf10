/* Requests that no program means:  fuzz IF SEED COUNT
 *
 * COUNT ioctls with random numbers, headers, bodies, lists of options and pointers, on a few descriptors that are opened and closed in
 * between. Each works or fails with an errno that netmap has. Pointers lead to memory of this program that may be written, to memory
 * that may only be read or not at all, to its very end, and nowhere. */
#include <stdbool.h>

#include "bind.h"

enum { DESCRIPTORS = 12, ARENA = 65536, OPTION_MOST = 6, GOOD = 64 };

static const int allowed[] = {EINVAL, EFAULT, ENXIO, EBUSY, EOPNOTSUPP, EMSGSIZE, ENOMEM, EIO, ENOENT, EEXIST, ENODEV, ENOTTY, ENOSPC,
			      EPERM, EACCES, EAGAIN};

static uint64_t state;
static char *arena;     /* may be written, and ends where nothing is */
static char *read_only; /* as long */
static const char *interface;

static uint64_t below(uint64_t limit)
{
	return dice(&state) % limit;
}

static bool once_in(uint64_t n)
{
	return below(n) == 0;
}

static void make_memory(void)
{
	arena = mmap(NULL, 2 * ARENA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	read_only = mmap(NULL, 2 * ARENA, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (arena == MAP_FAILED || read_only == MAP_FAILED || mprotect(arena + ARENA, ARENA, PROT_NONE))
		FAIL("mmap: %s", strerror(errno));
}

/* An address where so many bytes may be, with luck. */
static uint64_t pointer(uint64_t size)
{
	static const uint64_t nowhere[] = {0, 1, 4096, 0xffffffffffffffff, 0xffffffff81000000, 0x8000000000000000, 0x7fffffffffff};

	switch (below(16)) {
	case 0:
		return nowhere[below(sizeof nowhere / sizeof *nowhere)];
	case 1: /* across the end */
		return (uintptr_t)arena + ARENA - below(size + 1);
	case 2:
		return (uintptr_t)read_only + below(ARENA);
	case 3:
		return (uintptr_t)arena + ARENA + below(ARENA);
	case 4: /* not aligned */
		return (uintptr_t)arena + below(ARENA - size);
	default:
		return ((uintptr_t)arena + below(ARENA - size)) & ~7ull;
	}
}

static bool in_arena(uint64_t at, uint64_t size)
{
	return at >= (uintptr_t)arena && at - (uintptr_t)arena <= ARENA - size;
}

/* Numbers that mean something, and others. */
static uint64_t number(void)
{
	static const uint64_t edges[] = {0, 1, 2, 3, 7, 8, 14, 15, 255, 256, 1024, 4095, 4096, 4097, 65535, 65536, 1u << 31, 0xffffffff};

	return once_in(3) ? dice(&state) : edges[below(sizeof edges / sizeof *edges)];
}

static void random_bytes(char *to, size_t size)
{
	for (size_t i = 0; i < size; i++)
		to[i] = (char)dice(&state);
}

/* Few names are good ones: a bind takes milliseconds. */
static void name_into(char *to, size_t size)
{
	static const char *const odd[] = {"", "{", "}1", "{1", "nothere", "vale", "vale:", "valex:y:z", "vale0", "lo:", "a b", "../x", "vale0:../x"};
	char name[128] = "";

	if (once_in(GOOD))
		snprintf(name, sizeof name, "%s%s", interface, once_in(2) ? "" : once_in(2) ? "{1" : "}1");
	else if (once_in(3))
		random_bytes(name, sizeof name);
	else if (once_in(2))
		memset(name, '/', sizeof name); /* no end */
	else
		snprintf(name, sizeof name, "%s", odd[below(sizeof odd / sizeof *odd)]);
	memcpy(to, name, size);
}

/* A list of options: of known and unknown kinds, some of them twice, with an end, without one, or round. */
static uint64_t options(void)
{
	uint64_t first = 0, next = 0;

	for (uint64_t left = below(OPTION_MOST); left; left--) {
		uint64_t at = pointer(128);
		if (in_arena(at, 128)) {
			struct nmreq_option option = {.nro_next = next, .nro_reqtype = (uint32_t)(once_in(4) ? number() : below(7))};
			option.nro_size = once_in(2) ? 0 : number();
			random_bytes((char *)at, 128);
			memcpy((char *)at, &option, sizeof option);
			if (once_in(8))
				memcpy((char *)at, once_in(2) ? &at : &first, sizeof at);
		}
		first = first ? first : at;
		next = at;
	}
	return next;
}

static void fill_register(struct nmreq_register *reg)
{
	reg->nr_mode = (uint32_t)(once_in(4) ? number() : below(10));
	reg->nr_ringid = (uint16_t)(once_in(2) ? 0 : number());
	reg->nr_flags = once_in(4) ? number() : once_in(2) ? 0 : 0x100ull << below(12);
	reg->nr_mem_id = (uint16_t)(once_in(2) ? 0 : number());
	reg->nr_tx_slots = (uint32_t)(once_in(2) ? 0 : number());
	reg->nr_extra_bufs = (uint32_t)(once_in(2) ? 0 : below(100));
}

static uint64_t body(void)
{
	struct nmreq_register reg = {0};
	uint64_t at = pointer(sizeof(struct nmreq_vale_attach));

	if (in_arena(at, sizeof(struct nmreq_vale_attach))) {
		random_bytes((char *)at, sizeof(struct nmreq_vale_attach));
		fill_register(&reg);
		if (!once_in(4))
			memcpy((char *)at, &reg, sizeof reg);
	}
	return at;
}

static uint64_t header(void)
{
	struct nmreq_header h = {.nr_version = (uint16_t)(once_in(8) ? number() : NETMAP_API)};
	uint64_t at = pointer(sizeof h);

	h.nr_reqtype = (uint16_t)(once_in(8) ? number() : below(17));
	h.nr_reserved = (uint32_t)(once_in(16) ? number() : 0);
	h.nr_body = once_in(8) ? 0 : body();
	h.nr_options = once_in(2) ? 0 : options();
	name_into(h.nr_name, sizeof h.nr_name);
	if (in_arena(at, sizeof h))
		memcpy((char *)at, &h, sizeof h);
	return at;
}

static uint64_t older(void)
{
	struct nmreq r;
	uint64_t at = pointer(sizeof r);

	random_bytes((char *)&r, sizeof r);
	name_into(r.nr_name, sizeof r.nr_name);
	r.nr_version = once_in(8) ? (uint32_t)number() : NETMAP_API;
	r.nr_cmd = (uint16_t)(once_in(8) ? number() : once_in(2) ? 0 : below(14));
	r.nr_flags = (uint32_t)(once_in(4) ? number() : below(10));
	r.nr_ringid = (uint16_t)(once_in(2) ? 0 : number());
	r.nr_arg2 = (uint16_t)(once_in(2) ? 0 : number());
	r.nr_arg3 = (uint32_t)below(100);
	if (in_arena(at, sizeof r))
		memcpy((char *)at, &r, sizeof r);
	return at;
}

/* One ioctl of any kind. */
static int request(int fd)
{
	switch (below(16)) {
	case 0:
		return ioctl(fd, NIOCTXSYNC, once_in(2) ? 0 : dice(&state));
	case 1:
		return ioctl(fd, NIOCRXSYNC, once_in(2) ? 0 : dice(&state));
	case 2:
		return ioctl(fd, NIOCREGIF, older());
	case 3:
		return ioctl(fd, NIOCGINFO, older());
	case 4:
		return ioctl(fd, NIOCCONFIG, pointer(sizeof(struct nm_ifreq)));
	case 5: /* a number of the same family that is none */
		return ioctl(fd, (unsigned long)(uint32_t)dice(&state) << 16 | 'i' << 8 | below(256), pointer(256));
	default:
		return ioctl(fd, NIOCCTRL, header());
	}
}

static void check(int result, uint64_t done)
{
	if (result >= 0)
		return;
	for (size_t i = 0; i < sizeof allowed / sizeof *allowed; i++)
		if (errno == allowed[i])
			return;
	FAIL("ioctl %llu fails with %d, %s", (unsigned long long)done, errno, strerror(errno));
}

int main(int count, char **words)
{
	uint64_t worked = 0, most;
	int fds[DESCRIPTORS];

	if (count != 4)
		FAIL("usage: fuzz IF SEED COUNT");
	begin();
	interface = words[1];
	state = strtoull(words[2], NULL, 10) * 2 + 1;
	most = strtoull(words[3], NULL, 10);
	make_memory();
	for (int i = 0; i < DESCRIPTORS; i++)
		fds[i] = -1;
	for (uint64_t done = 0; done < most && !stopping; done++) {
		int *fd = &fds[below(DESCRIPTORS)];
		if (*fd >= 0 && once_in(64)) {
			close(*fd);
			*fd = -1;
		}
		if (*fd < 0 && (*fd = open("/dev/netmap", O_RDWR)) < 0)
			FAIL("/dev/netmap: %s", strerror(errno));
		int result = request(*fd);
		check(result, done);
		worked += result >= 0;
		if (asked)
			asked = 0, printf("at %llu\n", (unsigned long long)done);
	}
	for (int i = 0; i < DESCRIPTORS; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	printf("worked %llu\n", (unsigned long long)worked);
	return 0;
}
