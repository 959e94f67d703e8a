/** The moment when a hop has its connection and its request is about to be sent. */
#ifndef AF_CURL_CONNECTION_REUSE_H
#define AF_CURL_CONNECTION_REUSE_H

#include "curl/driver_internal.h"

/** CURLOPT_PREREQFUNCTION; the context is an exchange. */
int af__exchange_connected(void *exchange, char *remote, char *local, int remote_port,
                           int local_port);

/** A socket was opened for the exchange; it is about to be closed. */
void af__reuse_opened(af__socket *socket, af__exchange *exchange);
void af__reuse_closing(af__socket *socket);

/** Something came on a socket that libcurl doesn't wait for. */
void af__reuse_heard(af__socket *socket);

/** Is what came a head of HTTP/2, on a connection that speaks HTTP/1? */
bool af__exchange_claims_http_2(const af__exchange *exchange);

#endif
