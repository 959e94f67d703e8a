/**
 * Recovers responses that arrived while a body was still being sent, on a connection that then
 * broke.
 */
#ifndef AFC_CURL_EARLY_RESPONSE_H
#define AFC_CURL_EARLY_RESPONSE_H

#include "curl/driver.h"

#include <curl/curl.h>

/**
 * Keeps what was received of a response, when libcurl is about to close a socket of the exchange.
 */
void afc__exchange_recover_early_response(afc__exchange *exchange, curl_socket_t descriptor);

/**
 * Opens a socket that connects to a listener of our own, which will give libcurl the kept response.
 */
curl_socket_t afc__exchange_open_reinjection(afc__exchange *exchange,
                                             struct curl_sockaddr *address);

/** Sends the kept response to libcurl, once the connection is established. */
bool afc__exchange_feed_reinjection(afc__exchange *exchange);

/**
 * Returns whether a response other than a success is complete although our body isn't. HTTP/2 only.
 */
bool afc__exchange_has_whole_response(const afc__exchange *exchange);

/** Completes the response body with the kept bytes, after the exchange has ended. */
void afc__exchange_finish_body(afc__exchange *exchange);

/** Discards the kept response. */
void afc__exchange_end_reinjection(afc__exchange *exchange);

/** Collects the timings of the hop; only those of the response are taken from the replay. */
void afc__exchange_collect_reinjected(const afc__exchange *exchange, afc_hop *hop);

#endif
