/** The internals of a session and its tasks, for session/ and its tests. */
#ifndef AFC_SESSION_SESSION_INTERNAL_H
#define AFC_SESSION_SESSION_INTERNAL_H

#include "base/list.h"
#include "curl/driver.h"
#include "run/loop.h"
#include "run/queue.h"
#include "run/writer.h"
#include "session/task_state.h"
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
    afc__list fills;       /**< stores.fills. Loop thread. */
    afc_executor executor; /**< `post` is NULL: none. */
    void (*on_closed)(void *context);
    void (*on_wake)(void *context); /**< NULL: none. */
    void *context;
    /* Loop thread only. */
    afc__driver *driver;
    afc__writer *writer; /**< NULL before its first job. */
    afc__queue queue;    /**< Of tasks that wait for their host to have a connection for them. */
    afc__list active;    /**< Tasks under way. */
    size_t active_count;
    size_t completed_count; /**< Finished, but not reported: in `completed`. */
    size_t most_active;     /**< Since memory was given back; see give_memory_back(). */
    afc__list completed;    /**< Tasks whose on_done is due. */
    afc__list batches;      /**< afc__batch. */
    unsigned batch_turns;   /**< That the first of both has waited. */
    bool is_closing;
    bool is_woken; /**< on_wake is due. */
};

enum { AFC__SESSION_CLOSE = 1u, AFC__SESSION_CANCEL_ALL = 2u, AFC__SESSION_WAKE = 4u };

/*
 * Operations of a task, as bits of `requests`. The first bit posts the task, with a reference; the
 * loop takes all bits at once. FINISHED is set by the loop and keeps later ones from being posted.
 */
enum {
    AFC__TASK_START = 1u,
    AFC__TASK_CHECK = 2u, /**< Suspended, resumed, cancelled or woken: the flags say which. */
    AFC__TASK_WAKE = 4u,
    AFC__TASK_FINISHED = 8u,
    AFC__TASK_NETWORK = 16u,  /**< A monitor has reported on the network. */
    AFC__TASK_WORKED = 32u,   /**< Its job on the writer is done. */
    AFC__TASK_ANSWERED = 64u, /**< A challenge has been answered. */
    AFC__TASK_CACHED = 128u, /**< The cache has what the task waits for, or it is its turn again. */
    AFC__TASK_GATHERED = 256u /**< Its sink holds bytes back until the turn of the loop ends. */
};

/** An answer to a challenge, on its way to the loop. */
typedef struct afc__reply {
    uint32_t number;
    afc_challenge_answer answer;
    afc__identity *identity;
} afc__reply;

/** What a task that waits for the network knows about it. Loop thread. */
typedef struct afc__connectivity {
    struct afc__network_wait *wait; /**< WAITING_FOR_NETWORK; else NULL. */
    int64_t retry_us;               /**< When it tries again without a report; 0: never. */
    unsigned retries;               /**< Since the network came. */
    bool has_come;                  /**< It was waited for, and came. */
} afc__connectivity;

struct afc_task {
    /* Any thread. */
    atomic_uint references;
    atomic_uint requests;
    atomic_bool was_started;
    atomic_bool completes_in_child; /**< Started after a fork, on the parent's session. */
    atomic_uint completion;         /**< For those who wait; see task_wait.c. */
    afc__post post;
    afc_session *session;
    _Atomic(afc__reply *) reply; /**< To a challenge; the loop takes it. */
    /* Loop thread only. */
    afc__task_state state;
    afc__next next;   /**< SUSPENDED: what follows when it is resumed. */
    afc__node node;   /**< In session->active, then in session->completed. */
    afc__entry entry; /**< In session->queue. */
    afc__alarm alarm;
    afc__exchange *exchange;
    union {
        /** What the writer does for the sink. */
        afc__job job;
        /** The sink's descriptor, if it is polled; `ready` is NULL unless it is watched. */
        afc__watch sink_watch;
    };
    afc__watch body_watch; /**< Of the body's descriptor; `ready` is NULL unless it is watched. */
    int64_t started_us, connecting_since_us;
    afc__connectivity network;
    /* The creating thread until the start, then the loop thread; its flags are for any. */
    afc__transfer transfer;
};

static inline void afc__session_clear_stores(afc_session *session) {
    afc_cookie_jar_release(session->stores.cookies);
    afc_hsts_release(session->stores.hsts);
    afc_http_cache_release(session->stores.http_cache);
    afc_free((char *)(uintptr_t)session->stores.cache_partition);
}

/* ---- lifetime.c ---------------------------------------------------------------------------- */

void afc__session_reference(afc_session *session);
void afc__session_unreference(afc_session *session);
void afc__session_keep_alive(afc_session *session);
void afc__session_drop_keep_alive(afc_session *session);

/** Posts an operation, AFC__SESSION_…. Any thread that keeps it alive. */
void afc__session_post(afc_session *session, unsigned what);

/** Does a job on the writer, or here if there can be none. Loop thread. */
void afc__session_work(afc_session *session, afc__job *job);

/** Returns memory for a task, not cleared; NULL when out of memory. Any thread. */
afc_task *afc__task_take_spare(void);
void afc__task_give_spare(afc_task *task);

/** Posts an operation, AFC__TASK_…. Any thread that has a reference. */
void afc__task_post(afc_task *task, unsigned what);

void afc__reply_free(afc__reply *reply);

/* ---- task_challenge.c ---------------------------------------------------------------------- */

/** Passes on the answer to a challenge. Returns false without one, or if it is no longer awaited. Loop thread. */
bool afc__task_take_answer(afc_task *task);

/* ---- task_wait.c --------------------------------------------------------------------------- */

/** Wakes those who wait. The caller has a reference. */
void afc__task_set_complete(afc_task *task);

/* ---- task.c: loop thread, outside of libcurl ----------------------------------------------- */

/** Takes the operations that were posted. */
void afc__task_handle(afc_task *task);

/** Sends the next hop of a task whose entry runs. */
void afc__task_run(afc_task *task);

/** Continues after the exchange ended. */
void afc__task_exchange_ended(afc_task *task);

/** Calls on_done and releases a task that is completed. */
void afc__task_complete(afc_task *task);

/** Returns whether it was cancelled, alone or by an afc_session_cancel_all() after its start. */
bool afc__task_is_cancelled(const afc_task *task);

/** Ends a task now as cancelled, in whatever state. */
void afc__task_cancel(afc_task *task);

/** Does what afc_task_new() does, for callbacks of the library, which an executor doesn't run. Any thread. */
afc_status afc__task_make(afc_task **out, afc_session *session, const afc_request *request,
                          const afc_task_events *events, afc_failure *failure);

/** Reads the request of a caller whose headers have another version; see afc__sized_read(). Any thread. */
const afc_request *afc__task_read_request(afc_request *storage, const afc_request *given,
                                          afc_failure *failure);

/** Releases what a request of any version gives to a task that isn't made. Any thread. */
void afc__task_release_request(const afc_request *request);

#endif
