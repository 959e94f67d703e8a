/** libcurl's socket and timer callbacks, implemented on the loop. */
#ifndef AF_CURL_SOCKETS_H
#define AF_CURL_SOCKETS_H

#include "curl/driver_internal.h"

/** CURLOPT_OPENSOCKETFUNCTION and CURLOPT_CLOSESOCKETFUNCTION. */
curl_socket_t af__driver_open_socket(void *exchange, curlsocktype purpose,
                                     struct curl_sockaddr *address);
int af__driver_close_socket(void *driver, curl_socket_t descriptor);

/** Makes libcurl use the driver's loop. false: libcurl refuses. */
bool af__driver_use_loop(af__driver *driver);

/** Removes an exchange from all sockets, before it is freed. */
void af__driver_forget_exchange(af__driver *driver, const af__exchange *exchange);

/**
 * Detaches all sockets from their exchanges: input left in them when they are closed is ignored.
 */
void af__driver_forget_last(af__driver *driver);

/** Frees the sockets, after libcurl has closed all of them. */
void af__driver_free_sockets(af__driver *driver);

#endif
