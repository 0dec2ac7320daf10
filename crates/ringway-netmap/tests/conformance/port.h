/* Ports bound by the public ABI, and nothing else. */
#ifndef PORT_H
#define PORT_H

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <net/netmap.h>
#include <net/netmap_user.h>

#include "suite.h"

struct port {
	int fd;
	struct nmreq_header header;
	struct nmreq_register reg;
	char *memory;
	struct netmap_if *nifp;
	int tx_of, rx_of; /* its first rings */
};

/* The interfaces that the environment names: CF_A and CF_B are the ends of a pair with one queue each, CF_M and CF_N of one with two. A
 * case without its interface is skipped. */
const char *interface_a(void);
const char *interface_b(void);
const char *interface_m(void);
const char *interface_n(void);
/* An interface's name with something behind it: rings of the host, a pipe. Valid until eight more were made. */
const char *name_of(const char *interface, const char *suffix);
/* Names that no other run uses: a virtual port with this suffix ("{1"), a port of a switch. */
const char *virtual_name(const char *suffix);
const char *switch_name(const char *port);
/* The same of another switch. */
const char *other_switch_name(const char *port);

int device(void); /* opens /dev/netmap */

/* A header for a request to a port. */
void fill_header(struct nmreq_header *header, uint16_t type, const char *name, void *body);
/* A request on a descriptor of its own; 0 or errno. */
int request(uint16_t type, const char *name, void *body);

/* Binds p->fd, or a new descriptor where that is -1, as p->reg says. 0 or errno. Afterwards the region is mapped. */
int try_bind(struct port *p, const char *name);
/* p->reg with this mode, ring and flags, and all else 0; p->fd -1. */
void prepare(struct port *p, uint32_t mode, uint16_t ring, uint64_t flags);
/* Both, and it must work. */
void bind_port(struct port *p, const char *name, uint32_t mode, uint16_t ring, uint64_t flags);
/* The usual: all rings. */
void open_port(struct port *p, const char *name);
/* The same must fail. */
void refuse_bind(const char *name, uint32_t mode, uint16_t ring, uint64_t flags, int error);
void close_port(struct port *p);
/* The region of a descriptor that another process bound. */
void map_port(struct port *p);

struct netmap_ring *tx(const struct port *p);
struct netmap_ring *rx(const struct port *p);
struct netmap_slot *slot_at(struct netmap_ring *ring, uint32_t ahead); /* counted from head */
char *buffer(struct netmap_ring *ring, const struct netmap_slot *slot);
void advance(struct netmap_ring *ring, uint32_t slots); /* head and cur */
void sync_tx(const struct port *p);
void sync_rx(const struct port *p);
/* What poll says at once or after so long. */
short poll_port(const struct port *p, short events, int ms);

long milliseconds(void);
void rest(int ms);

#endif
