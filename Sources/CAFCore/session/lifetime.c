/* What keeps sessions and tasks alive, and how work gets to their threads. */
#include "base/alloc.h"
#include "base/freelist.h"
#include "run/threads.h"
#include "session/session_internal.h"

/** A busy program makes one for each request. */
static af__freelist freelist = AF__FREELIST_INIT(sizeof(af_task), AF__RESULT_SPARES);

/* ---- Sessions ------------------------------------------------------------------------------ */

void af__session_reference(af_session *session) {
    atomic_fetch_add_explicit(&session->references, 1, memory_order_relaxed);
}

void af__session_unreference(af_session *session) {
    if (atomic_fetch_sub(&session->references, 1) != 1) return;
    af__loop_clear(&session->loop);
    af__session_clear_store(session);
    af_free(session);
    /* Another session, if there is one, soon has its own again. */
    af__freelist_empty(&freelist);
    af__result_free_kept();
}

void af__session_keep_alive(af_session *session) {
    atomic_fetch_add_explicit(&session->holders, 1, memory_order_relaxed);
}

void af__session_post(af_session *session, unsigned what) {
    if (atomic_fetch_or(&session->requests, what) != 0) return;
    atomic_fetch_add_explicit(&session->posts, 1, memory_order_relaxed);
    af__loop_post(&session->loop, &session->post);
}

void af__session_drop_keep_alive(af_session *session) {
    if (atomic_fetch_sub(&session->holders, 1) != 1) return;
    /* In a forked child there is no thread to end, and its sockets are the parent's. */
    if (session->generation != af__process_generation()) return;
    af__session_post(session, AF__SESSION_CLOSE);
    af__session_unreference(session);
}

static void writer_ended(void *context) {
    af__session_unreference(context);
}

static void start_writer(af_session *session) {
    /* The end of its last job may still be on its way into the loop when all tasks have gone. */
    af__session_reference(session);
    session->writer = af__writer_new(writer_ended, session);
    if (session->writer == NULL) af__session_unreference(session);
}

void af__session_work(af_session *session, af__job *job) {
    if (session->writer == NULL) start_writer(session);
    if (session->writer != NULL) {
        af__writer_take(session->writer, job);
    } else {
        while (job->run(job)) {}
    }
}

/* ---- Tasks --------------------------------------------------------------------------------- */

void af__task_post(af_task *task, unsigned what) {
    unsigned before = atomic_fetch_or(&task->requests, what);
    if (before != 0) return;
    af_session *session = task->session;
    /* A forked child shares the eventfd with its parent, whose loop counts the writes. */
    if (session->generation != af__process_generation()) return;
    atomic_fetch_add_explicit(&session->posts, 1, memory_order_relaxed);
    af_task_retain(task);
    af__loop_post(&session->loop, &task->post);
}

af_task *af__task_take_spare(void) {
    return af__freelist_take(&freelist);
}

void af__task_give_spare(af_task *task) {
    af__freelist_give(&freelist, task);
}

af_task *af_task_retain(af_task *task) {
    atomic_fetch_add_explicit(&task->references, 1, memory_order_relaxed);
    return task;
}

void af__reply_free(af__reply *reply) {
    if (reply == NULL) return;
    af__identity_free(reply->identity);
    af_free(reply);
}

void af_task_release(af_task *task) {
    if (task == NULL || atomic_fetch_sub(&task->references, 1) != 1) return;
    af_session *session = task->session;
    bool was_started = atomic_load(&task->was_started);
    void (*release)(void *) = task->transfer.events.release;
    void *context = task->transfer.events.context;
    af__transfer_clear(&task->transfer);
    af__reply_free(atomic_load(&task->reply));
    af__freelist_give(&freelist, task);
    if (!was_started) {
        if (release != NULL) release(context);
        af__session_drop_keep_alive(session);
    }
    af__session_unreference(session);
}
