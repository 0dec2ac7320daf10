/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* nm_open, nm_mmap, nm_close. Part of net/netmap_user.h. */
#ifndef RINGWAY_NET_NM_OPEN_H
#define RINGWAY_NET_NM_OPEN_H

#include <net/ringway_nm.h>
#include <net/ringway_nm_parse.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Writes name, ring, flags and region of "netmap:eth0-3/x@2" to d->req. 0, or -1 with errno and a text in `err` (MAXERRMSG bytes). */
static inline int nm_parse(const char *ifname, struct nm_desc *d, char *err)
{
	struct rw_nm_name name;
	const char *reason = "";
	char *end = NULL;
	unsigned long number;
	int bytes;

	if (rw_nm_parse(ifname, &name, &reason) != 0) {
		snprintf(err, MAXERRMSG, "invalid port name %s: %s", ifname, reason);
		return -1;
	}
	if (*name.options != '\0') {
		snprintf(err, MAXERRMSG, "invalid port name %s: requests of this form have no options", ifname);
		errno = EINVAL;
		return -1;
	}
	memset(d->req.nr_name, 0, sizeof(d->req.nr_name));
	d->req.nr_flags = name.mode | (uint32_t)name.flags;
	d->req.nr_ringid = name.ring;
	if (name.mem_id != 0)
		d->req.nr_arg2 = name.mem_id;
	/* A pipe with a number goes into ringid; with another name it is part of the port's. */
	if (name.pipe)
		number = strtoul(name.id, &end, 10);
	if (name.pipe && end == name.id + name.id_bytes && number <= NETMAP_RING_MASK && name.mode == NR_REG_ALL_NIC) {
		d->req.nr_flags = (name.pipe == '{' ? NR_REG_PIPE_MASTER : NR_REG_PIPE_SLAVE) | (uint32_t)name.flags;
		d->req.nr_ringid = (uint16_t)number;
	} else if (name.pipe) {
		name.bytes += 1 + name.id_bytes;
	}
	bytes = snprintf(d->req.nr_name, sizeof(d->req.nr_name), "%.*s", (int)name.bytes, name.port);
	if (bytes >= (int)sizeof(d->req.nr_name) || bytes == 0) {
		snprintf(err, MAXERRMSG, "invalid port name %s: its length", ifname);
		errno = EINVAL;
		return -1;
	}
	return 0;
}

/* Which rings the descriptor has, from the mode. */
static inline void rw_nm_find_rings(struct nm_desc *d)
{
	struct netmap_if *nifp = d->nifp;
	uint32_t mode = d->req.nr_flags & NR_REG_MASK, ring = d->req.nr_ringid & NETMAP_RING_MASK;
	uint32_t tx = nifp->ni_tx_rings, rx = nifp->ni_rx_rings;
	uint32_t first_tx = 0, first_rx = 0, txs = tx, rxs = rx;

	if (mode == NR_REG_ONE_NIC) {
		first_tx = first_rx = ring;
		txs = rxs = 1;
	} else if (mode == NR_REG_SW) {
		first_tx = tx;
		first_rx = rx;
		txs = nifp->ni_host_tx_rings;
		rxs = nifp->ni_host_rx_rings;
	} else if (mode == NR_REG_ONE_SW) {
		first_tx = tx + ring;
		first_rx = rx + ring;
		txs = rxs = 1;
	} else if (mode == NR_REG_NIC_SW) {
		txs += nifp->ni_host_tx_rings;
		rxs += nifp->ni_host_rx_rings;
	}
	d->first_tx_ring = d->cur_tx_ring = (uint16_t)first_tx;
	d->first_rx_ring = d->cur_rx_ring = (uint16_t)first_rx;
	d->last_tx_ring = (uint16_t)(first_tx + (txs ? txs - 1 : 0));
	d->last_rx_ring = (uint16_t)(first_rx + (rxs ? rxs - 1 : 0));
}

/* A ring that the descriptor has, or NULL. */
static inline struct netmap_ring *rw_nm_some_ring(struct netmap_if *nifp)
{
	uint32_t rings = nifp->ni_tx_rings + nifp->ni_host_tx_rings + nifp->ni_rx_rings + nifp->ni_host_rx_rings, i;

	for (i = 0; i < rings; i++)
		if (nifp->ring_ofs[i] != 0)
			return _NETMAP_OFFSET(struct netmap_ring *, nifp, nifp->ring_ofs[i]);
	return NULL;
}

/* Maps the region, or takes that of `parent` if it is the same. 0, or EINVAL or ENOMEM. */
static inline int nm_mmap(struct nm_desc *d, const struct nm_desc *parent)
{
	if (d->done_mmap)
		return 0;
	if (IS_NETMAP_DESC(parent) && parent->mem != NULL && parent->req.nr_arg2 == d->req.nr_arg2) {
		d->mem = parent->mem;
		d->memsize = parent->memsize;
	} else {
		void *mem = mmap(NULL, d->req.nr_memsize, PROT_READ | PROT_WRITE, MAP_SHARED, d->fd, 0);
		if (mem == MAP_FAILED)
			return ENOMEM;
		d->mem = mem;
		d->memsize = d->req.nr_memsize;
		d->done_mmap = 1;
	}
	d->nifp = NETMAP_IF(d->mem, d->req.nr_offset);
	rw_nm_find_rings(d);
	d->some_ring = rw_nm_some_ring(d->nifp);
	if (d->some_ring != NULL)
		d->buf_start = NETMAP_BUF(d->some_ring, 0);
	d->buf_end = (char *)d->mem + d->memsize;
	return 0;
}

/* Closes the port and frees the descriptor. 0, or EINVAL for what is none. */
static inline int nm_close(struct nm_desc *d)
{
	if (!IS_NETMAP_DESC(d))
		return EINVAL;
	if (d->done_mmap)
		munmap(d->mem, d->memsize);
	if (d->fd != -1)
		close(d->fd);
	memset(d, 0, sizeof(*d));
	free(d);
	return 0;
}

/* The request: `req` first, the name over it, then what `flags` takes from `arg`. */
static inline int rw_nm_request(struct nm_desc *d, const char *ifname, const struct nmreq *req, uint64_t flags,
				const struct nm_desc *arg, char *err)
{
	int from_arg = IS_NETMAP_DESC(arg);

	if (req != NULL)
		d->req = *req;
	if ((flags & NM_OPEN_IFNAME) && from_arg) {
		memcpy(d->req.nr_name, arg->req.nr_name, sizeof(d->req.nr_name));
		d->req.nr_ringid = arg->req.nr_ringid & NETMAP_RING_MASK;
		d->req.nr_flags = arg->req.nr_flags;
	} else if (nm_parse(ifname, d, err) != 0) {
		return -1;
	}
	d->req.nr_version = NETMAP_API;
	d->req.nr_ringid |= flags & (NETMAP_NO_TX_POLL | NETMAP_DO_RX_POLL);
	if (!from_arg)
		return 0;
	if (flags & NM_OPEN_ARG1)
		d->req.nr_arg1 = arg->req.nr_arg1;
	if (flags & (NM_OPEN_ARG2 | NM_OPEN_NO_MMAP))
		d->req.nr_arg2 = arg->req.nr_arg2;
	if (flags & NM_OPEN_ARG3)
		d->req.nr_arg3 = arg->req.nr_arg3;
	if (flags & NM_OPEN_RING_CFG) {
		d->req.nr_tx_slots = arg->req.nr_tx_slots;
		d->req.nr_rx_slots = arg->req.nr_rx_slots;
		d->req.nr_tx_rings = arg->req.nr_tx_rings;
		d->req.nr_rx_rings = arg->req.nr_rx_rings;
	}
	return 0;
}

/* Opens a port, as pcap_open_live does. `req` has first values of the request, or is NULL. `flags` are NM_OPEN_*, NETMAP_NO_TX_POLL
 * and NETMAP_DO_RX_POLL. `arg` is an open port from which the flags take something, or NULL. NULL with errno, and a line on stderr,
 * if it fails. */
static inline struct nm_desc *nm_open(const char *ifname, const struct nmreq *req, uint64_t flags, const struct nm_desc *arg)
{
	char err[MAXERRMSG] = "";
	struct nm_desc *d = (struct nm_desc *)calloc(1, sizeof(*d));
	int error;

	if (d == NULL)
		return NULL;
	d->self = d;
	d->fd = -1;
	if (rw_nm_request(d, ifname, req, flags, arg, err) != 0) {
		error = errno;
	} else if ((d->fd = open("/dev/netmap", O_RDWR)) < 0) {
		error = errno;
		snprintf(err, sizeof(err), "cannot open /dev/netmap: %s", strerror(error));
	} else if (ioctl(d->fd, NIOCREGIF, &d->req) != 0) {
		error = errno;
		snprintf(err, sizeof(err), "cannot bind %.*s: %s", IFNAMSIZ, d->req.nr_name, strerror(error));
	} else if ((error = (flags & NM_OPEN_NO_MMAP) && !IS_NETMAP_DESC(arg) ? 0 : nm_mmap(d, arg)) != 0) {
		snprintf(err, sizeof(err), "cannot map %.*s: %s", IFNAMSIZ, d->req.nr_name, strerror(errno));
	} else {
		return d;
	}
	D("%s", err);
	nm_close(d);
	errno = error;
	return NULL;
}

#ifdef __cplusplus
}
#endif

#endif
