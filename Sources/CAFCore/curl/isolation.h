/** Hops that have a connection to themselves. */
#ifndef AF_CURL_ISOLATION_H
#define AF_CURL_ISOLATION_H

#include "curl/driver_internal.h"

/** Connections of exchanges that no other may share. */
enum {
    AF__ISOLATE_NONE = 0,    /**< A connection as any other. */
    AF__ISOLATE_ONE_SHOT = 7 /**< A new one, not used again; in between: one of this number. */
};

/** Must this hop have a connection to itself? The slot is its own until it is given back. */
unsigned af__isolation_take(af__driver *driver, const af__transfer *transfer);
void af__isolation_give_back(af__driver *driver, unsigned slot);

/**
 * libcurl before 8.0 fails on the second request of a connection in the clear that speaks HTTP/2 by
 * prior knowledge: there each request gets its own.
 */
bool af__must_not_share(const af__transfer *transfer);

/**
 * Does this libcurl share connections of HTTP/2 safely? Before 8.1.0 the reset of a stream passes for the
 * end of its response while another stream of the connection waits (cf_h2_recv() in lib/http2.c), so that
 * a response without Content-Length would be cut without an error.
 */
bool af__may_multiplex(void);

/** The CURLOPT_SSL_OPTIONS that keep the connection of a slot from all other exchanges. */
long af__isolation_options(unsigned slot);

#endif
