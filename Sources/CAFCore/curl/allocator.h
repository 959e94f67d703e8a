/** The allocator that libcurl uses on loop threads; see allocator.c for its reason. */
#ifndef AFC_CURL_ALLOCATOR_H
#define AFC_CURL_ALLOCATOR_H

#include <curl/curl.h>
#include <stddef.h>

typedef struct afc__memory afc__memory;

/** Calls curl_global_init() with an allocator that keeps the blocks freed on loop threads. */
CURLcode afc__memory_init_libcurl(void);

/** Makes the store for the freed blocks of one loop. Returns NULL when out of memory. */
afc__memory *afc__memory_new(void);

/** Makes this thread keep the blocks that libcurl frees in `memory`; if that is NULL, they are returned to malloc(). */
afc__memory *afc__memory_use(afc__memory *memory);

/** Returns the number of bytes kept in freed blocks. Call it on the thread that uses `memory`. */
size_t afc__memory_kept(const afc__memory *memory);

/**
 * Frees `memory` and all blocks in it. Call it on the thread that uses `memory`, or on any thread if none does. NULL is
 * allowed.
 */
void afc__memory_free(afc__memory *memory);

#endif
