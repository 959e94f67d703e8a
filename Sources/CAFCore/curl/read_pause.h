/** Keeps libcurl from reading for a paused exchange. */
#ifndef AF_CURL_READ_PAUSE_H
#define AF_CURL_READ_PAUSE_H

#include "curl/driver_internal.h"

/**
 * Returns whether this libcurl reads for paused exchanges. If not, the functions of read_pause.c do
 * nothing.
 */
bool af__reads_while_paused(void);

/** Returns the part of this readiness that may be reported to libcurl; 0: none. */
unsigned af__reading_filter(af__socket *socket, unsigned readiness);

/** Returns whether some exchanges of this connection read and others are stopped. */
bool af__reading_is_mixed(const af__socket *socket);

/** Call it before a callback returns CURL_WRITEFUNC_PAUSE. */
void af__reading_stops(af__exchange *exchange);

/** Call these before and after curl_easy_pause() resumes. false: the socket can't be watched. */
void af__reading_may_begin(af__exchange *exchange);
bool af__reading_begins(af__exchange *exchange);

/**
 * Call it before libcurl runs: stops paused exchanges that may read because another one of their
 * connection was resumed.
 */
void af__driver_recheck(af__driver *driver);

/** Records the connection of the exchange; NULL: none. false: its socket can't be watched. */
bool af__exchange_set_carrier(af__exchange *exchange, af__socket *socket);

#endif
