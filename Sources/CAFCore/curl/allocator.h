/** The allocator that libcurl uses on loop threads. */
#ifndef AF_CURL_ALLOCATOR_H
#define AF_CURL_ALLOCATOR_H

#include <curl/curl.h>
#include <stddef.h>

typedef struct af__memory af__memory;

/** Calls curl_global_init() with an allocator that keeps the blocks freed on loop threads. */
CURLcode af__memory_init_libcurl(void);

/** Makes the store for the freed blocks of one loop thread. NULL when out of memory. */
af__memory *af__memory_new(void);

/** Makes this thread keep the blocks that it frees in `memory`. */
void af__memory_use(af__memory *memory);

/** Returns the number of bytes kept. Call it on the thread that uses `memory`. */
size_t af__memory_kept(const af__memory *memory);

/** Frees all kept blocks. Call it on the thread that used `memory`; any thread if none did. */
void af__memory_free(af__memory *memory);

#endif
