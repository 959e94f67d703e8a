/**
 * Recovers responses that arrived while a body was still being sent, on a connection that then
 * broke.
 */
#ifndef AFC_CURL_BODY_EARLY_RESPONSE_H
#define AFC_CURL_BODY_EARLY_RESPONSE_H

#include "base/buffer.h"
#include "curl/driver.h"

#include <curl/curl.h>

/**
 * What has become of a response that libcurl would lose. Only early_response.c changes it.
 *
 *     from        to
 *     NONE        KEPT
 *     KEPT        NONE (the hop gets another connection, or is over), REINJECTED
 *     REINJECTED  NONE: the hop is over
 */
typedef enum afc__early_state {
    AFC__EARLY_NONE,
    AFC__EARLY_KEPT,      /**< Bytes of it were left when its connection broke. */
    AFC__EARLY_REINJECTED /**< libcurl is given the bytes again, by a listener of our own. */
} afc__early_state;

enum { AFC__EARLY_STATES = AFC__EARLY_REINJECTED + 1 };

bool afc__early_may_become(afc__early_state from, afc__early_state to);

/** The early response of a hop. */
typedef struct afc__early_response {
    afc__early_state state;
    afc__buffer bytes;
    int listener, peer;     /**< Sockets of the reinjection; -1: none. */
    afc_hop measured;       /**< The timings when the connection broke. */
    bool is_complete;       /**< Its body is complete, although ours wasn't sent completely. */
    bool has_orderly_end;   /**< The server's FIN was read, and all that it had sent before. */
    int64_t recovered_size; /**< Bytes of it that libcurl doesn't know about. */
} afc__early_response;

void afc__early_response_init(afc__early_response *early);

/**
 * Keeps what was received of a response, when libcurl is about to close a socket of the exchange.
 */
void afc__exchange_recover_early_response(afc__exchange *exchange, curl_socket_t descriptor);

/** Forgets what was kept, as the hop gets another connection. What is reinjected stays. */
void afc__exchange_drop_early_response(afc__exchange *exchange);

/**
 * Decides whether the hop, which has ended, begins again with what was kept. Then the exchange uses our own listener
 * once it is started again.
 */
bool afc__exchange_begin_reinjection(afc__exchange *exchange);

/**
 * Opens a socket that connects to a listener of our own, which will give libcurl the kept response.
 */
curl_socket_t afc__exchange_open_reinjection(afc__exchange *exchange,
                                             struct curl_sockaddr *address);

/** Sends the kept response to libcurl, once the connection is established. */
bool afc__exchange_feed_reinjection(afc__exchange *exchange);

/**
 * Returns whether a response other than a success is complete although our body isn't, and libcurl would wait for the
 * rest of that: over HTTP/2, or because the body has nothing to send now.
 */
bool afc__exchange_has_whole_response(const afc__exchange *exchange);

/** Completes the response body with the kept bytes, after the exchange has ended. */
void afc__exchange_finish_body(afc__exchange *exchange);

/** Discards the kept response. */
void afc__exchange_end_reinjection(afc__exchange *exchange);

/** Collects the timings of the hop; only those of the response are taken from the replay. */
void afc__exchange_collect_reinjected(const afc__exchange *exchange, afc_hop *hop);

#endif
