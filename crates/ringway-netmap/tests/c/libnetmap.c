/* What libnetmap.h does with names, without a /dev/netmap. */
#include <libnetmap.h>
#include <libnetmap.h>
#define NETMAP_WITH_LIBS
#include <net/netmap_user.h>

#define CHECK(what)                                                                \
	do {                                                                       \
		if (!(what)) {                                                     \
			fprintf(stderr, "%d: not so: %s\n", __LINE__, #what);      \
			exit(1);                                                   \
		}                                                                  \
	} while (0)

static void check_refused(const char *name, int error)
{
	errno = 0;
	CHECK(nmport_prepare(name) == NULL);
	CHECK(errno == error);
}

static void check_names(void)
{
	struct nmport_d *d = nmport_prepare("netmap:eth0-3/xR@2"), *copy;

	CHECK(d != NULL && strcmp(d->hdr.nr_name, "eth0") == 0 && d->reg.nr_mode == NR_REG_ONE_NIC && d->reg.nr_ringid == 3);
	CHECK(d->reg.nr_flags == (NR_EXCLUSIVE | NR_RX_RINGS_ONLY) && d->reg.nr_mem_id == 2);
	copy = nmport_clone(d);
	CHECK(copy != NULL && strcmp(copy->hdr.nr_name, "eth0") == 0 && copy->reg.nr_flags == d->reg.nr_flags);
	CHECK(copy->hdr.nr_body == (uint64_t)(uintptr_t)&copy->reg && copy->fd == -1);
	nmport_undo_prepare(copy);
	nmport_undo_prepare(d);
	d = nmport_prepare("netmap:a-pipe{with0letters");
	CHECK(d == NULL);
	d = nmport_prepare("netmap:x{left");
	CHECK(d != NULL && strcmp(d->hdr.nr_name, "x{left") == 0 && d->reg.nr_mode == NR_REG_ALL_NIC);
	nmport_undo_prepare(d);
	d = nmport_prepare("vale0:p}7");
	CHECK(d != NULL && strcmp(d->hdr.nr_name, "vale0:p}7") == 0);
	nmport_undo_prepare(d);
}

static void check_options(void)
{
	struct nmport_d *d = nmport_prepare("netmap:eth0@conf:slots=512,tx-rings=2,rx-slots=64,host-rings=3");

	CHECK(d != NULL && d->reg.nr_tx_slots == 512 && d->reg.nr_rx_slots == 64 && d->reg.nr_tx_rings == 2);
	CHECK(d->reg.nr_rx_rings == 0 && d->reg.nr_host_tx_rings == 3 && d->reg.nr_host_rx_rings == 3);
	nmport_undo_prepare(d);
	check_refused("netmap:eth0@conf:slots", EINVAL);
	check_refused("netmap:eth0@conf:slots=", EINVAL);
	check_refused("netmap:eth0@conf:slots=1,", EINVAL);
	check_refused("netmap:eth0@conf:wings=1", EINVAL);
	check_refused("netmap:eth0@conf:rings=65536", EINVAL);
	check_refused("netmap:eth0@extmem=file", EOPNOTSUPP);
	check_refused("eth0", EINVAL);
}

int main(void)
{
	check_names();
	check_options();
	CHECK(nm_close(NULL) == EINVAL);
	puts("ok");
	return 0;
}
