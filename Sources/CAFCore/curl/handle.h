/**
 * Options of an easy handle that are changed during a transfer: whether its connection is closed afterwards
 * (CURLOPT_FORBID_REUSE), and what debug messages (CURLOPT_VERBOSE) are used for besides tracing. Called inside
 * libcurl's callbacks, unless stated otherwise.
 */
#ifndef AFC_CURL_HANDLE_H
#define AFC_CURL_HANDLE_H

#include "curl/driver.h"

/**
 * Switches debug messages on until the first field line was received, for afc__exchange_guard_line(). Call it after the
 * transfer has accepted a line of a head, including the head of a response to CONNECT.
 */
void afc__exchange_guard_fields(afc__exchange *exchange, afc_slice line);

/**
 * Invalidates a line of a head that libcurl would append to a freed field. Call it in the debug callback, before
 * libcurl stores the line.
 */
void afc__exchange_guard_line(afc__exchange *exchange, char *line);

/** Sets whether the connection is closed after this hop (CURLOPT_FORBID_REUSE). Also called outside of callbacks. */
void afc__exchange_close_after(afc__exchange *exchange, bool closes);

/** Sets CURLOPT_VERBOSE, for the debug callback of trace.c. Also called outside of callbacks. */
void afc__exchange_set_verbose(afc__exchange *exchange, bool is_on);

/**
 * Switches debug messages on if libcurl may discard bytes that follow the response, for
 * afc__exchange_close_after_excess(). Call it after the last line of the final head.
 */
void afc__exchange_watch_excess(afc__exchange *exchange);

/**
 * Closes the connection after this hop if `text`, a debug message of libcurl, says that bytes behind the response were
 * discarded.
 */
void afc__exchange_close_after_excess(afc__exchange *exchange, afc_slice text);

#endif
