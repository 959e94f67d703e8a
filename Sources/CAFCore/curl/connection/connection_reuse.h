/**
 * Decides, when a hop has its connection and its request is about to be sent, whether the request may be sent there.
 * Loop thread only.
 */
#ifndef AFC_CURL_CONNECTION_CONNECTION_REUSE_H
#define AFC_CURL_CONNECTION_CONNECTION_REUSE_H

#include "curl/driver.h"

enum { AFC__PORT_BUCKETS = 256 };

/** The sockets and connections of a driver. */
typedef struct afc__connections {
    /** Hash table: established connections by local port, linked by afc__socket.next_alike. */
    afc__socket *by_port[AFC__PORT_BUCKETS];
    uint64_t opened;       /**< Sockets opened so far. */
    uint32_t max_requests; /**< Maximum number of requests per connection; 0 means no limit. */
} afc__connections;

/** CURLOPT_PREREQFUNCTION, whose context is an exchange. */
int afc__exchange_on_prerequest(void *exchange, char *remote, char *local, int remote_port,
                                int local_port);

/** Call it when a socket was opened for the exchange. */
void afc__reuse_opened(afc__socket *socket, afc__exchange *exchange);
/** Call it when a socket is about to be closed. */
void afc__reuse_closing(afc__socket *socket);

/** Shuts down a connection that nothing uses, so that libcurl finds it dead when it looks at it. */
void afc__reuse_end(afc__socket *socket);

/** Call it when there is input on a socket that libcurl isn't waiting for: shuts down an idle HTTP/1 connection. */
void afc__reuse_on_input(afc__socket *socket);

/** Shuts down the connection of an HTTP/2 exchange, which is unusable: later requests don't use it. */
void afc__reuse_broke(const afc__exchange *exchange);

/** Returns whether the status line of the received head says HTTP/2, although the connection speaks HTTP/1. */
bool afc__exchange_claims_http_2(const afc__exchange *exchange);

#endif
