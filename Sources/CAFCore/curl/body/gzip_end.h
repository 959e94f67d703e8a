/**
 * Detects a truncated gzip body that only the end of its connection delimits. libcurl decodes what it gets, and doesn't
 * report that the rest is missing. But gzip ends with the size of the decoded content modulo 2^32 (ISIZE, RFC 1952
 * section 2.3.1).
 */
#ifndef AFC_CURL_BODY_GZIP_END_H
#define AFC_CURL_BODY_GZIP_END_H

#include "curl/driver.h"

/** The last bytes of an encoded body. Zeroed if no body is watched; needs no release. */
typedef struct afc__gzip_end {
    bool is_watched;
    uint64_t size;         /**< Size of the encoded body so far. */
    unsigned char last[4]; /**< The last bytes received, in order. */
} afc__gzip_end;

/** Adds bytes of the encoded body. */
void afc__gzip_end_add(afc__gzip_end *end, afc_slice bytes);

/**
 * Returns whether a watched body, of which `decoded` bytes were decoded, lacks its end. A body without bytes is an
 * empty body.
 */
bool afc__gzip_end_is_missing(const afc__gzip_end *end, uint64_t decoded);

/**
 * Watches the body if it is such a gzip body: from then on libcurl shows the encoded bytes to the debug callback. Call
 * it after the last line of the final head.
 */
void afc__exchange_watch_gzip(afc__exchange *exchange);

#endif
