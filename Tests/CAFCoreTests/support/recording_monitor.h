/** A monitor that records its reports, and a test that waits for them. */
#ifndef AFC_TESTS_RECORDING_MONITOR_H
#define AFC_TESTS_RECORDING_MONITOR_H

#include "support/check.h"

#include <afcore/reachability.h>
#include <pthread.h>
#include <stdatomic.h>

typedef struct recording_monitor {
    afc_reach_monitor *monitor;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* Guarded by the lock. */
    afc_reachability state; /**< The last one reported. */
    size_t report_count, release_count;
    /** Called in on_change, not under the lock. May be NULL. */
    void (*on_change)(struct recording_monitor *recording);
    void *context;
} recording_monitor;

/** Makes a monitor of `host`, not started. It must succeed. */
recording_monitor *recording_monitor_new(const char *host);

/** Does the same, and starts it. */
recording_monitor *recording_monitor_start(const char *host);

/** Frees the monitor, unless it is freed already, and waits until it is released. */
void recording_monitor_free(recording_monitor *recording);

/**
 * Waits until the last report has this status and this link; NULL: any link. Returns that state.
 */
afc_reachability recording_monitor_expect(recording_monitor *recording, afc_reach_status status,
                                          const char *link);

/** Returns the number of reports so far. */
size_t recording_monitor_report_count(recording_monitor *recording);

/** Waits until there were this many reports in total. */
void recording_monitor_expect_reports(recording_monitor *recording, size_t count);

void recording_monitor_expect_release(recording_monitor *recording);

#endif
