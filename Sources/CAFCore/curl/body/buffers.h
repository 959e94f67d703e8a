/** How many bytes libcurl reads and sends at once. */
#ifndef AFC_CURL_BODY_BUFFERS_H
#define AFC_CURL_BODY_BUFFERS_H

#include "curl/driver.h"

enum {
    AFC__SMALL_READ = 16 * 1024,
    AFC__BULK_BUFFER = 256 * 1024,
    AFC__SMALL_UPLOAD_BUFFER = 64 * 1024
};

/** Sets what libcurl reads at once, before the hop. */
void afc__exchange_set_read_size(afc__exchange *exchange);

/**
 * Sets what libcurl sends at once, before the hop. Call it after the fields, whose size counts.
 */
void afc__exchange_set_upload_buffer(afc__exchange *exchange);

/** Reads more at once if the head says that the body isn't decoded. Call it after each line of a head. */
void afc__exchange_grow_reads(afc__exchange *exchange);

#endif
