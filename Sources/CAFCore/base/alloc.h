/**
 * The library's allocator. All allocations go through it, so that a test can make any one of them fail.
 *
 * Memory from here is freed with afc_free(). A size of 0 returns a small block: NULL always means out of memory.
 */
#ifndef AFC_BASE_ALLOC_H
#define AFC_BASE_ALLOC_H

#include <afcore/base.h>

/** Allocates uninitialised memory; NULL when out of memory. */
void *afc__alloc(size_t size);

/** Counts an allocation that is made elsewhere, such as in libcurl; false if a test wants it to fail. */
bool afc__alloc_succeeds(void);

/** Allocates zeroed memory; NULL when out of memory. */
void *afc__zalloc(size_t size);

/** Changes the size of a block; NULL when out of memory, and `memory` is then unchanged. */
void *afc__realloc(void *memory, size_t size);

/** Copies a text and adds a NUL; NULL when out of memory. */
char *afc__copy_text(afc_slice text);

/** Overwrites `size` bytes, then frees: for memory that held a secret. NULL is allowed. */
void afc__free_secret(void *memory, size_t size);

/**
 * Makes the n-th allocation from now on fail, once (1 is the next one); 0 lets all succeed. For tests.
 *
 * Counts the allocations of all threads, but only while n isn't 0: with SIZE_MAX they are counted and all succeed.
 * Returns the number counted since the previous call.
 */
size_t afc__alloc_fail_at(size_t n);

/** Does the same with all allocations from the n-th one on, as when memory stays short. */
size_t afc__alloc_fail_from(size_t n);

#endif
