/**
 * Idle connections: which ones no exchange uses, since when, and which are due to be closed, because they are older
 * than afc_session_options.max_idle_s or their peer has ended them. pruning.c closes those. Loop thread only.
 */
#ifndef AFC_CURL_CONNECTION_IDLE_CONNECTIONS_H
#define AFC_CURL_CONNECTION_IDLE_CONNECTIONS_H

#include "base/list.h"
#include "curl/driver.h"

/** The state of a socket among the idle connections. */
typedef enum afc__idle_state {
    /** Not idle: libcurl waits for the socket, or it isn't known to carry a connection. */
    AFC__IDLE_NOT,
    /** libcurl waits for nothing on the socket: its exchange has ended, or is paused. */
    AFC__IDLE_RESTING,
    AFC__IDLE_DUE /**< To be closed: idle for too long, or ended by the peer. */
} afc__idle_state;

/** The idle connections of a driver. */
typedef struct afc__idle_connections {
    afc__list resting; /**< Sockets that are RESTING, the one that has rested longest first. */
    afc__list due;     /**< Sockets that are DUE. */
    /**
     * Armed when a socket is RESTING or DUE. It may fire too early, as the connection that it was armed for may be in
     * use again.
     */
    afc__alarm alarm;
    /** The earliest time of the next pruning, as libcurl prunes at most once a second. */
    int64_t prune_due_us;
} afc__idle_connections;

/** The idle state of a socket. */
typedef struct afc__idle_socket {
    afc__idle_state state;
    afc__node node;   /**< In `resting` or `due`. */
    int64_t since_us; /**< RESTING: since when (afc__loop_now()). */
    unsigned prunes;  /**< DUE: how often libcurl was made to prune since. */
} afc__idle_socket;

/** Makes both lists empty. The owner sets the alarm's callback. */
void afc__idle_init(afc__idle_connections *idle);

/**
 * Makes the sockets DUE that have rested for too long by `now`. For those that are in use, but paused, the time begins
 * anew.
 */
void afc__idle_expire(afc__driver *driver, int64_t now);

/** Arms the alarm for the next pruning or expiry, if there is one. */
void afc__idle_arm(afc__driver *driver);

/** Call it when libcurl doesn't wait for input or output on the socket any more. */
void afc__idle_begins(afc__socket *socket);

/**
 * Call it when a request is about to be sent on the connection: if that is idle, its time begins anew. libcurl doesn't
 * wait for the socket if the whole response is there as soon as the request was sent.
 */
void afc__idle_restarts(afc__socket *socket);

/** Call it when libcurl waits for the socket again, or closes it, or pruning gives it up. */
void afc__idle_ends(afc__socket *socket);

/**
 * Call it, after afc__reuse_on_input(), when there is input, or the peer's end, though libcurl waits for nothing on the
 * socket.
 */
void afc__idle_on_input(afc__socket *socket, unsigned readiness);

#endif
