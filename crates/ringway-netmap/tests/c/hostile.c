/* Processes that share a port.
 *
 *   hostile wild PORT SEED WRITES
 *   hostile share PORT
 *
 * The wild one has a thread that writes anything into the rings while another one polls. The careful one receives and sends until SIGTERM.
 * At SIGUSR1 it says how far it is.
 *
 * The careful one believes nothing that stands in the memory after it was bound. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "bind.h"

enum { RINGS = 4, WAIT_MS = 20, SEND = 16 };

/* A ring, and what it was when it was bound. */
struct known {
	struct netmap_ring *ring;
	uint32_t slots, buffer_size;
	int64_t buffers;
};

struct rings {
	struct known tx, rx;
};

static struct known know(struct netmap_ring *ring)
{
	return (struct known){ring, ring->num_slots, ring->nr_buf_size, ring->buf_ofs};
}

static struct rings know_all(const struct bound *p)
{
	return (struct rings){know(NETMAP_TXRING(p->nifp, 0)), know(NETMAP_RXRING(p->nifp, 0))};
}

static uint32_t seen(const uint32_t *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

/* ---- The wild one ---- */

struct wild {
	struct rings rings;
	uint64_t state, writes;
	atomic_bool over;
};

/* A value near the ones that are valid, or any. */
static uint64_t wild_value(struct wild *w, uint32_t slots)
{
	uint64_t value = dice(&w->state);

	switch (value >> 60) {
	case 0 ... 5:
		return value % (slots + 2);
	case 6 ... 8:
		return value % 70000;
	case 9:
		return UINT32_MAX - value % 4;
	default:
		return value;
	}
}

/* Writes one field of the ring or of a slot. */
static void write_wild(struct wild *w, const struct known *known)
{
	uint64_t which = dice(&w->state), value = wild_value(w, known->slots);
	volatile char *ring = (volatile char *)known->ring;
	volatile char *slot = (volatile char *)&known->ring->slot[(which >> 32) % known->slots];
	static const uint8_t words[] = {offsetof(struct netmap_ring, head), offsetof(struct netmap_ring, cur), offsetof(struct netmap_ring, tail),
					offsetof(struct netmap_ring, flags)};

	switch (which % 16) {
	case 0 ... 5:
		*(volatile uint32_t *)(ring + words[which >> 8 & 3]) = (uint32_t)value;
		break;
	case 6: /* anywhere in the header, which the system writes once */
		*(volatile uint32_t *)(ring + ((which >> 8) % 32) * 4) = (uint32_t)value;
		break;
	case 7 ... 9:
		*(volatile uint32_t *)(slot + offsetof(struct netmap_slot, buf_idx)) = (uint32_t)value;
		break;
	case 10 ... 11:
		*(volatile uint16_t *)(slot + offsetof(struct netmap_slot, len)) = (uint16_t)value;
		break;
	case 12 ... 13:
		/* An address of this program's would be its own to give away. */
		*(volatile uint16_t *)(slot + offsetof(struct netmap_slot, flags)) = (uint16_t)(value & ~NS_INDIRECT);
		break;
	default:
		*(volatile uint64_t *)(slot + offsetof(struct netmap_slot, ptr)) = value;
	}
}

static void *write_all(void *argument)
{
	struct wild *w = argument;

	for (uint64_t i = 0; i < w->writes && !stopping; i++)
		write_wild(w, dice(&w->state) & 1 ? &w->rings.tx : &w->rings.rx);
	atomic_store(&w->over, true);
	return NULL;
}

static void wild(const char *name, uint64_t seed, uint64_t writes)
{
	struct bound p = bind_port(name, 0, 0, NULL);
	struct wild w = {.rings = know_all(&p), .state = seed * 2 + 1, .writes = writes};
	struct pollfd fd = {.fd = p.fd, .events = POLLIN | POLLOUT};
	unsigned long polls = 0, errors = 0;
	pthread_t thread;

	ready();
	if (pthread_create(&thread, NULL, write_all, &w))
		FAIL("no thread");
	while (!atomic_load(&w.over)) {
		if (poll(&fd, 1, 1) < 0 && errno != EINTR)
			FAIL("poll: %s", strerror(errno));
		errors += (fd.revents & POLLERR) != 0;
		polls++;
		if (polls % 4 == 0 && (ioctl(fd.fd, NIOCTXSYNC) || ioctl(fd.fd, NIOCRXSYNC)) && errno != EIO)
			FAIL("sync: %s", strerror(errno));
	}
	pthread_join(thread, NULL);
	close(p.fd);
	printf("polls %lu resets %lu\n", polls, errors);
}

/* ---- The careful one ---- */

static char *buffer_of(const struct bound *p, const struct known *known, uint32_t index)
{
	uint64_t at = (uint64_t)((char *)known->ring - p->memory) + (uint64_t)known->buffers + (uint64_t)index * known->buffer_size;

	return index < 2 || at + known->buffer_size > p->reg.nr_memsize ? NULL : p->memory + at;
}

/* Where a ring stands; false if that is no place of it. */
static bool place(const struct known *known, uint32_t *head, uint32_t *tail)
{
	*head = seen(&known->ring->head);
	*tail = seen(&known->ring->tail);
	return *head < known->slots && *tail < known->slots;
}

static void leave(const struct known *known, uint32_t head)
{
	__atomic_store_n(&known->ring->cur, head, __ATOMIC_RELAXED);
	__atomic_store_n(&known->ring->head, head, __ATOMIC_RELEASE);
}

static unsigned take(const struct bound *p, const struct known *known)
{
	unsigned frames = 0;
	uint32_t head, tail;

	if (!place(known, &head, &tail))
		return 0;
	for (; head != tail; head = head + 1 == known->slots ? 0 : head + 1) {
		struct netmap_slot *slot = &known->ring->slot[head];
		const char *frame = buffer_of(p, known, seen(&slot->buf_idx));
		frames += frame && is_test_frame(frame, FRAME);
	}
	leave(known, head);
	return frames;
}

static unsigned put(const struct bound *p, const struct known *known, uint32_t number)
{
	unsigned frames = 0;
	uint32_t head, tail;

	if (!place(known, &head, &tail))
		return 0;
	for (; head != tail && frames < SEND; head = head + 1 == known->slots ? 0 : head + 1) {
		struct netmap_slot *slot = &known->ring->slot[head];
		char *frame = buffer_of(p, known, seen(&slot->buf_idx));
		if (frame)
			write_frame(frame, 0, number + frames++);
		slot->len = FRAME;
		slot->flags = 0;
	}
	leave(known, head);
	return frames;
}

static void share(const char *name)
{
	struct bound p = bind_port(name, 0, 0, NULL);
	struct rings rings = know_all(&p);
	struct pollfd fd = {.fd = p.fd, .events = POLLIN};
	unsigned long polls = 0, resets = 0, received = 0, sent = 0;

	ready();
	while (!stopping) {
		if (poll(&fd, 1, WAIT_MS) < 0 && errno != EINTR)
			FAIL("poll: %s", strerror(errno));
		resets += (fd.revents & POLLERR) != 0;
		received += take(&p, &rings.rx);
		sent += put(&p, &rings.tx, (uint32_t)sent);
		polls++;
		if (asked)
			asked = 0, printf("polls %lu received %lu sent %lu resets %lu\n", polls, received, sent, resets);
		usleep(200); /* what another process has to do too */
	}
	close(p.fd);
	printf("polls %lu received %lu sent %lu resets %lu\n", polls, received, sent, resets);
}

int main(int count, char **words)
{
	begin();
	if (count == 5 && !strcmp(words[1], "wild"))
		wild(words[2], strtoull(words[3], NULL, 10), strtoull(words[4], NULL, 10));
	else if (count == 3 && !strcmp(words[1], "share"))
		share(words[2]);
	else
		FAIL("usage: hostile wild PORT SEED WRITES | hostile share PORT");
	return 0;
}
