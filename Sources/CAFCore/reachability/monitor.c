#include "reachability/monitor.h"

#include "base/alloc.h"
#include "base/failure.h"
#include "run/threads.h"

#include <string.h>
#include <sys/socket.h>

enum { LONGEST_HOST = 255 };

/** Requires the lock. After a fork a monitor is detached from the thread, which is in the parent. */
static void adopt(af_reach_monitor *monitor) {
    if (monitor->generation == af__process_generation()) return;
    monitor->generation = af__process_generation();
    atomic_store(&monitor->references, 1);
    monitor->is_wanted = monitor->is_waiting = monitor->is_active = monitor->is_looking_up = false;
    monitor->waiting = monitor->active = (af__node){0};
    monitor->lookup = (af__lookup){0};
    monitor->retry.timer = (af__timer){0};
}

/* ---- Making -------------------------------------------------------------------------------- */

/** The addresses that stand for the internet: two DNS root servers, one per family, which are on no local network. */
static size_t internet(af__reach_address *out) {
    out[0] = (af__reach_address){.family = AF_INET, .bytes = {198, 41, 0, 4}};
    out[1] = (af__reach_address){.family = AF_INET6,
                                 .bytes = {0x20, 1, 5, 3, 0xba, 0x3e, [13] = 2, [15] = 0x30}};
    return 2;
}

static af_status set_host(af_reach_monitor *monitor, const char *host, af_failure *failure) {
    if (host == NULL) {
        monitor->address_count = internet(monitor->addresses);
        return AF_OK;
    }
    af_slice text = af_slice_of(host);
    if (text.size == 0 || text.size > LONGEST_HOST) {
        return af__fail(failure, AF_EINVAL, "invalid host: expected 1 to %d bytes", LONGEST_HOST);
    }
    if (af__reach_parse(host, monitor->addresses)) {
        monitor->address_count = 1;
        return AF_OK;
    }
    monitor->host = af__copy_text(text);
    return monitor->host != NULL ? AF_OK : af__fail_memory(failure);
}

af_status af_reach_monitor_new(af_reach_monitor **out, const af_reach_monitor_options *options,
                               af_failure *failure) {
    af_reach_monitor_options defaults = AF_REACH_MONITOR_OPTIONS_INIT;
    af_failure ignored;
    if (options == NULL) options = &defaults;
    if (failure == NULL) failure = &ignored;
    memset(failure, 0, sizeof *failure);
    *out = NULL;
    if (options->size != sizeof *options) {
        return af__fail(failure, AF_EINVAL,
                        "the options must be initialised with AF_REACH_MONITOR_OPTIONS_INIT");
    }
    af_reach_monitor *monitor = af__zalloc(sizeof *monitor);
    if (monitor == NULL) return af__fail_memory(failure);
    af_status status = set_host(monitor, options->host, failure);
    if (status != AF_OK) {
        af_free(monitor);
        return status;
    }
    af__reach_watch_forks();
    atomic_init(&monitor->references, 1);
    monitor->generation = af__process_generation();
    monitor->on_change = options->on_change;
    monitor->release = options->release;
    monitor->context = options->context;
    monitor->state.status = AF_REACH_UNKNOWN;
    *out = monitor;
    return AF_OK;
}

/* ---- Starting and stopping ----------------------------------------------------------------- */

/** Requires the lock. */
static void tell_thread(af__reach_thread *thread, af_reach_monitor *monitor) {
    if (!monitor->is_waiting) {
        monitor->is_waiting = true;
        atomic_fetch_add(&monitor->references, 1);
        af__list_append(&thread->waiting, &monitor->waiting);
    }
    if (thread->is_posted) return;
    thread->is_posted = true;
    af__loop_post(&thread->loop, &thread->post);
}

static af_status start(af_reach_monitor *monitor, af_failure *failure) {
    adopt(monitor);
    af__reach_thread *thread;
    af_status status = af__reach_thread_get(&thread, failure);
    if (status != AF_OK) return status;
    if (!monitor->is_wanted) {
        monitor->is_wanted = true;
        thread->wanted++;
        if (thread->is_bound_to_end) {
            thread->is_bound_to_end = false;
            af__thread_will_stay();
        }
    }
    monitor->serial++;
    tell_thread(thread, monitor);
    return AF_OK;
}

static void stop(af_reach_monitor *monitor) {
    adopt(monitor);
    if (!monitor->is_wanted) return;
    af__reach_thread *thread = af__reach_thread_running();
    monitor->is_wanted = false;
    if (--thread->wanted == 0) {
        thread->is_bound_to_end = true;
        af__thread_will_end();
    }
    tell_thread(thread, monitor);
}

af_status af_reach_monitor_start(af_reach_monitor *monitor, af_failure *failure) {
    af_failure ignored;
    if (failure == NULL) failure = &ignored;
    memset(failure, 0, sizeof *failure);
    af__reach_lock();
    af_status status = start(monitor, failure);
    af__reach_unlock();
    return status;
}

void af_reach_monitor_stop(af_reach_monitor *monitor) {
    af__reach_lock();
    stop(monitor);
    af__reach_unlock();
}

void af_reach_monitor_get_state(const af_reach_monitor *monitor, af_reachability *out) {
    af__reach_lock();
    *out = monitor->state;
    af__reach_unlock();
}

void af_reach_monitor_free(af_reach_monitor *monitor) {
    if (monitor == NULL) return;
    af_reach_monitor_stop(monitor);
    af__reach_unreference(monitor);
}

const char *af_reach_status_text(af_reach_status status) {
    switch (status) {
    case AF_REACH_NONE:
        return "Not Reachable";
    case AF_REACH_VIA_WWAN:
        return "Reachable via WWAN";
    case AF_REACH_VIA_WIFI:
        return "Reachable via WiFi";
    case AF_REACH_UNKNOWN:
        break;
    }
    return "Unknown";
}
