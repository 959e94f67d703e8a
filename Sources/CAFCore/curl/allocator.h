/** The heap that libcurl uses on loop threads. */
#ifndef AF_CURL_ALLOCATOR_H
#define AF_CURL_ALLOCATOR_H

#include <curl/curl.h>
#include <stddef.h>

typedef struct af__memory af__memory;

/** curl_global_init(), with a heap that keeps at hand what loop threads free. */
CURLcode af__memory_init_libcurl(void);

/** What one loop thread keeps. NULL when out of memory. */
af__memory *af__memory_new(void);

/** From now on this thread keeps what it frees there. */
void af__memory_use(af__memory *memory);

/** In bytes; of the thread that uses it. */
size_t af__memory_kept(const af__memory *memory);

/** Free all that is kept. On the thread that used it, or where none did. */
void af__memory_free(af__memory *memory);

#endif
