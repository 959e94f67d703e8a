/** How the hosts of a session are reached: addresses, links, sockets, names over HTTPS. */
#ifndef AF_CURL_NETWORK_H
#define AF_CURL_NETWORK_H

#include "curl/driver_internal.h"

/** Path of the Unix-domain socket of the next hop, its own or the session's; NULL: none. */
const char *af__driver_socket(const af__driver *driver, const af__transfer *transfer);

/** Does this hop go to a Unix-domain socket, its own or the session's? */
bool af__exchange_uses_socket(const af__exchange *exchange);

/**
 * The ways to the hosts of a session. `*out` is NULL if nothing of the options is set. AF_EINVAL,
 * AF_EUNSUPPORTED, AF_ENOMEM.
 */
af_status af__network_new(af__network **out, const af_network_options *options,
                          bool has_total_limit, af_failure *failure);
void af__network_free(af__network *network);

/** The server that is asked for names over HTTPS; NULL: none is. */
const char *af__network_doh_host(const af__network *network);

/** The same with its port; empty: none is. */
af_slice af__network_doh_server(const af__network *network, uint16_t *port);

/** For CURLOPT_RESOLVE; NULL: none. */
struct curl_slist *af__network_overrides(const af__network *network);

/** Are DNS servers of the caller's choice asked? */
bool af__network_has_servers(const af__network *network);

/** Do connections leave by a link or an address of the caller's choice? */
bool af__network_has_interface(const af__network *network);

/** AF_INET, AF_INET6 or AF_UNSPEC. */
int af__network_family(const af__network *network);

/** What no request changes, for a new handle. */
CURLcode af__exchange_set_network(af__exchange *exchange);

/** May this hop's connection go to this address? If not, its transfer has failed. */
bool af__exchange_may_connect(const af__exchange *exchange, const struct curl_sockaddr *address);

/** Set the socket of this hop. */
CURLcode af__exchange_set_socket(af__exchange *exchange);

#endif
