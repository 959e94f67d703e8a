/** Random bytes of the system. */
#ifndef AFC_BASE_RANDOM_H
#define AFC_BASE_RANDOM_H

#include <stdbool.h>
#include <stddef.h>

/** Fills `out` with random bytes that can't be predicted. Returns false with errno if the system has none. */
bool afc__random(void *out, size_t size);

#endif
