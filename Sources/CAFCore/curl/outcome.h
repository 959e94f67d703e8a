/** Maps libcurl's result codes to ours. */
#ifndef AFC_CURL_OUTCOME_H
#define AFC_CURL_OUTCOME_H

#include "curl/driver.h"

#include <curl/curl.h>

/** Maps a libcurl code to a status. */
void afc__exchange_map_result(const afc__exchange *exchange, CURLcode code, afc_failure *failure);

/**
 * Returns whether the connection ended with GOAWAY and without a response. For requests that may be repeated: it isn't
 * known whether the last stream of the GOAWAY was a later one, or was reset before. false where libcurl repeats them.
 */
bool afc__exchange_went_away(const afc__exchange *exchange, CURLcode code);

/** Returns whether invalid frames may have ended the hop, though it was successful. */
bool afc__exchange_has_doubtful_end(const afc__exchange *exchange, CURLcode code);

/** Returns whether this is the orderly end of a connection that has left HTTP. If libcurl 8 read no byte behind the
 * 101, it misses a response. */
bool afc__exchange_is_upgrade_over(const afc__exchange *exchange, CURLcode code);

/** Returns whether an ended exchange met HTTP/2 frames that are the end of its connection. */
bool afc__exchange_met_bad_frame(const afc__exchange *exchange);

#endif
