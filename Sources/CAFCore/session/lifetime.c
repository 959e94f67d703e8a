/* The lifetimes of sessions and tasks, and how work gets to their threads. */
#include "session/lifetime.h"

#include "base/freelist.h"
#include "run/threads.h"
#include "transfer/caching/hop_cache.h"

/** A busy program needs one for each request. */
static afc__freelist freelist = AFC__FREELIST_INIT(sizeof(afc_task), AFC__RESULTS_KEPT);

/* ---- Sessions ------------------------------------------------------------------------------ */

void afc__session_reference(afc_session *session) {
    atomic_fetch_add_explicit(&session->references, 1, memory_order_relaxed);
}

void afc__session_unreference(afc_session *session) {
    if (atomic_fetch_sub(&session->references, 1) != 1) return;
    afc__loop_clear(&session->loop);
    afc__session_clear_stores(session);
    afc_free(session);
    /* The freelists are shared: another session soon fills them again. */
    afc__freelist_empty(&freelist);
    afc__result_free_kept();
    afc__hop_cache_free_kept();
}

void afc__session_keep_alive(afc_session *session) {
    atomic_fetch_add_explicit(&session->holders, 1, memory_order_relaxed);
}

void afc__session_post(afc_session *session, unsigned what) {
    if (atomic_fetch_or(&session->requests, what) != 0) return;
    atomic_fetch_add_explicit(&session->posts, 1, memory_order_relaxed);
    afc__loop_post(&session->loop, &session->post);
}

void afc__session_drop_keep_alive(afc_session *session) {
    if (atomic_fetch_sub(&session->holders, 1) != 1) return;
    /* In a forked child there is no thread to end, and its sockets are the parent's. */
    if (session->generation != afc__process_generation()) return;
    afc__session_post(session, AFC__SESSION_CLOSE);
    afc__session_unreference(session);
}

static void writer_ended(void *context) {
    afc__session_unreference(context);
}

static void start_writer(afc_session *session) {
    /* A reference for the writer: it may still post the end of its last job when all tasks have been released. */
    afc__session_reference(session);
    session->writer = afc__writer_new(writer_ended, session);
    if (session->writer == NULL) afc__session_unreference(session);
}

void afc__session_work(afc_session *session, afc__job *job) {
    if (session->writer == NULL) start_writer(session);
    if (session->writer != NULL) {
        afc__writer_take(session->writer, job);
    } else {
        while (job->run(job)) {}
    }
}

/* ---- Tasks --------------------------------------------------------------------------------- */

void afc__task_post(afc_task *task, unsigned what) {
    unsigned before = atomic_fetch_or(&task->requests, what);
    if (before != 0) return;
    afc_session *session = task->session;
    /* A forked child shares the eventfd with its parent: a write would wake the parent's loop. */
    if (session->generation != afc__process_generation()) return;
    atomic_fetch_add_explicit(&session->posts, 1, memory_order_relaxed);
    afc_task_retain(task);
    afc__loop_post(&session->loop, &task->post);
}

afc_task *afc__task_alloc(void) {
    return afc__freelist_take(&freelist);
}

void afc__task_recycle(afc_task *task) {
    afc__freelist_give(&freelist, task);
}

afc_task *afc_task_retain(afc_task *task) {
    atomic_fetch_add_explicit(&task->references, 1, memory_order_relaxed);
    return task;
}

void afc__reply_free(afc__reply *reply) {
    if (reply == NULL) return;
    afc__identity_free(reply->identity);
    afc_free(reply);
}

void afc_task_release(afc_task *task) {
    if (task == NULL || atomic_fetch_sub(&task->references, 1) != 1) return;
    afc_session *session = task->session;
    bool was_started = atomic_load(&task->was_started);
    void (*release)(void *) = task->transfer.events.release;
    void *context = task->transfer.events.context;
    /* A task that has ended was cleared on the loop thread. */
    if (task->transfer.result != NULL) afc__transfer_clear(&task->transfer);
    afc__reply_free(atomic_load(&task->reply));
    afc__freelist_give(&freelist, task);
    if (!was_started) {
        if (release != NULL) release(context);
        afc__session_drop_keep_alive(session);
    }
    afc__session_unreference(session);
}
