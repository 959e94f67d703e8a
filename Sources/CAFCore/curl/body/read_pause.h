/**
 * Keeps libcurl from reading for a paused exchange. Unless it does that (afc__quirks.reads_while_paused), these
 * functions do nothing.
 */
#ifndef AFC_CURL_BODY_READ_PAUSE_H
#define AFC_CURL_BODY_READ_PAUSE_H

#include "curl/driver.h"

#include <curl/curl.h>

/** Returns the part of this readiness that may be reported to libcurl; 0: none. */
unsigned afc__reading_filter(afc__socket *socket, unsigned readiness);

/** Returns whether some exchanges of this connection read and others are stopped. */
bool afc__reading_is_mixed(const afc__socket *socket);

/** Call it before a callback returns CURL_WRITEFUNC_PAUSE. */
void afc__reading_stops(afc__exchange *exchange);

/** Call these before and after curl_easy_pause() resumes. false: the socket can't be watched. */
void afc__reading_may_begin(afc__exchange *exchange);
bool afc__reading_begins(afc__exchange *exchange);

/**
 * Call it before libcurl runs: stops paused exchanges that may read because another one of their
 * connection was resumed.
 */
CURLMcode afc__driver_recheck(afc__driver *driver);

/** Records the connection of the exchange; NULL: none. false: its socket can't be watched. */
bool afc__exchange_set_carrier(afc__exchange *exchange, afc__socket *socket);

#endif
