/**
 * The network options of a session: addresses, interfaces, Unix-domain sockets, DNS over HTTPS. An afc__network never
 * changes, and NULL stands for the defaults. Any thread may read it; functions of exchanges are for the loop thread.
 */
#ifndef AFC_CURL_REQUEST_NETWORK_H
#define AFC_CURL_REQUEST_NETWORK_H

#include "curl/driver.h"

#include <curl/curl.h>

typedef struct afc__network afc__network;

/** Returns the path of the Unix-domain socket that the next hop uses, the request's or the session's; NULL if none. */
const char *afc__driver_socket(const afc__driver *driver, const afc__transfer *transfer);

/** Returns whether this hop uses a Unix-domain socket, of the request or the session. */
bool afc__exchange_uses_socket(const afc__exchange *exchange);

/**
 * Reads the network options of a session. `*out` is NULL if none is set. `has_total_limit` is whether
 * afc_session_options.max_connections is set. Fails with AFC_EINVAL, AFC_EUNSUPPORTED or AFC_ENOMEM.
 */
afc_status afc__network_new(afc__network **out, const afc_network_options *options,
                            bool has_total_limit, afc_failure *failure);
void afc__network_free(afc__network *network);

/** Returns the host of the DNS over HTTPS server; NULL if names aren't looked up that way. */
const char *afc__network_doh_host(const afc__network *network);

/** Returns the host of the DNS over HTTPS server and sets `*port`; an empty slice without such a server. */
afc_slice afc__network_doh_server(const afc__network *network, uint16_t *port);

/** Returns the overrides of hosts' addresses as a list for CURLOPT_RESOLVE, or NULL. */
struct curl_slist *afc__network_overrides(const afc__network *network);

/** Returns whether custom DNS servers are set. */
bool afc__network_has_servers(const afc__network *network);

/** Returns whether an interface or a local address is set. */
bool afc__network_has_interface(const afc__network *network);

/** Returns AF_INET, AF_INET6 or AF_UNSPEC. */
int afc__network_family(const afc__network *network);

/** Returns whether only public addresses may be connected to. */
bool afc__network_requires_public(const afc__network *network);

/** Sets the options that no request changes, on a new handle. */
CURLcode afc__exchange_set_network(afc__exchange *exchange);

/** Returns whether the hop may connect to this address. If not, its transfer has failed. */
bool afc__exchange_may_connect(const afc__exchange *exchange, const struct curl_sockaddr *address);

/** Sets the request's Unix-domain socket, or restores the session's. */
CURLcode afc__exchange_set_socket(afc__exchange *exchange);

#endif
