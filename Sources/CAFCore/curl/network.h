/** The network options of a session: addresses, interfaces, sockets, DNS over HTTPS. */
#ifndef AF_CURL_NETWORK_H
#define AF_CURL_NETWORK_H

#include "curl/driver_internal.h"

/**
 * Returns the path of the next hop's Unix-domain socket, of the request or the session; NULL: none.
 */
const char *af__driver_socket(const af__driver *driver, const af__transfer *transfer);

/** Returns whether this hop uses a Unix-domain socket, of the request or the session. */
bool af__exchange_uses_socket(const af__exchange *exchange);

/**
 * Reads the network options of a session. `*out` is NULL if none is set. AF_EINVAL,
 * AF_EUNSUPPORTED, AF_ENOMEM.
 */
af_status af__network_new(af__network **out, const af_network_options *options,
                          bool has_total_limit, af_failure *failure);
void af__network_free(af__network *network);

/** Returns the host of the DNS over HTTPS server; NULL: not used. */
const char *af__network_doh_host(const af__network *network);

/** Returns it with its port; empty: not used. */
af_slice af__network_doh_server(const af__network *network, uint16_t *port);

/** Returns the list for CURLOPT_RESOLVE; NULL: none. */
struct curl_slist *af__network_overrides(const af__network *network);

/** Returns whether custom DNS servers are set. */
bool af__network_has_servers(const af__network *network);

/** Returns whether an interface or a local address is set. */
bool af__network_has_interface(const af__network *network);

/** Returns AF_INET, AF_INET6 or AF_UNSPEC. */
int af__network_family(const af__network *network);

/** Sets the options that no request changes, on a new handle. */
CURLcode af__exchange_set_network(af__exchange *exchange);

/** Returns whether this hop may connect to this address. If not, its transfer has failed. */
bool af__exchange_may_connect(const af__exchange *exchange, const struct curl_sockaddr *address);

/** Sets the Unix-domain socket of this hop. */
CURLcode af__exchange_set_socket(af__exchange *exchange);

#endif
