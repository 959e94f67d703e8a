/**
 * The end of a gzip body that nothing but the end of its connection delimits. libcurl decodes as far as it gets, and
 * doesn't report that the rest is missing. But gzip ends with the size of what it contains (RFC 1952 2.3.1).
 */
#ifndef AFC_CURL_BODY_GZIP_END_H
#define AFC_CURL_BODY_GZIP_END_H

#include "curl/driver.h"

/** The last bytes of an encoded body. Plain values; zeroed: none is watched. */
typedef struct afc__gzip_end {
    bool is_watched;
    uint64_t size;         /**< Size of the encoded body so far. */
    unsigned char last[4]; /**< Its last bytes, the latest one last. */
} afc__gzip_end;

/** Adds bytes of the encoded body. */
void afc__gzip_end_add(afc__gzip_end *end, afc_slice bytes);

/**
 * Returns whether the end is missing of a body of which `decoded` bytes were decoded. Nothing at all is an empty body.
 */
bool afc__gzip_end_is_missing(const afc__gzip_end *end, uint64_t decoded);

/** Call it after the last line of the final head: from then on libcurl shows the encoded bytes, if they matter. */
void afc__exchange_watch_gzip(afc__exchange *exchange);

#endif
