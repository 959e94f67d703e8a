/** The internals of monitors and of the thread that they share. */
#ifndef AF_REACHABILITY_MONITOR_H
#define AF_REACHABILITY_MONITOR_H

#include "base/list.h"
#include "reachability/lookup.h"
#include "reachability/tables.h"
#include "run/loop.h"

#include <stdatomic.h>

enum { AF__REACH_BUFFER_SIZE = 32 * 1024 };

/*
 * `references` counts the caller and the lists that the monitor is in. Fields "under the lock" are for any thread
 * that holds it (af__reach_lock()); the others are for the monitors' thread only.
 */
struct af_reach_monitor {
    atomic_uint references;
    char *host; /**< A name to resolve, or NULL. */
    void (*on_change)(void *context, const af_reachability *state);
    void (*release)(void *context);
    void *context;

    /* Under the lock. */
    unsigned generation; /**< The process of its thread; see af__process_generation(). */
    bool is_wanted;
    unsigned serial; /**< Number of its starts. */
    bool is_waiting; /**< In thread->waiting. */
    af__node waiting;
    af_reachability state;

    /* For the thread only. */
    af__node active; /**< In thread->active. */
    unsigned active_serial;
    bool is_active, was_reported;
    af_reachability reported;
    af__reach_address addresses[AF__REACH_MOST_ADDRESSES];
    size_t address_count;
    bool is_answered; /**< A lookup has completed, with or without success. */
    bool wants_lookup, is_looking_up;
    af__lookup lookup;
    uint64_t fingerprint; /**< Fingerprint of the network at the time of the lookup. */
    unsigned retries;
    bool can_retry; /**< Capacity for the alarm is reserved. */
    af__alarm retry;
    struct af__reach_thread *thread;
};

typedef struct af__reach_thread {
    /* Under the lock. */
    af__list waiting; /**< Monitors that were started or stopped and are not processed yet. */
    size_t wanted;    /**< Number of started monitors. */
    bool is_bound_to_end, is_posted;

    af__post post;
    af__loop loop;
    af__resolver_client names;

    /* For the thread only. */
    int netlink;
    af__watch watch;
    af__list active;
    size_t active_count, lookups;
    af__link_table table;
    bool is_due;         /**< The network has changed since the last decision. */
    af__alarm transient; /**< Timer: asks again about a transient route. */
    unsigned transient_count;
    unsigned char buffer[AF__REACH_BUFFER_SIZE];
} af__reach_thread;

void af__reach_lock(void);
void af__reach_unlock(void);

/**
 * Registers the fork handlers, so that other modules can register theirs, whose locks are taken first, afterwards.
 */
void af__reach_watch_forks(void);

/** Requires the lock. Returns the running thread, or starts one. AF_ENOMEM, AF_EINTERNAL. */
af_status af__reach_thread_get(af__reach_thread **out, af_failure *failure);

/** Requires the lock. Returns the running thread; NULL: none. */
af__reach_thread *af__reach_thread_running(void);

/** Releases a reference. The lock must not be held, because this may free the monitor. */
void af__reach_unreference(af_reach_monitor *monitor);

#endif
