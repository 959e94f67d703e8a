/** Random bytes of the system. */
#ifndef AFC_BASE_RANDOM_H
#define AFC_BASE_RANDOM_H

#include <stdbool.h>
#include <stddef.h>

/** Fills `out` with random bytes that can't be predicted. false: the system has none, with errno. */
bool afc__random(void *out, size_t size);

#endif
