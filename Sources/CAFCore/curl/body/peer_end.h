/**
 * Detects that a peer has ended its direction of a connection, which libcurl doesn't report while our direction is
 * paused. An exchange is called unwatched if libcurl waits for nothing on its connection.
 */
#ifndef AFC_CURL_BODY_PEER_END_H
#define AFC_CURL_BODY_PEER_END_H

#include "curl/driver.h"

#include <curl/curl.h>

/** Called inside libcurl at the final head: a response may have refused the paused request body. */
void afc__exchange_got_head(afc__exchange *exchange);

/** Returns whether the request body is paused, on a connection that serves this exchange alone. */
bool afc__exchange_waits_for_body(const afc__exchange *exchange);

/** Called inside libcurl when libcurl doesn't wait for input or output any more on this socket of the exchange. */
void afc__exchange_socket_is_unwatched(afc__exchange *exchange, curl_socket_t descriptor);

/**
 * Ends unwatched exchanges whose peer has ended its direction: upgraded ones, and those whose request body is paused.
 * Returns the next one that has ended, or NULL. Call it when curl_multi_info_read() has returned all messages.
 */
afc__exchange *afc__driver_end_next_unwatched(afc__driver *driver);

#endif
