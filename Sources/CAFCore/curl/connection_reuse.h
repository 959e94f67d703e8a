/** Decides, when a hop has its connection, whether its request may be sent there. */
#ifndef AF_CURL_CONNECTION_REUSE_H
#define AF_CURL_CONNECTION_REUSE_H

#include "curl/driver_internal.h"

/** CURLOPT_PREREQFUNCTION; the context is an exchange. */
int af__exchange_connected(void *exchange, char *remote, char *local, int remote_port,
                           int local_port);

/** Handles a socket that was opened for the exchange and is about to be closed. */
void af__reuse_opened(af__socket *socket, af__exchange *exchange);
void af__reuse_closing(af__socket *socket);

/** Handles input on a socket that libcurl isn't waiting for. */
void af__reuse_heard(af__socket *socket);

/** Returns whether a received head is HTTP/2, although the connection speaks HTTP/1. */
bool af__exchange_claims_http_2(const af__exchange *exchange);

#endif
