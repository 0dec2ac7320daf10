// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What each end of a flow does, step by step.
#ifndef PEER_FLOWS_SCRIPTS_H
#define PEER_FLOWS_SCRIPTS_H

#include "peer-flows.h"

#define MOST_STEPS 24

struct script { struct step client[MOST_STEPS], server[MOST_STEPS]; };
static struct script scripts[KINDS];
static uint32_t step_count[KINDS][2];

static inline void add(enum kind kind, bool is_client, struct step step)
{
	uint32_t at = step_count[kind][!is_client]++;
	(is_client ? scripts[kind].client : scripts[kind].server)[at] = step;
}

static inline void both(enum kind kind, int client, int server, int conn)
{
	add(kind, true, (struct step){ .op = client, .conn = conn });
	add(kind, false, (struct step){ .op = server, .conn = conn });
}

// A message of one end, which the other one compares.
static inline void say(enum kind kind, bool by_client, const char *text)
{
	struct step message = { .op = SEND, .conn = CONTROL, .bytes = (const uint8_t *)text, .len = (uint32_t)strlen(text) };
	add(kind, by_client, message);
	message.op = TAKE;
	add(kind, !by_client, message);
}

static inline const uint8_t *body(uint32_t len)
{
	uint8_t *bytes = malloc(len);
	if (!bytes) fail("no memory");
	for (uint32_t k = 0; k < len; k++) bytes[k] = (uint8_t)(k * 131 >> 3);
	return bytes;
}

static inline void write_ftp(uint32_t file)
{
	say(FTP, false, "220 ready\r\n");
	say(FTP, true, "USER anonymous\r\n");
	say(FTP, false, "331 password\r\n");
	say(FTP, true, "PASS guest@example.net\r\n");
	say(FTP, false, "230 logged in\r\n");
	say(FTP, true, "TYPE I\r\n");
	say(FTP, false, "200 binary\r\n");
	say(FTP, true, "PASV\r\n");
	both(FTP, TAKE_PASSIVE, SEND_PASSIVE, CONTROL);
	both(FTP, OPEN_DATA, ACCEPT_DATA, DATA);
	say(FTP, true, "RETR file.bin\r\n");
	say(FTP, false, "150 opening\r\n");
	add(FTP, false, (struct step){ .op = SEND, .conn = DATA, .bytes = body(file), .len = file });
	add(FTP, true, (struct step){ .op = TAKE_BODY, .conn = DATA, .len = file });
	both(FTP, TAKE_END, FINISH, DATA);
	both(FTP, LEAVE, TAKE_END, DATA);
	say(FTP, false, "226 done\r\n");
	say(FTP, true, "QUIT\r\n");
	say(FTP, false, "221 bye\r\n");
	both(FTP, FINISH, TAKE_END, CONTROL);
	both(FTP, TAKE_END, END, CONTROL);
	add(FTP, true, (struct step){ .op = END });
}

static inline void write_http(uint32_t page)
{
	static char request[128], head[128];
	snprintf(request, sizeof request, "GET / HTTP/1.1\r\nHost: %s\r\n\r\n", inet_ntoa(place.server));
	say(HTTP, true, request);
	int len = snprintf(head, sizeof head, "HTTP/1.1 200 OK\r\nContent-Length: %u\r\n\r\n", page);
	uint8_t *reply = malloc((uint32_t)len + page); // leaves in one call
	if (!reply) fail("no memory");
	memcpy(reply, head, (uint32_t)len);
	memcpy(reply + len, body(page), page);
	add(HTTP, false, (struct step){ .op = SEND, .bytes = reply, .len = (uint32_t)len + page });
	add(HTTP, true, (struct step){ .op = TAKE, .bytes = (uint8_t *)head, .len = (uint32_t)len });
	add(HTTP, true, (struct step){ .op = TAKE_BODY, .len = page });
	both(HTTP, TAKE_END, FINISH, CONTROL);
	both(HTTP, END, TAKE_END, CONTROL);
	add(HTTP, false, (struct step){ .op = END });
}

static inline void write_scripts(uint32_t file, uint32_t page)
{
	write_ftp(file);
	write_http(page);
	both(DNS, ASK, END, CONTROL);
	add(DNS, true, (struct step){ .op = HEAR });
	add(DNS, true, (struct step){ .op = END });
}

// The kinds of flows that start, in turn.
static enum kind turns[20];
static uint32_t turns_len;

static inline void choose_kinds(const char *name)
{
	static const char *const names[KINDS] = { "ftp", "http", "dns" };
	static const char mix[] = "hdhfhdhhdhfhdhhdhfhd"; // 11 pages, 6 questions, 3 files
	for (enum kind kind = 0; kind < KINDS; kind++)
		if (!strcmp(name, names[kind])) turns[turns_len++] = kind;
	for (uint32_t k = 0; !strcmp(name, "mix") && k < sizeof turns / sizeof *turns; k++)
		turns[turns_len++] = mix[k] == 'h' ? HTTP : mix[k] == 'd' ? DNS : FTP;
	if (!turns_len) fail("no flows are called \"%s\"", name);
}

static inline enum kind next_kind(void)
{
	static uint32_t next;
	return turns[next++ % turns_len];
}

// A line with the port of the data connection. Its length is always the same.
static inline uint32_t passive_line(uint8_t *line, uint16_t port)
{
	const uint8_t *a = (const uint8_t *)&place.server;
	return (uint32_t)sprintf((char *)line, "227 passive (%u,%u,%u,%u,%03u,%03u)\r\n", a[0], a[1], a[2], a[3], port >> 8,
	                         port & 255);
}

// A question for an address, whose name tells one flow from another, and the answer to it.
static inline uint32_t question(uint8_t *out, uint32_t id)
{
	static const uint8_t head[] = { 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 8 };
	static const uint8_t tail[] = { 7, 'e', 'x', 'a', 'm', 'p', 'l', 'e', 0, 0, 1, 0, 1 };
	out[0] = (uint8_t)(id >> 8);
	out[1] = (uint8_t)id;
	memcpy(out + 2, head, sizeof head);
	for (int k = 0; k < 8; k++) out[13 + k] = (uint8_t)('a' + (id >> 4 * k & 15));
	memcpy(out + 21, tail, sizeof tail);
	return 21 + sizeof tail;
}

static inline uint32_t answer(uint8_t *out, const uint8_t *asked, uint32_t len)
{
	static const uint8_t record[] = { 0xc0, 12, 0, 1, 0, 1, 0, 0, 1, 44, 0, 4, 198, 19, 0, 9 };
	memcpy(out, asked, len);
	out[2] = 0x81, out[3] = 0x80, out[7] = 1;
	memcpy(out + len, record, sizeof record);
	return len + (uint32_t)sizeof record;
}

#endif
