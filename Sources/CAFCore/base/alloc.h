/**
 * The only door to the heap, so that a test can make any allocation fail.
 *
 * Memory from here is released with af_free(). A size of 0 gives a small block: NULL always
 * means out of memory.
 */
#ifndef AF_BASE_ALLOC_H
#define AF_BASE_ALLOC_H

#include <afcore/base.h>

/** Uninitialised memory; NULL when out of memory. */
void *af__alloc(size_t size);

/** Counts as an allocation, for memory that comes from elsewhere; false if it is one to fail. */
bool af__alloc_succeeds(void);

/** Memory that is all zero; NULL when out of memory. */
void *af__zalloc(size_t size);

/** Move to another size; NULL when out of memory, and `memory` is then as it was. */
void *af__realloc(void *memory, size_t size);

/** A copy that ends in NUL; NULL when out of memory. */
char *af__copy_text(af_slice text);

/** Overwrite `size` bytes, then free: for memory that held a secret. NULL is fine. */
void af__free_secret(void *memory, size_t size);

/**
 * Make the n-th allocation from now on fail, once (1 is the next); 0 lets all succeed. For tests.
 *
 * The allocations of every thread count, but only while n is not 0: SIZE_MAX counts and lets all
 * succeed. Returns how many were counted since the call before.
 */
size_t af__alloc_fail_at(size_t n);

#endif
