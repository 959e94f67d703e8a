#include "reachability/monitor.h"

#include "base/alloc.h"
#include "base/failure.h"
#include "base/sized.h"
#include "reachability/netlink.h"
#include "reachability/thread.h"
#include "run/threads.h"

#include <netdb.h>
#include <string.h>
#include <sys/socket.h>

enum { MAX_HOST = 255 };

/** Detaches a monitor after a fork from the thread, which exists in the parent only. Requires the lock. */
static void adopt(afc_reach_monitor *monitor) {
    if (monitor->generation == afc__process_generation()) return;
    monitor->generation = afc__process_generation();
    atomic_store(&monitor->references, 1);
    monitor->is_wanted = monitor->is_waiting = monitor->is_active = monitor->is_looking_up = false;
    monitor->waiting = monitor->active = (afc__node){0};
    monitor->lookup = (afc__lookup){0};
    monitor->retry.timer = (afc__timer){0};
}

/* ---- Making -------------------------------------------------------------------------------- */

/**
 * Writes the addresses that stand for the internet, and returns their number: two DNS root servers, one per family,
 * which are on no local network.
 */
static size_t internet(afc__reach_address *out) {
    out[0] = (afc__reach_address){.family = AF_INET, .bytes = {198, 41, 0, 4}};
    out[1] = (afc__reach_address){.family = AF_INET6,
                                  .bytes = {0x20, 1, 5, 3, 0xba, 0x3e, [13] = 2, [15] = 0x30}};
    return 2;
}

bool afc__reach_lacks_internet(void) {
    afc__reach_address addresses[AFC__REACH_ADDRESSES_MAX];
    size_t count = internet(addresses);
    for (size_t i = 0; i < count; i++) {
        afc__reach_route route = afc__reach_probe(&addresses[i]);
        if (route.exists || route.is_unknown) return false;
    }
    return true;
}

/** Parses a numeric address, which needs no lookup; false if `host` isn't one. */
static bool parse_address(const char *host, afc__reach_address *out) {
    struct addrinfo hints = {.ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_DGRAM};
    struct addrinfo *found;
    if (getaddrinfo(host, NULL, &hints, &found) != 0) return false;
    bool is_address = afc__reach_address_of(out, found->ai_addr);
    freeaddrinfo(found);
    return is_address;
}

/**
 * Returns whether an address is 0.0.0.0 or ::, which isn't a destination (RFC 1122 3.2.1.3, RFC 4291 2.5.2). The kernel
 * treats it as this machine, which is reachable without any network.
 */
static bool is_unspecified(const afc__reach_address *address) {
    static const unsigned char zeros[sizeof address->bytes];
    return memcmp(address->bytes, zeros, sizeof zeros) == 0;
}

static afc_status set_host(afc_reach_monitor *monitor, const char *host, afc_failure *failure) {
    if (host == NULL) {
        monitor->address_count = internet(monitor->addresses);
        return AFC_OK;
    }
    afc_slice text = afc_slice_of(host);
    if (text.size == 0 || text.size > MAX_HOST) {
        return afc__fail(failure, AFC_EINVAL, "invalid host: expected 1 to %d bytes", MAX_HOST);
    }
    if (parse_address(host, monitor->addresses)) {
        bool is_any = is_unspecified(monitor->addresses);
        monitor->address_count = is_any ? internet(monitor->addresses) : 1;
        return AFC_OK;
    }
    monitor->host = afc__copy_text(text);
    return monitor->host != NULL ? AFC_OK : afc__fail_memory(failure);
}

afc_status afc_reach_monitor_new(afc_reach_monitor **out, const afc_reach_monitor_options *options,
                                 afc_failure *failure) {
    *out = NULL;
    AFC__READ_SIZED(afc_reach_monitor_options, AFC_REACH_MONITOR_OPTIONS_INIT, context, options,
                    failure);
    afc_reach_monitor *monitor = afc__zalloc(sizeof *monitor);
    if (monitor == NULL) return afc__fail_memory(failure);
    afc_status status = set_host(monitor, options->host, failure);
    if (status != AFC_OK) {
        afc_free(monitor);
        return status;
    }
    afc__reach_watch_forks();
    atomic_init(&monitor->references, 1);
    monitor->generation = afc__process_generation();
    monitor->on_change = options->on_change;
    monitor->release = options->release;
    monitor->context = options->context;
    monitor->state.status = AFC_REACH_UNKNOWN;
    *out = monitor;
    return AFC_OK;
}

/* ---- Starting and stopping ----------------------------------------------------------------- */

/** Puts the monitor into the thread's list of changed monitors, and wakes the thread. Requires the lock. */
static void tell_thread(afc__reach_thread *thread, afc_reach_monitor *monitor) {
    if (!monitor->is_waiting) {
        monitor->is_waiting = true;
        atomic_fetch_add(&monitor->references, 1);
        afc__list_append(&thread->waiting, &monitor->waiting);
    }
    if (thread->is_posted) return;
    thread->is_posted = true;
    afc__loop_post(&thread->loop, &thread->post);
}

static afc_status start(afc_reach_monitor *monitor, afc_failure *failure) {
    adopt(monitor);
    afc__reach_thread *thread;
    afc_status status = afc__reach_thread_get(&thread, failure);
    if (status != AFC_OK) return status;
    if (!monitor->is_wanted) {
        monitor->is_wanted = true;
        thread->wanted++;
        if (thread->is_bound_to_end) {
            thread->is_bound_to_end = false;
            afc__thread_will_stay();
        }
    }
    monitor->serial++;
    tell_thread(thread, monitor);
    return AFC_OK;
}

static void stop(afc_reach_monitor *monitor) {
    adopt(monitor);
    if (!monitor->is_wanted) return;
    afc__reach_thread *thread = afc__reach_thread_running();
    monitor->is_wanted = false;
    if (--thread->wanted == 0) {
        thread->is_bound_to_end = true;
        afc__thread_will_end();
    }
    tell_thread(thread, monitor);
}

afc_status afc_reach_monitor_start(afc_reach_monitor *monitor, afc_failure *failure) {
    afc_failure ignored;
    if (failure == NULL) failure = &ignored;
    memset(failure, 0, sizeof *failure);
    afc__reach_lock();
    afc_status status = start(monitor, failure);
    afc__reach_unlock();
    return status;
}

void afc_reach_monitor_stop(afc_reach_monitor *monitor) {
    afc__reach_lock();
    stop(monitor);
    afc__reach_unlock();
}

void afc_reach_monitor_get_state(const afc_reach_monitor *monitor, afc_reachability *out) {
    afc__reach_lock();
    *out = monitor->state;
    afc__reach_unlock();
}

void afc_reach_monitor_free(afc_reach_monitor *monitor) {
    if (monitor == NULL) return;
    afc_reach_monitor_stop(monitor);
    afc__reach_unreference(monitor);
}

const char *afc_reach_status_text(afc_reach_status status) {
    switch (status) {
    case AFC_REACH_NONE:
        return "Not Reachable";
    case AFC_REACH_VIA_WWAN:
        return "Reachable via WWAN";
    case AFC_REACH_VIA_WIFI:
        return "Reachable via WiFi";
    case AFC_REACH_UNKNOWN:
        break;
    }
    return "Unknown";
}
