/** The folder of an HTTP cache, for tests, and small responses in it. */
#ifndef AFC_TESTS_CACHE_BOX_H
#define AFC_TESTS_CACHE_BOX_H

#include "support/files.h"
#include "support/responses.h"

enum { CACHE_BOX_MEMORY = 1 << 20, CACHE_BOX_DISK = 64 << 20, CACHE_BOX_RESPONSE = 100 };

typedef struct cache_box {
    folder folder;
    char path[96], entries[128], journal[128];
    afc_http_cache *cache;
} cache_box;

/** Makes an empty folder without a cache. */
cache_box *cache_box_make(void);

/** Makes an empty folder and opens a cache in it, which has nothing to do any more. */
cache_box *cache_box_new(void);

/** Closes the cache, if there is one, and removes the folder. */
void cache_box_free(cache_box *box);

/** Opens another cache of the folder, which is as one of another process. */
afc_http_cache *cache_box_open(const cache_box *box, uint64_t memory);

void cache_box_close(afc_http_cache *cache);

size_t cache_box_count_files(const cache_box *box);

/** A response of CACHE_BOX_RESPONSE bytes. */
response small_response(unsigned url, unsigned version);

/** Stores such responses with the URLs 0 to `count` - 1. */
void store_small(afc_http_cache *cache, unsigned count);

/** Returns how many responses of a URL are found. */
size_t count_responses(afc_http_cache *cache, unsigned url);

#endif
