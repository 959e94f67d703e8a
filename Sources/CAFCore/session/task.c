/* A task on the loop thread: its hops, its waits, the writer's jobs for it, and its end. */
#include "session/task.h"

#include "base/clock.h"
#include "base/failure.h"
#include "body/sink_write.h"
#include "session/delivery.h"
#include "session/lifetime.h"
#include "session/task_cache.h"
#include "session/task_connectivity.h"
#include "session/task_descriptor.h"
#include "session/task_limits.h"
#include "transfer/redirect_hop.h"

#include <assert.h>
#include <stdint.h>

/* The default priority of requests: HTTP/2's default weight (RFC 7540 section 5.3.5). */
enum { DEFAULT_PRIORITY = 16 };

/* ---- States -------------------------------------------------------------------------------- */

/** Enters a state. Releases what only the former one needed. */
static void enter(afc_task *task, afc__task_state state) {
    assert(afc__task_may_enter(task->state, state));
    bool has_entry = state >= AFC__STATE_QUEUED && state <= AFC__STATE_CONNECTED;
    if (!has_entry) afc__queue_remove(&task->session->queue, &task->entry);
    if (state != AFC__STATE_WAITING_FOR_NETWORK) afc__task_forget_network(task);
    task->state = state;
}

/** Returns whether the task is between its start and the end of its work. */
static bool is_active(const afc_task *task) {
    return task->state > AFC__STATE_NEW && task->state < AFC__STATE_COMPLETED;
}

/* ---- What the driver calls ----------------------------------------------------------------- */

static void continue_from_cache(afc_task *task);

/**
 * Continues the exchange in both directions. A direction pauses again if its callback returns AFC_EAGAIN. Returns false
 * if the task has no exchange, or if the exchange has ended.
 */
static bool continue_exchange(afc_task *task) {
    if (task->state == AFC__STATE_IN_CACHE && afc__transfer_is_replaying(&task->transfer)) {
        continue_from_cache(task);
        return false;
    }
    if (task->exchange == NULL) return false;
    if (afc__exchange_continue(task->exchange)) return true;
    afc__task_exchange_ended(task);
    return false;
}

static void on_connecting(void *context, int64_t since_us) {
    afc_task *task = context;
    enter(task, AFC__STATE_CONNECTING);
    task->connecting_since_us = since_us;
    afc__task_arm(task);
}

static void on_queued(void *context) {
    afc_task *task = context;
    if (task->state == AFC__STATE_CONNECTING) enter(task, AFC__STATE_IN_HOP);
    afc__task_arm(task);
}

static void on_connected(void *context) {
    afc_task *task = context;
    enter(task, AFC__STATE_CONNECTED);
    afc__queue_connected(&task->session->queue, &task->entry,
                         afc__exchange_sharing(task->exchange));
    if (afc__exchange_continue_due(task->exchange) != INT64_MAX) afc__task_arm(task);
}

static void body_ready(afc__watch *watch, unsigned readiness) {
    afc_task *task = AFC__OWNER(watch, afc_task, body_watch);
    (void)readiness;
    afc__task_unwatch_body(task);
    afc__transfer_body_is_ready(&task->transfer);
    if (continue_exchange(task)) afc__task_arm(task);
}

static void on_waiting(void *context) {
    afc__task_watch_body(context, body_ready);
    afc__task_arm(context);
}

static void on_worked(afc_task *task);

/** Continues writing, as the descriptor of the sink is writable again, or broken. */
static void write_on(afc__watch *watch, unsigned readiness) {
    afc_task *task = AFC__OWNER(watch, afc_task, sink_watch);
    (void)readiness;
    if (afc__sink_do(&task->transfer.sink)) return;
    afc__task_unwatch_sink(task);
    on_worked(task);
}

/** Starts the sink's work on the writer, or, once its descriptor has room, on the loop. */
static void start_work(afc_task *task) {
    afc__sink *sink = &task->transfer.sink;
    if (!afc__sink_is_polled(sink)) {
        afc__session_work(task->session, &task->job);
    } else if (!afc__task_watch_sink(task, write_on)) {
        afc_failure failure = {0};
        afc__fail(&failure, AFC_EFILE, "cannot wait for the descriptor of the response body");
        afc__sink_give_up(sink, &failure);
        afc__task_post(task, AFC__TASK_WORKED);
    }
}

static void write_block(afc_task *task) {
    afc__sink_begin_block(&task->transfer.sink);
    start_work(task);
}

static void on_filled(void *context) {
    afc_task *task = context;
    if (afc__sink_gathers(&task->transfer.sink)) {
        /* Handled at the end of the turn, once all that is readable was read. */
        afc__task_post(task, AFC__TASK_GATHERED);
    } else {
        write_block(task);
    }
}

/* ---- On the loop --------------------------------------------------------------------------- */

static void leave(afc_task *task) {
    afc_session *session = task->session;
    afc__session_drop_keep_alive(session);
    afc_task_release(task);
}

/** Completes the task; on_done is called at the end of the loop's turn. */
static void finish(afc_task *task) {
    afc_session *session = task->session;
    afc__loop_disarm(&session->loop, &task->alarm);
    afc__list_remove(&task->node);
    session->active_count--;
    session->completed_count++;
    enter(task, AFC__STATE_COMPLETED);
    afc__list_append(&session->completed, &task->node);
}

void afc__task_complete(afc_task *task) {
    afc__list_remove(&task->node);
    task->session->completed_count--;
    afc__transfer_finish(&task->transfer);
    unsigned pending = atomic_fetch_or(&task->requests, AFC__TASK_FINISHED);
    afc__task_release_events(task);
    /* A posted operation still needs the loop: the task is released when the loop has taken that. */
    enter(task, pending != 0 ? AFC__STATE_LEAVING : AFC__STATE_DETACHED);
    if (pending == 0) leave(task);
}

/** Writes as much as a polled descriptor has room for. Returns false if the task has failed. */
static bool flush(afc_task *task) {
    if (!afc__sink_is_polled(&task->transfer.sink)) return true;
    afc_failure failure = {0};
    if (afc__sink_flush(&task->transfer.sink, &failure) == AFC_OK) return true;
    return afc__transfer_fail(&task->transfer, &failure);
}

/** Returns whether what was received before the failure needn't be written, because the reader may never make room. */
static bool gives_up_writing(const afc_task *task) {
    afc_status status = task->transfer.result->failure.status;
    return afc__sink_is_polled(&task->transfer.sink) &&
           (status == AFC_ECANCELED || status == AFC_ETIMEOUT || status == AFC_EFILE);
}

static void give_up_writing(afc_task *task) {
    afc__task_unwatch_sink(task);
    afc__sink_give_up(&task->transfer.sink, &task->transfer.result->failure);
    on_worked(task);
}

/** Ends the task, as no hop follows. The writer may have work to finish first. */
static void begin_writing(afc_task *task) {
    afc__sink *sink = &task->transfer.sink;
    enter(task, AFC__STATE_WRITING);
    (void)flush(task);
    afc_status status = task->transfer.result->failure.status;
    if (afc__sink_is_under_way(sink)) {
        afc__task_arm(task);
        if (gives_up_writing(task)) give_up_writing(task);
    } else if (afc__sink_begin_end(sink, status)) {
        afc__task_arm(task);
        start_work(task);
    } else if (afc__sink_is_polled(sink) && afc__sink_has_block(sink) && !gives_up_writing(task)) {
        afc__task_arm(task);
        write_block(task);
    } else {
        finish(task);
    }
}

static void run_hop(afc_task *task) {
    afc_failure failure = {0};
    afc_session *session = task->session;
    afc__exchange_owner owner = {task,         on_connecting, on_queued,
                                 on_connected, on_waiting,    on_filled};
    enter(task, AFC__STATE_IN_HOP);
    afc__queue_connecting(&session->queue, &task->entry);
    bool begins = afc__transfer_begin_hop(&task->transfer);
    bool needs_slot = begins && afc__driver_needs_slot(session->driver, &task->transfer);
    unsigned slot = needs_slot ? afc__queue_take_slot(&task->entry) : 0;
    if (begins && afc__driver_start(session->driver, &task->exchange, &task->transfer, slot, owner,
                                    &failure) == AFC_OK) {
        afc__task_arm(task);
        return;
    }
    if (failure.status != AFC_OK) afc__transfer_fail_unsent(&task->transfer, &failure);
    begin_writing(task);
}

/**
 * Suspends the task between two hops, if it is to be suspended and hasn't failed, and returns whether it did. `next`
 * follows later.
 */
static bool suspends(afc_task *task, afc__next next) {
    if (!afc__transfer_is_suspended(&task->transfer) || afc__transfer_has_failed(&task->transfer)) {
        return false;
    }
    enter(task, AFC__STATE_SUSPENDED);
    task->next = next;
    afc__task_arm(task);
    return true;
}

static void fail(afc_task *task, const afc_failure *failure) {
    afc__transfer_fail(&task->transfer, failure);
    begin_writing(task);
}

/**
 * Runs the next hop at once if the task keeps its place at the host, or queues it, with the rank of tasks that have
 * begun.
 */
static void queue_hop(afc_task *task) {
    afc__queue *queue = &task->session->queue;
    afc__transfer *transfer = &task->transfer;
    afc__queue_key key;
    afc__lane lane;
    afc__driver_place(task->session->driver, transfer, &key, &lane);
    if (afc__queue_keeps_connection(&task->entry, &key, lane)) {
        run_hop(task);
        return;
    }
    unsigned rank = transfer->priority != 0 ? transfer->priority : DEFAULT_PRIORITY;
    if (transfer->result->hop_count > 0) rank = AFC__RANK_BEGUN;
    afc__queue_remove(queue, &task->entry);
    if (afc__queue_add(queue, &task->entry, &key, lane, rank) != AFC_OK) {
        afc_failure failure = {0};
        afc__fail_memory(&failure);
        fail(task, &failure);
        return;
    }
    enter(task, AFC__STATE_QUEUED);
    afc__task_arm(task);
}

/* ---- From the cache ------------------------------------------------------------------------ */

static void proceed(afc_task *task, afc__next next);

/** Passes on the stored response until it ends or has to wait. */
static void replay(afc_task *task) {
    afc__outcome outcome = {0};
    afc__next next;
    afc__replay step = afc__task_replay(task);
    if (afc__sink_has_block(&task->transfer.sink)) on_filled(task);
    switch (step) {
    case AFC__REPLAY_DONE:
        next = afc__transfer_end_hop(&task->transfer, &outcome);
        /* A chain of stored redirects can be long, so other tasks and time limits are handled after each. */
        if (next == AFC__NEXT_HOP) {
            afc__task_arm(task);
            afc__task_post(task, AFC__TASK_CACHED);
        } else {
            proceed(task, next);
        }
        break;
    case AFC__REPLAY_MORE:
        break;
    case AFC__REPLAY_PENDING:
    case AFC__REPLAY_PAUSED:
        afc__task_arm(task);
        break;
    }
}

/** Asks the cache before a hop: it has a response, or is looking for one, or the hop is sent. */
static void ask_cache(afc_task *task) {
    switch (afc__task_ask_cache(task)) {
    case AFC__CACHE_NEXT_SEND:
        queue_hop(task);
        break;
    case AFC__CACHE_NEXT_WAIT:
        enter(task, AFC__STATE_IN_CACHE);
        afc__task_arm(task);
        break;
    case AFC__CACHE_NEXT_REPLAY:
        enter(task, AFC__STATE_IN_CACHE);
        replay(task);
        break;
    case AFC__CACHE_NEXT_FAIL:
        begin_writing(task);
        break;
    }
}

/** Continues with the stored response, when the cache has woken the task or in the next turn. */
static void continue_from_cache(afc_task *task) {
    if (task->state != AFC__STATE_IN_CACHE) return;
    if (afc__transfer_is_replaying(&task->transfer)) {
        replay(task);
    } else {
        proceed(task, AFC__NEXT_HOP);
    }
}

void afc__task_run(afc_task *task) {
    if (!suspends(task, AFC__NEXT_HOP)) run_hop(task);
}

/** Does the next step, unless the task is suspended now. */
static void proceed(afc_task *task, afc__next next) {
    if (next == AFC__NEXT_ASK) {
        enter(task, AFC__STATE_WAITING_FOR_CREDENTIALS);
        afc__task_arm(task);
    } else if (!suspends(task, next)) {
        if (next == AFC__NEXT_HOP) ask_cache(task);
        if (next == AFC__NEXT_FINISH) begin_writing(task);
    }
}

static void apply_network_decision(afc_task *task, afc__network_decision decision,
                                   const afc_failure *failure) {
    switch (decision) {
    case AFC__NETWORK_WAIT:
        enter(task, AFC__STATE_WAITING_FOR_NETWORK);
        afc__task_arm(task);
        break;
    case AFC__NETWORK_RETRY:
        proceed(task, AFC__NEXT_HOP);
        break;
    case AFC__NETWORK_FAIL:
        fail(task, failure);
        break;
    }
}

/** Ends the exchange. `failure` replaces that of the exchange; NULL if it ended by itself, or the task has failed. */
static void end_exchange(afc_task *task, const afc_failure *failure) {
    afc__outcome outcome;
    afc__exchange *exchange = task->exchange;
    afc__task_unwatch_body(task);
    task->exchange = NULL;
    afc__driver_end(task->session->driver, exchange, &outcome);
    if (failure != NULL) outcome.failure = *failure;
    afc__task_explain_offline(&outcome.failure);
    afc__next next = afc__transfer_end_hop(&task->transfer, &outcome);
    if (next == AFC__NEXT_WAIT) {
        apply_network_decision(task, afc__task_await_network(task, &outcome.failure),
                               &outcome.failure);
    } else {
        proceed(task, next);
    }
}

void afc__task_exchange_ended(afc_task *task) {
    end_exchange(task, NULL);
}

/** Ends the task now, in whatever state. */
static void abort_task(afc_task *task, const afc_failure *failure) {
    afc__sink *sink = &task->transfer.sink;
    if (afc__sink_is_ending(sink)) {
        afc__sink_stop(sink, failure->status);
        if (afc__sink_is_polled(sink)) write_on(&task->sink_watch, 0);
        return;
    }
    afc__transfer_fail(&task->transfer, failure);
    if (task->exchange != NULL) {
        afc__task_exchange_ended(task);
    } else if (task->state != AFC__STATE_WRITING) {
        begin_writing(task);
    } else if (afc__sink_is_polled(sink) && afc__sink_is_under_way(sink)) {
        give_up_writing(task);
    }
}

void afc__task_cancel(afc_task *task) {
    afc_failure failure = {0};
    afc__fail(&failure, AFC_ECANCELED, "%s", afc_status_text(AFC_ECANCELED));
    abort_task(task, &failure);
}

bool afc__task_is_cancelled(const afc_task *task) {
    return afc__transfer_is_cancelled(&task->transfer);
}

/** Fails the task at a limit of its hop, unless a stale response may be used instead. */
static void end_late_hop(afc_task *task, const afc_failure *failure) {
    const afc__transfer *transfer = &task->transfer;
    if (afc__hop_in_head(&transfer->hop) && afc__transfer_may_use_stale(transfer)) {
        end_exchange(task, failure);
    } else {
        abort_task(task, failure);
    }
}

/**
 * Continues directions that waited for a moment. The hop may have ended before that moment: then only the alarm is
 * armed for the other limits.
 */
static void stop_waiting(afc_task *task, int64_t now) {
    bool is_replaying = task->state == AFC__STATE_IN_CACHE &&
                        afc__transfer_is_replaying(&task->transfer);
    afc__transfer_stop_waiting(&task->transfer, now);
    if (task->exchange == NULL && !is_replaying) {
        afc__task_arm(task);
    } else if (continue_exchange(task)) {
        afc__task_arm(task);
    }
}

static void wake(afc_task *task) {
    task->woken_us = afc__now_us();
    task->is_wake_delayed = false;
    afc__transfer_wake(&task->transfer);
}

/** Calls on_wake, or delays the call if on_wake was called just now and neither direction is paused until then. */
static void wake_soon(afc_task *task) {
    bool can_wait = afc__task_was_just_woken(task) &&
                    !afc__transfer_waits_for_wake(&task->transfer);
    if (can_wait) {
        task->is_wake_delayed = true;
        afc__task_arm(task);
    } else {
        wake(task);
    }
}

static void check_flags(afc_task *task, unsigned requests);

static void on_alarm(afc__alarm *alarm) {
    afc_task *task = AFC__OWNER(alarm, afc_task, alarm);
    afc_failure failure = {0};
    int64_t now = afc__now_us();
    switch (afc__task_due(task, now, &failure)) {
    case AFC__DUE_HOP_END:
        end_late_hop(task, &failure);
        break;
    case AFC__DUE_END:
        abort_task(task, &failure);
        break;
    case AFC__DUE_HOP:
        proceed(task, AFC__NEXT_HOP);
        break;
    case AFC__DUE_BYTES:
        stop_waiting(task, now);
        break;
    case AFC__DUE_WAKE:
        check_flags(task, AFC__TASK_WAKE);
        if (is_active(task)) afc__task_arm(task);
        break;
    case AFC__DUE_BODY:
        if (afc__exchange_send_waiting_body(task->exchange)) {
            afc__task_arm(task);
        } else {
            afc__task_exchange_ended(task);
        }
        break;
    case AFC__DUE_NOTHING:
        afc__task_arm(task);
        break;
    }
}

static void begin(afc_task *task) {
    afc_session *session = task->session;
    afc_failure failure = {0};
    task->alarm.callback = on_alarm;
    task->started_us = afc__now_us();
    afc__transfer_end_resuming(&task->transfer);
    afc__list_append(&session->active, &task->node);
    session->active_count++;
    if (session->active_count > session->peak_active) session->peak_active = session->active_count;
    /* Two for each task: a WebSocket has its own alarm besides its task's, until its end is reported. */
    size_t alarms = 2 * session->active_count + session->completed_count + AFC__DRIVER_ALARMS;
    if (afc__loop_reserve_alarms(&session->loop, alarms) != AFC_OK) {
        afc__fail_memory(&failure);
        abort_task(task, &failure);
    } else if (afc__task_is_cancelled(task)) {
        afc__task_cancel(task);
    } else {
        proceed(task, AFC__NEXT_HOP);
    }
}

static void on_network_report(afc_task *task) {
    if (task->network.wait == NULL) return;
    apply_network_decision(task, afc__task_decide_network(task), afc__task_network_failure(task));
}

/** Applies the answer to a challenge. Returns false if there is none, or if it isn't awaited any more. */
static bool take_answer(afc_task *task) {
    afc__reply *reply = atomic_exchange(&task->reply, NULL);
    if (reply == NULL) return false;
    bool was_awaited = afc__transfer_on_answer(&task->transfer, reply->number, reply->answer,
                                               reply->identity);
    reply->identity = NULL;
    afc__reply_free(reply);
    return was_awaited;
}

static void on_challenge_answer(afc_task *task) {
    afc__transfer *transfer = &task->transfer;
    if (!take_answer(task)) return;
    if (afc__transfer_has_failed(transfer)) {
        abort_task(task, &transfer->result->failure);
        return;
    }
    /* The kept part of an accepted response's body was passed to the sink. */
    if (afc__sink_has_block(&transfer->sink)) on_filled(task);
    if (task->exchange == NULL) {
        proceed(task, afc__transfer_resume_hop(transfer));
    } else if (continue_exchange(task)) {
        afc__task_arm(task);
    }
}

static void check_flags(afc_task *task, unsigned requests) {
    if (afc__transfer_is_cancelled(&task->transfer)) {
        afc__task_cancel(task);
        return;
    }
    if ((requests & AFC__TASK_WAKE) != 0) {
        wake(task);
    } else {
        if ((requests & AFC__TASK_WAKE_SOON) != 0) wake_soon(task);
        if ((requests & AFC__TASK_SEND) != 0) afc__transfer_wake_sending(&task->transfer);
    }
    if (afc__transfer_is_suspended(&task->transfer)) return;
    afc__transfer_end_resuming(&task->transfer);
    if (task->state == AFC__STATE_SUSPENDED) {
        proceed(task, task->next);
        return;
    }
    continue_exchange(task);
}

/** Continues after the writer thread, or the polled descriptor, has finished the sink's job. */
static void on_worked(afc_task *task) {
    afc__transfer *transfer = &task->transfer;
    afc_failure failure;
    if (!afc__sink_is_under_way(&transfer->sink)) return;
    if (afc__sink_return(&transfer->sink, &failure) != AFC_OK) {
        if (failure.status == AFC_ETIMEOUT) afc__task_explain_incomplete(task, &failure);
        afc__transfer_fail(transfer, &failure);
    }
    if (afc__sink_is_ending(&transfer->sink)) {
        finish(task);
    } else if (task->state == AFC__STATE_WRITING) {
        begin_writing(task);
    } else if (failure.status != AFC_OK) {
        abort_task(task, &failure);
    } else {
        if (afc__sink_has_block(&transfer->sink)) on_filled(task);
        bool is_paused = task->exchange != NULL && afc__exchange_is_paused(task->exchange);
        bool is_cached = task->state == AFC__STATE_IN_CACHE;
        if ((is_paused || is_cached) && continue_exchange(task)) afc__task_arm(task);
    }
}

/** Writes what the sink has collected, at the end of the turn. */
static void on_gathered(afc_task *task) {
    afc__sink *sink = &task->transfer.sink;
    if (task->state == AFC__STATE_WRITING) return;
    if (!flush(task)) {
        abort_task(task, &task->transfer.result->failure);
    } else if (afc__sink_has_block(sink) && !afc__sink_gathers(sink)) {
        write_block(task);
    }
}

void afc__task_handle(afc_task *task) {
    unsigned requests = atomic_fetch_and(&task->requests, AFC__TASK_FINISHED);
    if (requests & AFC__TASK_FINISHED) {
        if (task->state == AFC__STATE_LEAVING) {
            enter(task, AFC__STATE_DETACHED);
            leave(task);
        }
    } else {
        /* Operations posted right after the start arrive together with it. */
        if (requests & AFC__TASK_START) begin(task);
        if (is_active(task) && (requests & AFC__TASK_NETWORK)) on_network_report(task);
        if (requests & AFC__TASK_WORKED) on_worked(task);
        if (is_active(task) && (requests & AFC__TASK_GATHERED)) on_gathered(task);
        if (is_active(task) && (requests & AFC__TASK_ANSWERED)) on_challenge_answer(task);
        if (is_active(task) && (requests & AFC__TASK_CACHED)) continue_from_cache(task);
        unsigned flags = AFC__TASK_CHECK | AFC__TASK_WAKE | AFC__TASK_WAKE_SOON | AFC__TASK_SEND;
        if ((requests & flags) != 0 && is_active(task)) check_flags(task, requests);
    }
    afc_task_release(task);
}
