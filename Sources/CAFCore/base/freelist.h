/**
 * Blocks of one size that are kept when they are given back, for those who need one after the
 * other: the heap takes as long for a block of some kilobytes as for much of a request.
 *
 * Any thread. Nobody waits for anybody, so a forked child can go on with what it finds.
 */
#ifndef AF_BASE_FREELIST_H
#define AF_BASE_FREELIST_H

#include <stdatomic.h>
#include <stddef.h>

/** Blocks that are kept can't be watched for use after their end. */
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
    size_t size;                        /**< Of each block, at least that of a pointer. */
    unsigned limit;                     /**< Blocks kept at most; some more for a moment. */
    _Atomic(struct af__spare *) newest; /**< The last one given, which caches still know. */
    atomic_uint count;
} af__freelist;

#define AF__FREELIST_INIT(block_size, most)                                                        \
    { .size = (block_size), .limit = (most) }

/** A block, uninitialised; NULL when out of memory. Goes back with af__freelist_give(). */
void *af__freelist_take(af__freelist *freelist);

/** Give a block back. NULL is fine. */
void af__freelist_give(af__freelist *freelist, void *block);

/** Free all that is kept. */
void af__freelist_empty(af__freelist *freelist);

#endif
