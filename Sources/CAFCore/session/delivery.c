#include "session/delivery.h"

#include "base/alloc.h"
#include "run/threads.h"
#include "session/lifetime.h"
#include "session/task_wait.h"

#include <pthread.h>

struct afc__delivery {
    afc_session *session;
    afc_task *task;        /**< The delivery has a reference from on_done on. */
    afc_task_events given; /**< The caller's callbacks. */
    afc_result *result;    /**< NULL until on_done, and if the task was never started. */
    pthread_mutex_t lock;
    /* The members below are guarded by `lock`. */
    /** The executor has a call of run(). There is never a second one, so that the callbacks keep their order. */
    bool is_posted;
    bool has_progress;
    bool has_ended; /**< on_done and release are due. */
    afc_progress progress;
};

/* ---- Where the executor runs it ------------------------------------------------------------ */

static void free_delivery(afc__delivery *delivery) {
    pthread_mutex_destroy(&delivery->lock);
    afc_free(delivery);
}

static void call_release(const afc__delivery *delivery) {
    if (delivery->given.release != NULL) delivery->given.release(delivery->given.context);
}

/** Calls the last callbacks, and then completes and releases the task. */
static void end(afc__delivery *delivery) {
    afc_session *session = delivery->session;
    afc_task *task = delivery->task;
    if (delivery->given.on_done != NULL) {
        delivery->given.on_done(delivery->given.context, delivery->result);
    } else {
        afc_result_free(delivery->result);
    }
    call_release(delivery);
    free_delivery(delivery);
    afc__task_set_complete(task);
    afc__session_drop_keep_alive(session);
    /* Last: the task's reference keeps the session's memory. */
    afc_task_release(task);
}

static void run(void *argument) {
    afc__delivery *delivery = argument;
    for (;;) {
        pthread_mutex_lock(&delivery->lock);
        bool has_progress = delivery->has_progress;
        bool has_ended = delivery->has_ended;
        afc_progress progress = delivery->progress;
        delivery->has_progress = false;
        delivery->is_posted = has_progress || has_ended;
        pthread_mutex_unlock(&delivery->lock);
        if (has_progress) delivery->given.on_progress(delivery->given.context, &progress);
        if (has_ended) end(delivery);
        if (has_ended || !has_progress) return;
    }
}

/* ---- Where the task calls it --------------------------------------------------------------- */

/** Posts run() to the executor, unless it is posted. Call it with the lock, which it releases. */
static void post(afc__delivery *delivery) {
    const afc_executor *executor = &delivery->session->executor;
    bool was_posted = delivery->is_posted;
    delivery->is_posted = true;
    pthread_mutex_unlock(&delivery->lock);
    if (was_posted) return;
    /* In a forked child the threads of the parent's executor don't exist. */
    bool is_child = delivery->session->generation != afc__process_generation();
    if (is_child || !executor->post(executor->context, run, delivery)) run(delivery);
}

static void on_progress(void *context, const afc_progress *progress) {
    afc__delivery *delivery = context;
    pthread_mutex_lock(&delivery->lock);
    delivery->progress = *progress;
    delivery->has_progress = true;
    post(delivery);
}

static void on_done(void *context, afc_result *result) {
    afc__delivery *delivery = context;
    delivery->result = result;
    afc_task_retain(delivery->task);
}

static void release(void *context) {
    afc__delivery *delivery = context;
    if (delivery->result == NULL) {
        afc_session *session = delivery->session;
        call_release(delivery);
        free_delivery(delivery);
        afc__session_drop_keep_alive(session);
        return;
    }
    pthread_mutex_lock(&delivery->lock);
    delivery->has_ended = true;
    post(delivery);
}

/* ---- Callbacks that stay on the loop thread: they decide, or have no time to lose ------------ */

static afc_redirect_decision on_redirect(void *context, afc_redirect *redirect) {
    const afc_task_events *given = &((afc__delivery *)context)->given;
    return given->on_redirect(given->context, redirect);
}

static void on_informational(void *context, const afc_head *head) {
    const afc_task_events *given = &((afc__delivery *)context)->given;
    given->on_informational(given->context, head);
}

static afc_status on_head(void *context, afc_response *response) {
    const afc_task_events *given = &((afc__delivery *)context)->given;
    return given->on_head(given->context, response);
}

static afc_status on_body(void *context, afc_slice chunk) {
    const afc_task_events *given = &((afc__delivery *)context)->given;
    return given->on_body(given->context, chunk);
}

static void on_wake(void *context) {
    const afc_task_events *given = &((afc__delivery *)context)->given;
    given->on_wake(given->context);
}

static afc_challenge_decision on_challenge(void *context, const afc_challenge *challenge,
                                           afc_credentials *credentials) {
    const afc_task_events *given = &((afc__delivery *)context)->given;
    return given->on_challenge(given->context, challenge, credentials);
}

static void on_challenge_accepted(void *context, const afc_challenge *challenge) {
    const afc_task_events *given = &((afc__delivery *)context)->given;
    given->on_challenge_accepted(given->context, challenge);
}

static void on_trace(void *context, const afc_trace *trace) {
    const afc_task_events *given = &((afc__delivery *)context)->given;
    given->on_trace(given->context, trace);
}

static bool on_cache(void *context, afc_http_cache_candidate *candidate) {
    const afc_task_events *given = &((afc__delivery *)context)->given;
    return given->on_cache(given->context, candidate);
}

/* ---- Making -------------------------------------------------------------------------------- */

bool afc__delivery_is_needed(const afc_session *session, const afc_task_events *events) {
    bool has_any = events->on_progress != NULL || events->on_done != NULL ||
                   events->release != NULL;
    return session->executor.post != NULL && has_any;
}

afc_status afc__delivery_begin(afc_session *session, afc_task_events *events) {
    afc__delivery *delivery = afc__zalloc(sizeof *delivery);
    if (delivery == NULL) return AFC_ENOMEM;
    delivery->session = session;
    delivery->given = *events;
    pthread_mutex_init(&delivery->lock, NULL);
    afc__session_keep_alive(session);
    events->context = delivery;
    events->on_done = on_done;
    events->release = release;
    if (events->on_progress != NULL) events->on_progress = on_progress;
    if (events->on_redirect != NULL) events->on_redirect = on_redirect;
    if (events->on_informational != NULL) events->on_informational = on_informational;
    if (events->on_head != NULL) events->on_head = on_head;
    if (events->on_body != NULL) events->on_body = on_body;
    if (events->on_wake != NULL) events->on_wake = on_wake;
    if (events->on_challenge != NULL) events->on_challenge = on_challenge;
    if (events->on_challenge_accepted != NULL) {
        events->on_challenge_accepted = on_challenge_accepted;
    }
    if (events->on_trace != NULL) events->on_trace = on_trace;
    if (events->on_cache != NULL) events->on_cache = on_cache;
    return AFC_OK;
}

bool afc__delivery_completes(const afc_task_events *events) {
    return events->release == release;
}

void afc__delivery_set_task(const afc_task_events *events, afc_task *task) {
    if (afc__delivery_completes(events)) ((afc__delivery *)events->context)->task = task;
}

void afc__task_release_events(afc_task *task) {
    afc_task_events *events = &task->transfer.events;
    bool is_completed_here = !afc__delivery_completes(events);
    void (*call)(void *) = events->release;
    events->release = NULL;
    if (call != NULL) call(events->context);
    if (is_completed_here) afc__task_set_complete(task);
}
