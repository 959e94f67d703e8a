/* When a time limit of a task is reached, and when its alarm rings next. */
#include "session/task_limits.h"

#include "base/clock.h"
#include "base/failure.h"

#include <stdint.h>

static int64_t after(int64_t since_us, uint32_t limit_ms) {
    return limit_ms != 0 ? since_us + (int64_t)limit_ms * 1000 : INT64_MAX;
}

static int64_t earlier(int64_t a, int64_t b) {
    return a < b ? a : b;
}

bool af__task_is_suspended(const af_task *task) {
    return atomic_load_explicit(&task->transfer.is_suspended, memory_order_relaxed);
}

/** The peer is not to blame while we wait for a free connection, or don't read or send. */
static bool idle_counts(const af_task *task) {
    if (task->exchange == NULL || af__task_is_suspended(task)) return false;
    if (task->state == AF__STATE_CONNECTING) return task->transfer.timeouts.connect_ms == 0;
    return task->state == AF__STATE_CONNECTED && !af__exchange_is_paused(task->exchange);
}

static int64_t connect_deadline(const af_task *task) {
    if (task->state != AF__STATE_CONNECTING) return INT64_MAX;
    return after(task->connecting_since_us, task->transfer.timeouts.connect_ms);
}

static int64_t idle_deadline(const af_task *task) {
    if (!idle_counts(task)) return INT64_MAX;
    return after(af__exchange_last_activity(task->exchange), task->transfer.timeouts.idle_ms);
}

static int64_t body_deadline(const af_task *task) {
    const af__source *source = &task->transfer.source;
    return source->is_waiting && source->ready_us != 0 ? source->ready_us : INT64_MAX;
}

/** The moment when a direction that its rate holds may move on. */
static int64_t rate_deadline(const af__rate *rate) {
    return rate->wakeup_us != 0 ? rate->wakeup_us : INT64_MAX;
}

static int64_t next_try(const af_task *task) {
    int64_t rates = earlier(rate_deadline(&task->transfer.send_rate),
                            rate_deadline(&task->transfer.receive_rate));
    return earlier(rates, body_deadline(task));
}

static int64_t network_deadline(const af_task *task) {
    return task->network_retry_us != 0 ? task->network_retry_us : INT64_MAX;
}

void af__task_stop_waiting(af_task *task, int64_t now) {
    af__transfer *transfer = &task->transfer;
    if (now >= body_deadline(task)) transfer->source.is_waiting = false;
    if (now >= rate_deadline(&transfer->send_rate)) transfer->send_rate.wakeup_us = 0;
    if (now >= rate_deadline(&transfer->receive_rate)) transfer->receive_rate.wakeup_us = 0;
}

void af__task_arm(af_task *task) {
    int64_t deadline = after(task->started_us, task->transfer.timeouts.total_ms);
    deadline = earlier(deadline, connect_deadline(task));
    deadline = earlier(deadline, next_try(task));
    deadline = earlier(deadline, network_deadline(task));
    /* While idleness doesn't count it may begin to; looking again then is cheap. */
    if (task->exchange != NULL && task->transfer.timeouts.idle_ms != 0) {
        int64_t idle = idle_deadline(task);
        if (idle == INT64_MAX) idle = after(af__now_us(), task->transfer.timeouts.idle_ms);
        deadline = earlier(deadline, idle);
    }
    if (deadline == INT64_MAX) {
        af__loop_disarm(&task->session->loop, &task->alarm);
    } else {
        af__loop_arm(&task->session->loop, &task->alarm, deadline);
    }
}

static void say_late(af_failure *failure, af_timeout which, const char *what, uint32_t limit_ms) {
    af__fail(failure, AF_ETIMEOUT, "%s after %u ms", what, (unsigned)limit_ms);
    failure->timeout = which;
}

void af__task_say_incomplete(const af_task *task, af_failure *failure) {
    say_late(failure, AF_TIMEOUT_TOTAL, "total timeout: not complete",
             task->transfer.timeouts.total_ms);
}

af__due af__task_due(const af_task *task, int64_t now, af_failure *failure) {
    const af_timeouts *limits = &task->transfer.timeouts;
    if (now >= after(task->started_us, limits->total_ms)) {
        af__task_say_incomplete(task, failure);
        return AF__DUE_END;
    }
    if (now >= network_deadline(task)) return AF__DUE_HOP;
    if (now >= connect_deadline(task)) {
        say_late(failure, AF_TIMEOUT_CONNECT, "connect timeout: no connection", limits->connect_ms);
        return AF__DUE_END;
    }
    if (now >= idle_deadline(task)) {
        say_late(failure, AF_TIMEOUT_IDLE, "idle timeout: no data", limits->idle_ms);
        return AF__DUE_END;
    }
    return now >= next_try(task) ? AF__DUE_BYTES : AF__DUE_NOTHING;
}
