#include "session/session_internal.h"

#include "base/alloc.h"
#include "base/failure.h"
#include "base/fork_gate.h"
#include "base/sized.h"
#include "curl/library.h"
#include "message/fields.h"
#include "reachability/thread.h"
#include "run/resolver.h"
#include "run/threads.h"
#include "session/lifetime.h"
#include "session/task.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <string.h>

/* The number of alarms for which memory is kept after a burst. */
enum { SPARE_ALARMS = 64 };

enum { MAX_PARTITION = 255 };

/* Maximum number of tasks that one turn cancels. */
enum { MAX_CANCELLED = 64 };

enum { US_PER_MS = 1000 };

/* A longer wait, of thousands of years, counts as unlimited. */
#define MAX_JOIN_MS (INT64_MAX / US_PER_MS / 2)

/* ---- The loop's side ----------------------------------------------------------------------- */

/**
 * Cancels some of the tasks that were active when all were cancelled. The time that libcurl takes to remove a handle
 * grows with the number of hosts, so other work comes in between. Tasks whose start is still in the inbox are cancelled
 * when they begin: see afc__task_is_cancelled().
 */
static void cancel_some(afc_session *session) {
    for (unsigned i = 0; i < MAX_CANCELLED && session->to_cancel > 0; i++, session->to_cancel--) {
        afc__node *node = afc__list_first(&session->active);
        if (node == NULL) {
            session->to_cancel = 0;
            return;
        }
        /* Moved to the end, as a task whose file is still being closed stays in the list. */
        afc__list_remove(node);
        afc__list_append(&session->active, node);
        afc_task *task = AFC__OWNER(node, afc_task, node);
        if (afc__task_is_cancelled(task)) afc__task_cancel(task);
    }
}

static void run_queue(afc_session *session) {
    afc__entry *entry;
    while ((entry = afc__queue_next(&session->queue)) != NULL) {
        afc__task_run(AFC__OWNER(entry, afc_task, entry));
    }
}

static void take_posts(void *context, afc__post *post) {
    afc_session *session = context;
    while (post != NULL) {
        afc__post *next = post->next;
        if (post == &session->post) {
            unsigned requests = atomic_exchange(&session->requests, 0);
            if (requests & AFC__SESSION_CLOSE) session->is_closing = true;
            if (requests & AFC__SESSION_CANCEL_ALL) session->to_cancel = session->active_count;
            if (requests & AFC__SESSION_WAKE) session->is_woken = true;
        } else if (!afc__driver_handle_post(session->driver, post)) {
            afc__task_handle(AFC__OWNER(post, afc_task, post));
        }
        post = next;
    }
    run_queue(session);
}

/*
 * The number of turns for which results are collected at most, so that a receiver on another thread is woken once for
 * many results. Waking a thread costs both sides some microseconds, as much as a fifth of a small request. If nothing
 * else is ready, or no other task is active, results are reported at once (row `small_1` of Benchmarks/run).
 */
enum { MAX_BATCH_TURNS = 4 };
_Static_assert((int)MAX_BATCH_TURNS < (int)AFC__LOOP_DISPATCH_TURNS,
               "a dispatch reports what it gathers");

static void end_batches(afc_session *session) {
    afc__node *node;
    while ((node = afc__list_first(&session->batches)) != NULL) {
        afc__list_remove(node);
        afc__batch *batch = AFC__OWNER(node, afc__batch, node);
        batch->end(batch);
    }
}

/** Calls on_wake, if it is due. Returns whether it is due again, as on_wake has called afc_session_wake() itself. */
static bool wake(afc_session *session) {
    if (!session->is_woken) return false;
    session->is_woken = false;
    session->on_wake(session->context);
    return session->is_woken;
}

static void report_results(afc_session *session) {
    afc__node *node;
    session->batch_turns = 0;
    while ((node = afc__list_first(&session->completed)) != NULL) {
        afc__task_complete(AFC__OWNER(node, afc_task, node));
    }
}

/* The number of simultaneous tasks whose memory, of 2 KiB and more each, justifies a walk through the heap. */
enum { BURST = 4096 };

/**
 * Returns memory to the system after a burst. By itself, glibc only returns pages at the end of its heap, where one
 * small block is enough to keep all of it.
 */
static void give_memory_back(afc_session *session) {
    session->peak_active = session->active_count;
    afc__loop_release_alarms(&session->loop, 2 * session->active_count + SPARE_ALARMS);
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

static void finish_exchanges(void *context) {
    afc_session *session = context;
    afc__exchange *exchange;
    while ((exchange = afc__driver_next_ended(session->driver)) != NULL) {
        afc__task_exchange_ended(afc__exchange_get_context(exchange));
        /* At once, so that a task started by a callback reuses the memory and the handle that have just become free. */
        if (!session->gathers_results) report_results(session);
        run_queue(session);
    }
}

static afc__turn finish_turn(void *context, bool was_idle) {
    afc_session *session = context;
    cancel_some(session);
    finish_exchanges(session);
    /* New HTTP/2 connections, and tasks that an alarm has ended, also allow queued tasks to run. */
    run_queue(session);
    if (!afc__list_is_empty(&session->completed) || !afc__list_is_empty(&session->batches)) {
        bool may_gather = session->gathers_results && session->active_count > 0;
        bool waits = may_gather && !was_idle;
        if (waits && session->batch_turns++ < MAX_BATCH_TURNS) return AFC__TURN_LOOK;
        report_results(session);
        end_batches(session);
    }
    /* After the callbacks above, so that their afc_session_wake() has its effect in the same turn. */
    bool is_woken = wake(session);
    bool was_burst = session->peak_active >= BURST &&
                     session->active_count < session->peak_active / 8;
    if (was_burst && afc__list_is_empty(&session->completed)) give_memory_back(session);
    if (is_woken || session->to_cancel > 0) return AFC__TURN_LOOK;
    return session->is_closing ? AFC__TURN_END : AFC__TURN_SLEEP;
}

static void ended(void *context) {
    afc_session *session = context;
    afc__driver_free(session->driver);
    session->driver = NULL;
    afc__queue_clear(&session->queue);
    if (session->writer != NULL) afc__writer_end(session->writer);
    if (session->on_closed != NULL) session->on_closed(session->context);
    /*
     * Closes the loop's descriptors now, as the program may keep a finished task, and with it the session's memory, for
     * any time. Not before on_closed: another session made there would get the number of a descriptor that the
     * program's loop still waits for.
     */
    afc__loop_close(&session->loop);
    afc__session_unreference(session);
}

/* ---- Stores -------------------------------------------------------------------------------- */

/** Copies the stores of the options. Returns false when out of memory. */
static bool set_stores(afc_session *session, const afc_session_options *options) {
    session->stores.cookie_policy = options->cookie_policy;
    session->stores.to_ascii = afc__driver_host_to_ascii;
    session->stores.fills = &session->fills;
    afc__fills_init(&session->fills);
    if (options->cookies != NULL) {
        session->stores.cookies = afc_cookie_jar_retain(options->cookies);
    }
    if (options->hsts != NULL) session->stores.hsts = afc_hsts_retain(options->hsts);
    if (options->http_cache != NULL) {
        session->stores.http_cache = afc_http_cache_retain(options->http_cache);
    }
    if (options->cache_partition == NULL) return true;
    session->stores.cache_partition = afc__copy_text(afc_slice_of(options->cache_partition));
    return session->stores.cache_partition != NULL;
}

/* ---- The callers' side --------------------------------------------------------------------- */

/**
 * Registers the handlers of forks. Those that prepare a fork are called in reverse order (pthread_atfork()), which must
 * be the order of their locks.
 */
static void watch_forks(void) {
    afc__loop_watch_forks();
    afc__threads_watch_forks();
    afc__resolver_watch_forks();
    afc__reach_watch_forks();
    afc__fork_gate_watch();
}

/** Frees a session that wasn't started. */
static void discard(afc_session *session) {
    if (session->driver != NULL) afc__driver_free(session->driver);
    afc__queue_clear(&session->queue);
    afc__loop_clear(&session->loop);
    afc__session_clear_stores(session);
    afc_free(session);
}

static bool is_partition(const char *text) {
    return strlen(text) <= MAX_PARTITION && strchr(text, '\n') == NULL;
}

static afc_status check_options(const afc_session_options *options, afc_failure *failure) {
    if ((unsigned)options->cookie_policy > AFC_COOKIES_MAIN_DOCUMENT) {
        return afc__fail(failure, AFC_EINVAL, "invalid cookie policy: %d",
                         (int)options->cookie_policy);
    }
    afc_status status = afc__check_reserved(&options->reserved, sizeof options->reserved,
                                            "afc_session_options", failure);
    if (status != AFC_OK) return status;
    if ((unsigned)options->loop > AFC_LOOP_EXTERNAL) {
        return afc__fail(failure, AFC_EINVAL,
                         "invalid loop: expected AFC_LOOP_THREAD or AFC_LOOP_EXTERNAL");
    }
    if (options->cache_partition != NULL && !is_partition(options->cache_partition)) {
        return afc__fail(failure, AFC_EINVAL,
                         "invalid cache partition: expected at most %d bytes without a line feed",
                         MAX_PARTITION);
    }
    if (options->user_agent != NULL && !afc__may_be_sent(afc_slice_of(options->user_agent))) {
        return afc__fail(failure, AFC_EINVAL, "the user agent contains a control character");
    }
    return AFC_OK;
}

/** Makes the loop, the driver and the queue. */
static afc_status make_parts(afc_session *session, const afc_session_options *options,
                             afc_failure *failure) {
    /* On failure, discard() clears the loop in every case. */
    afc__loop_owner owner = {session, take_posts, finish_exchanges, finish_turn, ended, "af-loop"};
    afc_status status = afc__loop_init(&session->loop, owner, failure);
    if (status != AFC_OK) return status;
    /* The alarms of tasks are reserved when they start. */
    if (afc__loop_reserve_alarms(&session->loop, AFC__DRIVER_ALARMS) != AFC_OK) {
        return afc__fail_memory(failure);
    }
    status = afc__driver_new(&session->driver, &session->loop, options, failure);
    if (status != AFC_OK) return status;
    afc__queue_limits limits = {options->max_connections_per_host, options->max_connections,
                                AFC__STREAMS_MAX};
    status = afc__queue_init(&session->queue, limits);
    if (status != AFC_OK) {
        return afc__fail(failure, status, "out of memory or no random bytes for the queue");
    }
    afc__driver_get_fields(session->driver, &session->stores);
    return AFC_OK;
}

static afc_status start_loop(afc_session *session, afc_failure *failure) {
    if (!session->is_driven) return afc__loop_start(&session->loop, failure);
    afc__loop_drive(&session->loop);
    return AFC_OK;
}

static afc_status make_session(afc_session **out, const afc_session_options *options,
                               afc_failure *failure) {
    *out = NULL;
    AFC__READ_SIZED(afc_session_options, AFC_SESSION_OPTIONS_INIT, proxy_trust, options, failure);
    afc_status status = check_options(options, failure);
    if (status == AFC_OK) status = afc__fork_gate_check(failure);
    if (status != AFC_OK) return status;
    afc_session *session = afc__zalloc(sizeof *session);
    if (session == NULL) return afc__fail_memory(failure);
    afc__list_init(&session->active);
    afc__list_init(&session->completed);
    afc__list_init(&session->batches);
    atomic_init(&session->handles, 1);
    atomic_init(&session->holders, 1);    /* For all handles together. */
    atomic_init(&session->references, 2); /* For the loop thread, and for all holders together. */
    session->generation = afc__process_generation();
    session->gathers_results = options->gather_results;
    session->is_driven = options->loop == AFC_LOOP_EXTERNAL;
    session->executor = options->executor;
    session->on_closed = options->on_closed;
    session->on_wake = options->on_wake;
    session->context = options->context;
    bool has_stores = set_stores(session, options);
    status = make_parts(session, options, failure);
    if (!has_stores) status = afc__fail_memory(failure);
    if (status == AFC_OK) status = start_loop(session, failure);
    if (status != AFC_OK) {
        discard(session);
        return status;
    }
    *out = session;
    return AFC_OK;
}

afc_status afc_session_new(afc_session **out, const afc_session_options *options,
                           afc_failure *failure) {
    watch_forks();
    afc__fork_gate_enter(NULL);
    afc_status status = make_session(out, options, failure);
    afc__fork_gate_leave(NULL);
    return status;
}

void afc_prepare(void) {
    watch_forks();
    if (afc__fork_gate_check(NULL) != AFC_OK) return;
    afc__fork_gate_enter(NULL);
    (void)afc__libcurl_check(NULL);
    afc__fork_gate_leave(NULL);
}

afc_session *afc_session_retain(afc_session *session) {
    atomic_fetch_add_explicit(&session->handles, 1, memory_order_relaxed);
    return session;
}

void afc_session_release(afc_session *session) {
    if (session == NULL || atomic_fetch_sub(&session->handles, 1) != 1) return;
    bool is_own = session->generation == afc__process_generation();
    if (is_own && !session->is_driven) afc__thread_will_end();
    /* Set before the post, as in afc_session_cancel_all(). */
    atomic_store(&session->counters.ends_validations, true);
    bool has_tasks = atomic_load(&session->holders) > 1;
    if (is_own && has_tasks) afc__session_post(session, AFC__SESSION_CANCEL_ALL);
    afc__session_drop_keep_alive(session);
}

void afc_join_closed_sessions(void) {
    /* A loop thread would wait for itself. */
    if (!afc__loop_is_any_current()) afc__threads_join_ending();
}

afc_status afc_session_join(afc_session *session, int64_t timeout_ms) {
    if (session == NULL) return AFC_OK;
    bool is_parents = session->generation != afc__process_generation();
    if (is_parents || session->is_driven || afc__loop_is_any_current()) {
        afc_session_release(session);
        return is_parents ? AFC_ECLOSED : AFC_EINVAL;
    }
    /*
     * Keeps the memory, so that the address identifies this session, and the stores are released, and so saved, on this
     * thread.
     */
    afc__session_reference(session);
    afc_session_release(session);
    bool is_limited = timeout_ms >= 0 && timeout_ms < MAX_JOIN_MS;
    bool has_ended = afc__threads_join_owned(session, is_limited ? timeout_ms * US_PER_MS : -1);
    afc__session_unreference(session);
    return has_ended ? AFC_OK : AFC_ETIMEOUT;
}

void afc_session_cancel_all(afc_session *session) {
    if (session->generation != afc__process_generation()) return;
    /*
     * Counted before the post: an earlier post may still be in the inbox, in front of tasks that were started since,
     * and would be handled before their start. See afc__task_is_cancelled().
     */
    atomic_fetch_add(&session->counters.cancellations, 1);
    afc__session_post(session, AFC__SESSION_CANCEL_ALL);
}

void afc_session_wake(afc_session *session) {
    if (session->on_wake == NULL || session->generation != afc__process_generation()) return;
    if (afc__loop_is_current(&session->loop)) {
        session->is_woken = true;
    } else {
        afc__session_post(session, AFC__SESSION_WAKE);
    }
}

int afc_session_get_fd(const afc_session *session) {
    return session->is_driven ? session->loop.epoll_descriptor : -1;
}

int afc_session_get_timeout_ms(const afc_session *session) {
    return session->is_driven ? afc__loop_timeout_ms(&session->loop) : -1;
}

afc_status afc_session_dispatch(afc_session *session) {
    if (!session->is_driven || session->loop.is_dispatching) return AFC_EINVAL;
    if (session->generation != afc__process_generation()) return AFC_ECLOSED;
    struct afc__memory *before = afc__driver_enter(session->driver);
    bool continues = afc__loop_dispatch(&session->loop);
    afc__driver_leave(before);
    return continues ? AFC_OK : AFC_ECLOSED;
}

static uint64_t read_counter(const atomic_uint_fast64_t *counter) {
    return atomic_load_explicit(counter, memory_order_relaxed);
}

void afc_session_get_statistics(const afc_session *session, afc_session_statistics *out) {
    out->tasks = read_counter(&session->tasks);
    out->posts = read_counter(&session->posts);
    out->wakeups = read_counter(&session->loop.wakeups);
    out->turns = read_counter(&session->loop.turns);
    out->events = read_counter(&session->counters.events);
    /* In on_closed the driver was freed already. */
    out->connections = session->driver != NULL ? afc__driver_connections(session->driver) : 0;
    memset(out->reserved, 0, sizeof out->reserved);
}
