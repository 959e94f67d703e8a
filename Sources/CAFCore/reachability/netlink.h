/**
 * Queries to the kernel: rtnetlink for changes, a connected UDP socket for a route, /sys for the kind of a link.
 */
#ifndef AF_REACHABILITY_NETLINK_H
#define AF_REACHABILITY_NETLINK_H

#include "reachability/tables.h"

#include <netinet/in.h>
#include <sys/types.h>

/** Opens an rtnetlink socket that receives changes of links, addresses and routes; or returns a negative errno. */
int af__reach_open(void);

/** Sends a request. false: it couldn't be sent. */
bool af__reach_send(int descriptor, const af__reach_request *request);

/** Receives the next datagram of the kernel. Returns its size, 0 if there is none now, or a negative errno. */
ssize_t af__reach_receive(int descriptor, void *buffer, size_t size);

/** Returns the route that a packet to this address would take. Nothing is sent. */
af__reach_route af__reach_probe(const af__reach_address *destination);

/** Reads a socket address; false if its family is neither AF_INET nor AF_INET6. */
bool af__reach_address_of(af__reach_address *out, const struct sockaddr *address);

/**
 * Returns AF_LINK_WIRELESS, AF_LINK_CELLULAR or AF_LINK_UNKNOWN from the folder `class`, such as "/sys/class/net".
 * /sys may show another network namespace, so the index must match.
 */
af_link_kind af__reach_medium(const char *class, int index, const char *name);

#endif
