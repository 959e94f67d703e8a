/**
 * Isolation: which hops have a connection of their own. A slot is a number from 1 that one running hop to a host has;
 * the slot decides TLS options, and libcurl shares connections only between equal options. See isolation.c.
 */
#ifndef AFC_CURL_CONNECTION_ISOLATION_H
#define AFC_CURL_CONNECTION_ISOLATION_H

#include "curl/driver.h"

/** Which other requests may use the connection of a hop. Every hop but a SHARED one is isolated. */
typedef enum afc__connection_use {
    /** Any other SHARED hop, even at the same time, if the server speaks HTTP/2. */
    AFC__USE_SHARED,
    AFC__USE_EXCLUSIVE, /**< Any other afterwards: HTTP/1.1, or a libcurl that can't multiplex. */
    /** No other: the connection is new, and libcurl can't send a second request on it. */
    AFC__USE_FRESH,
    AFC__USE_SLOT,    /**< Those with the same slot afterwards: HTTP/2 with one stream at a time. */
    AFC__USE_ONE_SHOT /**< No other: the connection is new, and closed afterwards. */
} afc__connection_use;

/**
 * Decides how the hop uses its connection, and sets afc__exchange_run.use. The result is ONE_SHOT if the hop needs a
 * slot and has none. Returns the value of CURLOPT_SSL_OPTIONS that keeps other exchanges off the connection.
 */
long afc__isolation_begin(afc__exchange *exchange);

/**
 * Returns whether other hops may use the hop's connection at the same time. Call it when the hop has its connection. A
 * request that prefers HTTP/1.1 may have got a connection that others opened for HTTP/2.
 */
bool afc__exchange_shares_connection(const afc__exchange *exchange);

#endif
