/**
 * Easy handles: whether one may carry another hop, and which options are changed and read while
 * libcurl runs one.
 */
#ifndef AFC_CURL_HANDLE_H
#define AFC_CURL_HANDLE_H

#include "curl/driver_internal.h"

/** Returns whether the handle may carry another hop. Call it before afc__exchange_reset(). */
bool afc__exchange_may_serve_again(const afc__exchange *exchange);

/**
 * Returns whether the handle, whose hop has ended, must not be freed before the multi handle. Call
 * it before afc__exchange_reset().
 */
bool afc__exchange_must_be_parked(const afc__exchange *exchange);

/** Returns whether another name may be looked up, although its handle might have to be parked. */
bool afc__driver_may_look_up_over_https(const afc__driver *driver);

/** Call it after the transfer has accepted a line of a head, including those of a tunnel. */
void afc__exchange_guard_fields(afc__exchange *exchange, afc_slice line);

/**
 * Call it before libcurl stores a line of a head: invalidates a line that would be appended to a
 * freed field.
 */
void afc__exchange_guard_line(const afc__exchange *exchange, char *line);

/** Sets whether the connection is closed after this hop (CURLOPT_FORBID_REUSE). */
void afc__exchange_close_after(afc__exchange *exchange, bool closes);

/** Sets CURLOPT_VERBOSE. */
void afc__exchange_set_verbose(afc__exchange *exchange, bool is_on);

/**
 * Call it after the last line of the final head: libcurl may discard bytes directly after the
 * response.
 */
void afc__exchange_watch_excess(afc__exchange *exchange);

/** Checks a debug message of libcurl for discarded bytes. */
void afc__exchange_close_after_excess(afc__exchange *exchange, afc_slice text);

#endif
