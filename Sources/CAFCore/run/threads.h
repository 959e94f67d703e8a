/** The library's threads: how they start, and how they are joined. Any thread may call these functions. */
#ifndef AFC_RUN_THREADS_H
#define AFC_RUN_THREADS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/**
 * Does the same as pthread_create(), with those signals blocked that are for the program's own threads. So a write to a
 * closed socket is an error, and doesn't raise SIGPIPE. The caller joins the thread. Returns 0 or an errno.
 */
int afc__thread_create(pthread_t *id, void *(*body)(void *context), void *context);

/**
 * Runs `body(context)` on such a thread, which this file joins. `owner`, which may be NULL, identifies the thread for
 * afc__threads_join_owned() and isn't dereferenced. Returns 0 or an errno.
 */
int afc__thread_start(const char *name, void (*body)(void *context), void *context,
                      const void *owner);

/**
 * Counts a thread, running or about to be started, as certain to end by itself. Called once for each such thread, by
 * its owner.
 */
void afc__thread_will_end(void);

/** Reverts afc__thread_will_end(): the thread got more work, or couldn't be started. */
void afc__thread_will_stay(void);

/** Waits until every thread that is certain to end has ended. Don't call it on one of them. */
void afc__threads_join_ending(void);

/**
 * Waits until every thread of this owner has ended, at most `limit_us` microseconds; negative: without a limit. The
 * owner's address must not be used again meanwhile. Don't call it on one of these threads. Returns false if the time is
 * over.
 */
bool afc__threads_join_owned(const void *owner, int64_t limit_us);

/**
 * Registers this file's fork handlers before those of the caller. Callers that start threads while they hold a
 * lock must use it, because fork handlers take locks in the reverse order of registration.
 */
void afc__threads_watch_forks(void);

/** Returns a number that is different in a forked child, where the parent's threads don't exist. */
unsigned afc__process_generation(void);

#endif
