/** The members of a session, for the files of session/ and their tests. */
#ifndef AFC_SESSION_SESSION_INTERNAL_H
#define AFC_SESSION_SESSION_INTERNAL_H

#include "base/alloc.h"
#include "base/list.h"
#include "curl/driver.h"
#include "run/loop.h"
#include "run/queue.h"
#include "run/writer.h"
#include "transfer/caching/fills.h"
#include "transfer/transfer.h"

#include <afcore/session.h>
#include <stdatomic.h>

/** A function that is due when a turn of the loop ends; in session->batches until then. Loop thread only. */
typedef struct afc__batch {
    afc__node node;
    void (*end)(struct afc__batch *batch);
} afc__batch;

/*
 * The lifetime of a session:
 *
 * - `handles` counts the references of callers. When it becomes 0, the session ends once its tasks have ended.
 * - `holders` counts what needs a running session: 1 for all handles together, and every task until its on_done. When
 *   it becomes 0, the loop is asked to close: nothing can start any more.
 * - `references` counts what may still use the memory: the loop thread, the writer's, 1 for all holders together, and
 *   every task until it is freed. When it becomes 0, the memory is freed.
 */
struct afc_session {
    /* Any thread may use these. */
    atomic_uint_fast64_t handles, holders, references;
    atomic_uint requests; /**< AFC__SESSION_… bits that the loop hasn't handled yet. */
    afc__post post;
    /** afc__process_generation() of the process that made the session: a forked child has no loop thread. */
    unsigned generation;
    atomic_uint_fast64_t tasks, posts;
    afc__transfer_counters counters;
    afc__loop loop;
    bool gathers_results;
    /** The program drives the loop (AFC_LOOP_EXTERNAL): there is no loop thread. */
    bool is_driven;
    afc__session_stores stores;
    afc__fills fills;      /**< The object of `stores.fills`. Loop thread only. */
    afc_executor executor; /**< `post` is NULL if there is no executor. */
    void (*on_closed)(void *context);
    void (*on_wake)(void *context); /**< NULL if not set. */
    void *context;
    /* Loop thread only. */
    afc__driver *driver;
    afc__writer *writer; /**< NULL before the first job. */
    afc__queue queue;    /**< Tasks that wait for a connection to their host. */
    afc__list active;    /**< Tasks that have started and aren't completed. */
    size_t active_count;
    /** How many tasks of `active` are left to check after afc_session_cancel_all(). */
    size_t to_cancel;
    size_t completed_count; /**< The number of tasks in `completed`. */
    size_t peak_active;     /**< The maximum of `active_count` since give_memory_back(). */
    afc__list completed;    /**< Tasks whose on_done is due. */
    afc__list batches;      /**< A list of afc__batch. */
    /** How many turns the first of `completed` and `batches` has waited. */
    unsigned batch_turns;
    bool is_closing;
    bool is_woken; /**< on_wake is due. */
};

enum { AFC__SESSION_CLOSE = 1u, AFC__SESSION_CANCEL_ALL = 2u, AFC__SESSION_WAKE = 4u };

/** Releases the stores of a session that has ended, or that couldn't be made. */
static inline void afc__session_clear_stores(afc_session *session) {
    afc_cookie_jar_release(session->stores.cookies);
    afc_hsts_release(session->stores.hsts);
    afc_http_cache_release(session->stores.http_cache);
    afc_free((char *)(uintptr_t)session->stores.cache_partition);
}

#endif
