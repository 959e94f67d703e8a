/** What a session holds, for session/ and its tests. */
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

/** Something that is called when a turn of the loop ends; in session->batches while it is due. Loop thread. */
typedef struct afc__batch {
    afc__node node;
    void (*end)(struct afc__batch *batch);
} afc__batch;

/*
 * What keeps what alive.
 *
 * `handles` counts the references of callers. At zero the session is bound to end, once its tasks
 * have.
 * `holders` counts what needs a running session: all handles together, and every task until
 * its on_done. At zero the loop is asked to close: nothing can start any more.
 * `references` counts what may still use the memory: the loop thread, the writer's, all
 * holders together, and every task until it is freed. At zero it is freed.
 */
struct afc_session {
    /* Any thread. */
    atomic_uint_fast64_t handles, holders, references;
    atomic_uint requests; /**< AFC__SESSION_…, asked and not yet taken. */
    afc__post post;
    unsigned generation; /**< The process that the loop thread lives in. */
    atomic_uint_fast64_t tasks, posts;
    afc__transfer_counters counters;
    afc__loop loop;
    bool gathers_results;
    bool is_driven; /**< By the program: it has no thread. */
    afc__session_stores stores;
    afc__fills fills;      /**< stores.fills. Loop thread. */
    afc_executor executor; /**< `post` is NULL: none. */
    void (*on_closed)(void *context);
    void (*on_wake)(void *context); /**< NULL: none. */
    void *context;
    /* Loop thread only. */
    afc__driver *driver;
    afc__writer *writer; /**< NULL before its first job. */
    afc__queue queue;    /**< Tasks that wait for a connection to their host. */
    afc__list active;    /**< Tasks under way. */
    size_t active_count;
    size_t to_cancel;       /**< How many of them afc_session_cancel_all() still has to look at. */
    size_t completed_count; /**< Finished, but not reported: in `completed`. */
    size_t peak_active;     /**< Since memory was given back; see give_memory_back(). */
    afc__list completed;    /**< Tasks whose on_done is due. */
    afc__list batches;      /**< afc__batch. */
    unsigned batch_turns;   /**< That the first of both has waited. */
    bool is_closing;
    bool is_woken; /**< on_wake is due. */
};

enum { AFC__SESSION_CLOSE = 1u, AFC__SESSION_CANCEL_ALL = 2u, AFC__SESSION_WAKE = 4u };

/** Releases the stores of a session that ends, or that couldn't be made. */
static inline void afc__session_clear_stores(afc_session *session) {
    afc_cookie_jar_release(session->stores.cookies);
    afc_hsts_release(session->stores.hsts);
    afc_http_cache_release(session->stores.http_cache);
    afc_free((char *)(uintptr_t)session->stores.cache_partition);
}

#endif
