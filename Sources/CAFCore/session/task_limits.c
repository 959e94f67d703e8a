/* When a time limit of a task is reached, and when its alarm fires next. */
#include "session/task_limits.h"

#include "base/clock.h"
#include "base/failure.h"

#include <stdint.h>

/*
 * The minimum time between two calls of on_wake that callbacks have asked for. A call usually wakes a thread, which
 * costs as much as receiving 20 KiB: the row `events` of Benchmarks/run, where 64 KiB arrive every 40 µs.
 */
enum { WAKE_INTERVAL_US = 1000 };

static int64_t after(int64_t since_us, uint32_t limit_ms) {
    return limit_ms != 0 ? since_us + (int64_t)limit_ms * 1000 : INT64_MAX;
}

static int64_t earlier(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/**
 * Returns whether the idle limit counts: not while the hop waits for a free connection, or we neither read nor send.
 */
static bool idle_counts(const afc_task *task) {
    if (task->exchange == NULL || afc__transfer_was_suspended(&task->transfer)) return false;
    if (task->state == AFC__STATE_CONNECTING) return task->transfer.timeouts.connect_ms == 0;
    return task->state == AFC__STATE_CONNECTED && !afc__exchange_is_paused(task->exchange);
}

static int64_t connect_deadline(const afc_task *task) {
    if (task->state != AFC__STATE_CONNECTING) return INT64_MAX;
    return after(task->connecting_since_us, task->transfer.timeouts.connect_ms);
}

static int64_t idle_deadline(const afc_task *task) {
    if (!idle_counts(task)) return INT64_MAX;
    int64_t since = afc__exchange_last_activity(task->exchange);
    int64_t continued = afc__loop_continued(&task->session->loop);
    return after(since > continued ? since : continued, task->transfer.timeouts.idle_ms);
}

/** Returns 0, the next turn of the loop, if the exchange has yielded; else INT64_MAX. */
static int64_t turn_deadline(const afc_task *task) {
    return task->exchange != NULL && afc__exchange_has_yielded(task->exchange) ? 0 : INT64_MAX;
}

static int64_t next_try(const afc_task *task) {
    return earlier(afc__transfer_wakeup(&task->transfer), turn_deadline(task));
}

static int64_t continue_deadline(const afc_task *task) {
    if (task->exchange == NULL || task->state != AFC__STATE_CONNECTED) return INT64_MAX;
    return afc__exchange_continue_due(task->exchange);
}

static int64_t network_deadline(const afc_task *task) {
    return task->network.retry_us != 0 ? task->network.retry_us : INT64_MAX;
}

static int64_t wake_time(const afc_task *task) {
    return task->is_wake_delayed ? task->woken_us + WAKE_INTERVAL_US : INT64_MAX;
}

bool afc__task_was_just_woken(const afc_task *task) {
    return afc__loop_now(&task->session->loop) < task->woken_us + WAKE_INTERVAL_US;
}

void afc__task_arm(afc_task *task) {
    int64_t deadline = after(task->started_us, task->transfer.timeouts.total_ms);
    deadline = earlier(deadline, connect_deadline(task));
    deadline = earlier(deadline, next_try(task));
    deadline = earlier(deadline, continue_deadline(task));
    deadline = earlier(deadline, network_deadline(task));
    deadline = earlier(deadline, wake_time(task));
    /* The idle limit may begin to count at any time; checking again after its duration is cheap. */
    if (task->exchange != NULL && task->transfer.timeouts.idle_ms != 0) {
        int64_t idle = idle_deadline(task);
        if (idle == INT64_MAX) idle = after(afc__now_us(), task->transfer.timeouts.idle_ms);
        deadline = earlier(deadline, idle);
    }
    if (deadline == INT64_MAX) {
        afc__loop_disarm(&task->session->loop, &task->alarm);
    } else {
        afc__loop_arm(&task->session->loop, &task->alarm, deadline);
    }
}

void afc__task_limit_rest(afc_task *task, uint32_t limit_ms) {
    uint32_t *total_ms = &task->transfer.timeouts.total_ms;
    uint64_t end_ms = (uint64_t)(afc__now_us() - task->started_us) / 1000 + limit_ms;
    if (end_ms > UINT32_MAX) end_ms = UINT32_MAX;
    if (*total_ms == 0 || end_ms < *total_ms) *total_ms = (uint32_t)end_ms;
    afc__task_arm(task);
}

static void fail_late(afc_failure *failure, afc_timeout which, const char *what,
                      uint32_t limit_ms) {
    afc__fail(failure, AFC_ETIMEOUT, "%s after %u ms", what, (unsigned)limit_ms);
    failure->timeout = which;
}

void afc__task_explain_incomplete(const afc_task *task, afc_failure *failure) {
    /* The total limit of a WebSocket's task applies to its handshake only. */
    bool is_socket = task->transfer.purpose == AFC__PURPOSE_UPGRADE;
    const char *what = is_socket ? "total timeout: the WebSocket isn't open"
                                 : "total timeout: not complete";
    if (task->state == AFC__STATE_QUEUED)
        what = "total timeout: no connection to the host was free";
    fail_late(failure, AFC_TIMEOUT_TOTAL, what, task->transfer.timeouts.total_ms);
    if (is_socket) failure->reason = AFC_REASON_NOT_OPEN;
}

afc__due afc__task_due(const afc_task *task, int64_t now, afc_failure *failure) {
    const afc_timeouts *limits = &task->transfer.timeouts;
    if (now >= after(task->started_us, limits->total_ms)) {
        afc__task_explain_incomplete(task, failure);
        return AFC__DUE_END;
    }
    if (now >= network_deadline(task)) return AFC__DUE_HOP;
    if (now >= connect_deadline(task)) {
        afc__fail_connect_timeout(failure, limits->connect_ms);
        return AFC__DUE_HOP_END;
    }
    if (now >= idle_deadline(task)) {
        fail_late(failure, AFC_TIMEOUT_IDLE, "idle timeout: no data", limits->idle_ms);
        return AFC__DUE_HOP_END;
    }
    if (now >= continue_deadline(task)) return AFC__DUE_BODY;
    if (now >= wake_time(task)) return AFC__DUE_WAKE;
    return now >= next_try(task) ? AFC__DUE_BYTES : AFC__DUE_NOTHING;
}
