// SPDX-License-Identifier: MIT OR Apache-2.0
//
// How a step is done: as far as it goes without waiting.
#ifndef PEER_FLOWS_STEPS_H
#define PEER_FLOWS_STEPS_H

#include "peer-flows-scripts.h"

static inline int failed(void) { return FAILED(failure_of(errno)); }

static inline int send_bytes(struct session *s, struct conn *c, const uint8_t *bytes, uint32_t len)
{
	while (s->done < len) {
		if (!c->writable) return WAIT;
		ssize_t n = send(c->fd, bytes + s->done, len - s->done, MSG_NOSIGNAL);
		if (n >= 0) s->done += (uint32_t)n;
		else if (errno == EAGAIN) c->writable = false;
		else return failed();
	}
	return NEXT;
}

// Reads into `out`: NEXT with at least one byte there, and `*n` says how many.
static inline int take(struct conn *c, uint8_t *out, size_t room, ssize_t *n)
{
	if (!c->readable) return WAIT;
	*n = recv(c->fd, out, room, 0);
	if (*n > 0) return NEXT;
	if (*n == 0) return FAILED(MISMATCH); // too early an end
	if (errno != EAGAIN) return failed();
	c->readable = false;
	return WAIT;
}

// `text`: the bytes must be these.
static inline int take_bytes(struct session *s, struct conn *c, const uint8_t *text, uint32_t len)
{
	static uint8_t buffer[65536];
	while (s->done < len) {
		ssize_t n;
		uint32_t left = len - s->done;
		int came = take(c, buffer, left < sizeof buffer ? left : sizeof buffer, &n);
		if (came != NEXT) return came;
		if (text && memcmp(buffer, text + s->done, (size_t)n)) return FAILED(MISMATCH);
		s->done += (uint32_t)n;
	}
	return NEXT;
}

// The end of the other side, and no byte before it.
static inline int take_end(struct conn *c)
{
	uint8_t byte;
	if (!c->readable) return WAIT;
	ssize_t n = recv(c->fd, &byte, 1, 0);
	if (n == 0) return NEXT;
	if (n > 0) return FAILED(MISMATCH);
	if (errno != EAGAIN) return failed();
	c->readable = false;
	return WAIT;
}

static inline int take_passive(struct session *s)
{
	uint8_t expected[64];
	uint32_t len = passive_line(expected, 0);
	while (s->done < len) {
		ssize_t n;
		int came = take(&s->conns[CONTROL], s->line + s->done, len - s->done, &n);
		if (came != NEXT) return came;
		s->done += (uint32_t)n;
	}
	unsigned high, low;
	s->line[len] = 0;
	if (sscanf((char *)s->line, "227 passive (%*u,%*u,%*u,%*u,%u,%u)", &high, &low) != 2) return FAILED(MISMATCH);
	s->port = (uint16_t)(high << 8 | low);
	passive_line(expected, s->port);
	return memcmp(s->line, expected, len) ? FAILED(MISMATCH) : NEXT;
}

static inline int open_data(struct session *s)
{
	struct conn *c = &s->conns[DATA];
	if (c->fd < 0) {
		if ((c->fd = new_socket(SOCK_STREAM)) < 0) return failed();
		watch(c, BOTH_WAYS);
		if (!connect_to(c->fd, s->port)) return failed();
	}
	return c->writable ? NEXT : WAIT;
}

static inline int accept_data(struct session *s)
{
	struct conn *c = &s->conns[DATA];
	if (!s->knocked) return WAIT;
	int fd = accept4(s->listener.fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (fd < 0 && errno != EAGAIN) return failed();
	s->knocked = false;
	if (fd < 0) return WAIT;
	*c = (struct conn){ .fd = fd, .writable = true, .owner = s };
	watch(c, BOTH_WAYS);
	return NEXT;
}

static inline int leave(struct conn *c)
{
	close(c->fd);
	c->fd = -1;
	return NEXT;
}

static inline int ask(struct session *s)
{
	uint8_t asked[64];
	uint32_t len = question(asked, s->id);
	return send(s->conns[CONTROL].fd, asked, len, 0) == (ssize_t)len ? NEXT : failed();
}

static inline int hear(struct session *s)
{
	uint8_t asked[64], expected[96], heard[512];
	ssize_t n;
	int came = take(&s->conns[CONTROL], heard, sizeof heard, &n);
	if (came != NEXT) return came;
	uint32_t len = answer(expected, asked, question(asked, s->id));
	return (ssize_t)len == n && !memcmp(heard, expected, len) ? NEXT : FAILED(MISMATCH);
}

static inline int step(struct session *s, const struct step *step)
{
	struct conn *c = &s->conns[step->conn];
	uint8_t line[64];
	switch (step->op) {
	case SEND: return send_bytes(s, c, step->bytes, step->len);
	case TAKE: return take_bytes(s, c, step->bytes, step->len);
	case TAKE_BODY: return take_bytes(s, c, NULL, step->len);
	case SEND_PASSIVE: return send_bytes(s, c, line, passive_line(line, s->listener_port));
	case TAKE_PASSIVE: return take_passive(s);
	case OPEN_DATA: return open_data(s);
	case ACCEPT_DATA: return accept_data(s);
	case FINISH: return shutdown(c->fd, SHUT_WR) ? failed() : NEXT;
	case TAKE_END: return take_end(c);
	case LEAVE: return leave(c);
	case ASK: return ask(s);
	case HEAR: return hear(s);
	case END: break;
	}
	return DONE;
}

#endif
