/**
 * A freelist of blocks of one size: allocating some kilobytes takes as long as a good part of a request.
 *
 * Any thread may call these functions. No thread waits for another one: while one uses the list, others allocate and
 * free instead. So does a forked child if another thread was using the list during the fork.
 */
#ifndef AFC_BASE_FREELIST_H
#define AFC_BASE_FREELIST_H

#include <stdatomic.h>
#include <stddef.h>

/** AddressSanitizer can't detect a use after free of blocks in the list. */
#if defined(__SANITIZE_ADDRESS__)
#define AFC__KEEPS_FREELISTS 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define AFC__KEEPS_FREELISTS 0
#endif
#endif
#ifndef AFC__KEEPS_FREELISTS
#define AFC__KEEPS_FREELISTS 1
#endif

typedef struct afc__freelist {
    size_t size;    /**< Size of each block, at least that of a pointer. */
    unsigned limit; /**< Maximum number of blocks in the list. */
    atomic_bool is_in_use;
    /* Used only by the thread that has set `is_in_use`. */
    unsigned count;
    /** Most recently returned block, probably still in the processor's cache. */
    struct afc__free_block *newest;
} afc__freelist;

#define AFC__FREELIST_INIT(block_size, most)                                                       \
    { .size = (block_size), .limit = (most) }

/** Returns an uninitialised block; NULL when out of memory. Return it with afc__freelist_give(). */
void *afc__freelist_take(afc__freelist *freelist);

/** Returns a block to the list, or frees it if the list is full or in use. NULL is allowed. */
void afc__freelist_give(afc__freelist *freelist, void *block);

/** Frees all blocks in the list, unless another thread uses it. */
void afc__freelist_empty(afc__freelist *freelist);

#endif
