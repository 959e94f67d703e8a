/** The insides of a session and its tasks, shared by session.c and task.c. */
#ifndef AF_SESSION_SESSION_INTERNAL_H
#define AF_SESSION_SESSION_INTERNAL_H

#include "base/list.h"
#include "curl/driver.h"
#include "run/loop.h"
#include "run/queue.h"
#include "run/writer.h"
#include "session/task_state.h"
#include "transfer/transfer.h"

#include <afcore/session.h>
#include <stdatomic.h>

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
struct af_session {
    /* Any thread. */
    atomic_uint_fast64_t handles, holders, references;
    atomic_uint requests;              /**< AF__SESSION_…, asked and not yet taken. */
    atomic_uint_fast64_t cancel_count; /**< Calls of af_session_cancel_all(). */
    af__post post;
    unsigned generation; /**< The process that the loop thread lives in. */
    atomic_uint_fast64_t tasks, posts, events;
    af__loop loop;
    bool gathers_results;
    af__store store;
    void (*on_closed)(void *context);
    void *context;
    /* Loop thread only. */
    af__driver *driver;
    af__writer *writer; /**< NULL before its first job. */
    af__queue queue;    /**< Of tasks that wait for their host to have a connection for them. */
    af__list active;    /**< Tasks under way. */
    size_t active_count;
    size_t most_active;   /**< Since memory was given back; see give_memory_back(). */
    af__list completed;   /**< Tasks whose on_done is due. */
    unsigned batch_turns; /**< That the first of them has waited. */
    bool is_closing;
};

enum { AF__SESSION_CLOSE = 1u, AF__SESSION_CANCEL_ALL = 2u };

/*
 * Operations of a task, as bits of `requests`. The first bit posts the task, with a reference; the
 * loop takes all bits at once. FINISHED is set by the loop and keeps later ones from being posted.
 */
enum {
    AF__TASK_START = 1u,
    AF__TASK_CHECK = 2u, /**< Suspended, resumed, cancelled or woken: look at the flags. */
    AF__TASK_WAKE = 4u,
    AF__TASK_FINISHED = 8u,
    AF__TASK_NETWORK = 16u, /**< A monitor has reported on the network. */
    AF__TASK_WORKED = 32u,  /**< Its job on the writer is done. */
    AF__TASK_ANSWERED = 64u /**< A challenge has been answered. */
};

/** An answer to a challenge, on its way to the loop. */
typedef struct af__reply {
    uint32_t number;
    af_challenge_answer answer;
    af__identity *identity;
} af__reply;

struct af_task {
    /* Any thread. */
    atomic_uint references;
    atomic_uint requests;
    atomic_bool was_started;
    af__post post;
    af_session *session;
    uint_fast64_t cancel_count; /**< The session's when the task was started. */
    _Atomic(af__reply *) reply; /**< To a challenge; the loop takes it. */
    /* Loop thread only. */
    af__task_state state;
    af__node node;   /**< In session->active, then in session->completed. */
    af__entry entry; /**< In session->queue. */
    af__alarm alarm;
    af__exchange *exchange;
    af__job job;
    int64_t started_us, connecting_since_us;
    struct af__network_wait *network; /**< WAITING_FOR_NETWORK; else NULL. */
    int64_t network_retry_us;         /**< When it tries again without a report; 0: never. */
    unsigned network_retries;         /**< Since the network came. */
    bool network_came;                /**< It was waited for, and came. */
    af__next next;                    /**< SUSPENDED: what follows when it is resumed. */
    /* The creating thread until the start, then the loop thread; its flags are for any. */
    af__transfer transfer;
};

static inline void af__session_clear_store(af_session *session) {
    af_cookie_jar_release(session->store.cookies);
    af_hsts_release(session->store.hsts);
}

/* ---- lifetime.c ---------------------------------------------------------------------------- */

void af__session_reference(af_session *session);
void af__session_unreference(af_session *session);
void af__session_keep_alive(af_session *session);
void af__session_drop_keep_alive(af_session *session);

/** Post an operation, AF__SESSION_…. Any thread that keeps it alive. */
void af__session_post(af_session *session, unsigned what);

/** Do a job on the writer, or here if there can be none. Loop thread. */
void af__session_work(af_session *session, af__job *job);

/** Memory for a task, not cleared; NULL when out of memory. Any thread. */
af_task *af__task_take_spare(void);
void af__task_give_spare(af_task *task);

/** Post an operation, AF__TASK_…. Any thread that has a reference. */
void af__task_post(af_task *task, unsigned what);

void af__reply_free(af__reply *reply);

/* ---- task_challenge.c ---------------------------------------------------------------------- */

/** Pass on the answer to a challenge. false: there is none, or it isn't awaited any more. Loop thread. */
bool af__task_take_answer(af_task *task);

/* ---- task.c: loop thread, outside of libcurl ----------------------------------------------- */

/** Take the operations that were posted. */
void af__task_handle(af_task *task);

/** Send the next hop of a task whose entry runs. */
void af__task_run(af_task *task);

/** Continue after the exchange ended. */
void af__task_exchange_ended(af_task *task);

/** Call on_done and let go of a task that is completed. */
void af__task_complete(af_task *task);

/** Was it cancelled, alone or by an af_session_cancel_all() after its start? */
bool af__task_is_canceled(const af_task *task);

/** End now as cancelled, in whatever state. */
void af__task_cancel(af_task *task);

#endif
