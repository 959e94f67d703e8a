/**
 * A lock-free freelist of blocks of one size: allocating some kilobytes takes as long as a good part of a request.
 *
 * Any thread. No thread ever waits for another one, so a forked child can use the list as it is.
 */
#ifndef AF_BASE_FREELIST_H
#define AF_BASE_FREELIST_H

#include <stdatomic.h>
#include <stddef.h>

/** AddressSanitizer can't detect a use after free of blocks in the list. */
#if defined(__SANITIZE_ADDRESS__)
#define AF__KEEPS_FREELISTS 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define AF__KEEPS_FREELISTS 0
#endif
#endif
#ifndef AF__KEEPS_FREELISTS
#define AF__KEEPS_FREELISTS 1
#endif

typedef struct af__freelist {
    size_t size;    /**< Size of each block, at least that of a pointer. */
    unsigned limit; /**< Maximum number of blocks in the list; briefly exceeded. */
    _Atomic(struct af__spare *)
        newest; /**< Most recently returned block, probably still in the processor's cache. */
    atomic_uint count;
} af__freelist;

#define AF__FREELIST_INIT(block_size, most)                                                        \
    { .size = (block_size), .limit = (most) }

/** Returns an uninitialised block; NULL when out of memory. Return it with af__freelist_give(). */
void *af__freelist_take(af__freelist *freelist);

/** Returns a block. NULL is allowed. */
void af__freelist_give(af__freelist *freelist, void *block);

/** Frees all blocks in the list. */
void af__freelist_empty(af__freelist *freelist);

#endif
