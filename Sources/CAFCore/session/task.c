#include "base/alloc.h"
#include "base/clock.h"
#include "base/failure.h"
#include "base/freelist.h"
#include "base/sized.h"
#include "body/sink_write.h"
#include "run/threads.h"
#include "session/delivery.h"
#include "session/session_internal.h"
#include "session/task_connectivity.h"
#include "session/task_descriptor.h"
#include "session/task_limits.h"
#include "transfer/auth.h"
#include "transfer/caching/hop_cache.h"
#include "transfer/cookies_hsts.h"

#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Of requests that name none; HTTP/2's default weight, RFC 7540 5.3.5. */
enum { DEFAULT_PRIORITY = 16 };

/* Of a validation in the background whose request has no total limit: nothing else would end it. */
enum { VALIDATION_MS = 60 * 1000 };

/* ---- States -------------------------------------------------------------------------------- */

/** Leaving a state gives back what only that state needs. */
static void enter(afc_task *task, afc__task_state state) {
    assert(afc__task_may_enter(task->state, state));
    bool has_entry = state >= AFC__STATE_QUEUED && state <= AFC__STATE_CONNECTED;
    if (!has_entry) afc__queue_remove(&task->session->queue, &task->entry);
    if (state != AFC__STATE_WAITING_FOR_NETWORK) afc__task_forget_network(task);
    task->state = state;
}

/** Between its start and the end of its work? */
static bool is_active(const afc_task *task) {
    return task->state > AFC__STATE_NEW && task->state < AFC__STATE_COMPLETED;
}

/* ---- What the driver calls ----------------------------------------------------------------- */

static void continue_from_cache(afc_task *task);

/** In both directions; one whose callback returns AFC_EAGAIN pauses again. false: there is none, or it ended. */
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

static void connecting(void *context, int64_t since_us) {
    afc_task *task = context;
    enter(task, AFC__STATE_CONNECTING);
    task->connecting_since_us = since_us;
    afc__task_arm(task);
}

static void queued(void *context) {
    afc_task *task = context;
    if (task->state == AFC__STATE_CONNECTING) enter(task, AFC__STATE_IN_HOP);
    afc__task_arm(task);
}

static void connected(void *context) {
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

static void waiting(void *context) {
    afc__task_watch_body(context, body_ready);
    afc__task_arm(context);
}

static void worked(afc_task *task);

/** The descriptor of the sink has room again, or is broken. */
static void write_on(afc__watch *watch, unsigned readiness) {
    afc_task *task = AFC__OWNER(watch, afc_task, sink_watch);
    (void)readiness;
    if (afc__sink_do(&task->transfer.sink)) return;
    afc__task_unwatch_sink(task);
    worked(task);
}

/** On the writer, or, once its descriptor has room, on the loop. */
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

static void filled(void *context) {
    afc_task *task = context;
    if (afc__sink_gathers(&task->transfer.sink)) {
        /* Taken once everything was read that can be read now. */
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

/** on_done is called at the end of the loop's turn. */
static void finish(afc_task *task) {
    afc_session *session = task->session;
    afc__loop_disarm(&session->loop, &task->alarm);
    afc__list_remove(&task->node);
    session->active_count--;
    session->completed_count++;
    enter(task, AFC__STATE_COMPLETED);
    afc__list_append(&session->completed, &task->node);
}

/** The last callback; waiting threads go on after it. */
static void release_events(afc_task *task) {
    afc_task_events *events = &task->transfer.events;
    bool is_completed_here = !afc__delivery_completes(events);
    void (*release)(void *) = events->release;
    events->release = NULL;
    if (release != NULL) release(events->context);
    if (is_completed_here) afc__task_set_complete(task);
}

void afc__task_complete(afc_task *task) {
    afc__list_remove(&task->node);
    task->session->completed_count--;
    afc__transfer_finish(&task->transfer);
    unsigned pending = atomic_fetch_or(&task->requests, AFC__TASK_FINISHED);
    release_events(task);
    /* An operation on its way still needs the loop; the task leaves when that has been taken. */
    enter(task, pending != 0 ? AFC__STATE_LEAVING : AFC__STATE_DETACHED);
    if (pending == 0) leave(task);
}

/** Writes what a pipe or socket has room for. false: the task has failed. */
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
    worked(task);
}

/** No hop follows. The writer may have work to finish first. */
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
    afc__exchange_owner owner = {task, connecting, queued, connected, waiting, filled};
    enter(task, AFC__STATE_IN_HOP);
    afc__queue_connecting(&session->queue, &task->entry);
    if (afc__transfer_begin_hop(&task->transfer) &&
        afc__driver_start(session->driver, &task->exchange, &task->transfer, owner, &failure) ==
            AFC_OK) {
        afc__task_arm(task);
        return;
    }
    if (failure.status != AFC_OK) afc__transfer_fail(&task->transfer, &failure);
    begin_writing(task);
}

/** Is it suspended now, until it is resumed? A task that has failed isn't. */
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

/** At once if it stays on its host, else when it is its turn; tasks that have begun go before others. */
static void queue_hop(afc_task *task) {
    afc__queue *queue = &task->session->queue;
    afc__transfer *transfer = &task->transfer;
    afc__queue_key key;
    afc__lane lane;
    afc__driver_place(task->session->driver, transfer, &key, &lane);
    if (afc__queue_keeps_place(&task->entry, &key, lane)) {
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

/** On any thread: the store has what was asked for, and gives the reference to the task back. */
static void on_cache_wake(void *context) {
    afc_task *task = context;
    afc__task_post(task, AFC__TASK_CACHED);
    afc_task_release(task);
}

/** Passes the stored response on until it ends or has to wait. */
static void replay(afc_task *task) {
    afc__outcome outcome = {0};
    afc__transfer *transfer = &task->transfer;
    afc__replay step = afc__transfer_replay(transfer);
    if (afc__sink_has_block(&transfer->sink)) filled(task);
    switch (step) {
    case AFC__REPLAY_DONE:
        proceed(task, afc__transfer_end_hop(transfer, &outcome));
        break;
    case AFC__REPLAY_MORE:
        afc__task_post(task, AFC__TASK_CACHED);
        break;
    case AFC__REPLAY_PENDING:
        /* It may have come and gone already: the loop has a reference of its own. */
        afc_task_retain(task);
        afc__task_arm(task);
        break;
    case AFC__REPLAY_PAUSED:
        afc__task_arm(task);
        break;
    }
}

/**
 * Validates a stale response that has just been used, in the background. What the request demands of its connection, its
 * response and its cookies holds there, too. A redirect is stored, but not followed: on_redirect isn't asked.
 */
static void validate_in_background(afc_task *task) {
    afc_task *made;
    const afc__transfer *transfer = &task->transfer;
    afc_request request = AFC_REQUEST_INIT;
    request.url = transfer->request.url.text;
    request.headers = transfer->request.headers;
    request.header_count = transfer->request.header_count;
    request.sink.kind = AFC_SINK_CALLBACK;
    request.keep_encoding = transfer->coding == AFC__CODING_KEPT;
    request.ignore_cookies = transfer->ignores_cookies;
    request.cache_policy = AFC_HTTP_CACHE_REVALIDATE;
    request.flags = AFC_REQUEST_COLLAPSE;
    request.version = transfer->version;
    request.priority = transfer->priority;
    request.max_receive_rate = transfer->receive_rate.per_second;
    request.timeouts = transfer->timeouts;
    request.limits = transfer->limits;
    request.limits.redirects = -1;
    if (request.timeouts.total_ms == 0) request.timeouts.total_ms = VALIDATION_MS;
    if (afc_task_new(&made, task->session, &request, NULL, NULL) != AFC_OK) return;
    if (afc__transfer_set_validation_only(&made->transfer, transfer->document_host)) {
        afc_task_start(made);
    }
    afc_task_release(made);
}

/** Before a hop: the cache answers, or looks for what may, or the hop is sent. */
static void ask_cache(afc_task *task) {
    afc__transfer *transfer = &task->transfer;
    /* May choose another host's queue. What HSTS learns of the host while the task waits is applied with the hop. */
    if (!afc__transfer_upgrade(transfer)) {
        begin_writing(task);
        return;
    }
    switch (afc__transfer_ask_cache(transfer, (afc__http_cache_wake){on_cache_wake, task})) {
    case AFC__CACHE_NEXT_SEND:
        queue_hop(task);
        break;
    case AFC__CACHE_NEXT_WAIT:
        enter(task, AFC__STATE_IN_CACHE);
        afc_task_retain(task);
        afc__task_arm(task);
        break;
    case AFC__CACHE_NEXT_REPLAY:
        enter(task, AFC__STATE_IN_CACHE);
        if (afc__transfer_takes_validation(transfer)) validate_in_background(task);
        replay(task);
        break;
    case AFC__CACHE_NEXT_FAIL:
        begin_writing(task);
        break;
    }
}

/** The wake of the store, or another turn. */
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

/** Once it isn't suspended. */
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

/** `failure` replaces that of the exchange; NULL: it ended by itself, or the task has failed. */
static void end_exchange(afc_task *task, const afc_failure *failure) {
    afc__outcome outcome;
    afc__exchange *exchange = task->exchange;
    afc__task_unwatch_body(task);
    task->exchange = NULL;
    afc__driver_end(task->session->driver, exchange, &outcome);
    if (failure != NULL) outcome.failure = *failure;
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

/** End now, in whatever state. */
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

/** A limit of the hop fails the task, unless a stale response replaces what the server didn't send. */
static void end_late_hop(afc_task *task, const afc_failure *failure) {
    const afc__transfer *transfer = &task->transfer;
    if (afc__hop_in_head(transfer) && afc__transfer_may_use_stale(transfer)) {
        end_exchange(task, failure);
    } else {
        abort_task(task, failure);
    }
}

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
        afc__transfer_stop_waiting(&task->transfer, now);
        if (continue_exchange(task)) afc__task_arm(task);
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
    task->started_us = afc__now_us();
    afc__list_append(&session->active, &task->node);
    session->active_count++;
    if (session->active_count > session->most_active) session->most_active = session->active_count;
    /* A WebSocket has an alarm of its own beside its task's, until its end is reported. */
    size_t alarms = 2 * session->active_count + session->completed_count + 1;
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

static void on_challenge_answer(afc_task *task) {
    afc__transfer *transfer = &task->transfer;
    if (!afc__task_take_answer(task)) return;
    if (afc__transfer_has_failed(transfer)) {
        abort_task(task, &transfer->result->failure);
        return;
    }
    /* An accepted response had its body passed on, as far as it was kept. */
    if (afc__sink_has_block(&transfer->sink)) filled(task);
    if (task->exchange == NULL) {
        proceed(task, afc__transfer_resume_hop(transfer));
    } else if (continue_exchange(task)) {
        afc__task_arm(task);
    }
}

static void check_flags(afc_task *task, bool is_woken) {
    if (afc__transfer_is_cancelled(&task->transfer)) {
        afc__task_cancel(task);
        return;
    }
    if (is_woken) afc__transfer_wake(&task->transfer);
    if (afc__transfer_is_suspended(&task->transfer)) return;
    if (task->state == AFC__STATE_SUSPENDED) {
        proceed(task, task->next);
        return;
    }
    continue_exchange(task);
}

/** The writer, or the descriptor, is done with what the sink has begun. */
static void worked(afc_task *task) {
    afc__transfer *transfer = &task->transfer;
    afc_failure failure;
    if (!afc__sink_is_under_way(&transfer->sink)) return;
    if (afc__sink_return(&transfer->sink, &failure) != AFC_OK) {
        if (failure.status == AFC_ETIMEOUT) afc__task_say_incomplete(task, &failure);
        afc__transfer_fail(transfer, &failure);
    }
    if (afc__sink_is_ending(&transfer->sink)) {
        finish(task);
    } else if (task->state == AFC__STATE_WRITING) {
        begin_writing(task);
    } else if (failure.status != AFC_OK) {
        abort_task(task, &failure);
    } else {
        if (afc__sink_has_block(&transfer->sink)) filled(task);
        bool is_paused = task->exchange != NULL && afc__exchange_is_paused(task->exchange);
        bool is_cached = task->state == AFC__STATE_IN_CACHE;
        if ((is_paused || is_cached) && continue_exchange(task)) afc__task_arm(task);
    }
}

/** What can be read now was read. */
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
        /* What was asked for right after the start comes with it. */
        if (requests & AFC__TASK_START) begin(task);
        if (is_active(task) && (requests & AFC__TASK_NETWORK)) on_network_report(task);
        if (requests & AFC__TASK_WORKED) worked(task);
        if (is_active(task) && (requests & AFC__TASK_GATHERED)) on_gathered(task);
        if (is_active(task) && (requests & AFC__TASK_ANSWERED)) on_challenge_answer(task);
        if (is_active(task) && (requests & AFC__TASK_CACHED)) continue_from_cache(task);
        bool has_flags = (requests & (AFC__TASK_CHECK | AFC__TASK_WAKE)) != 0;
        if (has_flags && is_active(task)) check_flags(task, (requests & AFC__TASK_WAKE) != 0);
    }
    afc_task_release(task);
}

/* ---- On any thread ------------------------------------------------------------------------- */

static bool run_job(afc__job *job) {
    afc_task *task = AFC__OWNER(job, afc_task, job);
    if (afc__sink_do(&task->transfer.sink)) return true;
    afc__task_post(task, AFC__TASK_WORKED);
    return false;
}

/** The structs of a caller whose headers have another version. NULL: not initialised, so nothing in it is used. */
typedef struct read_structs {
    const afc_request *request;
    const afc_task_events *events;
    afc_request request_storage;
    afc_task_events events_storage;
} read_structs;

const afc_request *afc__task_read_request(afc_request *storage, const afc_request *given,
                                          afc_failure *failure) {
    static const afc_request defaults = AFC_REQUEST_INIT;
    return afc__sized_read(storage, &defaults, given, AFC__SIZED(afc_request, proxy_credentials),
                           "AFC_REQUEST_INIT", failure);
}

static afc_status read_given(read_structs *out, const afc_request *request,
                             const afc_task_events *events, afc_failure *failure) {
    static const afc_task_events no_events = AFC_TASK_EVENTS_INIT;
    afc_failure second;
    out->request = afc__task_read_request(&out->request_storage, request, failure);
    out->events = afc__sized_read(&out->events_storage, &no_events, events,
                                  AFC__SIZED(afc_task_events, on_trace), "AFC_TASK_EVENTS_INIT",
                                  &second);
    if (failure->status == AFC_OK) *failure = second;
    return failure->status;
}

static void give_back(const read_structs *given) {
    const afc_task_events *events = given->events;
    if (given->request != NULL) afc__body_release(&given->request->body);
    if (events != NULL && events->release != NULL) events->release(events->context);
}

void afc__task_release_request(const afc_request *request) {
    afc_request storage;
    afc_failure ignored;
    request = afc__task_read_request(&storage, request, &ignored);
    if (request != NULL) afc__body_release(&request->body);
}

/** The callbacks of `given` go to the session's executor, if it has one. AFC_ENOMEM. */
static afc_status deliver_elsewhere(read_structs *given, afc_session *session) {
    if (!afc__delivery_is_needed(session, given->events)) return AFC_OK;
    given->events_storage = *given->events;
    given->events = &given->events_storage;
    return afc__delivery_begin(session, &given->events_storage);
}

static afc_status make_task(afc_task **out, afc_session *session, const afc_request *request,
                            const afc_task_events *events, bool uses_executor,
                            afc_failure *failure) {
    afc_failure ignored;
    if (failure == NULL) failure = &ignored;
    *out = NULL;
    read_structs given;
    afc_status status = read_given(&given, request, events, failure);
    if (status == AFC_OK && session->generation != afc__process_generation()) {
        status = afc__fail(failure, AFC_ECLOSED, "the session belongs to the parent process");
    }
    if (status == AFC_OK && uses_executor && deliver_elsewhere(&given, session) != AFC_OK) {
        status = afc__fail_memory(failure);
    }
    afc_task *task = status == AFC_OK ? afc__task_take_spare() : NULL;
    if (task == NULL) {
        if (status == AFC_OK) status = afc__fail_memory(failure);
        give_back(&given);
        return status;
    }
    memset(task, 0, offsetof(afc_task, transfer));
    status = afc__transfer_init(&task->transfer, given.request, given.events, &session->counters,
                                failure);
    if (status == AFC_OK) {
        unsigned schemes = afc__driver_auth_schemes(session->driver);
        status = afc__transfer_allow_schemes(&task->transfer, schemes, failure);
        if (status != AFC_OK) afc__transfer_clear(&task->transfer);
    }
    if (status != AFC_OK) {
        afc__task_give_spare(task);
        if (given.events->release != NULL) given.events->release(given.events->context);
        return status;
    }
    atomic_init(&task->references, 1);
    task->alarm.callback = on_alarm;
    task->job.run = run_job;
    task->session = session;
    task->transfer.stores = &session->stores;
    afc__delivery_set_task(&task->transfer.events, task);
    afc__session_reference(session);
    afc__session_keep_alive(session);
    *out = task;
    return AFC_OK;
}

afc_status afc_task_new(afc_task **out, afc_session *session, const afc_request *request,
                        const afc_task_events *events, afc_failure *failure) {
    return make_task(out, session, request, events, true, failure);
}

afc_status afc__task_make(afc_task **out, afc_session *session, const afc_request *request,
                          const afc_task_events *events, afc_failure *failure) {
    return make_task(out, session, request, events, false, failure);
}

static void complete_in_child(afc_task *task) {
    afc_failure failure = {0};
    afc__fail(&failure, AFC_ECLOSED, "the session belongs to the parent process");
    afc__transfer_fail(&task->transfer, &failure);
    afc__transfer_finish(&task->transfer);
    release_events(task);
    afc_task_release(task);
}

static void run_closed(void *context) {
    afc__thread_will_end();
    complete_in_child(context);
}

/** Starts a task that wasn't started yet. Takes a reference, for the loop, until it leaves. */
static void start(afc_task *task) {
    afc_session *session = task->session;
    if (session->generation != afc__process_generation()) {
        atomic_store(&task->completes_in_child, true);
        /* A child has no loop thread: the completion comes on a thread of its own, or else on this one. */
        if (afc__thread_start("af-closed", run_closed, task) != 0) complete_in_child(task);
        return;
    }
    atomic_fetch_add_explicit(&session->tasks, 1, memory_order_relaxed);
    afc__transfer_begin(&task->transfer);
    afc__task_post(task, AFC__TASK_START);
}

void afc_task_start(afc_task *task) {
    if (!atomic_exchange(&task->was_started, true)) start(afc_task_retain(task));
}

afc_status afc_task_begin(afc_task **out, afc_session *session, const afc_request *request,
                          const afc_task_events *events, afc_failure *failure) {
    afc_task *task;
    afc_status status = afc_task_new(&task, session, request, events, failure);
    if (out != NULL) *out = task;
    if (status != AFC_OK) return status;
    if (out != NULL) afc_task_retain(task);
    atomic_store_explicit(&task->was_started, true, memory_order_relaxed);
    start(task);
    return AFC_OK;
}

void afc_task_suspend(afc_task *task) {
    atomic_store(&task->transfer.is_suspended, true);
}

void afc_task_resume(afc_task *task) {
    if (atomic_exchange(&task->transfer.is_suspended, false)) afc__task_post(task, AFC__TASK_CHECK);
}

void afc_task_cancel(afc_task *task) {
    if (!atomic_exchange(&task->transfer.is_cancelled, true)) afc__task_post(task, AFC__TASK_CHECK);
}

void afc_task_wake(afc_task *task) {
    afc__task_post(task, AFC__TASK_WAKE);
}
