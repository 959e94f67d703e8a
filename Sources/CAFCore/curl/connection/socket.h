/**
 * A socket of libcurl, and the connection that it carries. It names exchanges, and exchanges list the sockets that name
 * them: so neither a new connection nor the end of a handle looks at every socket of the session.
 */
#ifndef AFC_CURL_CONNECTION_SOCKET_H
#define AFC_CURL_CONNECTION_SOCKET_H

#include "base/list.h"
#include "curl/connection/idle_connections.h"
#include "curl/driver.h"
#include "curl/request/resolve.h"
#include "tls/tls.h"

/** The protocol of a connection, as its last exchange saw it. */
typedef enum afc__connection {
    AFC__CONNECTION_UNKNOWN, /**< Being connected, or not opened by this driver. */
    AFC__CONNECTION_HTTP_1,
    AFC__CONNECTION_HTTP_2, /**< libcurl reads between requests; frames may arrive at any time. */
    AFC__CONNECTION_ENDED   /**< Shut down by this driver, because of unexpected input. */
} afc__connection;

struct afc__socket {
    afc__watch watch;
    afc__driver *driver;
    afc__exchange *exchange; /**< The last one that libcurl named; for its activity only. */
    afc__exchange *last;     /**< The same, also after libcurl has released the socket, */
    uint64_t last_serial;    /**< if this is still its hop. */
    /* In the lists of these exchanges, and of `opener`; only socket.c changes them. */
    afc__node exchange_node, last_node, opener_node;
    afc__name *name; /**< The host that it was opened for; NULL: no lookup. */
    unsigned wanted; /**< Readiness that libcurl waits for. */
    bool is_own;     /**< Opened by this driver, so closing it is reported. */

    afc__idle_socket idle;

    /* State of the connection; see connection_reuse.c. */
    afc__connection kind;
    afc__exchange *opener;   /**< The exchange that it was opened for, */
    uint64_t opener_serial;  /**< if this is still its hop. */
    uint64_t number;         /**< Unique among connections; 0: closed. */
    uint64_t closed_number;  /**< The previous connection with this descriptor, */
    bool was_open;           /**< and whether the peer had not ended that one when it was closed. */
    afc__tls_peer *proxy;    /**< The TLS peer of the proxy; NULL: none. */
    uint32_t requests;       /**< Sent on it so far. */
    uint32_t streams;        /**< HTTP/2: exchanges on it, */
    uint32_t stopped;        /**< and how many of them are stopped. */
    bool must_recheck;       /**< See afc__driver_recheck(). */
    afc__socket *next_alike; /**< Next in the same place of afc__connections.by_port. */
    int local_port;
    char local[46], remote[46];
};

/* They set afc__socket.exchange, .last and .opener; NULL: none. */
void afc__socket_set_exchange(afc__socket *socket, afc__exchange *exchange);
void afc__socket_set_last(afc__socket *socket, afc__exchange *exchange);
void afc__socket_set_opener(afc__socket *socket, afc__exchange *exchange);

/** Watches the socket for what libcurl waits for, if it waits for anything. false: that isn't possible. */
bool afc__socket_watch(afc__socket *socket);

/** Returns whether bytes, an end or an error are pending at a descriptor, without consuming them. */
bool afc__socket_has_input(int descriptor);

/**
 * Returns whether this machine has lost the local address of a connection, as after a change of network. What is sent
 * on it then is never answered, and nothing tells so.
 */
bool afc__socket_has_lost_address(int descriptor);

/** Returns whether an exchange is running on its connection, also if it is paused. */
bool afc__socket_is_in_use(const afc__socket *socket);

/** Returns whether libcurl waits for this socket to be ready. */
bool afc__driver_waits_on(const afc__driver *driver, int descriptor);

/** Removes an exchange from all sockets, before it is freed. */
void afc__exchange_forget_sockets(afc__exchange *exchange);

#endif
