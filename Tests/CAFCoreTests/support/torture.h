/**
 * Runs a block once for every allocation that it makes, with that one failing, and once with none
 * failing.
 */
#ifndef AFC_TESTS_TORTURE_H
#define AFC_TESTS_TORTURE_H

#include <stdbool.h>
#include <stddef.h>

/**
 * TORTURE(n) { … }: in the n-th round (from 1) the n-th allocation fails; in the last round none
 * does. The block must be left by its end, and give back everything whatever happens.
 */
#define TORTURE(n) for (size_t n = torture_begin(); n != 0; n = torture_next(n))

/** Does the same, with the n-th and all later allocations of the block failing. */
#define TORTURE_FROM(n) for (size_t n = torture_begin_from(); n != 0; n = torture_next(n))

size_t torture_begin(void);
size_t torture_begin_from(void);
size_t torture_next(size_t round);

#endif
