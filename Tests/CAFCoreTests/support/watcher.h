/**
 * A monitor that writes down what it is told, and a test that waits for it.
 */
#ifndef AF_TESTS_WATCHER_H
#define AF_TESTS_WATCHER_H

#include "support/check.h"

#include <afcore/reachability.h>
#include <pthread.h>
#include <stdatomic.h>

typedef struct watcher {
    af_reach_monitor *monitor;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* Under the lock. */
    af_reachability state; /**< The last that was told. */
    size_t told, dropped;
    /** Called in on_change, not under the lock. May be NULL. */
    void (*then)(struct watcher *watcher);
    void *context;
} watcher;

/** A monitor of `host`, which is not started. It must succeed. */
watcher *watcher_new(const char *host);

/** The same, started. */
watcher *watcher_start(const char *host);

/** Frees the monitor, unless that has been done, and waits until it is dropped. */
void watcher_free(watcher *watcher);

/** Wait until the last state told has this status and is of this link; NULL: of any. That state. */
af_reachability watcher_expect(watcher *watcher, af_reach_status status, const char *link);

/** How many were told so far. */
size_t watcher_told(watcher *watcher);

/** Wait until so many were told in all. */
void watcher_expect_told(watcher *watcher, size_t count);

void watcher_expect_dropped(watcher *watcher);

/** How many threads of this process have this name; one that has ended or was joined has none. */
size_t count_threads(const char *name);

#endif
