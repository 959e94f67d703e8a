/** How many bytes libcurl reads and sends at once (CURLOPT_BUFFERSIZE, CURLOPT_UPLOAD_BUFFERSIZE). */
#ifndef AFC_CURL_BODY_BUFFERS_H
#define AFC_CURL_BODY_BUFFERS_H

#include "curl/driver.h"

enum {
    AFC__SMALL_READ = 16 * 1024,
    AFC__BULK_BUFFER = 256 * 1024,
    AFC__SMALL_UPLOAD_BUFFER = 64 * 1024
};

/** Sets how much libcurl reads at once. Call it before the hop starts. */
void afc__exchange_set_read_size(afc__exchange *exchange);

/**
 * Sets how much libcurl sends at once. Call it before the hop starts, and after the fields are set, whose size counts.
 */
void afc__exchange_set_upload_buffer(afc__exchange *exchange);

#endif
