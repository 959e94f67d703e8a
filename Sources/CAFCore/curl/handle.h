/** The options of an easy handle that are changed and read while libcurl runs it, and why. */
#ifndef AFC_CURL_HANDLE_H
#define AFC_CURL_HANDLE_H

#include "curl/driver.h"

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
