/**
 * Recovers early responses: those that arrived while the request body was still being sent, on a connection that then
 * broke. Their bytes are reinjected: read from the socket before libcurl closes it, and given to libcurl again by a
 * listener of this process. Loop thread only.
 */
#ifndef AFC_CURL_BODY_EARLY_RESPONSE_H
#define AFC_CURL_BODY_EARLY_RESPONSE_H

#include "base/buffer.h"
#include "curl/driver.h"

#include <curl/curl.h>

/**
 * The state of a response that libcurl would lose. Only early_response.c changes it.
 *
 *     from        to
 *     NONE        KEPT
 *     KEPT        NONE (the hop gets another connection, or is over), REINJECTED
 *     REINJECTED  NONE: the hop is over
 */
typedef enum afc__early_state {
    AFC__EARLY_NONE,
    /** Bytes of it were in the socket when its connection broke, and are kept. */
    AFC__EARLY_KEPT,
    AFC__EARLY_REINJECTED /**< libcurl reads the bytes from a listener of this process. */
} afc__early_state;

enum { AFC__EARLY_STATES = AFC__EARLY_REINJECTED + 1 };

/** Returns whether `to` may follow `from`. Pure function. */
bool afc__early_may_become(afc__early_state from, afc__early_state to);

/** The early response of a hop. */
typedef struct afc__early_response {
    afc__early_state state;
    afc__buffer bytes;  /**< The kept bytes. */
    int listener, peer; /**< Our sockets of the reinjection; -1 if not open. */
    afc_hop measured;   /**< The metrics of the hop when the connection broke. */
    /** The response body is complete, although the request body wasn't sent completely. */
    bool is_complete;
    /** The server's FIN was read, so nothing that it sent before is lost. */
    bool has_orderly_end;
    int64_t recovered_size; /**< Bytes of the response body that libcurl hasn't counted. */
} afc__early_response;

void afc__early_response_init(afc__early_response *early);

/** Reads and keeps what is left of a response in a socket of the exchange, which libcurl is about to close. */
void afc__exchange_recover_early_response(afc__exchange *exchange, curl_socket_t descriptor);

/** Forgets a kept response, as the hop gets another connection. Does nothing if the response is being reinjected. */
void afc__exchange_drop_early_response(afc__exchange *exchange);

/**
 * Decides whether the hop, which has ended, starts again with the kept response, and returns the decision. If so, the
 * exchange connects to the listener of this process when it is started again.
 */
bool afc__exchange_begin_reinjection(afc__exchange *exchange);

/**
 * Opens a listener of this process, which will give libcurl the kept response, and a socket for libcurl to connect to
 * it. Sets `*address` to that of the listener. Returns CURL_SOCKET_BAD on failure.
 */
curl_socket_t afc__exchange_open_reinjection(afc__exchange *exchange,
                                             struct curl_sockaddr *address);

/**
 * Sends the kept response to libcurl. Call it once the connection to the listener is established. Returns false if
 * another process has connected, or on an error.
 */
bool afc__exchange_feed_reinjection(afc__exchange *exchange);

/**
 * Returns whether the response is complete although libcurl would wait for the rest of the request body: a status other
 * than success over HTTP/2, or while the body has no bytes, and a few other cases.
 */
bool afc__exchange_has_whole_response(const afc__exchange *exchange);

/**
 * Completes the response body with the kept bytes, or decides that it is complete without them. Call it after the
 * exchange has ended.
 */
void afc__exchange_finish_body(afc__exchange *exchange);

/** Closes the sockets of the reinjection and discards the kept response. */
void afc__exchange_end_reinjection(afc__exchange *exchange);

/** Sets the metrics of the hop: those of the connection that broke, and the response's from the reinjection. */
void afc__exchange_collect_reinjected(const afc__exchange *exchange, afc_hop *hop);

#endif
