/* Counts what the heap is asked for, so that tests can hold a number instead of a time. */
#ifndef ALLOCATION_COUNT_H
#define ALLOCATION_COUNT_H

#include <stdbool.h>
#include <stdint.h>

/* Blocks that this thread asked for since it began: malloc, calloc, realloc, aligned calls. */
uint64_t allocation_count(void);

/* Blocks that all threads asked for but those of the test server in the same process, which have names of their own. */
uint64_t allocation_count_of_client(void);

/* What is counted for one block: 1, or 0 where the functions that count aren't those that programs call. */
uint64_t allocation_count_of_one(void);

/* False under a sanitizer, which has an allocator of its own. */
bool allocation_count_works(void);

#endif
