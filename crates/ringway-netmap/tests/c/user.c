/* What net/netmap_user.h does to memory laid out as a region: the program lays one out itself, and needs no /dev/netmap. */
#define NETMAP_WITH_LIBS
#include <net/netmap_user.h>
#include <net/netmap_user.h>

#define CHECK(what)                                                                \
	do {                                                                       \
		if (!(what)) {                                                     \
			fprintf(stderr, "%d: not so: %s\n", __LINE__, #what);      \
			exit(1);                                                   \
		}                                                                  \
	} while (0)

enum { SLOTS = 8, BUFFER = 2048, RING = 256 + SLOTS * 16, RINGS = 4, BUFFERS = 65536 };

static union {
	uint64_t align[16];
	char bytes[BUFFERS + 2048 * 64];
} region __attribute__((aligned(128)));

static void put64(size_t at, int64_t value)
{
	memcpy(region.bytes + at, &value, 8);
}

static void put32(size_t at, uint32_t value)
{
	memcpy(region.bytes + at, &value, 4);
}

/* One tx, one host tx, one rx, one host rx ring. */
static struct netmap_if *lay_out(void)
{
	size_t place = 1024;
	uint32_t ring, slot;

	put32(24, 1);
	put32(28, 1);
	put32(36, 1);
	put32(40, 1);
	for (ring = 0; ring < RINGS; ring++, place += 1024) {
		put64(56 + 8 * ring, (int64_t)place);
		put64(place, (int64_t)(BUFFERS - place));
		put32(place + 8, SLOTS);
		put32(place + 12, BUFFER);
		put32(place + 16, ring);
		for (slot = 0; slot < SLOTS; slot++)
			put32(place + 256 + 16 * slot, 2 + ring * SLOTS + slot);
	}
	return NETMAP_IF(region.bytes, 0);
}

static void check_rings(struct netmap_if *nifp)
{
	struct netmap_ring *ring = NETMAP_TXRING(nifp, 0);

	CHECK(ring->ringid == 0 && NETMAP_TXRING(nifp, 1)->ringid == 1);
	CHECK(NETMAP_RXRING(nifp, 0)->ringid == 2 && NETMAP_RXRING(nifp, nifp->ni_rx_rings)->ringid == 3);
	CHECK(NETMAP_BUF(ring, 5) == region.bytes + BUFFERS + 5 * BUFFER);
	CHECK(NETMAP_BUF_IDX(ring, NETMAP_BUF(ring, 33)) == 33);
	CHECK(nm_ring_next(ring, 6) == 7 && nm_ring_next(ring, 7) == 0);
	ring->tail = 7;
	CHECK(!nm_ring_empty(ring) && nm_ring_space(ring) == 7 && !nm_tx_pending(ring));
	ring->head = ring->cur = 3;
	CHECK(nm_ring_space(ring) == 4 && nm_tx_pending(ring));
	ring->tail = 2;
	CHECK(nm_ring_space(ring) == 7 && !nm_tx_pending(ring));
	ring->head = 2;
	CHECK(nm_ring_empty(ring) && nm_ring_space(ring) == 0);
	ring->offset_mask = 0xff;
	ring->slot[0].ptr = 0xab00;
	NETMAP_WOFFSET(ring, &ring->slot[0], 0x112);
	CHECK(ring->slot[0].ptr == 0xab12 && NETMAP_ROFFSET(ring, &ring->slot[0]) == 0x12);
	CHECK(NETMAP_BUF_OFFSET(ring, &ring->slot[0]) == NETMAP_BUF(ring, 2) + 0x12);
	ring->offset_mask = 0;
}

static void check_name(const char *text, const char *port, uint32_t flags, uint16_t ring, uint16_t mem_id)
{
	struct nm_desc d;
	char err[MAXERRMSG] = "";

	memset((void *)&d, 0, sizeof(d));
	if (nm_parse(text, &d, err) != 0 || strcmp(d.req.nr_name, port) != 0 || d.req.nr_flags != flags || d.req.nr_ringid != ring ||
	    d.req.nr_arg2 != mem_id) {
		fprintf(stderr, "%s: '%s' flags %x ring %u region %u %s\n", text, d.req.nr_name, d.req.nr_flags, d.req.nr_ringid,
			d.req.nr_arg2, err);
		exit(1);
	}
}

static void check_bad_name(const char *text)
{
	struct nm_desc d;
	char err[MAXERRMSG] = "";

	memset((void *)&d, 0, sizeof(d));
	errno = 0;
	if (nm_parse(text, &d, err) == 0 || errno != EINVAL || err[0] == '\0') {
		fprintf(stderr, "%s: accepted as '%s'\n", text, d.req.nr_name);
		exit(1);
	}
}

static void check_names(void)
{
	static const char *const bad[] = {"eth0", "netmap:", "netmap:eth0-", "netmap:eth0-x", "netmap:eth0-4096", "netmap:eth0{", "netmap:eth0/q",
					  "netmap:eth0^*", "netmap:eth0@0", "netmap:eth0@70000", "netmap:eth0-1x", "valetudo",
					  "netmap:a-name-of-sixteen-bytes"};
	size_t i;

	check_name("netmap:eth0", "eth0", NR_REG_ALL_NIC, 0, 0);
	check_name("netmap:eth0-3/x@2", "eth0", NR_REG_ONE_NIC | NR_EXCLUSIVE, 3, 2);
	check_name("netmap:eth0^", "eth0", NR_REG_SW, 0, 0);
	check_name("netmap:eth0^1", "eth0", NR_REG_ONE_SW, 1, 0);
	check_name("netmap:eth0*", "eth0", NR_REG_NIC_SW, 0, 0);
	check_name("netmap:eth0{1", "eth0", NR_REG_PIPE_MASTER, 1, 0);
	check_name("netmap:eth0}7", "eth0", NR_REG_PIPE_SLAVE, 7, 0);
	check_name("netmap:x{left", "x{left", NR_REG_ALL_NIC, 0, 0);
	check_name("netmap:x}left-0", "x}left", NR_REG_ONE_NIC, 0, 0);
	check_name("netmap:eth0/ztr", "eth0", NR_REG_ALL_NIC | NR_ZCOPY_MON | NR_MONITOR_TX | NR_MONITOR_RX, 0, 0);
	check_name("netmap:eth0/R", "eth0", NR_REG_ALL_NIC | NR_RX_RINGS_ONLY, 0, 0);
	check_name("netmap:eth0/T@1", "eth0", NR_REG_ALL_NIC | NR_TX_RINGS_ONLY, 0, 1);
	check_name("vale0:p1", "vale0:p1", NR_REG_ALL_NIC, 0, 0);
	check_name("vale:p", "vale:p", NR_REG_ALL_NIC, 0, 0);
	for (i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		check_bad_name(bad[i]);
}

static int frames;

static void count(unsigned char *arg, const struct nm_pkthdr *hdr, const unsigned char *frame)
{
	int *total = (int *)(void *)arg;

	frames++;
	*total += (int)hdr->len;
	CHECK(frame == hdr->buf && hdr->slot->len == hdr->len && hdr->caplen == hdr->len);
	CHECK((hdr->flags == NM_MORE_PKTS) == (frames < 3));
}

static void check_packets(struct netmap_if *nifp)
{
	struct nm_desc d;
	struct nm_pkthdr hdr;
	struct netmap_ring *tx = NETMAP_TXRING(nifp, 0), *rx = NETMAP_RXRING(nifp, 0);
	static char frame[5000];
	int total = 0;

	memset((void *)&d, 0, sizeof(d));
	d.self = &d;
	d.nifp = nifp;
	CHECK(IS_NETMAP_DESC(&d) && P2NMD(&d) == &d && !IS_NETMAP_DESC((struct nm_desc *)NULL));
	tx->head = tx->cur = 6;
	tx->tail = 3;
	memset(frame, 7, sizeof(frame));
	CHECK(nm_inject(&d, frame, 60) == 60 && tx->head == 7 && tx->slot[6].len == 60 && tx->slot[6].flags == 0);
	CHECK(nm_inject(&d, frame, 5000) == 5000 && tx->head == 2 && tx->cur == 2);
	CHECK(tx->slot[7].flags == NS_MOREFRAG && tx->slot[0].flags == NS_MOREFRAG && tx->slot[1].flags == 0);
	CHECK(tx->slot[1].len == 5000 - 2 * BUFFER && NETMAP_BUF(tx, 3)[5000 - 2 * BUFFER - 1] == 7);
	CHECK(nm_inject(&d, frame, 5000) == 0 && tx->head == 2);

	rx->head = rx->cur = 6;
	rx->tail = 2;
	rx->slot[6].len = 60;
	rx->slot[7].len = 61;
	rx->slot[0].len = 62;
	rx->slot[1].len = 63;
	CHECK(nm_nextpkt(&d, &hdr) == (unsigned char *)NETMAP_BUF(rx, rx->slot[6].buf_idx) && hdr.len == 60 && rx->cur == 7);
	CHECK(nm_dispatch(&d, -1, count, (unsigned char *)&total) == 3 && total == 61 + 62 + 63 && frames == 3);
	CHECK(nm_dispatch(&d, 1, count, (unsigned char *)&total) == 0 && nm_nextpkt(&d, &hdr) == NULL);
}

int main(void)
{
	struct netmap_if *nifp = lay_out();
	char to[16], from[16] = "0123456789abcd";

	check_rings(nifp);
	check_names();
	check_packets(nifp);
	nm_pkt_copy(from, to, 15);
	CHECK(memcmp(from, to, 15) == 0);
	CHECK(nm_close(NULL) == EINVAL);
	ND("nothing");
	puts("ok");
	return 0;
}
