/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What programs written for netmap share with the system: ioctl numbers, requests, and the layout of the memory that they map.
 * Version 14 of netmap's interface. Names, sizes and places are netmap's, so a program that was written for it compiles with this
 * file, and one that was compiled with netmap's own finds the same here.
 *
 * A program opens /dev/netmap, binds it to a port with an ioctl, and maps the port's region. All references in a region are offsets
 * or indexes. The program owns the slots [head, tail) of a ring. It fills or reads them, moves head and cur, and syncs by an ioctl or
 * by poll. */
#ifndef RINGWAY_NET_NETMAP_H
#define RINGWAY_NET_NETMAP_H

#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <net/if.h>
#include <sys/time.h>

#ifndef IFNAMSIZ /* strict standards hide it */
#define IFNAMSIZ IF_NAMESIZE
#endif

#define NETMAP_API 14 /* the version that this file describes */
#define NETMAP_MIN_API 14
#define NETMAP_MAX_API 15

#define NETMAP_REQ_IFNAMSIZ 64

/* ---- Memory ---- */

struct netmap_slot {
	uint32_t buf_idx; /* the buffer; 0 and 1 are none */
	uint16_t len;     /* bytes of the frame in this slot */
	uint16_t flags;   /* NS_* */
	uint64_t ptr;     /* with NS_INDIRECT: where the frame is */
};

#define NS_BUF_CHANGED 0x0001 /* buf_idx was exchanged */
#define NS_REPORT 0x0002      /* say soon that it was sent */
#define NS_FORWARD 0x0004     /* pass the frame on to the other side: of a NIC to the host, of the host to the NIC */
#define NS_NO_LEARN 0x0008    /* a switch does not learn the source */
#define NS_INDIRECT 0x0010    /* the frame is at ptr; for ports of a switch, sending */
#define NS_MOREFRAG 0x0020    /* the frame goes on in the next slot */
#define NS_TXMON 0x0040       /* in a monitor: the frame was sent */
/* The upper 8 bits: sending to a switch, the port that the frame goes to; receiving from one, the number of slots of the frame. */
#define NS_PORT_SHIFT 8
#define NS_PORT_MASK (0xff << NS_PORT_SHIFT)
#define NS_RFRAGS(slot) (((slot)->flags >> 8) & 0xff)

#define NETMAP_MAX_FRAGS 64 /* slots of a frame at most */

struct netmap_ring {
	/* The system writes these once. */
	const int64_t buf_ofs; /* from the ring to buffer 0 */
	const uint32_t num_slots;
	const uint32_t nr_buf_size;
	const uint16_t ringid;
	const uint16_t dir; /* 0: tx, 1: rx */

	uint32_t head; /* the program: first slot that it keeps */
	uint32_t cur;  /* the program: wake me when there is a slot behind this one */
	uint32_t tail; /* the system: first slot that is not the program's */

	uint32_t flags; /* the program: NR_* */
	struct timeval ts; /* the system: time of the last sync */

	uint64_t offset_mask;
	uint64_t buf_align;

	/* Room for the program, which nobody else writes. */
	uint8_t sem[128] __attribute__((__aligned__(128)));

	struct netmap_slot slot[0];
};

#define NR_TIMESTAMP 0x0002 /* stamp ts at each sync */
#define NR_FORWARD 0x0004   /* obey NS_FORWARD */

struct netmap_if {
	char ni_name[IFNAMSIZ];
	const uint32_t ni_version;
	const uint32_t ni_flags; /* NI_* */
	const uint32_t ni_tx_rings;
	const uint32_t ni_rx_rings;
	uint32_t ni_bufs_head; /* first extra buffer; each has the index of the next one in its first 4 bytes, 0 ends the list */
	const uint32_t ni_host_tx_rings;
	const uint32_t ni_host_rx_rings;
	uint32_t ni_spare1[3];
	/* From here to each ring: tx, host tx, rx, host rx. 0 for a ring that the descriptor is not bound to. */
	const int64_t ring_ofs[0];
};

#define NI_PRIV_MEM 0x1 /* the region is the port's alone */

/* ---- ioctl numbers ---- */

#define NIOCGINFO _IOWR('i', 145, struct nmreq)
#define NIOCREGIF _IOWR('i', 146, struct nmreq)
#define NIOCTXSYNC _IO('i', 148)
#define NIOCRXSYNC _IO('i', 149)
#define NIOCCONFIG _IOWR('i', 150, struct nm_ifreq)
#define NIOCCTRL _IOWR('i', 151, struct nmreq_header)

struct nm_ifreq {
	char nifr_name[IFNAMSIZ];
	char data[256];
};

/* ---- Requests: NIOCCTRL ---- */

struct nmreq_header {
	uint16_t nr_version;
	uint16_t nr_reqtype; /* NETMAP_REQ_* */
	uint32_t nr_reserved; /* 0 */
	char nr_name[NETMAP_REQ_IFNAMSIZ];
	uint64_t nr_options; /* address of the first option, or 0 */
	uint64_t nr_body;    /* address of the request's own structure, or 0 */
};

enum {
	NETMAP_REQ_REGISTER = 1,
	NETMAP_REQ_PORT_INFO_GET,
	NETMAP_REQ_VALE_ATTACH,
	NETMAP_REQ_VALE_DETACH,
	NETMAP_REQ_VALE_LIST,
	NETMAP_REQ_PORT_HDR_SET,
	NETMAP_REQ_PORT_HDR_GET,
	NETMAP_REQ_VALE_NEWIF,
	NETMAP_REQ_VALE_DELIF,
	NETMAP_REQ_VALE_POLLING_ENABLE,
	NETMAP_REQ_VALE_POLLING_DISABLE,
	NETMAP_REQ_POOLS_INFO_GET,
	NETMAP_REQ_SYNC_KLOOP_START,
	NETMAP_REQ_SYNC_KLOOP_STOP,
	NETMAP_REQ_CSB_ENABLE,
};

enum {
	NR_REG_DEFAULT = 0,
	NR_REG_ALL_NIC = 1,     /* all rings of the interface */
	NR_REG_SW = 2,          /* the host's rings */
	NR_REG_NIC_SW = 3,      /* both */
	NR_REG_ONE_NIC = 4,     /* one pair of the interface's rings: nr_ringid */
	NR_REG_PIPE_MASTER = 5, /* old form of a pipe's ends */
	NR_REG_PIPE_SLAVE = 6,
	NR_REG_NULL = 7,        /* memory without a port */
	NR_REG_ONE_SW = 8,      /* one pair of the host's rings */
};

struct nmreq_register {
	uint64_t nr_offset;  /* out: where the netmap_if is in the region */
	uint64_t nr_memsize; /* out: bytes of the region */
	uint32_t nr_tx_slots; /* in: wishes; out: what there is */
	uint32_t nr_rx_slots;
	uint16_t nr_tx_rings;
	uint16_t nr_rx_rings;
	uint16_t nr_host_tx_rings;
	uint16_t nr_host_rx_rings;
	uint16_t nr_mem_id; /* in: wished for, 0 for any; out: which region */
	uint16_t nr_ringid;
	uint32_t nr_mode; /* NR_REG_* */
	uint32_t nr_extra_bufs; /* in: wished for; out: how many */
	uint64_t nr_flags; /* NR_* below */
};

#define NR_MONITOR_TX 0x100
#define NR_MONITOR_RX 0x200
#define NR_ZCOPY_MON 0x400
#define NR_EXCLUSIVE 0x800
#define NR_RX_RINGS_ONLY 0x2000
#define NR_TX_RINGS_ONLY 0x4000
#define NR_ACCEPT_VNET_HDR 0x8000
#define NR_DO_RX_POLL 0x10000
#define NR_NO_TX_POLL 0x20000

struct nmreq_port_info_get {
	uint64_t nr_memsize;
	uint32_t nr_tx_slots;
	uint32_t nr_rx_slots;
	uint16_t nr_tx_rings;
	uint16_t nr_rx_rings;
	uint16_t nr_host_tx_rings;
	uint16_t nr_host_rx_rings;
	uint16_t nr_mem_id;
	uint16_t pad[3];
};

#define NM_BDG_NAME "vale" /* names of switches begin with it */

struct nmreq_vale_attach {
	struct nmreq_register reg;
	uint32_t port_index; /* out */
	uint32_t pad1;
};

struct nmreq_vale_detach {
	uint32_t port_index; /* out */
	uint32_t pad1;
};

struct nmreq_vale_list {
	uint16_t nr_bridge_idx;
	uint16_t pad1;
	uint32_t nr_port_idx;
};

struct nmreq_port_hdr {
	uint32_t nr_hdr_len; /* 0, 10 or 12 */
	uint32_t pad1;
};

struct nmreq_vale_newif {
	uint32_t nr_tx_slots;
	uint32_t nr_rx_slots;
	uint16_t nr_tx_rings;
	uint16_t nr_rx_rings;
	uint16_t nr_mem_id;
	uint16_t pad1;
};

#define NETMAP_POLLING_MODE_SINGLE_CPU 1
#define NETMAP_POLLING_MODE_MULTI_CPU 2

struct nmreq_vale_polling {
	uint32_t nr_mode;
	uint32_t nr_first_cpu_id;
	uint32_t nr_num_polling_cpus;
	uint32_t pad1;
};

struct nmreq_pools_info {
	uint64_t nr_memsize;
	uint16_t nr_mem_id;
	uint16_t pad1[3];
	uint64_t nr_if_pool_offset;
	uint32_t nr_if_pool_objtotal;
	uint32_t nr_if_pool_objsize;
	uint64_t nr_ring_pool_offset;
	uint32_t nr_ring_pool_objtotal;
	uint32_t nr_ring_pool_objsize;
	uint64_t nr_buf_pool_offset;
	uint32_t nr_buf_pool_objtotal;
	uint32_t nr_buf_pool_objsize;
};

struct nmreq_sync_kloop_start {
	uint32_t sleep_us;
	uint32_t pad1;
};

/* ---- Options of a request: a list ---- */

struct nmreq_option {
	uint64_t nro_next; /* address of the next one, or 0 */
	uint32_t nro_reqtype; /* NETMAP_REQ_OPT_* */
	uint32_t nro_status;  /* out: 0, or an error number */
	uint64_t nro_size;    /* bytes behind this structure, where they vary */
};

enum {
	NETMAP_REQ_OPT_EXTMEM = 1,
	NETMAP_REQ_OPT_SYNC_KLOOP_EVENTFDS,
	NETMAP_REQ_OPT_CSB,
	NETMAP_REQ_OPT_SYNC_KLOOP_MODE,
	NETMAP_REQ_OPT_OFFSETS,
	NETMAP_REQ_OPT_MAX,
};

struct nmreq_opt_extmem {
	struct nmreq_option nro_opt;
	uint64_t nro_usrptr;
	struct nmreq_pools_info nro_info;
};

struct nmreq_opt_sync_kloop_eventfds {
	struct nmreq_option nro_opt;
	struct {
		int32_t ioeventfd;
		int32_t irqfd;
	} eventfds[0];
};

struct nmreq_opt_csb {
	struct nmreq_option nro_opt;
	uint64_t csb_atok;
	uint64_t csb_ktoa;
};

struct nmreq_opt_sync_kloop_mode {
	struct nmreq_option nro_opt;
	uint32_t mode;
};

struct nmreq_opt_offsets {
	struct nmreq_option nro_opt;
	uint64_t nro_max_offset;
	uint64_t nro_initial_offset;
	uint32_t nro_offset_bits;
	uint32_t nro_tx_align;
	uint64_t nro_min_gap;
};

/* ---- Requests of older programs: NIOCGINFO, NIOCREGIF ---- */

struct nmreq {
	char nr_name[IFNAMSIZ];
	uint32_t nr_version;
	uint32_t nr_offset;
	uint32_t nr_memsize;
	uint32_t nr_tx_slots;
	uint32_t nr_rx_slots;
	uint16_t nr_tx_rings;
	uint16_t nr_rx_rings;
	uint16_t nr_ringid; /* a number and NETMAP_* below */
	uint16_t nr_cmd;    /* NETMAP_BDG_* */
	uint16_t nr_arg1;
	uint16_t nr_arg2; /* the region */
	uint32_t nr_arg3; /* extra buffers */
	uint32_t nr_flags; /* NR_REG_* and flags */
	uint32_t spare2[1];
};

#define NETMAP_HW_RING 0x4000    /* one pair of the interface's rings */
#define NETMAP_SW_RING 0x2000    /* the host's rings */
#define NETMAP_RING_MASK 0x0fff
#define NETMAP_NO_TX_POLL 0x1000 /* poll does not send unless asked for POLLOUT */
#define NETMAP_DO_RX_POLL 0x8000 /* poll receives also when not asked for POLLIN */

#define NR_REG_MASK 0xf

#define NETMAP_BDG_ATTACH 1
#define NETMAP_BDG_DETACH 2
#define NETMAP_BDG_REGOPS 3
#define NETMAP_BDG_LIST 4
#define NETMAP_BDG_VNET_HDR 5
#define NETMAP_BDG_NEWIF 6
#define NETMAP_BDG_DELIF 7
#define NETMAP_PT_HOST_CREATE 8
#define NETMAP_PT_HOST_DELETE 9
#define NETMAP_BDG_POLLING_ON 10
#define NETMAP_BDG_POLLING_OFF 11
#define NETMAP_VNET_HDR_GET 12
#define NETMAP_BDG_HOST 1 /* nr_arg1: attach the host's rings too */

#endif
