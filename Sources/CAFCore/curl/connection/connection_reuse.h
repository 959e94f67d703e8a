/** Decides, when a hop has its connection, whether its request may be sent there. */
#ifndef AFC_CURL_CONNECTION_CONNECTION_REUSE_H
#define AFC_CURL_CONNECTION_CONNECTION_REUSE_H

#include "curl/driver.h"

enum { AFC__PORT_BUCKETS = 256 };

/** The connections of a driver. */
typedef struct afc__connections {
    afc__socket *by_port[AFC__PORT_BUCKETS]; /**< By local port. */
    uint64_t opened;                         /**< Sockets opened so far. */
    uint32_t max_requests;                   /**< Per connection; 0: no limit. */
} afc__connections;

/** CURLOPT_PREREQFUNCTION; the context is an exchange. */
int afc__exchange_on_prerequest(void *exchange, char *remote, char *local, int remote_port,
                                int local_port);

/** Handles a socket that was opened for the exchange and is about to be closed. */
void afc__reuse_opened(afc__socket *socket, afc__exchange *exchange);
void afc__reuse_closing(afc__socket *socket);

/** Shuts a connection down that nothing uses, so that libcurl finds it dead when it looks at it. */
void afc__reuse_end(afc__socket *socket);

/** Handles input on a socket that libcurl isn't waiting for. */
void afc__reuse_on_input(afc__socket *socket);

/** The connection of an HTTP/2 exchange is of no use any more: later requests don't use it. */
void afc__reuse_broke(const afc__exchange *exchange);

/** Returns whether a received head is HTTP/2, although the connection speaks HTTP/1. */
bool afc__exchange_claims_http_2(const afc__exchange *exchange);

#endif
