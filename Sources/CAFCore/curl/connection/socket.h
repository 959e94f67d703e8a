/**
 * A socket of libcurl, and the connection that it carries. A socket points to its exchanges, and exchanges list the
 * sockets that point to them, so that neither a new connection nor the end of a handle has to look at every socket of
 * the session. Loop thread only.
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
    AFC__CONNECTION_UNKNOWN, /**< Not connected yet, or not opened by this driver. */
    AFC__CONNECTION_HTTP_1,
    /** Frames may arrive at any time; libcurl reads them even between requests. */
    AFC__CONNECTION_HTTP_2,
    AFC__CONNECTION_ENDED /**< Shut down by this driver: it must not be reused. */
} afc__connection;

struct afc__socket {
    afc__watch watch;
    afc__driver *driver;
    /** The exchange that libcurl waits for on this socket, for its activity; NULL if none. */
    afc__exchange *exchange;
    /** The exchange that used the socket last, even if libcurl has released it since. */
    afc__exchange *last;
    uint64_t last_serial; /**< `last->serial` then; it differs once `last` carries a later hop. */
    /* In the lists `watched`, `used` and `opened` of `exchange`, `last` and `opener`; only socket.c changes them. */
    afc__node exchange_node, last_node, opener_node;
    afc__name *name; /**< The name that was looked up for the connection, or NULL. */
    unsigned wanted; /**< Readiness that libcurl waits for; 0 if it has released the socket. */
    bool is_own;     /**< Opened by this driver, so closing it is reported. */

    afc__idle_socket idle;

    /* State of the connection; see connection_reuse.c. */
    afc__connection kind;
    /** The exchange that opened the socket, until the connection is established. */
    afc__exchange *opener;
    uint64_t opener_serial; /**< `opener->serial` then. */
    uint64_t number;        /**< Different for every connection of the driver; 0 if it is closed. */
    /** `number` of the last connection with this descriptor that was closed. */
    uint64_t closed_number;
    /** Whether that was an HTTP/2 connection that the peer hadn't ended by then. */
    bool was_open;
    afc__tls_peer *proxy; /**< The TLS peer of a proxy over TLS, or NULL. */
    uint32_t requests;    /**< Number of requests sent so far; see afc__connections.max_requests. */
    uint32_t streams;     /**< HTTP/2: number of exchanges on the connection. */
    /** HTTP/2: number of those whose receiving is paused; see read_pause.c. */
    uint32_t stopped;
    bool must_recheck;       /**< See afc__driver_recheck(). */
    afc__socket *next_alike; /**< Next in the same bucket of afc__connections.by_port. */
    int local_port;
    char local[46], remote[46];
};

/* They set afc__socket.exchange, .last and .opener; `exchange` may be NULL. */
void afc__socket_set_exchange(afc__socket *socket, afc__exchange *exchange);
void afc__socket_set_last(afc__socket *socket, afc__exchange *exchange);
void afc__socket_set_opener(afc__socket *socket, afc__exchange *exchange);

/** Watches the socket for the readiness that libcurl waits for, if any. Returns false if that isn't possible. */
bool afc__socket_watch(afc__socket *socket);

/** Returns whether bytes, an end or an error are pending at a descriptor, without consuming them. */
bool afc__socket_has_input(int descriptor);

/**
 * Returns whether this machine has lost the local address of a connection, such as after a change of network. What is
 * sent on the connection is never answered then, and no error reports that.
 */
bool afc__socket_has_lost_address(int descriptor);

/** Returns whether an exchange is using the socket's connection, even if it is paused. */
bool afc__socket_is_in_use(const afc__socket *socket);

/** Returns whether libcurl waits for this socket to be ready. */
bool afc__driver_waits_on(const afc__driver *driver, int descriptor);

/** Removes all pointers of sockets to an exchange, before it is freed. */
void afc__exchange_forget_sockets(afc__exchange *exchange);

#endif
