/** The memory that the process has allocated. */
#ifndef AFC_TESTS_HEAP_H
#define AFC_TESTS_HEAP_H

#include <stddef.h>

/** Returns the bytes in use; always 0 under a sanitizer, whose heap mallinfo2() doesn't know, and without glibc. */
size_t heap_in_use(void);

#endif
