/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Ports by name for programs that were written for libnetmap: nmport_open and the steps that it is made of. Everything is inline; there
 * is no library to link. Options of names are @REGION and @conf:KEY=NUMBER,...; others fail with EOPNOTSUPP.
 *
 *     struct nmport_d *d = nmport_open("netmap:eth0");
 *     struct netmap_ring *ring = NETMAP_RXRING(d->nifp, d->first_rx_ring);
 */
#ifndef RINGWAY_LIBNETMAP_H
#define RINGWAY_LIBNETMAP_H

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <net/netmap.h>
#include <net/netmap_user.h>
#include <net/ringway_nm_conf.h>
#include <net/ringway_nm_parse.h>
#include <net/ringway_nm_put.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A mapped region. All ports of the same region that one source file opens have the same. */
struct nmem_d {
	uint16_t mem_id;
	int refcount;
	void *mem;
	size_t size;
	struct nmem_d *next;
	struct nmem_d **list;
};

struct nmport_d {
	struct nmreq_header hdr;
	struct nmreq_register reg;
	struct nmem_d *mem;
	int register_done;
	int mmap_done;
	int fd;
	struct netmap_if *nifp;
	uint16_t first_tx_ring, last_tx_ring, cur_tx_ring;
	uint16_t first_rx_ring, last_rx_ring, cur_rx_ring;
};

/* ---- Steps: make, parse, register, map, and each undone ---- */

static inline struct nmport_d *nmport_new(void)
{
	struct nmport_d *d = (struct nmport_d *)calloc(1, sizeof(*d));

	if (d == NULL)
		return NULL;
	d->hdr.nr_version = NETMAP_API;
	d->hdr.nr_reqtype = NETMAP_REQ_REGISTER;
	d->hdr.nr_body = (uint64_t)(uintptr_t)&d->reg;
	d->reg.nr_mode = NR_REG_ALL_NIC;
	d->fd = -1;
	return d;
}

static inline void nmport_delete(struct nmport_d *d)
{
	free(d);
}

/* Fills the request from "netmap:eth0-3/x@2". 0, or -1 with errno. */
static inline int nmport_parse(struct nmport_d *d, const char *portspec)
{
	struct rw_nm_name name;
	const char *reason;
	size_t bytes;

	if (rw_nm_parse(portspec, &name, &reason) != 0)
		return -1;
	bytes = name.bytes + (name.pipe ? 1 + name.id_bytes : 0);
	if (bytes >= sizeof(d->hdr.nr_name)) {
		errno = EINVAL;
		return -1;
	}
	memset(d->hdr.nr_name, 0, sizeof(d->hdr.nr_name));
	memcpy(d->hdr.nr_name, name.port, bytes);
	d->reg.nr_mode = name.mode;
	d->reg.nr_ringid = name.ring;
	d->reg.nr_flags = name.flags;
	d->reg.nr_mem_id = name.mem_id;
	if (*name.options == '\0')
		return 0;
	errno = strncmp(name.options, "@conf:", 6) == 0 ? EINVAL : EOPNOTSUPP;
	return errno == EINVAL ? rw_nm_conf(&d->reg, name.options + 6) : -1;
}

static inline void nmport_undo_parse(struct nmport_d *d)
{
	memset(d->hdr.nr_name, 0, sizeof(d->hdr.nr_name));
	memset(&d->reg, 0, sizeof(d->reg));
	d->reg.nr_mode = NR_REG_ALL_NIC;
}

static inline void nmport_undo_register(struct nmport_d *d)
{
	if (d->fd >= 0)
		close(d->fd);
	d->fd = -1;
	d->register_done = 0;
}

/* Opens /dev/netmap and binds it. 0, or -1 with errno. */
static inline int nmport_register(struct nmport_d *d)
{
	int error;

	if (d->register_done) {
		errno = EINVAL;
		return -1;
	}
	if (d->fd < 0 && (d->fd = open("/dev/netmap", O_RDWR)) < 0)
		return -1;
	if (ioctl(d->fd, NIOCCTRL, &d->hdr) != 0) {
		error = errno;
		nmport_undo_register(d);
		errno = error;
		return -1;
	}
	d->register_done = 1;
	return 0;
}

/* The mapping of a region: the one that there is, or a new one. NULL with errno. */
static inline struct nmem_d *rw_nmport_region(const struct nmport_d *d)
{
	static struct nmem_d *regions;
	struct nmem_d *m;

	for (m = regions; m != NULL; m = m->next)
		if (m->mem_id == d->reg.nr_mem_id) {
			m->refcount++;
			return m;
		}
	m = (struct nmem_d *)calloc(1, sizeof(*m));
	if (m == NULL)
		return NULL;
	m->mem = mmap(NULL, d->reg.nr_memsize, PROT_READ | PROT_WRITE, MAP_SHARED, d->fd, 0);
	if (m->mem == MAP_FAILED) {
		free(m);
		return NULL;
	}
	m->size = d->reg.nr_memsize;
	m->mem_id = d->reg.nr_mem_id;
	m->refcount = 1;
	m->next = regions;
	m->list = &regions;
	regions = m;
	return m;
}

/* The first and last entry that is not zero of `count` entries of the table of rings. */
static inline void rw_nmport_range(const struct netmap_if *nifp, uint32_t from, uint32_t count, uint16_t *first, uint16_t *last)
{
	uint32_t i = 0;

	while (i < count && nifp->ring_ofs[from + i] == 0)
		i++;
	*first = (uint16_t)i;
	while (i < count && nifp->ring_ofs[from + i] != 0)
		i++;
	*last = (uint16_t)(i - 1);
}

/* Maps the region, or takes the mapping that another port has of it. 0, or -1 with errno. */
static inline int nmport_mmap(struct nmport_d *d)
{
	uint32_t txs;

	if (d->mmap_done || !d->register_done) {
		errno = EINVAL;
		return -1;
	}
	d->mem = rw_nmport_region(d);
	if (d->mem == NULL)
		return -1;
	d->nifp = NETMAP_IF(d->mem->mem, d->reg.nr_offset);
	txs = d->nifp->ni_tx_rings + d->nifp->ni_host_tx_rings;
	rw_nmport_range(d->nifp, 0, txs, &d->first_tx_ring, &d->last_tx_ring);
	rw_nmport_range(d->nifp, txs, d->nifp->ni_rx_rings + d->nifp->ni_host_rx_rings, &d->first_rx_ring, &d->last_rx_ring);
	d->cur_tx_ring = d->first_tx_ring;
	d->cur_rx_ring = d->first_rx_ring;
	d->mmap_done = 1;
	return 0;
}

static inline void nmport_undo_mmap(struct nmport_d *d)
{
	struct nmem_d *m = d->mem, **place;

	if (m == NULL || !d->mmap_done)
		return;
	d->mem = NULL;
	d->nifp = NULL;
	d->mmap_done = 0;
	if (--m->refcount > 0)
		return;
	for (place = m->list; *place != m; place = &(*place)->next)
		;
	*place = m->next;
	munmap(m->mem, m->size);
	free(m);
}

/* ---- All steps at once ---- */

/* A port that is parsed and not yet bound: the program may change d->reg. NULL with errno. */
static inline struct nmport_d *nmport_prepare(const char *portspec)
{
	struct nmport_d *d = nmport_new();
	int error;

	if (d != NULL && nmport_parse(d, portspec) != 0) {
		error = errno;
		nmport_delete(d);
		errno = error;
		return NULL;
	}
	return d;
}

static inline void nmport_undo_prepare(struct nmport_d *d)
{
	nmport_undo_parse(d);
	nmport_delete(d);
}

/* Binds and maps a prepared port. 0, or -1 with errno. */
static inline int nmport_open_desc(struct nmport_d *d)
{
	int error;

	if (nmport_register(d) != 0)
		return -1;
	if (nmport_mmap(d) == 0)
		return 0;
	error = errno;
	nmport_undo_register(d);
	errno = error;
	return -1;
}

static inline void nmport_undo_open_desc(struct nmport_d *d)
{
	nmport_undo_mmap(d);
	nmport_undo_register(d);
}

static inline void nmport_close(struct nmport_d *d)
{
	nmport_undo_open_desc(d);
	nmport_undo_prepare(d);
}

/* Opens a port by name. NULL with errno. */
static inline struct nmport_d *nmport_open(const char *portspec)
{
	struct nmport_d *d = nmport_prepare(portspec);
	int error;

	if (d != NULL && nmport_open_desc(d) != 0) {
		error = errno;
		nmport_close(d);
		errno = error;
		return NULL;
	}
	return d;
}

/* A prepared port like another one, bound or not. NULL with errno. */
static inline struct nmport_d *nmport_clone(const struct nmport_d *from)
{
	struct nmport_d *d = nmport_new();

	if (d == NULL)
		return NULL;
	memcpy(d->hdr.nr_name, from->hdr.nr_name, sizeof(d->hdr.nr_name));
	d->reg = from->reg;
	return d;
}

/* Copies a frame to a tx ring with room; the next sync sends it. Its size, or 0 if no ring has room. */
static inline int nmport_inject(struct nmport_d *d, const void *buf, size_t size)
{
	uint32_t rings = (uint32_t)d->last_tx_ring - d->first_tx_ring + 1, i;

	for (i = 0; i < rings; i++) {
		if (rw_nm_put(NETMAP_TXRING(d->nifp, d->cur_tx_ring), buf, size))
			return (int)size;
		d->cur_tx_ring = d->cur_tx_ring == d->last_tx_ring ? d->first_tx_ring : (uint16_t)(d->cur_tx_ring + 1);
	}
	return 0;
}

#ifdef __cplusplus
}
#endif

#endif
