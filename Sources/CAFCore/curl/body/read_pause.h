/**
 * Pauses the receiving of an exchange: all functions that change its state (afc__receiving in direction_state.h). Also
 * keeps libcurl from reading for a paused exchange, which version 8.5 does (afc__quirks.reads_while_paused). A stopped
 * exchange is one whose receiving is paused. Loop thread only.
 */
#ifndef AFC_CURL_BODY_READ_PAUSE_H
#define AFC_CURL_BODY_READ_PAUSE_H

#include "curl/driver.h"

#include <curl/curl.h>

/* ---- Transitions; see direction_state.h ------------------------------------------------------ */

/** Enters OPEN from any state. Call it when a request is about to be sent, or the hop has ended. */
void afc__receiving_begins(afc__exchange *exchange);

/** Enters HELD, unless receiving is paused already. Call it before libcurl is paused. */
void afc__receiving_pauses(afc__exchange *exchange);

/** Enters OPEN, when the transfer keeps no bytes any more. Call it before libcurl is resumed. */
void afc__receiving_resumes(afc__exchange *exchange);

/** Enters BEHIND, when the transfer keeps bytes, but libcurl is resumed all the same, or has ended. */
void afc__receiving_falls_behind(afc__exchange *exchange);

/* ---- Sockets --------------------------------------------------------------------------------- */

/** Returns the part of a socket's readiness that may be reported to libcurl, or 0. May stop watching the socket. */
unsigned afc__reading_filter(afc__socket *socket, unsigned readiness);

/**
 * Returns whether exchanges of this HTTP/2 connection are stopped. Others may not be: no readiness may then be reported
 * to libcurl.
 */
bool afc__reading_is_mixed(const afc__socket *socket);

/**
 * Watches the exchange's socket again, unless receiving is paused. Call it after curl_easy_pause(). Returns false if
 * the socket can't be watched.
 */
bool afc__reading_begins(afc__exchange *exchange);

/**
 * Makes libcurl check the state of paused exchanges that may read, because another one on the same connection was
 * resumed. Call it before libcurl runs.
 */
CURLMcode afc__driver_recheck(afc__driver *driver);

/**
 * Records the connection of the exchange, which isn't paused; `socket` NULL means none. Returns false if the socket
 * can't be watched.
 */
bool afc__exchange_set_carrier(afc__exchange *exchange, afc__socket *socket);

#endif
