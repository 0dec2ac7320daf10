/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Devices, made by their arguments and removed again. */
#define ALLOW_EXPERIMENTAL_API /* for rte_devargs_reset, which frees what rte_devargs_parse made */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_bus.h>
#include <rte_dev.h>
#include <rte_errno.h>

#include "inside.h"

/* An Ethernet header and two tags. */
#define AROUND_MTU (RTE_ETHER_HDR_LEN + 8)
#define ROOM 2048
#define MOST_ROOM (UINT16_MAX - RTE_PKTMBUF_HEADROOM)

/* Bursts taken from a queue that closes, so that no buffer stays in it. */
#define LAST_BURSTS 64

#define HASHED (RTE_ETH_RSS_IP | RTE_ETH_RSS_TCP | RTE_ETH_RSS_UDP)

/* Guards all that makes and removes devices, and the list of ports. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct ringway_dpdk_port *ports;

static bool is_open(uint16_t id)
{
	for (struct ringway_dpdk_port *p = ports; p != NULL; p = p->next) {
		if (p->id == id)
			return true;
	}
	return false;
}

/* The only port of the device. Its name alone names it: of arguments behind it DPDK would take some, such as `mac`, for the port's. */
static int find(const char *device, uint16_t *id)
{
	struct rte_dev_iterator iterator;
	uint16_t found = 0, each;

	RTE_ETH_FOREACH_MATCHING_DEV(each, device, &iterator) {
		*id = each;
		found++;
	}
	if (found == 0)
		return failed(-ENOTSUP, "the device has no Ethernet port");
	return found == 1 ? 0 : failed(-ENOTSUP, "the device has several Ethernet ports");
}

static int set_promiscuous(uint16_t id, uint32_t wanted)
{
	if (wanted == RINGWAY_DPDK_OFF) {
		int error = rte_eth_promiscuous_disable(id);
		return error == 0 ? 0 : failed(error, "the device can't leave promiscuous mode");
	}
	int error = rte_eth_promiscuous_enable(id);
	if (error == 0 || wanted == RINGWAY_DPDK_TRY)
		return 0;
	return failed(error, "the device can't be promiscuous");
}

static int set_up_queues(struct ringway_dpdk_port *port, uint16_t descriptors[2])
{
	int error;
	for (uint16_t q = 0; q < port->queues; q++) {
		error = rte_eth_rx_queue_setup(port->id, q, descriptors[0], SOCKET_ID_ANY, NULL, port->pool);
		if (error != 0)
			return failed(error, "setting a queue up to receive failed");
		error = rte_eth_tx_queue_setup(port->id, q, descriptors[1], SOCKET_ID_ANY, NULL);
		if (error != 0)
			return failed(error, "setting a queue up to send failed");
	}
	return 0;
}

static int configure(struct ringway_dpdk_port *port, const struct ringway_dpdk_ask *ask, struct ringway_dpdk_is *is)
{
	struct rte_eth_conf conf = { 0 };
	struct rte_eth_dev_info info;
	char text[96];
	uint16_t descriptors[2], mtu;

	int error = rte_eth_dev_info_get(port->id, &info);
	if (error != 0)
		return failed(error, "asking the device failed");
	is->interface = info.if_index;
	snprintf(is->driver, sizeof(is->driver), "%s", info.driver_name);
	if (port->queues > info.max_rx_queues || port->queues > info.max_tx_queues) {
		snprintf(text, sizeof(text), "the device has %u queues to receive and %u to send", info.max_rx_queues, info.max_tx_queues);
		return failed(-ERANGE, text);
	}
	if (port->queues > 1 && (info.flow_type_rss_offloads & HASHED) != 0) {
		conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
		conf.rx_adv_conf.rss_conf.rss_hf = info.flow_type_rss_offloads & HASHED;
		is->rss = 1;
	}
	/* A frame that is longer than a buffer comes in several, or would be cut. */
	conf.rxmode.offloads = info.rx_offload_capa & RTE_ETH_RX_OFFLOAD_SCATTER;
	conf.rxmode.mtu = ask->mtu;
	error = rte_eth_dev_configure(port->id, port->queues, port->queues, &conf);
	if (error != 0)
		return failed(error, "the device refuses its configuration");
	if (ask->mtu != 0) {
		error = rte_eth_dev_set_mtu(port->id, ask->mtu);
		if (error != 0 && error != -ENOTSUP)
			return failed(error, "the device refuses the MTU");
	}
	error = rte_eth_dev_get_mtu(port->id, &mtu);
	if (error != 0)
		return failed(error, "asking for the MTU failed");
	is->mtu = mtu;
	port->room = RTE_MIN(RTE_MAX((uint32_t)RTE_ALIGN_CEIL(mtu + AROUND_MTU, 64), (uint32_t)ROOM), (uint32_t)MOST_ROOM);
	is->room = port->room;
	descriptors[0] = descriptors[1] = ask->descriptors;
	error = rte_eth_dev_adjust_nb_rx_tx_desc(port->id, &descriptors[0], &descriptors[1]);
	if (error != 0)
		return failed(error, "choosing descriptors failed");
	is->descriptors[0] = descriptors[0];
	is->descriptors[1] = descriptors[1];
	/* What the caller has, what waits and is reserved, and as much between driver and device. */
	uint32_t each = descriptors[0] + descriptors[1] + 6 * RINGWAY_DPDK_FRAMES;
	port->pool = make_pool(each * port->queues, port->room);
	if (port->pool == NULL)
		return failed(-rte_errno, "there is no memory for buffers");
	error = set_up_queues(port, descriptors);
	if (error != 0)
		return error;
	error = rte_eth_dev_start(port->id);
	if (error != 0)
		return failed(error, "the device does not start");
	if (is->interface == 0)
		error = set_promiscuous(port->id, ask->promiscuous);
	if (error != 0)
		rte_eth_dev_stop(port->id);
	rte_eth_stats_reset(port->id);
	return error;
}

static void remove_device(const struct rte_devargs *device)
{
	rte_eal_hotplug_remove(rte_bus_name(device->bus), device->name);
}

static void free_port(struct ringway_dpdk_port *port)
{
	rte_eth_dev_close(port->id);
	remove_device(&port->device);
	rte_devargs_reset(&port->device);
	if (port->pool != NULL)
		give_pool_back(port->pool);
	free(port);
}

static struct ringway_dpdk_port *make_port(const struct ringway_dpdk_ask *ask)
{
	size_t size = sizeof(struct ringway_dpdk_port) + ask->queues * sizeof(struct queue);
	void *port = NULL;
	if (posix_memalign(&port, RTE_CACHE_LINE_SIZE, RTE_ALIGN_CEIL(size, RTE_CACHE_LINE_SIZE)) != 0)
		return NULL;
	return memset(port, 0, size);
}

/* Makes the device and finds its port; on failure there is none. */
static int make_device(const struct ringway_dpdk_ask *ask, struct ringway_dpdk_port *port)
{
	int error = rte_devargs_parse(&port->device, ask->devargs);
	if (error != 0)
		return failed(-ENOENT, "DPDK does not know the device");
	error = rte_dev_probe(ask->devargs);
	if (error == -EEXIST)
		return failed(error, "the device is open in this process");
	if (error != 0)
		return failed(error == -ENODEV ? -ENOENT : error, "DPDK can't make the device");
	error = find(port->device.name, &port->id);
	if (error == 0 && is_open(port->id))
		return failed(-EBUSY, "the device is open in this process");
	if (error != 0)
		remove_device(&port->device);
	return error;
}

static int open_locked(const struct ringway_dpdk_ask *ask, struct ringway_dpdk_is *is, struct ringway_dpdk_port **out)
{
	struct ringway_dpdk_port *port = make_port(ask);
	if (port == NULL)
		return failed(-ENOMEM, "there is no memory for the port");
	port->queues = ask->queues;
	int error = make_device(ask, port);
	if (error != 0) {
		rte_devargs_reset(&port->device);
		free(port);
		return error;
	}
	error = configure(port, ask, is);
	if (error != 0) {
		free_port(port);
		return error;
	}
	port->next = ports;
	ports = port;
	*out = port;
	return 0;
}

int open_port(const struct ringway_dpdk_ask *ask, struct ringway_dpdk_is *is, struct ringway_dpdk_port **port)
{
	forget_log();
	memset(is, 0, sizeof(*is));
	pthread_mutex_lock(&lock);
	int error = open_locked(ask, is, port);
	pthread_mutex_unlock(&lock);
	return error;
}

/* A ring of net_ring frees no frame that is in it when it goes. */
static void drain(struct ringway_dpdk_port *port, uint16_t queue)
{
	struct rte_mbuf *frames[RINGWAY_DPDK_FRAMES];
	for (int i = 0; i < LAST_BURSTS; i++) {
		uint16_t n = rte_eth_rx_burst(port->id, queue, frames, RINGWAY_DPDK_FRAMES);
		if (n == 0)
			return;
		rte_pktmbuf_free_bulk(frames, n);
	}
}

void close_port(struct ringway_dpdk_port *port)
{
	know_thread();
	pthread_mutex_lock(&lock);
	struct ringway_dpdk_port **at = &ports;
	while (*at != port)
		at = &(*at)->next;
	*at = port->next;
	for (uint16_t q = 0; q < port->queues; q++) {
		free_queue(port, q);
		drain(port, q);
	}
	rte_eth_dev_stop(port->id);
	free_port(port);
	pthread_mutex_unlock(&lock);
}

int port_link(struct ringway_dpdk_port *port)
{
	struct rte_eth_link link;
	forget_log();
	int error = rte_eth_link_get_nowait(port->id, &link);
	return error == 0 ? link.link_status == RTE_ETH_LINK_UP : failed(error, "asking for the link failed");
}

int port_stats(struct ringway_dpdk_port *port, struct ringway_dpdk_stats *stats)
{
	struct rte_eth_stats is;
	forget_log();
	int error = rte_eth_stats_get(port->id, &is);
	if (error != 0)
		return failed(error, "asking for statistics failed");
	*stats = (struct ringway_dpdk_stats){
		.sent = is.opackets,
		.failed = is.oerrors,
		.missed = is.imissed,
		.broken = is.ierrors,
		.out_of_memory = is.rx_nombuf,
	};
	return 0;
}
