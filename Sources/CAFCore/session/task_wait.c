/* Waiting for a task on any thread but a loop's. */
#include "base/clock.h"
#include "run/loop.h"
#include "run/threads.h"
#include "session/session_internal.h"

#include <limits.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* The values of afc_task.completion, a futex. */
enum { PENDING = 0, AWAITED = 1, COMPLETE = 2 };

_Static_assert(sizeof(atomic_uint) == 4, "a futex has 32 bits");
_Static_assert(PENDING == 0, "a new task is cleared");

enum { US_PER_MS = 1000, US_PER_S = 1000000, NS_PER_US = 1000 };

static void futex(atomic_uint *word, int operation, unsigned value, const struct timespec *limit) {
    /* Interrupted, late or too early: callers look at the word again. */
    syscall(SYS_futex, word, operation | FUTEX_PRIVATE_FLAG, value, limit, NULL, 0);
}

void afc__task_set_complete(afc_task *task) {
    if (atomic_exchange(&task->completion, COMPLETE) == AWAITED) {
        futex(&task->completion, FUTEX_WAKE, INT_MAX, NULL);
    }
}

/** Returns false if the time is over. */
static bool sleep_until(afc_task *task, int64_t deadline_us) {
    if (deadline_us < 0) {
        futex(&task->completion, FUTEX_WAIT, AWAITED, NULL);
        return true;
    }
    int64_t left_us = deadline_us - afc__now_us();
    if (left_us <= 0) return false;
    const struct timespec limit = {.tv_sec = (time_t)(left_us / US_PER_S),
                                   .tv_nsec = (long)(left_us % US_PER_S) * NS_PER_US};
    futex(&task->completion, FUTEX_WAIT, AWAITED, &limit);
    return true;
}

afc_status afc_task_wait(afc_task *task, int64_t timeout_ms) {
    if (atomic_load(&task->completion) == COMPLETE) return AFC_OK;
    if (task->session->is_driven || afc__loop_is_any_current()) return AFC_EINVAL;
    /* In a forked child only a task that is started there completes. */
    bool is_parents = task->session->generation != afc__process_generation();
    if (is_parents && !atomic_load(&task->completes_in_child)) return AFC_ECLOSED;
    int64_t most_ms = INT64_MAX / US_PER_MS / 2;
    bool is_limited = timeout_ms >= 0 && timeout_ms < most_ms;
    int64_t deadline_us = is_limited ? afc__now_us() + timeout_ms * US_PER_MS : -1;
    for (;;) {
        unsigned seen = PENDING;
        atomic_compare_exchange_strong(&task->completion, &seen, AWAITED);
        if (seen == COMPLETE) return AFC_OK;
        if (!sleep_until(task, deadline_us)) return AFC_ETIMEOUT;
    }
}
