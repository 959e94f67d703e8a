/**
 * Which connections no exchange uses, since when, and which of them are to be closed: their lifetime is over
 * (afc_session_options.max_idle_s), or their peer has ended them. pruning.c closes them.
 */
#ifndef AFC_CURL_CONNECTION_IDLE_CONNECTIONS_H
#define AFC_CURL_CONNECTION_IDLE_CONNECTIONS_H

#include "base/list.h"
#include "curl/driver.h"

/** A socket and these connections. */
typedef enum afc__idle_state {
    AFC__IDLE_NOT,     /**< libcurl waits for it, or it isn't known to carry a connection. */
    AFC__IDLE_RESTING, /**< libcurl waits for nothing: its exchange has ended, or is paused. */
    AFC__IDLE_DUE      /**< To be closed: it is too old, or the peer has ended it. */
} afc__idle_state;

/** The idle connections of a driver. */
typedef struct afc__idle_connections {
    afc__list resting; /**< The one that has rested longest first. */
    afc__list due;
    /** Not armed: none rests. It may ring too early, as the connection that it was set for is in use again. */
    afc__alarm alarm;
    int64_t prune_due_us; /**< When libcurl would look at its connections again. */
} afc__idle_connections;

/** What a socket has of it. */
typedef struct afc__idle_socket {
    afc__idle_state state;
    afc__node node; /**< In one of the lists. */
    int64_t since_us;
    unsigned prunes; /**< DUE: how often libcurl was made to look at it. */
} afc__idle_socket;

/** Makes both lists empty. The owner sets the alarm's callback. */
void afc__idle_init(afc__idle_connections *idle);

/** Makes those due that have rested for too long. Those that are paused begin anew. */
void afc__idle_expire(afc__driver *driver, int64_t now);

/** Sets the alarm for what is next. */
void afc__idle_arm(afc__driver *driver);

/** libcurl waits for nothing on the socket any more. */
void afc__idle_begins(afc__socket *socket);

/** libcurl waits for it again, or closes it, or it isn't to be closed here. */
void afc__idle_ends(afc__socket *socket);

/** There is input, or the peer's end, though libcurl waits for nothing. Call afc__reuse_on_input() first. */
void afc__idle_on_input(afc__socket *socket, unsigned readiness);

#endif
