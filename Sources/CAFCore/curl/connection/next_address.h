/**
 * Makes libcurl try the next address of a host at once, where it would wait; see afc__quirks.waits_between_addresses.
 */
#ifndef AFC_CURL_CONNECTION_NEXT_ADDRESS_H
#define AFC_CURL_CONNECTION_NEXT_ADDRESS_H

#include "curl/driver.h"

/**
 * Records that an attempt to connect begins, which also happens for a request that libcurl repeats. Called inside
 * libcurl.
 */
void afc__exchange_attempt_begins(afc__exchange *exchange);

/** Records that an attempt to connect has ended. Called inside libcurl, also when another attempt has won. */
void afc__exchange_attempt_ended(afc__exchange *exchange);

/**
 * Makes libcurl begin the next attempt of all exchanges whose last one has ended. Call it after libcurl has returned.
 */
void afc__driver_begin_next_attempts(afc__driver *driver);

#endif
