/**
 * The thread af-reach, which all monitors share: it receives the kernel's messages, decides what changes mean, and
 * reports them.
 */
#ifndef AFC_REACHABILITY_THREAD_H
#define AFC_REACHABILITY_THREAD_H

#include "reachability/monitor.h"

enum { AFC__REACH_BUFFER_SIZE = 32 * 1024 };

typedef struct afc__reach_thread {
    /* Under the lock. */
    /** Monitors that were started or stopped, and that the thread hasn't processed yet. */
    afc__list waiting;
    size_t wanted; /**< Number of started monitors. */
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
    afc__alarm again; /**< Timer: checks transient or unknown routes again. */
    unsigned transient_count,
        /** How often in a row the timer `again` was armed for transient, and for unknown, routes. */
        unknown_count;
    afc__alarm restart; /**< Timer: opens a new netlink socket after an error of the old one. */
    unsigned restarts;  /**< Number of tries since a message was received. */
    unsigned char buffer[AFC__REACH_BUFFER_SIZE];
} afc__reach_thread;

/** Take and release the lock of the thread and its monitors. */
void afc__reach_lock(void);
void afc__reach_unlock(void);

/**
 * Registers the fork handlers. Call it before modules whose locks are taken first register theirs, because prepare
 * handlers run in reverse order.
 */
void afc__reach_watch_forks(void);

/** Returns the running thread, or starts one. Requires the lock. Fails with AFC_ENOMEM or AFC_EINTERNAL. */
afc_status afc__reach_thread_get(afc__reach_thread **out, afc_failure *failure);

/** Returns the running thread; NULL if there is none. Requires the lock. */
afc__reach_thread *afc__reach_thread_running(void);

/** Releases a reference. The lock must not be held, because this may free the monitor. */
void afc__reach_unreference(afc_reach_monitor *monitor);

#endif
