/**
 * Queries to the kernel: rtnetlink for changes, a connected UDP socket for a route, /sys for the kind of a link.
 */
#ifndef AFC_REACHABILITY_NETLINK_H
#define AFC_REACHABILITY_NETLINK_H

#include "reachability/tables.h"

#include <netinet/in.h>
#include <sys/types.h>

/**
 * Opens an rtnetlink socket that receives changes of links, addresses, routes and rules. Returns its descriptor or a
 * negative errno.
 */
int afc__reach_open(void);

/** Sends a request. Returns false if that failed. */
bool afc__reach_send(int descriptor, const afc__reach_request *request);

/**
 * Receives the next datagram of the kernel. Returns its size, 0 if none is queued, or a negative errno: -ENOBUFS if
 * messages were lost.
 */
ssize_t afc__reach_receive(int descriptor, void *buffer, size_t size);

/** Returns the route that a packet to this address would take. Connects a UDP socket, which sends nothing. */
afc__reach_route afc__reach_probe(const afc__reach_address *destination);

/** Reads a socket address. Returns false if its family is neither AF_INET nor AF_INET6. */
bool afc__reach_address_of(afc__reach_address *out, const struct sockaddr *address);

/**
 * Returns AFC_LINK_WIRELESS, AFC_LINK_CELLULAR or AFC_LINK_UNKNOWN from the folder `class`, such as "/sys/class/net".
 * /sys may show another network namespace, so the index must match.
 */
afc_link_kind afc__reach_medium(const char *class, int index, const char *name);

#endif
