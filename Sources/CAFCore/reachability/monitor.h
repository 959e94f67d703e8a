/** The insides of monitors and of the thread that they share. */
#ifndef AF_REACHABILITY_MONITOR_H
#define AF_REACHABILITY_MONITOR_H

#include "base/list.h"
#include "reachability/lookup.h"
#include "reachability/tables.h"
#include "run/loop.h"

#include <stdatomic.h>

enum { AF__REACH_BUFFER_SIZE = 32 * 1024 };

/*
 * `references` counts the caller and the lists that the monitor is in. What is "under
 * the lock" is for any thread that holds it (af__reach_lock()); the rest is the thread's own.
 */
struct af_reach_monitor {
    atomic_uint references;
    char *host; /**< A name to be looked up, or NULL. */
    void (*on_change)(void *context, const af_reachability *state);
    void (*release)(void *context);
    void *context;

    /* Under the lock. */
    unsigned generation; /**< The process that its thread lives in. */
    bool is_wanted;
    unsigned serial; /**< Of its starts. */
    bool is_waiting; /**< In thread->waiting. */
    af__node waiting;
    af_reachability state;

    /* The thread's. */
    af__node active; /**< In thread->active. */
    unsigned active_serial;
    bool is_active, was_told;
    af_reachability told;
    af__reach_address addresses[AF__REACH_MOST_ADDRESSES];
    size_t address_count;
    bool is_answered; /**< A lookup has ended, well or not. */
    bool wants_lookup, is_looking_up;
    af__lookup lookup;
    uint64_t fingerprint; /**< Of the network when it was looked up. */
    unsigned retries;
    bool can_retry; /**< There is room for the alarm. */
    af__alarm retry;
    struct af__reach_thread *thread;
};

typedef struct af__reach_thread {
    /* Under the lock. */
    af__list waiting; /**< Monitors that were started or stopped. */
    size_t wanted;    /**< Monitors that are started. */
    bool is_bound_to_end, is_posted;

    af__post post;
    af__loop loop;
    af__resolver_client names;

    /* The thread's. */
    int netlink;
    af__watch watch;
    af__list active;
    size_t active_count, lookups;
    af__link_table table;
    bool is_due;         /**< Something has changed since it was decided what it means. */
    af__alarm transient; /**< To ask again about a route that can't last. */
    unsigned transient_count;
    unsigned char buffer[AF__REACH_BUFFER_SIZE];
} af__reach_thread;

void af__reach_lock(void);
void af__reach_unlock(void);

/** So that other fork handlers can be registered behind these: their locks are taken first. */
void af__reach_watch_forks(void);

/** Under the lock: the thread whose thread runs, a new one if there is none. AF_ENOMEM, AF_EINTERNAL. */
af_status af__reach_thread_get(af__reach_thread **out, af_failure *failure);

/** Under the lock: that one; NULL: none. */
af__reach_thread *af__reach_thread_running(void);

/** Not under the lock: this may be the end of the monitor. */
void af__reach_unreference(af_reach_monitor *monitor);

#endif
