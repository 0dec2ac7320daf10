/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Wishes for rings and slots in a port's name: "@conf:slots=512,rings=2". Part of libnetmap.h. */
#ifndef RINGWAY_NET_NM_CONF_H
#define RINGWAY_NET_NM_CONF_H

#include <net/ringway_nm_parse.h>

#ifdef __cplusplus
extern "C" {
#endif

/* "slots=512,rings=2": wishes. 0, or -1 for others. */
static inline int rw_nm_conf(struct nmreq_register *r, const char *at)
{
	static const char *const keys[] = {"slots=",	  "tx-slots=",	    "rx-slots=",      "rings=",	       "tx-rings=",
					   "rx-rings=", "host-rings=", "host-tx-rings=", "host-rx-rings="};
	long value;
	size_t key;

	for (;;) {
		for (key = 0; key < sizeof(keys) / sizeof(*keys) && strncmp(at, keys[key], strlen(keys[key])) != 0; key++)
			;
		if (key == sizeof(keys) / sizeof(*keys))
			return -1;
		at += strlen(keys[key]);
		value = rw_nm_number(&at, key < 3 ? INT32_MAX : UINT16_MAX);
		if (value < 0)
			return -1;
		if (key == 0 || key == 1)
			r->nr_tx_slots = (uint32_t)value;
		if (key == 0 || key == 2)
			r->nr_rx_slots = (uint32_t)value;
		if (key == 3 || key == 4)
			r->nr_tx_rings = (uint16_t)value;
		if (key == 3 || key == 5)
			r->nr_rx_rings = (uint16_t)value;
		if (key == 6 || key == 7)
			r->nr_host_tx_rings = (uint16_t)value;
		if (key == 6 || key == 8)
			r->nr_host_rx_rings = (uint16_t)value;
		if (*at != ',')
			return *at == '\0' ? 0 : -1;
		at++;
	}
}

#ifdef __cplusplus
}
#endif

#endif
