/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Names of ports, "netmap:eth0-3/x@2", taken apart. Part of net/netmap_user.h and of libnetmap.h. */
#ifndef RINGWAY_NET_NM_PARSE_H
#define RINGWAY_NET_NM_PARSE_H

#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <net/netmap.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a name says. */
struct rw_nm_name {
	const char *port;    /* the name for the request: behind "netmap:", and all of "vale0:p" */
	size_t bytes;        /* its length, without a pipe's end */
	char pipe;           /* '{' or '}', or 0 */
	const char *id;      /* the pipe's name */
	size_t id_bytes;
	uint32_t mode;       /* NR_REG_*; of a pipe NR_REG_ALL_NIC, or NR_REG_ONE_NIC */
	uint16_t ring;
	uint16_t mem_id;     /* 0: not said */
	uint64_t flags;      /* NR_EXCLUSIVE and so on */
	const char *options; /* at "@" where that is no number, or at the end */
};

/* A decimal number of at most `most`; moves behind it. -1 if there is none. */
static inline long rw_nm_number(const char **at, long most)
{
	long value = 0;

	if (!isdigit((unsigned char)**at))
		return -1;
	while (isdigit((unsigned char)**at)) {
		value = value * 10 + (*(*at)++ - '0');
		if (value > most)
			return -1;
	}
	return value;
}

/* The prefix and the name itself; where the mode begins. NULL, with a reason, if it is no name of a port. */
static inline const char *rw_nm_parse_port(const char *text, struct rw_nm_name *name, const char **reason)
{
	const char *at = text;

	if (strncmp(text, "netmap:", 7) == 0) {
		at = name->port = text + 7;
	} else if (strncmp(text, NM_BDG_NAME, 4) == 0 && strchr(text, ':') != NULL) {
		name->port = text;
		at = strchr(text, ':') + 1;
	} else {
		*reason = "a name begins with netmap: or vale";
		return NULL;
	}
	at += strcspn(at, "-*^{}/@");
	name->bytes = (size_t)(at - name->port);
	name->mode = NR_REG_ALL_NIC;
	return at;
}

/* "-3", "^", "^1", "*", "{id", "}id", "{id-1": which rings. */
static inline const char *rw_nm_parse_mode(const char *at, struct rw_nm_name *name, const char **reason)
{
	long number = -1;

	if (*at == '{' || *at == '}') {
		name->pipe = *at;
		name->id = ++at;
		while (isalnum((unsigned char)*at) || *at == '_')
			at++;
		name->id_bytes = (size_t)(at - name->id);
		if (name->id_bytes == 0) {
			*reason = "a pipe has a name behind { or }";
			return NULL;
		}
	}
	if (*at == '*' && !name->pipe) {
		name->mode = NR_REG_NIC_SW;
		return at + 1;
	}
	if (*at == '^' && !name->pipe) {
		at++;
		name->mode = isdigit((unsigned char)*at) ? NR_REG_ONE_SW : NR_REG_SW;
		if (name->mode == NR_REG_SW)
			return at;
	} else if (*at == '-') {
		at++;
		name->mode = NR_REG_ONE_NIC;
	} else {
		return at;
	}
	number = rw_nm_number(&at, NETMAP_RING_MASK);
	if (number < 0) {
		*reason = "a ring has a number below 4096";
		return NULL;
	}
	name->ring = (uint16_t)number;
	return at;
}

/* "/xzt": what else. */
static inline const char *rw_nm_parse_flags(const char *at, struct rw_nm_name *name, const char **reason)
{
	static const char letters[] = "xztrRT";
	static const uint64_t bits[] = {NR_EXCLUSIVE,  NR_ZCOPY_MON,	 NR_MONITOR_TX,
					NR_MONITOR_RX, NR_RX_RINGS_ONLY, NR_TX_RINGS_ONLY};

	if (*at != '/')
		return at;
	for (at++; *at != '\0' && *at != '@'; at++) {
		const char *letter = strchr(letters, *at);
		if (letter == NULL) {
			*reason = "flags behind / are x, z, t, r, R, T";
			return NULL;
		}
		name->flags |= bits[letter - letters];
	}
	return at;
}

/* Takes a name apart. 0, or -1 with errno and a reason. */
static inline int rw_nm_parse(const char *text, struct rw_nm_name *name, const char **reason)
{
	const char *at;

	memset(name, 0, sizeof(*name));
	at = rw_nm_parse_port(text, name, reason);
	if (at != NULL)
		at = rw_nm_parse_mode(at, name, reason);
	if (at != NULL)
		at = rw_nm_parse_flags(at, name, reason);
	if (at != NULL && *at == '@' && isdigit((unsigned char)at[1])) {
		long id;

		at++;
		id = rw_nm_number(&at, UINT16_MAX);
		if (id <= 0) {
			*reason = "a region has a number from 1 to 65535";
			at = NULL;
		}
		name->mem_id = (uint16_t)id;
	}
	if (at != NULL && *at != '\0' && *at != '@') {
		*reason = "the end of the name is unknown";
		at = NULL;
	}
	name->options = at;
	if (at != NULL)
		return 0;
	errno = EINVAL;
	return -1;
}

#ifdef __cplusplus
}
#endif

#endif
