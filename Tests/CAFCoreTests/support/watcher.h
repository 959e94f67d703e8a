/** A monitor that records its reports, and a test that waits for them. */
#ifndef AFC_TESTS_WATCHER_H
#define AFC_TESTS_WATCHER_H

#include "support/check.h"

#include <afcore/reachability.h>
#include <pthread.h>
#include <stdatomic.h>

typedef struct watcher {
    afc_reach_monitor *monitor;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* Guarded by the lock. */
    afc_reachability state; /**< The last one reported. */
    size_t told, dropped;
    /** Called in on_change, not under the lock. May be NULL. */
    void (*then)(struct watcher *watcher);
    void *context;
} watcher;

/** Makes a monitor of `host`, not started. It must succeed. */
watcher *watcher_new(const char *host);

/** Does the same, and starts it. */
watcher *watcher_start(const char *host);

/** Frees the monitor, unless it is freed already, and waits until it is released. */
void watcher_free(watcher *watcher);

/**
 * Waits until the last report has this status and this link; NULL: any link. Returns that state.
 */
afc_reachability watcher_expect(watcher *watcher, afc_reach_status status, const char *link);

/** Returns the number of reports so far. */
size_t watcher_told(watcher *watcher);

/** Waits until there were this many reports in total. */
void watcher_expect_told(watcher *watcher, size_t count);

void watcher_expect_dropped(watcher *watcher);

#endif
