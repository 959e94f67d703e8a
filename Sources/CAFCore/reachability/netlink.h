/**
 * What the kernel is asked: rtnetlink for changes, a connected UDP socket for a route, /sys for the
 * kind of a link.
 */
#ifndef AF_REACHABILITY_NETLINK_H
#define AF_REACHABILITY_NETLINK_H

#include "reachability/tables.h"

#include <netinet/in.h>
#include <sys/types.h>

/** A descriptor that hears of changes of links, addresses and routes; or a negative errno. */
int af__reach_open(void);

/** false: it could not be sent. */
bool af__reach_send(int descriptor, const af__reach_request *request);

/** The size of the next datagram of the kernel, 0 when there is none now, or a negative errno. */
ssize_t af__reach_receive(int descriptor, void *buffer, size_t size);

/** How would a packet get there? None is sent. */
af__reach_route af__reach_probe(const af__reach_address *destination);

/** Fill in from a socket address; false if it is of another family. */
bool af__reach_address_of(af__reach_address *out, const struct sockaddr *address);

/**
 * AF_LINK_WIRELESS, AF_LINK_CELLULAR or AF_LINK_UNKNOWN, by the folder `class`, such as
 * "/sys/class/net". That may show another network namespace: an index that differs tells.
 */
af_link_kind af__reach_medium(const char *class, int index, const char *name);

#endif
