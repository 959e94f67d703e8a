/**
 * Pauses the receiving of an exchange: each function that changes afc__receiving. It also keeps libcurl from reading
 * for a paused exchange, if it does that (afc__quirks.reads_while_paused).
 */
#ifndef AFC_CURL_BODY_READ_PAUSE_H
#define AFC_CURL_BODY_READ_PAUSE_H

#include "curl/driver.h"

#include <curl/curl.h>

/* ---- Transitions; see direction_state.h ------------------------------------------------------ */

/** A request is about to be sent, or the hop is over: nothing is held any more. */
void afc__receiving_begins(afc__exchange *exchange);

/**
 * Holds what the transfer hasn't taken. Call it before libcurl is paused. What is paused already stays as it is, also
 * while it is flushed.
 */
void afc__receiving_pauses(afc__exchange *exchange);

/** The transfer has taken all it kept. Call it before libcurl is resumed. */
void afc__receiving_resumes(afc__exchange *exchange);

/** The transfer keeps bytes, but libcurl is resumed all the same, or has ended. */
void afc__receiving_falls_behind(afc__exchange *exchange);

/** Has what is held flushed by afc__driver_flush(), unless that is done already. */
void afc__receiving_flush_later(afc__exchange *exchange);

/** Call these before libcurl passes on what is flushed, and when it has done so, or won't as the exchange has ended. */
void afc__receiving_flush_begins(afc__exchange *exchange);
void afc__receiving_flush_ends(afc__exchange *exchange);

/** Between the two: pauses at the last piece. */
void afc__receiving_flush_stops(afc__exchange *exchange);

/* ---- Sockets --------------------------------------------------------------------------------- */

/** Returns the part of this readiness that may be reported to libcurl; 0: none. */
unsigned afc__reading_filter(afc__socket *socket, unsigned readiness);

/** Returns whether some exchanges of this connection read and others are stopped. */
bool afc__reading_is_mixed(const afc__socket *socket);

/** Call it after curl_easy_pause() has resumed. false: the socket can't be watched. */
bool afc__reading_begins(afc__exchange *exchange);

/**
 * Call it before libcurl runs: stops paused exchanges that may read because another one of their
 * connection was resumed.
 */
CURLMcode afc__driver_recheck(afc__driver *driver);

/** Records the connection of the exchange, which isn't paused; NULL: none. false: its socket can't be watched. */
bool afc__exchange_set_carrier(afc__exchange *exchange, afc__socket *socket);

#endif
