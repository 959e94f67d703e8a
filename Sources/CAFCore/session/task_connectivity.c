#include "session/task_connectivity.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/failure.h"
#include "reachability/monitor.h"
#include "session/lifetime.h"

#include <errno.h>

enum {
    /*
     * Retries after 0.5, 1, 2 and 4 s: after a change of network, a name server may be known later than the route to
     * it.
     */
    MAX_RETRIES = 4,
    FIRST_RETRY_US = 500 * 1000
};

/** What the reachability monitor has reported. */
typedef enum network_report {
    UNREPORTED, /**< No report yet. */
    ABSENT,
    PRESENT,  /**< Reachable since the first report. */
    CAME_BACK /**< Reachable after a report that it wasn't. */
} network_report;

/** A wait for the network. Lives until its monitor is released, and has a reference to the task. */
struct afc__network_wait {
    afc_task *task;
    afc_reach_monitor *monitor;
    afc_failure failure;
    _Atomic network_report report; /**< Written by the monitors' thread. */
};

typedef struct afc__network_wait network_wait;

/* ---- On the monitors' thread --------------------------------------------------------------- */

static network_report report_after(network_report last, bool is_reachable) {
    if (!is_reachable) return ABSENT;
    return last == UNREPORTED || last == PRESENT ? PRESENT : CAME_BACK;
}

static void on_change(void *context, const afc_reachability *state) {
    network_wait *wait = context;
    bool is_reachable = state->status == AFC_REACH_VIA_WWAN || state->status == AFC_REACH_VIA_WIFI;
    atomic_store(&wait->report, report_after(atomic_load(&wait->report), is_reachable));
    afc__task_post(wait->task, AFC__TASK_NETWORK);
}

static void release_wait(void *context) {
    network_wait *wait = context;
    afc_task *task = wait->task;
    afc_free(wait);
    afc_task_release(task);
}

/* ---- On the loop --------------------------------------------------------------------------- */

static bool may_be_offline(const afc_failure *failure) {
    if (failure->reason != AFC_REASON_NONE || afc__is_shortage(failure->system_error)) return false;
    if (failure->status == AFC_EDNS) return true;
    return failure->status == AFC_ECONNECT &&
           (failure->system_error == ENETUNREACH || failure->system_error == ENETDOWN);
}

void afc__task_explain_offline(afc_failure *failure) {
    if (!may_be_offline(failure) || !afc__reach_lacks_internet()) return;
    afc__name_failure(failure, "this machine has no route to the internet", failure->status);
    failure->reason = AFC_REASON_OFFLINE;
}

/**
 * Returns the host to watch: that of the hop's URL or its proxy. NULL means the internet, after a failed lookup: while
 * the internet is reachable, a name that isn't found is wrong.
 */
static const char *watched_host(const afc_task *task, const afc_failure *failure, char *storage,
                                size_t size) {
    if (failure->status == AFC_EDNS) return NULL;
    const afc__transfer *transfer = &task->transfer;
    afc_slice host = transfer->request.url.host;
    if (transfer->hop.proxy != NULL) host = afc_slice_of(transfer->hop.proxy->host);
    if (host.size >= size) return NULL;
    memcpy(storage, host.bytes, host.size);
    storage[host.size] = 0;
    return storage;
}

static afc_status watch(network_wait *wait) {
    char storage[256];
    afc_reach_monitor_options options = AFC_REACH_MONITOR_OPTIONS_INIT;
    options.host = watched_host(wait->task, &wait->failure, storage, sizeof storage);
    options.on_change = on_change;
    options.release = release_wait;
    options.context = wait;
    return afc_reach_monitor_new(&wait->monitor, &options, NULL);
}

afc__network_decision afc__task_await_network(afc_task *task, const afc_failure *failure) {
    network_wait *wait = afc__zalloc(sizeof *wait);
    if (wait == NULL) return AFC__NETWORK_FAIL;
    wait->task = afc_task_retain(task);
    wait->failure = *failure;
    if (watch(wait) != AFC_OK) {
        afc_free(wait);
        afc_task_release(task);
        return AFC__NETWORK_FAIL;
    }
    task->network.wait = wait;
    if (afc_reach_monitor_start(wait->monitor, NULL) == AFC_OK) return AFC__NETWORK_WAIT;
    afc__task_forget_network(task);
    return AFC__NETWORK_FAIL;
}

/**
 * Returns whether the hop should be retried although the host is reachable: the network may have come back after the
 * failure.
 */
static bool deserves_retry(const afc_task *task, const afc_failure *failure) {
    if (task->network.retries >= MAX_RETRIES) return false;
    if (failure->status == AFC_EDNS) return task->network.has_returned;
    return failure->system_error == ENETUNREACH || failure->system_error == ENETDOWN ||
           failure->system_error == EADDRNOTAVAIL;
}

afc__network_decision afc__task_decide_network(afc_task *task) {
    network_wait *wait = task->network.wait;
    if (wait == NULL || task->network.retry_us != 0) return AFC__NETWORK_WAIT;
    switch (atomic_load(&wait->report)) {
    case UNREPORTED:
    case ABSENT:
        return AFC__NETWORK_WAIT;
    case CAME_BACK:
        task->network.has_returned = true;
        task->network.retries = 0;
        return AFC__NETWORK_RETRY;
    case PRESENT:
        break;
    }
    if (!deserves_retry(task, &wait->failure)) return AFC__NETWORK_FAIL;
    int64_t delay = (int64_t)FIRST_RETRY_US << task->network.retries++;
    task->network.retry_us = afc__now_us() + delay;
    return AFC__NETWORK_WAIT;
}

const afc_failure *afc__task_network_failure(const afc_task *task) {
    return &task->network.wait->failure;
}

void afc__task_forget_network(afc_task *task) {
    network_wait *wait = task->network.wait;
    task->network.retry_us = 0;
    if (wait == NULL) return;
    task->network.wait = NULL;
    /* The monitor's release callback releases the task; that isn't the last reference, as the loop has one. */
    afc_reach_monitor_free(wait->monitor);
}
