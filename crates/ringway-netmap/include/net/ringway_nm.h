/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A descriptor of a port, and functions in the manner of libpcap that open, read and write it: what net/netmap_user.h has with
 * NETMAP_WITH_LIBS. Include that file, not this one. */
#ifndef RINGWAY_NET_NM_H
#define RINGWAY_NET_NM_H

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>
#include <net/netmap_user.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A line on stderr, with the time and the place; RD at most `lps` lines a second; ND none. */
#ifndef D
#define D(...)                                                                                       \
	do {                                                                                         \
		struct timeval d_now_;                                                               \
		gettimeofday(&d_now_, NULL);                                                         \
		fprintf(stderr, "%03d.%06d %s [%d] ", (int)(d_now_.tv_sec % 1000), (int)d_now_.tv_usec, \
			__func__, __LINE__);                                                         \
		fprintf(stderr, __VA_ARGS__);                                                        \
		fputc('\n', stderr);                                                                 \
	} while (0)
#endif
#ifndef RD
#define RD(lps, ...)                                  \
	do {                                          \
		static long rd_second_;               \
		static int rd_lines_;                 \
		struct timeval rd_now_;               \
		gettimeofday(&rd_now_, NULL);         \
		if (rd_second_ != rd_now_.tv_sec) {   \
			rd_second_ = rd_now_.tv_sec;  \
			rd_lines_ = 0;                \
		}                                     \
		if (rd_lines_++ < (lps))              \
			D(__VA_ARGS__);               \
	} while (0)
#endif
#ifndef ND
#define ND(...) do {} while (0)
#endif

struct nm_desc;

/* What is said of a received frame. */
struct nm_pkthdr {
	struct timeval ts;
	uint32_t caplen;
	uint32_t len;
	uint64_t flags; /* NM_MORE_PKTS */
	struct nm_desc *d;
	struct netmap_slot *slot;
	uint8_t *buf;
};

#define NM_MORE_PKTS 1 /* more frames follow at once */

struct nm_stat {
	unsigned int ps_recv;
	unsigned int ps_drop;
	unsigned int ps_ifdrop;
};

#define NM_ERRBUF_SIZE 512
#define MAXERRMSG 160

/* An open port. */
struct nm_desc {
	struct nm_desc *self; /* points to itself: by this a pointer is recognised */
	int fd;
	void *mem; /* the region */
	uint64_t memsize;
	int done_mmap; /* the region was mapped for this descriptor */
	struct netmap_if *nifp;
	uint16_t first_tx_ring, last_tx_ring, cur_tx_ring;
	uint16_t first_rx_ring, last_rx_ring, cur_rx_ring;
	struct nmreq req; /* as it came back */
	struct nm_pkthdr hdr;

	/* A ring of the port, and where buffers begin and end. */
	struct netmap_ring *some_ring;
	void *buf_start;
	void *buf_end;

	/* Room for what pcap_* functions set. */
	int snaplen;
	int promisc;
	int to_ms;
	char *errbuf;
	uint32_t if_flags;
	uint32_t if_reqcap;
	uint32_t if_curcap;

	struct nm_stat st;
	char msg[NM_ERRBUF_SIZE];
};

#define P2NMD(p) ((struct nm_desc *)(p))
#define IS_NETMAP_DESC(p) ((p) != NULL && P2NMD(p)->self == P2NMD(p))
#define NETMAP_FD(p) (P2NMD(p)->fd)

/* For nm_open, beside NETMAP_NO_TX_POLL and NETMAP_DO_RX_POLL. */
enum {
	NM_OPEN_NO_MMAP = 0x040000,  /* the region of `arg` is the same and mapped */
	NM_OPEN_IFNAME = 0x080000,   /* take from `arg`: name, ringid and flags */
	NM_OPEN_ARG1 = 0x100000,     /* nr_arg1 */
	NM_OPEN_ARG2 = 0x200000,     /* nr_arg2, the region */
	NM_OPEN_ARG3 = 0x400000,     /* nr_arg3, extra buffers */
	NM_OPEN_RING_CFG = 0x800000, /* numbers of rings and slots */
};

typedef void (*nm_cb_t)(unsigned char *, const struct nm_pkthdr *, const unsigned char *);

/* Copies a frame in whole words of 8 bytes where it is short, so up to 7 bytes more than `bytes`. Buffers have room for that. */
static inline void nm_pkt_copy(const void *from, void *to, int bytes)
{
	const char *source = (const char *)from;
	char *target = (char *)to;

	if (unlikely(bytes >= 1024)) {
		memcpy(to, from, (size_t)bytes);
		return;
	}
	for (; bytes > 0; bytes -= 8, source += 8, target += 8)
		memcpy(target, source, 8);
}

#ifdef __cplusplus
}
#endif

#include <net/ringway_nm_open.h>
#include <net/ringway_nm_packets.h>

#endif
