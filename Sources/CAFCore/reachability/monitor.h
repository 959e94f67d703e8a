/** A monitor: what its owner asks for, and what the thread that all monitors share knows about its host. */
#ifndef AFC_REACHABILITY_MONITOR_H
#define AFC_REACHABILITY_MONITOR_H

#include "base/list.h"
#include "reachability/tables.h"
#include "run/loop.h"
#include "run/resolver.h"

#include <afcore/reachability.h>
#include <stdatomic.h>

/** Maximum number of a host's addresses whose routes are checked. */
enum { AFC__REACH_ADDRESSES_MAX = 16 };

/*
 * `references` counts the owner and the lists that the monitor is in. Fields "under the lock" are for any thread that
 * holds it (afc__reach_lock()); the others are for the monitors' thread only.
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
    unsigned serial; /**< Number of times it was started. */
    bool is_waiting; /**< In thread->waiting. */
    afc__node waiting;
    afc_reachability state;

    /* For the thread only. */
    afc__node active; /**< In thread->active. */
    unsigned active_serial;
    bool is_active, was_reported;
    afc_reachability reported;
    afc__reach_address addresses[AFC__REACH_ADDRESSES_MAX];
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

/**
 * Returns whether there is no route to the internet, which means addresses beyond the local network, of either family.
 * Returns false if that can't be determined. Sends nothing and doesn't block.
 */
bool afc__reach_lacks_internet(void);

#endif
