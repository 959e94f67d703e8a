#include "session/session_internal.h"

#include "base/alloc.h"
#include "base/failure.h"
#include "base/fork_gate.h"
#include "message/fields.h"
#include "reachability/monitor.h"
#include "run/resolver.h"
#include "run/threads.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <string.h>

/* Alarms whose memory is kept after a burst. */
enum { SPARE_ALARMS = 64 };

/* ---- The loop's side ----------------------------------------------------------------------- */

/** Tasks whose start is still in the inbox are cancelled when they begin: see af__task_is_canceled(). */
static void cancel_all(af_session *session) {
    size_t count = session->active_count;
    for (size_t i = 0; i < count; i++) {
        af__node *node = af__list_first(&session->active);
        if (node == NULL) return;
        /* A task whose file is being closed stays in the list, behind those that come next. */
        af__list_remove(node);
        af__list_append(&session->active, node);
        af_task *task = AF__OWNER(node, af_task, node);
        if (af__task_is_canceled(task)) af__task_cancel(task);
    }
}

static void run_queue(af_session *session) {
    af__entry *entry;
    while ((entry = af__queue_next(&session->queue)) != NULL) {
        af__task_run(AF__OWNER(entry, af_task, entry));
    }
}

static void take_posts(void *context, af__post *post) {
    af_session *session = context;
    while (post != NULL) {
        af__post *next = post->next;
        if (post == &session->post) {
            unsigned requests = atomic_exchange(&session->requests, 0);
            if (requests & AF__SESSION_CLOSE) session->is_closing = true;
            if (requests & AF__SESSION_CANCEL_ALL) cancel_all(session);
        } else if (!af__driver_handle_post(session->driver, post)) {
            af__task_handle(AF__OWNER(post, af_task, post));
        }
        post = next;
    }
    run_queue(session);
}

/*
 * Waking a thread costs both sides some microseconds, as much as a fifth of a small request. Where
 * requests come one by one there is nothing to wait for, and gathered results are reported at once, too.
 */
enum { MOST_BATCH_TURNS = 4 };

static void report_results(af_session *session) {
    af__node *node;
    session->batch_turns = 0;
    while ((node = af__list_first(&session->completed)) != NULL) {
        af__task_complete(AF__OWNER(node, af_task, node));
    }
}

/* Tasks at once whose memory, of 2 KiB and more each, is worth a walk through the heap. */
enum { BURST = 4096 };

/**
 * After a burst: glibc gives pages back only from the end of its heap, where one small block is enough to keep
 * all of it.
 */
static void give_memory_back(af_session *session) {
    session->most_active = session->active_count;
    af__loop_release_alarms(&session->loop, session->active_count + SPARE_ALARMS);
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

static void finish_exchanges(void *context) {
    af_session *session = context;
    af__exchange *exchange;
    while ((exchange = af__driver_next_ended(session->driver)) != NULL) {
        af__task_exchange_ended(af__exchange_get_context(exchange));
        /* What a callback starts uses the memory and the handle that have just become free. */
        if (!session->gathers_results) report_results(session);
        run_queue(session);
    }
}

static af__turn finish_turn(void *context, bool was_idle) {
    af_session *session = context;
    finish_exchanges(session);
    /* Connections that were made, and tasks that an alarm has ended, make room as well. */
    run_queue(session);
    if (!af__list_is_empty(&session->completed)) {
        bool waits = session->gathers_results && !was_idle;
        if (waits && session->batch_turns++ < MOST_BATCH_TURNS) return AF__TURN_LOOK;
        report_results(session);
    }
    bool was_burst = session->most_active >= BURST &&
                     session->active_count < session->most_active / 8;
    if (was_burst && af__list_is_empty(&session->completed)) give_memory_back(session);
    return session->is_closing ? AF__TURN_END : AF__TURN_SLEEP;
}

static void ended(void *context) {
    af_session *session = context;
    af__driver_free(session->driver);
    session->driver = NULL;
    af__queue_clear(&session->queue);
    /* A caller may keep a finished task, and with it the session's memory, for as long as it likes. */
    af__loop_close(&session->loop);
    if (session->writer != NULL) af__writer_end(session->writer);
    if (session->on_closed != NULL) session->on_closed(session->context);
    af__session_unreference(session);
}

/* ---- What is remembered -------------------------------------------------------------------- */

static void set_store(af_session *session, const af_session_options *options) {
    session->store.cookie_policy = options->cookie_policy;
    session->store.to_ascii = af__driver_host_to_ascii;
    if (options->cookies != NULL) {
        session->store.cookies = af_cookie_jar_retain(options->cookies);
    }
    if (options->hsts != NULL) session->store.hsts = af_hsts_retain(options->hsts);
}

/* ---- The callers' side --------------------------------------------------------------------- */

/** In the order of their locks: a fork takes the one that was registered last first. */
static void watch_forks(void) {
    af__threads_watch_forks();
    af__resolver_watch_forks();
    af__reach_watch_forks();
    af__fork_gate_watch();
}

/** One that has not started. */
static void discard(af_session *session) {
    if (session->driver != NULL) af__driver_free(session->driver);
    af__queue_clear(&session->queue);
    af__loop_clear(&session->loop);
    af__session_clear_store(session);
    af_free(session);
}

static af_status make_session(af_session **out, const af_session_options *options,
                              af_failure *failure) {
    af_session_options defaults = AF_SESSION_OPTIONS_INIT;
    af_failure ignored;
    if (options == NULL) options = &defaults;
    if (failure == NULL) failure = &ignored;
    memset(failure, 0, sizeof *failure);
    *out = NULL;
    if (options->size != sizeof *options) {
        return af__fail(failure, AF_EINVAL,
                        "the options must be initialised with AF_SESSION_OPTIONS_INIT");
    }
    if ((unsigned)options->cookie_policy > AF_COOKIES_MAIN_DOCUMENT) {
        return af__fail(failure, AF_EINVAL, "invalid cookie policy: %d",
                        (int)options->cookie_policy);
    }
    if (options->user_agent != NULL && !af__may_be_sent(af_slice_of(options->user_agent))) {
        return af__fail(failure, AF_EINVAL, "the user agent contains a control character");
    }
    af_session *session = af__zalloc(sizeof *session);
    if (session == NULL) return af__fail_memory(failure);
    af_status status = af__fork_gate_check(failure);
    if (status != AF_OK) {
        af_free(session);
        return status;
    }
    af__list_init(&session->active);
    af__list_init(&session->completed);
    session->generation = af__process_generation();
    session->gathers_results = options->gather_results;
    session->on_closed = options->on_closed;
    set_store(session, options);
    session->context = options->context;
    af__loop_owner owner = {session, take_posts, finish_exchanges, finish_turn, ended, "af-loop"};
    status = af__loop_init(&session->loop, owner, failure);
    /* One alarm for libcurl; the others are reserved as tasks start. */
    if (status == AF_OK && af__loop_reserve_alarms(&session->loop, 1) != AF_OK) {
        status = af__fail_memory(failure);
    }
    if (status == AF_OK) {
        status = af__driver_new(&session->driver, &session->loop, options, failure);
    }
    if (status == AF_OK) {
        af__queue_limits limits = {options->max_connections_per_host, options->max_connections,
                                   AF__MOST_STREAMS};
        status = af__queue_init(&session->queue, limits);
        if (status != AF_OK)
            af__fail(failure, status, "out of memory or no random bytes for the queue");
    }
    atomic_init(&session->handles, 1);
    atomic_init(&session->holders, 1);    /* All handles together. */
    atomic_init(&session->references, 2); /* The loop thread, and all holders together. */
    if (status == AF_OK) status = af__loop_start(&session->loop, failure);
    if (status != AF_OK) {
        discard(session);
        return status;
    }
    *out = session;
    return AF_OK;
}

af_status af_session_new(af_session **out, const af_session_options *options, af_failure *failure) {
    watch_forks();
    af__fork_gate_enter(NULL);
    af_status status = make_session(out, options, failure);
    af__fork_gate_leave(NULL);
    return status;
}

af_session *af_session_retain(af_session *session) {
    atomic_fetch_add_explicit(&session->handles, 1, memory_order_relaxed);
    return session;
}

void af_session_release(af_session *session) {
    if (session == NULL || atomic_fetch_sub(&session->handles, 1) != 1) return;
    if (session->generation == af__process_generation()) af__thread_will_end();
    af__session_drop_keep_alive(session);
}

void af_session_cancel_all(af_session *session) {
    if (session->generation != af__process_generation()) return;
    /*
     * Counted before it is posted: an earlier post may still be in the inbox, in front of tasks that
     * were started since, and would be handled before their start. See af__task_is_canceled().
     */
    atomic_fetch_add(&session->cancel_count, 1);
    af__session_post(session, AF__SESSION_CANCEL_ALL);
}

static uint64_t read_counter(const atomic_uint_fast64_t *counter) {
    return atomic_load_explicit(counter, memory_order_relaxed);
}

void af_session_get_statistics(const af_session *session, af_session_statistics *out) {
    out->tasks = read_counter(&session->tasks);
    out->posts = read_counter(&session->posts);
    out->wakeups = read_counter(&session->loop.wakeups);
    out->turns = read_counter(&session->loop.turns);
    out->events = read_counter(&session->events);
    out->connections = af__driver_connections(session->driver);
}
