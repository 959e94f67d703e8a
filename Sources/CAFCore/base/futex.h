/**
 * Sleeping on a word of memory, futex(2), among the threads of one process.
 */
#ifndef AFC_BASE_FUTEX_H
#define AFC_BASE_FUTEX_H

#include <stdatomic.h>
#include <stdint.h>

/**
 * Sleeps while the word has this value, for at most `limit_us` microseconds, or without a limit if that is -1. Also
 * returns if interrupted, late or too early: callers look at the word again. Changes errno.
 */
void afc__futex_wait(atomic_uint *word, unsigned value, int64_t limit_us);

/** Wakes at most `count` threads that sleep on the word. Changes errno. */
void afc__futex_wake(atomic_uint *word, int count);

#endif
