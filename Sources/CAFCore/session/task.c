#include "base/alloc.h"
#include "base/clock.h"
#include "base/failure.h"
#include "base/freelist.h"
#include "run/threads.h"
#include "session/session_internal.h"
#include "session/task_connectivity.h"
#include "session/task_limits.h"
#include "transfer/auth.h"
#include "transfer/cookies_hsts.h"

#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Of requests that name none; HTTP/2's default weight, RFC 7540 5.3.5. */
enum { DEFAULT_PRIORITY = 16 };

/* ---- States -------------------------------------------------------------------------------- */

/** Leaving a state gives back what only that state needs. */
static void enter(af_task *task, af__task_state state) {
    assert(af__task_may_enter(task->state, state));
    bool has_entry = state >= AF__STATE_QUEUED && state <= AF__STATE_CONNECTED;
    if (!has_entry) af__queue_remove(&task->session->queue, &task->entry);
    if (state != AF__STATE_WAITING_FOR_NETWORK) af__task_forget_network(task);
    task->state = state;
}

/** Between its start and the end of its work? */
static bool is_active(const af_task *task) {
    return task->state > AF__STATE_NEW && task->state < AF__STATE_COMPLETED;
}

/* ---- What the driver calls ----------------------------------------------------------------- */

/** In both directions; one whose callback returns AF_EAGAIN pauses again. false: there is none, or it ended. */
static bool continue_exchange(af_task *task) {
    if (task->exchange == NULL) return false;
    if (af__exchange_continue(task->exchange)) return true;
    af__task_exchange_ended(task);
    return false;
}

static void connecting(void *context, int64_t since_us) {
    af_task *task = context;
    enter(task, AF__STATE_CONNECTING);
    task->connecting_since_us = since_us;
    af__task_arm(task);
}

static void queued(void *context) {
    af_task *task = context;
    if (task->state == AF__STATE_CONNECTING) enter(task, AF__STATE_IN_HOP);
    af__task_arm(task);
}

static void connected(void *context) {
    af_task *task = context;
    enter(task, AF__STATE_CONNECTED);
    af__queue_connected(&task->session->queue, &task->entry, af__exchange_sharing(task->exchange));
}

static void waiting(void *context) {
    af__task_arm(context);
}

static void filled(void *context) {
    af_task *task = context;
    af__sink_begin_block(&task->transfer.sink);
    af__session_work(task->session, &task->job);
}

/* ---- On the loop --------------------------------------------------------------------------- */

static void leave(af_task *task) {
    af_session *session = task->session;
    af__session_drop_keep_alive(session);
    af_task_release(task);
}

/** on_done is called at the end of the loop's turn. */
static void finish(af_task *task) {
    af_session *session = task->session;
    af__loop_disarm(&session->loop, &task->alarm);
    af__list_remove(&task->node);
    session->active_count--;
    enter(task, AF__STATE_COMPLETED);
    af__list_append(&session->completed, &task->node);
}

void af__task_complete(af_task *task) {
    af__list_remove(&task->node);
    af__transfer_finish(&task->transfer);
    unsigned pending = atomic_fetch_or(&task->requests, AF__TASK_FINISHED);
    void (*release)(void *) = task->transfer.events.release;
    task->transfer.events.release = NULL;
    if (release != NULL) release(task->transfer.events.context);
    /* An operation on its way still needs the loop; the task leaves when that has been taken. */
    enter(task, pending != 0 ? AF__STATE_LEAVING : AF__STATE_DETACHED);
    if (pending == 0) leave(task);
}

/** No hop follows. The writer may have work to finish first. */
static void begin_writing(af_task *task) {
    af__sink *sink = &task->transfer.sink;
    enter(task, AF__STATE_WRITING);
    if (af__sink_is_under_way(sink)) {
        af__task_arm(task);
    } else if (af__sink_begin_end(sink, task->transfer.result->failure.status)) {
        af__task_arm(task);
        af__session_work(task->session, &task->job);
    } else {
        finish(task);
    }
}

static void run_hop(af_task *task) {
    af_failure failure = {0};
    af_session *session = task->session;
    af__exchange_owner owner = {task, connecting, queued, connected, waiting, filled};
    enter(task, AF__STATE_IN_HOP);
    af__queue_connecting(&session->queue, &task->entry);
    if (af__transfer_begin_hop(&task->transfer) &&
        af__driver_start(session->driver, &task->exchange, &task->transfer, owner, &failure) ==
            AF_OK) {
        af__task_arm(task);
        return;
    }
    if (failure.status != AF_OK) af__transfer_fail(&task->transfer, &failure);
    begin_writing(task);
}

/** Is it suspended now, until it is resumed? A task that has failed isn't. */
static bool suspends(af_task *task, af__next next) {
    if (!af__task_is_suspended(task) || af__transfer_has_failed(&task->transfer)) {
        return false;
    }
    enter(task, AF__STATE_SUSPENDED);
    task->next = next;
    af__task_arm(task);
    return true;
}

static void fail(af_task *task, const af_failure *failure) {
    af__transfer_fail(&task->transfer, failure);
    begin_writing(task);
}

/** At once if it stays on its host, else when it is its turn; tasks that have begun go before others. */
static void queue_hop(af_task *task) {
    af__queue *queue = &task->session->queue;
    af__transfer *transfer = &task->transfer;
    af__queue_key key;
    af__lane lane;
    /* May choose another host's queue. What HSTS learns of the host while the task waits is applied with the hop. */
    if (!af__transfer_upgrade(transfer)) {
        begin_writing(task);
        return;
    }
    af__driver_place(task->session->driver, transfer, &key, &lane);
    if (af__queue_keeps_place(&task->entry, &key, lane)) {
        run_hop(task);
        return;
    }
    unsigned rank = transfer->priority != 0 ? transfer->priority : DEFAULT_PRIORITY;
    if (transfer->result->hop_count > 0) rank = AF__RANK_BEGUN;
    af__queue_remove(queue, &task->entry);
    if (af__queue_add(queue, &task->entry, &key, lane, rank) != AF_OK) {
        af_failure failure = {0};
        af__fail_memory(&failure);
        fail(task, &failure);
        return;
    }
    enter(task, AF__STATE_QUEUED);
    af__task_arm(task);
}

void af__task_run(af_task *task) {
    if (!suspends(task, AF__NEXT_HOP)) run_hop(task);
}

/** Once it isn't suspended. */
static void proceed(af_task *task, af__next next) {
    if (next == AF__NEXT_ASK) {
        enter(task, AF__STATE_WAITING_FOR_CREDENTIALS);
        af__task_arm(task);
    } else if (!suspends(task, next)) {
        if (next == AF__NEXT_HOP) queue_hop(task);
        if (next == AF__NEXT_FINISH) begin_writing(task);
    }
}

static void apply_network_answer(af_task *task, af__network_answer answer,
                                 const af_failure *failure) {
    switch (answer) {
    case AF__NETWORK_WAIT:
        enter(task, AF__STATE_WAITING_FOR_NETWORK);
        af__task_arm(task);
        break;
    case AF__NETWORK_RETRY:
        proceed(task, AF__NEXT_HOP);
        break;
    case AF__NETWORK_FAIL:
        fail(task, failure);
        break;
    }
}

void af__task_exchange_ended(af_task *task) {
    af__outcome outcome;
    af__exchange *exchange = task->exchange;
    task->exchange = NULL;
    af__driver_end(task->session->driver, exchange, &outcome);
    af__next next = af__transfer_end_hop(&task->transfer, &outcome);
    if (next == AF__NEXT_WAIT) {
        apply_network_answer(task, af__task_await_network(task, &outcome.failure),
                             &outcome.failure);
    } else {
        proceed(task, next);
    }
}

/** End now, in whatever state. */
static void abort_task(af_task *task, const af_failure *failure) {
    af__sink *sink = &task->transfer.sink;
    if (af__sink_is_ending(sink)) {
        af__sink_stop(sink, failure->status);
        return;
    }
    af__transfer_fail(&task->transfer, failure);
    if (task->exchange != NULL) {
        af__task_exchange_ended(task);
    } else if (task->state != AF__STATE_WRITING) {
        begin_writing(task);
    }
}

void af__task_cancel(af_task *task) {
    af_failure failure = {0};
    af__fail(&failure, AF_ECANCELED, "%s", af_status_text(AF_ECANCELED));
    abort_task(task, &failure);
}

bool af__task_is_canceled(const af_task *task) {
    return atomic_load(&task->transfer.is_cancelled) ||
           task->cancel_count != atomic_load(&task->session->cancel_count);
}

static void on_alarm(af__alarm *alarm) {
    af_task *task = AF__OWNER(alarm, af_task, alarm);
    af_failure failure = {0};
    int64_t now = af__now_us();
    switch (af__task_due(task, now, &failure)) {
    case AF__DUE_END:
        abort_task(task, &failure);
        break;
    case AF__DUE_HOP:
        proceed(task, AF__NEXT_HOP);
        break;
    case AF__DUE_BYTES:
        af__task_stop_waiting(task, now);
        if (continue_exchange(task)) af__task_arm(task);
        break;
    case AF__DUE_NOTHING:
        af__task_arm(task);
        break;
    }
}

static void begin(af_task *task) {
    af_session *session = task->session;
    af_failure failure = {0};
    task->started_us = af__now_us();
    af__list_append(&session->active, &task->node);
    session->active_count++;
    if (session->active_count > session->most_active) session->most_active = session->active_count;
    if (af__loop_reserve_alarms(&session->loop, session->active_count + 1) != AF_OK) {
        af__fail_memory(&failure);
        abort_task(task, &failure);
    } else if (af__task_is_canceled(task)) {
        af__task_cancel(task);
    } else {
        proceed(task, AF__NEXT_HOP);
    }
}

static void on_network_report(af_task *task) {
    if (task->network == NULL) return;
    apply_network_answer(task, af__task_judge_network(task), af__task_network_failure(task));
}

static void on_challenge_answer(af_task *task) {
    af__transfer *transfer = &task->transfer;
    if (!af__task_take_answer(task)) return;
    if (af__transfer_has_failed(transfer)) {
        abort_task(task, &transfer->result->failure);
    } else if (task->exchange == NULL) {
        proceed(task, af__transfer_resume_hop(transfer));
    } else if (continue_exchange(task)) {
        af__task_arm(task);
    }
}

static void check_flags(af_task *task, bool is_woken) {
    if (atomic_load(&task->transfer.is_cancelled)) {
        af__task_cancel(task);
        return;
    }
    if (is_woken) af__transfer_wake(&task->transfer);
    if (af__task_is_suspended(task)) return;
    if (task->state == AF__STATE_SUSPENDED) {
        proceed(task, task->next);
        return;
    }
    continue_exchange(task);
}

/** The writer is done with the sink. */
static void worked(af_task *task) {
    af__transfer *transfer = &task->transfer;
    af_failure failure;
    if (af__sink_return(&transfer->sink, &failure) != AF_OK) {
        if (failure.status == AF_ETIMEOUT) af__task_say_incomplete(task, &failure);
        af__transfer_fail(transfer, &failure);
    }
    if (af__sink_is_ending(&transfer->sink)) {
        finish(task);
    } else if (task->state == AF__STATE_WRITING) {
        begin_writing(task);
    } else if (failure.status != AF_OK) {
        abort_task(task, &failure);
    } else {
        if (af__sink_has_block(&transfer->sink)) filled(task);
        bool is_paused = task->exchange != NULL && af__exchange_is_paused(task->exchange);
        if (is_paused && continue_exchange(task)) af__task_arm(task);
    }
}

void af__task_handle(af_task *task) {
    unsigned requests = atomic_fetch_and(&task->requests, AF__TASK_FINISHED);
    if (requests & AF__TASK_FINISHED) {
        if (task->state == AF__STATE_LEAVING) {
            enter(task, AF__STATE_DETACHED);
            leave(task);
        }
    } else if (requests & AF__TASK_START) {
        begin(task);
    } else {
        if (is_active(task) && (requests & AF__TASK_NETWORK)) on_network_report(task);
        if (requests & AF__TASK_WORKED) worked(task);
        if (is_active(task) && (requests & AF__TASK_ANSWERED)) on_challenge_answer(task);
        bool has_flags = (requests & (AF__TASK_CHECK | AF__TASK_WAKE)) != 0;
        if (has_flags && is_active(task)) check_flags(task, (requests & AF__TASK_WAKE) != 0);
    }
    af_task_release(task);
}

/* ---- On any thread ------------------------------------------------------------------------- */

static bool run_job(af__job *job) {
    af_task *task = AF__OWNER(job, af_task, job);
    if (af__sink_do(&task->transfer.sink)) return true;
    af__task_post(task, AF__TASK_WORKED);
    return false;
}

static bool is_request(const af_request *request) {
    return request != NULL && request->size == sizeof *request;
}

static bool are_events(const af_task_events *events) {
    return events == NULL || events->size == sizeof *events;
}

/** A structure made without its macro may hold anything, so none of its callbacks is called. */
static void give_back(const af_request *request, const af_task_events *events) {
    if (is_request(request)) af__body_release(&request->body);
    if (events != NULL && are_events(events) && events->release != NULL)
        events->release(events->context);
}

af_status af_task_new(af_task **out, af_session *session, const af_request *request,
                      const af_task_events *events, af_failure *failure) {
    af_failure ignored;
    if (failure == NULL) failure = &ignored;
    memset(failure, 0, sizeof *failure);
    *out = NULL;
    af_status status = AF_OK;
    if (!is_request(request)) {
        status = af__fail(failure, AF_EINVAL,
                          "the request must be initialised with AF_REQUEST_INIT");
    } else if (!are_events(events)) {
        status = af__fail(failure, AF_EINVAL,
                          "the events must be initialised with AF_TASK_EVENTS_INIT");
    } else if (session->generation != af__process_generation()) {
        status = af__fail(failure, AF_ECLOSED, "the session belongs to the parent process");
    }
    af_task *task = status == AF_OK ? af__task_take_spare() : NULL;
    if (task == NULL) {
        if (status == AF_OK) status = af__fail_memory(failure);
        give_back(request, events);
        return status;
    }
    memset(task, 0, offsetof(af_task, transfer));
    status = af__transfer_init(&task->transfer, request, events, &session->events, failure);
    if (status == AF_OK) {
        unsigned schemes = af__driver_auth_schemes(session->driver);
        status = af__transfer_allow_schemes(&task->transfer, schemes, failure);
        if (status != AF_OK) af__transfer_clear(&task->transfer);
    }
    if (status != AF_OK) {
        af__task_give_spare(task);
        if (events != NULL && events->release != NULL) events->release(events->context);
        return status;
    }
    atomic_init(&task->references, 1);
    task->alarm.callback = on_alarm;
    task->job.run = run_job;
    task->session = session;
    task->transfer.store = &session->store;
    af__session_reference(session);
    af__session_keep_alive(session);
    *out = task;
    return AF_OK;
}

/** A child has no loop thread: the completion comes on a thread of its own. */
static void complete_in_child(void *context) {
    af_task *task = context;
    af__thread_will_end();
    af_failure failure = {0};
    af__fail(&failure, AF_ECLOSED, "the session belongs to the parent process");
    af__transfer_fail(&task->transfer, &failure);
    af__transfer_finish(&task->transfer);
    void (*release)(void *) = task->transfer.events.release;
    task->transfer.events.release = NULL;
    if (release != NULL) release(task->transfer.events.context);
    af_task_release(task);
}

void af_task_start(af_task *task) {
    if (atomic_exchange(&task->was_started, true)) return;
    af_session *session = task->session;
    if (session->generation != af__process_generation()) {
        /* Without a thread only the caller's own could complete it. */
        int error = af__thread_start("af-closed", complete_in_child, af_task_retain(task));
        if (error != 0) af_task_release(task);
        return;
    }
    atomic_fetch_add_explicit(&session->tasks, 1, memory_order_relaxed);
    task->cancel_count = atomic_load(&session->cancel_count);
    af_task_retain(task); /* The loop's, until it leaves. */
    af__task_post(task, AF__TASK_START);
}

af_status af_task_begin(af_task **out, af_session *session, const af_request *request,
                        const af_task_events *events, af_failure *failure) {
    af_task *task;
    af_status status = af_task_new(&task, session, request, events, failure);
    if (out != NULL) *out = task;
    if (status != AF_OK) return status;
    af_task_start(task);
    if (out == NULL) af_task_release(task);
    return AF_OK;
}

void af_task_suspend(af_task *task) {
    atomic_store(&task->transfer.is_suspended, true);
}

void af_task_resume(af_task *task) {
    if (atomic_exchange(&task->transfer.is_suspended, false)) af__task_post(task, AF__TASK_CHECK);
}

void af_task_cancel(af_task *task) {
    if (!atomic_exchange(&task->transfer.is_cancelled, true)) af__task_post(task, AF__TASK_CHECK);
}

void af_task_wake(af_task *task) {
    af__task_post(task, AF__TASK_WAKE);
}
