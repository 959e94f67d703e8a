/** Maps libcurl's result of a hop to a failure of this library. */
#ifndef AFC_CURL_OUTCOME_H
#define AFC_CURL_OUTCOME_H

#include "curl/driver.h"

#include <curl/curl.h>

/**
 * Sets `*failure` to what this result of libcurl means for the hop: status, reason, text. Leaves it unchanged if the
 * hop succeeded, or if the transfer has to decide because its head was cut.
 */
void afc__exchange_map_result(const afc__exchange *exchange, CURLcode code, afc_failure *failure);

/**
 * Returns whether the connection ended with GOAWAY before a response. The request may then be repeated if it is
 * idempotent: it isn't known whether the GOAWAY's last stream was a later one, or whether this stream was reset before.
 * Always false for versions of libcurl that repeat such requests themselves.
 */
bool afc__exchange_went_away(const afc__exchange *exchange, CURLcode code);

/** Returns whether invalid HTTP/2 frames may have ended the hop, although libcurl reports success. */
bool afc__exchange_has_doubtful_end(const afc__exchange *exchange, CURLcode code);

/**
 * Returns whether this is the orderly end of an upgraded connection. libcurl 8 reports that as CURLE_GOT_NOTHING if it
 * has read no byte behind the 101.
 */
bool afc__exchange_is_upgrade_over(const afc__exchange *exchange, CURLcode code);

/** Returns whether an exchange ended because of invalid HTTP/2 frames, which also make its connection unusable. */
bool afc__exchange_met_bad_frame(const afc__exchange *exchange);

#endif
