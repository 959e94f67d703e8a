/** The internals of monitors and of the thread that they share. */
#ifndef AFC_REACHABILITY_MONITOR_H
#define AFC_REACHABILITY_MONITOR_H

#include "base/list.h"
#include "reachability/lookup.h"
#include "reachability/tables.h"
#include "run/loop.h"

#include <stdatomic.h>

enum { AFC__REACH_BUFFER_SIZE = 32 * 1024 };

/*
 * `references` counts the caller and the lists that the monitor is in. Fields "under the lock" are for any thread
 * that holds it (afc__reach_lock()); the others are for the monitors' thread only.
 */
struct afc_reach_monitor {
    atomic_uint references;
    char *host; /**< A name to resolve, or NULL. */
    void (*on_change)(void *context, const afc_reachability *state);
    void (*release)(void *context);
    void *context;

    /* Under the lock. */
    unsigned generation; /**< The process of its thread; see afc__process_generation(). */
    bool is_wanted;
    unsigned serial; /**< Number of its starts. */
    bool is_waiting; /**< In thread->waiting. */
    afc__node waiting;
    afc_reachability state;

    /* For the thread only. */
    afc__node active; /**< In thread->active. */
    unsigned active_serial;
    bool is_active, was_reported;
    afc_reachability reported;
    afc__reach_address addresses[AFC__REACH_MOST_ADDRESSES];
    size_t address_count;
    bool is_looked_up; /**< A lookup has completed, with or without success. */
    bool wants_lookup, is_looking_up;
    afc__lookup lookup;
    uint64_t fingerprint; /**< Fingerprint of the network at the time of the lookup. */
    unsigned retries;
    bool can_retry; /**< Capacity for the alarm is reserved. */
    afc__alarm retry;
    struct afc__reach_thread *thread;
};

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
    bool is_due;          /**< The network has changed since the last decision. */
    afc__alarm transient; /**< Timer: asks again about a transient route. */
    unsigned transient_count;
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
