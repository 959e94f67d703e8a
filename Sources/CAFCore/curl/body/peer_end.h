/** The end of a peer's direction, which libcurl doesn't report while ours is paused. */
#ifndef AFC_CURL_BODY_PEER_END_H
#define AFC_CURL_BODY_PEER_END_H

#include "curl/driver.h"

#include <curl/curl.h>

/** Called inside libcurl at the final head. */
void afc__exchange_got_head(afc__exchange *exchange);

/** Returns whether the request body waits on a connection that serves this exchange alone. */
bool afc__exchange_waits_for_body(const afc__exchange *exchange);

/** Called inside libcurl when it waits for nothing more on this socket of the exchange. */
void afc__exchange_waits_for_nothing(afc__exchange *exchange, curl_socket_t descriptor);

/**
 * Returns the next exchange that has something to send later and whose peer has ended its direction, or NULL: after an
 * upgrade, or while the request body waits. Call it when libcurl has no message left.
 */
afc__exchange *afc__driver_next_silent(afc__driver *driver);

#endif
