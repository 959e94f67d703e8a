/** The allocator that libcurl uses on loop threads. */
#ifndef AFC_CURL_ALLOCATOR_H
#define AFC_CURL_ALLOCATOR_H

#include <curl/curl.h>
#include <stddef.h>

typedef struct afc__memory afc__memory;

/** Calls curl_global_init() with an allocator that keeps the blocks freed on loop threads. */
CURLcode afc__memory_init_libcurl(void);

/** Makes the store for the freed blocks of one loop thread. NULL when out of memory. */
afc__memory *afc__memory_new(void);

/** Makes this thread keep the blocks that it frees in `memory`. NULL frees them. Returns the previous store. */
afc__memory *afc__memory_use(afc__memory *memory);

/** Returns the number of bytes kept. Call it on the thread that uses `memory`. */
size_t afc__memory_kept(const afc__memory *memory);

/** Frees all kept blocks. Call it on the thread that used `memory`; any thread if none did. */
void afc__memory_free(afc__memory *memory);

#endif
