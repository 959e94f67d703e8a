/* Waits for a task, on any thread except a loop's. */
#include "session/task_wait.h"

#include "base/clock.h"
#include "base/futex.h"
#include "run/loop.h"
#include "run/threads.h"

#include <limits.h>

/* The values of afc_task.completion, which is a futex. */
enum { PENDING = 0, AWAITED = 1, COMPLETE = 2 };

_Static_assert(PENDING == 0, "a new task is cleared");

enum { US_PER_MS = 1000 };

void afc__task_set_complete(afc_task *task) {
    if (atomic_exchange(&task->completion, COMPLETE) == AWAITED) {
        afc__futex_wake(&task->completion, INT_MAX);
    }
}

/** Waits for a change of the futex. Returns false if the time is over. */
static bool sleep_until(afc_task *task, int64_t deadline_us) {
    int64_t left_us = deadline_us >= 0 ? deadline_us - afc__now_us() : -1;
    if (deadline_us >= 0 && left_us <= 0) return false;
    afc__futex_wait(&task->completion, AWAITED, left_us);
    return true;
}

afc_status afc_task_wait(afc_task *task, int64_t timeout_ms) {
    if (atomic_load(&task->completion) == COMPLETE) return AFC_OK;
    if (task->session->is_driven || afc__loop_is_any_current()) return AFC_EINVAL;
    /* In a forked child only a task that was started there completes. */
    bool is_parents = task->session->generation != afc__process_generation();
    if (is_parents && !atomic_load(&task->completes_in_child)) return AFC_ECLOSED;
    int64_t max_ms = INT64_MAX / US_PER_MS / 2;
    bool is_limited = timeout_ms >= 0 && timeout_ms < max_ms;
    int64_t deadline_us = is_limited ? afc__now_us() + timeout_ms * US_PER_MS : -1;
    for (;;) {
        unsigned seen = PENDING;
        atomic_compare_exchange_strong(&task->completion, &seen, AWAITED);
        if (seen == COMPLETE) return AFC_OK;
        if (!sleep_until(task, deadline_us)) return AFC_ETIMEOUT;
    }
}
