/** The thread af-reach, which all monitors share: it receives changes, decides what they mean, and reports it. */
#ifndef AFC_REACHABILITY_THREAD_H
#define AFC_REACHABILITY_THREAD_H

#include "reachability/monitor.h"

enum { AFC__REACH_BUFFER_SIZE = 32 * 1024 };

typedef struct afc__reach_thread {
    /* Under the lock. */
    afc__list waiting; /**< Monitors that were started or stopped and are not processed yet. */
    size_t wanted;     /**< Number of started monitors. */
    bool is_bound_to_end, is_posted;

    afc__post post;
    afc__loop loop;
    afc__resolver_client names;

    /* For the thread only. */
    int netlink;
    afc__watch watch;
    afc__list active;
    size_t active_count, lookups;
    afc__link_table table;
    bool is_due;      /**< The network has changed since the last decision. */
    afc__alarm again; /**< Timer: asks again about transient or unknown routes. */
    unsigned transient_count,
        unknown_count;  /**< How often it was armed for either without a break. */
    afc__alarm restart; /**< Timer: tries to start over after an error of the netlink socket. */
    unsigned restarts;  /**< Tries since something was received. */
    unsigned char buffer[AFC__REACH_BUFFER_SIZE];
} afc__reach_thread;

void afc__reach_lock(void);
void afc__reach_unlock(void);

/**
 * Registers the fork handlers, so that other modules can register theirs, whose locks are taken first, afterwards.
 */
void afc__reach_watch_forks(void);

/** Requires the lock. Returns the running thread, or starts one. AFC_ENOMEM, AFC_EINTERNAL. */
afc_status afc__reach_thread_get(afc__reach_thread **out, afc_failure *failure);

/** Requires the lock. Returns the running thread; NULL: none. */
afc__reach_thread *afc__reach_thread_running(void);

/** Releases a reference. The lock must not be held, because this may free the monitor. */
void afc__reach_unreference(afc_reach_monitor *monitor);

#endif
