/** Hops with a connection of their own. */
#ifndef AFC_CURL_CONNECTION_ISOLATION_H
#define AFC_CURL_CONNECTION_ISOLATION_H

#include "curl/driver.h"

/** Which other requests may use the connection of a hop. Every hop but a SHARED one is isolated. */
typedef enum afc__connection_use {
    AFC__USE_SHARED,    /**< Any, also at the same time, if the server speaks HTTP/2. */
    AFC__USE_EXCLUSIVE, /**< Any afterwards: HTTP/1.1, or a libcurl that can't multiplex. */
    AFC__USE_FRESH, /**< None: the connection is new, and libcurl can't send a second request on it. */
    AFC__USE_SLOT, /**< Those with the same slot afterwards: HTTP/2, but of one stream at a time. */
    AFC__USE_ONE_SHOT /**< None: the connection is new, and closed afterwards. */
} afc__connection_use;

/**
 * Decides how the hop uses its connection, which is ONE_SHOT if it needs a slot and has none. Returns the
 * CURLOPT_SSL_OPTIONS that keep other exchanges off it.
 */
long afc__isolation_begin(afc__exchange *exchange);

/**
 * Returns whether others may use the hop's connection at the same time. Call it when the hop has that. A request that
 * prefers HTTP/1.1 may have got one that others opened for HTTP/2.
 */
bool afc__exchange_shares_connection(const afc__exchange *exchange);

#endif
