/*
 * Ringway: packet rings and buffers mapped into the program, moved by verified eBPF.
 *
 *	struct rw_port *port;
 *	struct rw_frame frame;
 *
 *	if (rw_open("ebpf:eth0", NULL, &port) < 0)
 *		errx(1, "%s", rw_error());
 *	rw_sync(rw_rx(port, 0));
 *	while (rw_rx_next(rw_rx(port, 0), &frame))
 *		printf("%u bytes\n", frame.len);
 *	rw_close(port);
 *
 * Frames. Functions that are `static inline` here touch each frame without a call. A program reads or fills slots with them, and
 * then calls rw_sync() once for many frames. Between two calls of rw_sync() nothing moves: frames stay as they are, and may be used.
 *
 * Errors. A function that returns int gives a negative enum rw_error_kind when it fails, and changes nothing that is passed to it. The
 * thread then finds the text by rw_error(). NULL for a pointer that must be there is an error of kind RW_INVALID. Functions that
 * free take NULL. No function aborts or unwinds into its caller.
 *
 * Threads. One thread at a time uses a ring. Different threads may use different rings of one port at once. rw_read_counters(),
 * rw_describe(), rw_link_up() and rw_ended() may be called while other threads use the rings. rw_close() ends the life of all rings of the port.
 * A child of fork() must not use what its parent opened. Errors belong to the thread.
 *
 * Needs C99 or C++11, and GCC's or clang's __atomic builtins. docs/c.md has a guide.
 */
#ifndef RINGWAY_H
#define RINGWAY_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Errors ---- */

enum rw_error_kind {
	RW_OK = 0,
	RW_BAD_NAME = -1,    /* a port name does not follow the grammar of names */
	RW_NOT_FOUND = -2,   /* the interface, file, pipe, switch or port does not exist */
	RW_BUSY = -3,        /* somebody else holds what was asked for */
	RW_DENIED = -4,      /* the process lacks a privilege */
	RW_UNSUPPORTED = -5, /* the kernel or the driver lacks a feature */
	RW_GONE = -6,        /* the interface went away while the port was open */
	RW_LINK_DOWN = -7,   /* the interface is down */
	RW_INVALID = -8,     /* an argument is outside its bounds, or does not go with the others */
	RW_UNFIT = -9,       /* what is there is of another kind or version, full, or open to others */
	RW_IO = -10,         /* a system call failed for another reason */
	RW_INTERNAL = -11    /* a fault of the library, caught */
};

/* The last failure of this thread on one line, with its cure: "eth7: there is no such interface; list them with `ip link`". Empty
 * before the first. The text stays until the thread's next failure or its end. */
const char *rw_error(void);
/* Its kind, RW_OK before the first. */
int rw_error_kind(void);
/* What to do about it; NULL where nothing helps. */
const char *rw_error_cure(void);

/* ---- Slots ---- */

/* Flags of a slot. */
#define RW_BUF_CHANGED 0x01 /* the buffer of the slot was exchanged */
#define RW_NO_LEARN 0x08    /* tx, ports of a switch: the switch does not learn the source address */
#define RW_MOREFRAG 0x20    /* the frame goes on in the next slot */
#define RW_OFFLOAD 0x80     /* rx, RW_GSO_CARRY: slot.ptr of the first slot says what is left to be done */
#define RW_PORT_SHIFT 8     /* tx, ports of a switch: flags >> 8 is the number of the port that gets the frame */

#define RW_FIRST_BUF 2  /* smaller buffer indexes are in no good slot */
#define RW_MAX_CHAIN 64 /* slots of one frame, at most */

/* One entry of a ring, as in netmap. Its first 8 bytes are read and written at once: rw_slot_get(), rw_slot_put(). */
struct rw_slot {
	uint32_t buf_idx;
	uint16_t len;
	uint16_t flags;
	uint64_t ptr;
};

/* ---- Rings ---- */

enum rw_direction { RW_TX = 0, RW_RX = 1 };

/* A ring. The library makes it, and the program reads it; the program writes `head` and `user` only. The slots from `head` up to and
 * without `tail` are the program's: frames to read, or free slots to fill. */
struct rw_ring {
	uint32_t head; /* the inline functions move it; what it passed goes to the other side with the next rw_sync() */
	uint32_t tail;
	uint32_t num_slots;
	uint32_t buf_size;
	uint32_t num_bufs;
	uint32_t skipped; /* frames that rw_rx_next() skipped for a bad slot; rw_sync() counts them as `bad_slot` */
	struct rw_slot *slots;
	uint8_t *bufs;
	const void *exchanges_in; /* rings with the same value may exchange buffers of slots; NULL: this one may not */
	void *header;             /* netmap's ring header, in shared memory */
	void *user;               /* the program's own */
	uint32_t number;          /* among the rings of its port and direction */
	uint32_t direction;       /* enum rw_direction */
};

/* A received frame. It may be used until the next rw_sync() of its ring. The process at the far end of a pipe may change its bytes
 * meanwhile: a program that does not trust it copies a frame before it checks it. */
struct rw_frame {
	uint8_t *data;  /* its bytes, or the bytes in its first slot */
	uint32_t len;   /* bytes at data */
	uint32_t total; /* bytes of the frame */
	uint32_t at;    /* its first slot */
	uint16_t slots; /* 1, or more when it is longer than a buffer: see rw_frame_part() */
	uint16_t flags; /* of its first slot */
};

/* A buffer that belongs to no slot: rw_buf_take(). */
struct rw_buf {
	uint8_t *data;
	uint32_t index;
	uint32_t size;
	const void *exchanges_in;
};

/* Slots from head to tail: frames to read, or free slots to fill. */
static inline uint32_t rw_avail(const struct rw_ring *ring)
{
	return ring->tail >= ring->head ? ring->tail - ring->head : ring->tail + ring->num_slots - ring->head;
}

/* The slot after number i. */
static inline uint32_t rw_next(const struct rw_ring *ring, uint32_t i)
{
	return i + 1 >= ring->num_slots ? 0 : i + 1;
}

typedef uint64_t __attribute__((may_alias)) rw_word;

/* Slot i as it is now, read once: on some ports another process can write it at any time. Without `ptr`. */
static inline struct rw_slot rw_slot_get(const struct rw_ring *ring, uint32_t i)
{
	struct rw_slot slot = {0, 0, 0, 0};
	if (i < ring->num_slots) {
		uint64_t word = __atomic_load_n((const rw_word *)&ring->slots[i], __ATOMIC_RELAXED);
		memcpy(&slot, &word, sizeof(word));
	}
	return slot;
}

/* Writes slot i, at once. Not its `ptr`. Exchange buffer indexes between slots; never copy one: a buffer belongs to one slot. */
static inline void rw_slot_put(struct rw_ring *ring, uint32_t i, struct rw_slot slot)
{
	uint64_t word;
	memcpy(&word, &slot, sizeof(word));
	if (i < ring->num_slots)
		__atomic_store_n((rw_word *)&ring->slots[i], word, __ATOMIC_RELEASE);
}

/* The buffer of a slot that rw_slot_get() gave; NULL when its index or length is bad. */
static inline uint8_t *rw_slot_buf(const struct rw_ring *ring, struct rw_slot slot)
{
	if (slot.buf_idx - RW_FIRST_BUF >= ring->num_bufs - RW_FIRST_BUF || slot.len > ring->buf_size)
		return NULL;
	return ring->bufs + (size_t)slot.buf_idx * ring->buf_size;
}

/* ---- Receiving ---- */

/* Measures the frame of several slots at head, and passes it. 0 and counted when a slot is bad or the frame has no end. */
static inline int rw_rx_chain_(struct rw_ring *rx, struct rw_frame *frame)
{
	uint32_t at = rx->head, slots = 0, total = 0;
	int good = 1, more = 1;
	frame->data = NULL;
	frame->len = 0;
	frame->flags = 0;
	while (more && at != rx->tail) {
		struct rw_slot slot = rw_slot_get(rx, at);
		uint8_t *data = rw_slot_buf(rx, slot);
		good &= data != NULL;
		if (slots++ == 0) {
			frame->data = data;
			frame->len = slot.len;
			frame->flags = slot.flags;
		}
		total += slot.len;
		more = slot.flags & RW_MOREFRAG;
		at = rw_next(rx, at);
	}
	frame->at = rx->head;
	frame->slots = (uint16_t)slots;
	frame->total = total;
	rx->head = at;
	if (good && !more && slots <= RW_MAX_CHAIN)
		return 1;
	rx->skipped++;
	return 0;
}

/* Takes the next frame. 1, or 0 when there is none until the next rw_sync(). */
static inline int rw_rx_next(struct rw_ring *rx, struct rw_frame *frame)
{
	while (rx->head != rx->tail) {
		struct rw_slot slot = rw_slot_get(rx, rx->head);
		uint8_t *data = rw_slot_buf(rx, slot);
		if (data && !(slot.flags & RW_MOREFRAG)) {
			frame->data = data;
			frame->len = frame->total = slot.len;
			frame->at = rx->head;
			frame->slots = 1;
			frame->flags = slot.flags;
			rx->head = rw_next(rx, rx->head);
			return 1;
		}
		if (rw_rx_chain_(rx, frame))
			return 1;
	}
	return 0;
}

/* Part k of a frame, from 0 to frame->slots - 1, and its length. NULL and 0 for a slot that another process made bad meanwhile. */
static inline uint8_t *rw_frame_part(const struct rw_ring *rx, const struct rw_frame *frame, uint32_t k, uint32_t *len)
{
	uint32_t at = frame->at + k;
	struct rw_slot slot;
	uint8_t *data;
	*len = 0;
	if (k >= frame->slots)
		return NULL;
	if (k == 0) {
		*len = frame->len;
		return frame->data;
	}
	slot = rw_slot_get(rx, at >= rx->num_slots ? at - rx->num_slots : at);
	data = rw_slot_buf(rx, slot);
	if (data)
		*len = slot.len;
	return data;
}

/* Copies a frame of any number of slots, `size` bytes at most; returns the bytes copied. */
static inline size_t rw_frame_copy(const struct rw_ring *rx, const struct rw_frame *frame, void *out, size_t size)
{
	size_t done = 0;
	uint32_t k, len;
	for (k = 0; k < frame->slots && done < size; k++) {
		const uint8_t *data = rw_frame_part(rx, frame, k, &len);
		if (!data)
			continue;
		if (len > size - done)
			len = (uint32_t)(size - done);
		memcpy((uint8_t *)out + done, data, len);
		done += len;
	}
	return done;
}

/* With RW_OFFLOAD in frame->flags, the word that says what is left to be done on it; else 0. From the lowest bit:
 *	16 bits   where the sum starts
 *	12 bits   offset of the checksum from there
 *	1 bit     whether there is a checksum to finish
 *	1 bit     whether the headers have ECN
 *	2 bits    kind of segments: 0 none, 1 TCP over IPv4, 2 TCP over IPv6, 3 UDP
 *	16 bits   their size
 *	16 bits   length of the headers
 */
static inline uint64_t rw_frame_offload(const struct rw_ring *rx, const struct rw_frame *frame)
{
	if (!(frame->flags & RW_OFFLOAD) || frame->at >= rx->num_slots)
		return 0;
	return __atomic_load_n(&rx->slots[frame->at].ptr, __ATOMIC_RELAXED);
}

/* ---- Sending ---- */

/* The buffer of the next free slot, of tx->buf_size bytes, which holds old bytes. NULL when no slot is free until the next rw_sync(). */
static inline uint8_t *rw_tx_next(struct rw_ring *tx)
{
	while (tx->head != tx->tail) {
		struct rw_slot slot = rw_slot_get(tx, tx->head);
		uint8_t *data;
		slot.len = 0;
		data = rw_slot_buf(tx, slot);
		if (data)
			return data;
		/* Another process wrote its index: it is passed empty, and the library counts it. */
		slot.flags = 0;
		rw_slot_put(tx, tx->head, slot);
		tx->head = rw_next(tx, tx->head);
	}
	return NULL;
}

/* Makes `len` bytes of the buffer that rw_tx_next() gave a frame, or a part of one with RW_MOREFRAG. All parts of a frame must be
 * there before rw_sync(). 1, or 0 when no slot is free or the buffer is smaller. The frame leaves with the next rw_sync(). */
static inline int rw_tx_commit(struct rw_ring *tx, uint32_t len, uint16_t flags)
{
	struct rw_slot slot;
	if (tx->head == tx->tail || len > tx->buf_size || len > 0xffff)
		return 0;
	slot = rw_slot_get(tx, tx->head);
	slot.len = (uint16_t)len;
	slot.flags = (uint16_t)((flags & ~(RW_OFFLOAD | RW_BUF_CHANGED)) | (slot.flags & RW_BUF_CHANGED));
	rw_slot_put(tx, tx->head, slot);
	tx->head = rw_next(tx, tx->head);
	return 1;
}

/* Copies a frame of any length into the ring, over several slots if need be. 1, or 0 when it does not fit now. One of more than
 * RW_MAX_CHAIN slots never fits. */
static inline int rw_tx_push(struct rw_ring *tx, const void *data, size_t len)
{
	const uint8_t *from = (const uint8_t *)data;
	size_t size = tx->buf_size < 0xffff ? tx->buf_size : 0xffff;
	size_t slots = len <= size ? 1 : (len + size - 1) / size;
	if (slots > RW_MAX_CHAIN || slots > rw_avail(tx))
		return 0;
	for (; slots > 0; slots--) {
		struct rw_slot slot = rw_slot_get(tx, tx->head);
		size_t part = len < size ? len : size;
		uint8_t *to;
		slot.len = (uint16_t)part;
		slot.flags = slots > 1 ? RW_MOREFRAG : 0;
		to = rw_slot_buf(tx, slot);
		if (to && part)
			memcpy(to, from, part); /* into a bad slot nothing is written: the library drops the frame by name */
		rw_slot_put(tx, tx->head, slot);
		tx->head = rw_next(tx, tx->head);
		from += part;
		len -= part;
	}
	return 1;
}

/* Sends a frame that rw_rx_next() gave, once: rings of ports that were opened together exchange buffers, others copy. 1, or 0 when it does
 * not fit now. Only rw_forward() hands on frames with RW_OFFLOAD, and frames of several slots to a ring of smaller buffers. For them
 * the result is RW_UNSUPPORTED, without a text. */
static inline int rw_tx_move(struct rw_ring *tx, struct rw_ring *rx, const struct rw_frame *frame)
{
	uint32_t k, len;
	if ((frame->flags & RW_OFFLOAD) || (frame->slots > 1 && tx->buf_size < rx->buf_size))
		return RW_UNSUPPORTED;
	if (frame->slots > rw_avail(tx))
		return 0;
	if (frame->slots == 1 && tx->exchanges_in && tx->exchanges_in == rx->exchanges_in && tx->buf_size == rx->buf_size) {
		struct rw_slot from = rw_slot_get(rx, frame->at), to = rw_slot_get(tx, tx->head);
		uint32_t index = from.buf_idx;
		from.len = to.len = (uint16_t)frame->len;
		from.flags = to.flags = RW_BUF_CHANGED;
		if (rw_slot_buf(rx, from) && rw_slot_buf(tx, to)) {
			from.buf_idx = to.buf_idx;
			from.len = 0;
			to.buf_idx = index;
			rw_slot_put(rx, frame->at, from);
			rw_slot_put(tx, tx->head, to);
			tx->head = rw_next(tx, tx->head);
			return 1;
		}
	}
	if (frame->slots == 1)
		return rw_tx_push(tx, frame->data, frame->len);
	for (k = 0; k < frame->slots; k++) {
		const uint8_t *data = rw_frame_part(rx, frame, k, &len);
		struct rw_slot to = rw_slot_get(tx, tx->head);
		uint8_t *out;
		to.len = (uint16_t)len;
		to.flags = k + 1u < frame->slots ? RW_MOREFRAG : 0;
		out = rw_slot_buf(tx, to);
		if (out && data)
			memcpy(out, data, len);
		rw_slot_put(tx, tx->head, to);
		tx->head = rw_next(tx, tx->head);
	}
	return 1;
}

/* Exchanges the buffer of slot i with one that belongs to no slot. 1, or 0 and nothing done: another region, or a bad slot. So a
 * program keeps a received frame without a copy (i = frame.at, for a frame of one slot), or sends what it kept (i = tx->head, then
 * rw_tx_commit()). */
static inline int rw_buf_exchange(struct rw_ring *ring, uint32_t i, struct rw_buf *buf)
{
	struct rw_slot slot = rw_slot_get(ring, i);
	uint32_t index = slot.buf_idx;
	uint8_t *data;
	slot.len = 0;
	data = rw_slot_buf(ring, slot);
	if (!data || !buf->exchanges_in || buf->exchanges_in != ring->exchanges_in)
		return 0;
	slot.buf_idx = buf->index;
	slot.flags = RW_BUF_CHANGED;
	rw_slot_put(ring, i, slot);
	buf->index = index;
	buf->data = data;
	return 1;
}

/* ---- Ports ---- */

struct rw_port;
struct rw_region;

enum rw_gso {
	RW_GSO_SEGMENT = 0, /* super-frames are cut into the frames that a wire would have brought */
	RW_GSO_CARRY = 1    /* they are received whole: rw_frame_offload() */
};

/* How to open a port. Zeros are the defaults: `struct rw_options options = RW_OPTIONS_INIT;`. docs/ports.md says which port has
 * which option. A port refuses an option that it does not have. */
struct rw_options {
	size_t size;              /* of this struct: RW_OPTIONS_INIT */
	const char *take;         /* take only frames that match this filter, written as for tcpdump; NULL: all */
	struct rw_region *region; /* open the port there; NULL: a region of its own */
	uint32_t slots;           /* of each ring, 2 to 65536; 0: the default of the port */
	uint32_t extra_bufs;      /* for rw_buf_take() */
	uint32_t gso;             /* enum rw_gso */
	int32_t promiscuous;      /* 1: yes, -1: no, 0: the default of the port */
	uint8_t copy;             /* 1: get copies; frames go on as if the port were closed */
	uint8_t send_only;        /* 1: attach nothing to the interface */
	uint8_t raw;              /* 1: leave unfinished checksums as they are */
	uint8_t reserved[5];
};
#define RW_OPTIONS_INIT {sizeof(struct rw_options), 0, 0, 0, 0, 0, 0, 0, 0, 0, {0}}

/* Opens the port of that name: "ebpf:eth0", "vale0:p1", "pipe:x{1", "loop:". Options may be NULL. docs/ports.md has all names. */
int rw_open(const char *name, const struct rw_options *options, struct rw_port **port);
/* Opens n ports, in one region where their kinds allow it, so that they forward without a copy. None stays open when one fails. */
int rw_open_all(const char *const *names, size_t n, const struct rw_options *options, struct rw_port **ports);
/* Closes the port and gives back all that it attached. Its rings end with it. */
void rw_close(struct rw_port *port);

struct rw_port_info {
	const char *name;    /* in its full form; until rw_close(), like the next */
	const char *backend; /* what serves the port, and what it does not do */
	uint32_t tx_rings;
	uint32_t rx_rings;
	uint32_t slots; /* of each ring */
	uint32_t buf_size;
	uint32_t max_frame; /* longest frame that can be sent, without FCS */
	uint32_t host;      /* 1: the rings of the host */
	uint64_t memory;    /* bytes of the region */
};
int rw_describe(const struct rw_port *port, struct rw_port_info *info);
/* Ring i, from 0 to rx_rings - 1 or tx_rings - 1; NULL beyond. The same pointer each time. */
struct rw_ring *rw_rx(const struct rw_port *port, uint32_t i);
struct rw_ring *rw_tx(const struct rw_port *port, uint32_t i);
/* Whether the link is up: 1 or 0. */
int rw_link_up(const struct rw_port *port);
/* Whether nothing will be received any more, as at the end of a capture file: 1 or 0. Frames may still lie in the rings. */
int rw_ended(const struct rw_port *port);

/* Exchanges slots with the other side: takes back the slots before head, and brings new ones. Returns the slots from head to tail. */
int rw_sync(struct rw_ring *ring);
/* Moves up to `max` slots from rx to tx, without a copy where both lie in one region; returns the slots moved. Syncs neither. */
int rw_forward(struct rw_ring *rx, struct rw_ring *tx, uint32_t max);

/* Sends until the other side took all slots before head, for `timeout_ms` at most (negative: without limit). Returns the slots that it
 * did not take. Where the other side is slower, rw_sync() alone leaves some in the ring, and rw_close() drops them. */
int rw_drain(struct rw_ring *tx, int timeout_ms);

/* Waits until a ring has something, for `timeout_ms` at most (negative: without limit), and syncs all. 1; 0 when the time is over or a
 * signal came. */
int rw_wait(struct rw_ring *const *rings, size_t n, int timeout_ms);
/* The same with a waiter that looks again for `spin_us` before it sleeps, because a wake-up costs some microseconds. Each wait that
 * found nothing so halves the time of the next. One thread uses a waiter. */
struct rw_waiter;
int rw_waiter_new(uint32_t spin_us, struct rw_waiter **waiter);
int rw_waiter_wait(struct rw_waiter *waiter, struct rw_ring *const *rings, size_t n, int timeout_ms);
void rw_waiter_free(struct rw_waiter *waiter);
/* For poll(2), select(2) or epoll(7): a descriptor that becomes readable when the ring, or any ring of the port, has something. Before
 * each sleep call rw_arm() for each ring. It returns 1, and asks for no wake-up, when there is something already; else 0. After the
 * sleep call rw_sync(). The descriptors are the library's: do not read or close them. */
int rw_arm(struct rw_ring *ring);
int rw_ring_fd(const struct rw_ring *ring);
int rw_port_fd(const struct rw_port *port);

/* Memory for several ports that are opened one after the other. Pipes by name and ports of switches have memory of their own. */
struct rw_region_spec {
	uint32_t ports;
	uint32_t rings;    /* of all ports */
	uint32_t slots;    /* of the largest ring */
	uint32_t buffers;  /* of all rings, beside them, and the two that are reserved */
	uint32_t buf_size; /* bytes: a multiple of 64 */
	uint32_t ebpf;     /* 1: in a mapped eBPF array, for ebpf: ports; needs privilege */
};
int rw_region_new(const struct rw_region_spec *spec, struct rw_region **region);
/* Gives up the handle. Ports that lie in the region keep its memory. */
void rw_region_free(struct rw_region *region);
/* Takes a buffer that belongs to no slot (option extra_bufs), and gives one back. RW_UNFIT when all are in use. Give all back before
 * rw_close(). */
int rw_buf_take(const struct rw_port *port, struct rw_buf *buf);
int rw_buf_give(const struct rw_port *port, struct rw_buf *buf);

/* ---- Counters ---- */

#define RW_MAX_DROPS 32

/* Of one direction. After quiescence frames_in is frames_out and the sum of drops. */
struct rw_counters {
	uint64_t frames_in;  /* rx: from outside; tx: from the program */
	uint64_t frames_out; /* rx: into the ring, read or not; tx: left the port */
	uint64_t bytes_out;  /* without FCS */
	uint64_t syncs;
	uint64_t busy_syncs;        /* that moved something */
	uint64_t resets;            /* times a ring was reset, because its head was wrong */
	uint64_t wakeups;           /* of a sleeping program */
	uint64_t wakeups_withheld;  /* by a switch, from a port that holds senders up */
	uint64_t drops[RW_MAX_DROPS]; /* lost frames by reason: rw_drop_name() */
};
struct rw_port_counters {
	struct rw_counters rx;
	struct rw_counters tx;
};
/* The counters of a port now, all rings summed. */
int rw_read_counters(const struct rw_port *port, struct rw_port_counters *counters);
/* How many reasons there are, and of each its name ("ring_full") and what to do about it; NULL beyond the last. */
uint32_t rw_drop_count(void);
const char *rw_drop_name(uint32_t reason);
const char *rw_drop_help(uint32_t reason);

/* A port that some process has open. */
struct rw_open_port {
	const char *name;
	const char *backend;
	const char *interface; /* NULL for a port on none */
	uint32_t pid;
	uint32_t number; /* among the ports that its process opened, from 0 */
	struct rw_port_counters counters;
};
/* The ports that are open on this machine, as far as the caller may see them. Returns how many. Free the array, which has the texts
 * in it, by free(3); it is NULL for none. */
int rw_open_ports(struct rw_open_port **ports);

/* ---- Switches ---- */

struct rw_switch;

/* Zeros are the defaults. */
struct rw_switch_spec {
	uint32_t slots;     /* of each ring: a power of two, 64 to 4096 */
	uint32_t rings;     /* of each direction, 1 to 8 */
	uint32_t buf_size;  /* bytes of a buffer: a multiple of 64, 256 to 2112 */
	uint32_t quota;     /* addresses that are learned of one port, at most */
	int64_t ageing_ms;  /* how long an address is remembered; -1: for ever */
	const char *module; /* "bridge", "hub" or the path of an object; NULL: bridge */
};
struct rw_switch_port {
	const char *name;
	uint32_t number;
	uint32_t pid;     /* of the process that has it open; 0: none, or unknown */
	uint32_t ifindex; /* of the interface that it stands for; 0: none */
	uint32_t flags;   /* RW_SWITCH_PORT_* */
	struct rw_port_counters counters;
	uint64_t copies;    /* of its frames, one for each receiver */
	uint64_t waiting;   /* slots to be received */
	uint32_t addresses; /* learned of it now */
	uint32_t reserved;
};
#define RW_SWITCH_PORT_OPEN 1      /* a process has it open */
#define RW_SWITCH_PORT_EPHEMERAL 2 /* it goes away with its last user */
#define RW_SWITCH_PORT_HOST 4      /* the host's side of an interface */
#define RW_SWITCH_PORT_GONE 8      /* its interface is gone */

/* Makes a switch; options may be NULL. It stays until it is deleted. Needs privilege. */
int rw_switch_create(const char *name, const struct rw_switch_spec *spec, struct rw_switch **sw);
int rw_switch_open(const char *name, struct rw_switch **sw);
/* Gives up the handle; the switch stays. */
void rw_switch_close(struct rw_switch *sw);
/* Deletes the switch. The handle is given up when this succeeds, and stays when it fails. */
int rw_switch_delete(struct rw_switch *sw);
/* Makes a port that stays until it is deleted, for the caller's user; returns its number. rw_open("SWITCH:PORT") opens it. */
int rw_switch_add_port(const struct rw_switch *sw, const char *port);
/* Makes an interface a port; with host, its host becomes one, too. Returns the interface's number in the switch. */
int rw_switch_add_nic(const struct rw_switch *sw, const char *interface, int host);
/* Deletes a port. Without force RW_BUSY when a process has it open. */
int rw_switch_del_port(const struct rw_switch *sw, const char *port, int force);
/* The ports by number. Returns how many. Free the array by free(3), as that of rw_open_ports(). */
int rw_switch_ports(const struct rw_switch *sw, struct rw_switch_port **ports);
/* Who may open a port, as the owner, group and mode of a file; UINT32_MAX: of the caller. Needs root. */
int rw_switch_set_access(const struct rw_switch *sw, const char *port, uint32_t uid, uint32_t gid, uint32_t mode);
/* Loads the programs of this library's version into the switch, while traffic passes. */
int rw_switch_reload(const struct rw_switch *sw);

enum rw_vlan_mode {
	RW_VLAN_TRANSPARENT = 0, /* frames pass with whatever tags they have */
	RW_VLAN_ACCESS = 1,      /* frames are without a tag, and belong to `vlan` */
	RW_VLAN_TRUNK = 2        /* frames carry a tag of `trunk`; frames without one belong to `vlan`, or are dropped when it is 0 */
};
#define RW_MIRROR_RX 1
#define RW_MIRROR_TX 2
#define RW_STORM_NONE 0xffffffffu
/* Kinds of frames that go to all. */
enum rw_storm { RW_STORM_BROADCAST = 0, RW_STORM_MULTICAST = 1, RW_STORM_UNKNOWN = 2 };

/* How a port behaves. Zeros are a plain port. */
struct rw_switch_port_conf {
	uint32_t vlan_mode;  /* enum rw_vlan_mode */
	uint16_t vlan;
	uint8_t isolated;    /* 1: no frames from and to other isolated ports */
	uint8_t mirror;      /* RW_MIRROR_*: which of its frames `mirror_to` gets copies of */
	uint32_t storm[3];   /* by enum rw_storm: frames in a second at most; 0: no limit; RW_STORM_NONE: no frame */
	char mirror_to[32];  /* name of a port */
	uint8_t trunk[512];  /* a bit for each VLAN: rw_vlan_allow() */
};
/* Lets a trunk carry a VLAN. */
static inline void rw_vlan_allow(struct rw_switch_port_conf *conf, uint32_t vlan)
{
	if (vlan < 4096)
		conf->trunk[vlan / 8] = (uint8_t)(conf->trunk[vlan / 8] | 1u << vlan % 8);
}
int rw_switch_get_conf(const struct rw_switch *sw, const char *port, struct rw_switch_port_conf *conf);
int rw_switch_set_conf(const struct rw_switch *sw, const char *port, const struct rw_switch_port_conf *conf);

/* An address in the table of a switch. */
struct rw_fdb_entry {
	uint8_t mac[6];
	uint16_t vlan;   /* 0 where ports take no notice of VLANs */
	uint32_t port;   /* its number; 0: frames to the address are dropped */
	uint32_t reserved;
	int64_t age_ms;  /* since its last frame; -1: set by hand, and never ages */
};
/* The table. Returns how many. Free the array by free(3). */
int rw_switch_fdb(const struct rw_switch *sw, struct rw_fdb_entry **entries);
/* Puts an address of 6 bytes on a port for good; with NULL for the port, frames to it are dropped. */
int rw_switch_fdb_set(const struct rw_switch *sw, const uint8_t *mac, uint32_t vlan, const char *port);
/* Forgets an address: 1, or 0 when it is not there. The other forgets all that were learned, and returns how many. */
int rw_switch_fdb_del(const struct rw_switch *sw, const uint8_t *mac, uint32_t vlan);
int rw_switch_fdb_flush(const struct rw_switch *sw);

/* The names of the switches there are. Returns how many. Free the array, which has the names in it, by free(3). */
int rw_switches(char ***names);

/* ---- Route lookup ---- */

/* A table of prefixes with next hops, 1 to 65535. One thread at a time calls what takes a struct rw_fib, rw_fib_reader_new() too. Others
 * look up meanwhile, each by a reader of its own. */
struct rw_fib;
/* One thread's access to a table. */
struct rw_fib_reader;

/* Makes a table for addresses of `family`: 4 or 6. `routes` is how many it is to hold; 0: today's largest tables. Addresses are in
 * network byte order everywhere: struct in_addr or struct in6_addr. */
int rw_fib_new(int family, size_t routes, struct rw_fib **fib);
void rw_fib_free(struct rw_fib *fib);
/* Sets the next hop of a prefix. Bits of the address behind `prefix_len` are left out. */
int rw_fib_insert(struct rw_fib *fib, const void *address, uint32_t prefix_len, uint16_t next_hop);
/* Returns 1, or 0 when there is no such prefix. */
int rw_fib_remove(struct rw_fib *fib, const void *address, uint32_t prefix_len);
/* Prefixes in the table. */
size_t rw_fib_count(const struct rw_fib *fib);

/* A reader of the table, which may outlive the table's handle. RW_UNFIT when there are too many. */
int rw_fib_reader_new(const struct rw_fib *fib, struct rw_fib_reader **reader);
void rw_fib_reader_free(struct rw_fib_reader *reader);
/* The next hop of the longest prefix that covers the address; 0 when none does. */
int rw_fib_lookup(struct rw_fib_reader *reader, const void *address);
/* The same for n addresses, one behind the other: fast, because their memory accesses overlap. */
int rw_fib_lookup_many(struct rw_fib_reader *reader, const void *addresses, uint16_t *next_hops, size_t n);

/* ---- Engine: ports that any number of threads use ---- */

/* Threads of the library own the ports. Any thread receives frames of all of them, and sends to each.
 *
 *	struct rw_burst *burst = NULL;   one for each thread; the first call makes it
 *
 *	while (rw_engine_receive(engine, &burst, -1) > 0) {
 *		for (i = 0; i < burst->count; i++)
 *			burst->frames[i].to = burst->frames[i].port;
 *		rw_engine_send(engine, &burst, -1);
 *	}
 */
struct rw_engine;

/* No port: as `to` of a frame that ends here, and as `port` of one that the program made. */
#define RW_NOWHERE UINT32_MAX
/* Most frames of a burst. */
#define RW_BURST 64

/* A frame of a burst. The program may change the bytes, `len` up to `room`, and `to`. */
struct rw_engine_frame {
	uint8_t *data;
	uint32_t len;  /* without FCS; a frame of several slots is in one piece */
	uint32_t room; /* bytes that data has room for */
	uint32_t port; /* where it came from: the place of its name in rw_engine_open() */
	uint32_t to;   /* the port that it leaves by; RW_NOWHERE at first */
};

/* Frames in the hands of one thread. They may be used until its next call with the burst. Places from `count` on have no data. */
struct rw_burst {
	struct rw_engine_frame *frames;
	uint32_t count;
	uint32_t reserved;
};

/* Begin with RW_ENGINE_OPTIONS_INIT. 0 stands for the default of each. */
struct rw_engine_options {
	size_t size;             /* sizeof(struct rw_engine_options) */
	const uint32_t *io_cpus; /* CPUs, each for a thread of the library; one for each port at most */
	size_t io_cpu_count;
	uint32_t threads;        /* most bursts at once; 32 */
	uint32_t queue;          /* frames that a queue between threads has room for; 4096 */
	uint32_t gather_us;      /* frames of calls that send few wait so long for others; not at all */
	uint32_t patience_ms;    /* a thread that keeps frames for longer counts as stuck; 1000 */
	uint8_t flows;           /* 1: all frames of a flow go to one thread, in order; 0: each to any thread */
	uint8_t drop_received;   /* 1: when threads are too slow, frames are dropped; 0: they wait in the port */
	uint8_t drop_sent;       /* 1: when a port is too slow, frames are dropped; 0: rw_engine_send() waits */
	uint8_t reserved[5];
};
#define RW_ENGINE_OPTIONS_INIT {sizeof(struct rw_engine_options), NULL, 0, 0, 0, 0, 0, 0, 0, 0, {0}}

/* Counters. At rest delivered == taken + waiting_for_threads, and taken + made == sent + let_go + lost + held. */
struct rw_engine_counts {
	uint64_t delivered;           /* from ports into queues to threads */
	uint64_t taken;               /* received by threads */
	uint64_t made;                /* made by threads */
	uint64_t sent;                /* by threads to ports */
	uint64_t let_go;              /* ended in threads */
	uint64_t lost;                /* sent to a port that was full or had failed */
	uint64_t dropped;             /* on the way from and to the rings of ports */
	uint64_t held;                /* in the hands of threads */
	uint64_t waiting_for_threads;
	uint64_t waiting_for_ports;
	uint64_t stuck;               /* times that a thread kept frames for too long */
};

/* Opens the ports and starts the library's threads. `options` may be NULL. */
int rw_engine_open(const char *const *names, size_t n, const struct rw_engine_options *options, struct rw_engine **engine);
/* Sends what waits, for a second at most, and closes the ports. No other thread uses the engine meanwhile; bursts may be freed later. */
void rw_engine_close(struct rw_engine *engine);
/* Waits for frames, for timeout_ms, or for ever when that is negative. Returns how many: 0 when the time is over, and when no port
 * will receive again. Frames that are still in the burst end. When it fails, `count` says how many are left. */
int rw_engine_receive(const struct rw_engine *engine, struct rw_burst **burst, int timeout_ms);
/* Sends the frames of a burst that have a port in `to`; the others end. Returns 1, or 0 when the time is over and frames are left. */
int rw_engine_send(const struct rw_engine *engine, struct rw_burst **burst, int timeout_ms);
/* Adds a frame of `len` bytes, which hold anything. Returns its place in `frames`, or RW_BURST when the burst is full or buffers are
 * used up. */
int rw_engine_make(const struct rw_engine *engine, struct rw_burst **burst, uint32_t len);
/* Gives a burst back, with all that is in it. */
void rw_burst_free(struct rw_burst *burst);
/* Whether no port will receive again: 1 or 0. Frames that came before may still wait: all were there when this was 1 before a receive
 * that returned 0. */
int rw_engine_ended(const struct rw_engine *engine);
int rw_engine_read_counts(const struct rw_engine *engine, struct rw_engine_counts *counts);

/* Version of the library, as "0.1.0". */
const char *rw_version(void);

#ifdef __cplusplus
}
#endif

#endif
