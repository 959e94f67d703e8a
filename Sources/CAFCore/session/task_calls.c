/* Functions of tasks for any thread: they make, start, suspend and cancel tasks. */
#include "session/task_calls.h"

#include "base/failure.h"
#include "base/sized.h"
#include "body/sink_write.h"
#include "run/threads.h"
#include "session/delivery.h"
#include "session/lifetime.h"
#include "transfer/auth.h"

#include <stddef.h>
#include <string.h>

static bool run_job(afc__job *job) {
    afc_task *task = AFC__OWNER(job, afc_task, job);
    if (afc__sink_do(&task->transfer.sink)) return true;
    afc__task_post(task, AFC__TASK_WORKED);
    return false;
}

/**
 * The structs of a caller whose headers may have another version, as read. A pointer is NULL if its struct wasn't
 * initialised by its macro: then no member is used.
 */
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

/** Makes the callbacks of `given` run on the session's executor, if there is one. Fails with AFC_ENOMEM. */
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
    afc_task *task = status == AFC_OK ? afc__task_alloc() : NULL;
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
        if (status == AFC_OK) {
            status = afc__driver_check_route(session->driver, &task->transfer, failure);
        }
        if (status != AFC_OK) afc__transfer_clear(&task->transfer);
    }
    if (status != AFC_OK) {
        afc__task_recycle(task);
        if (given.events->release != NULL) given.events->release(given.events->context);
        return status;
    }
    atomic_init(&task->references, 1);
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
    /* Marks the thread as a loop's, so that a callback can't wait for its own task or thread: it would never return. */
    const afc__loop *before = afc__loop_enter_callbacks();
    afc__transfer_finish(&task->transfer);
    afc__task_release_events(task);
    afc__loop_leave_callbacks(before);
    afc_task_release(task);
}

static void run_closed(void *context) {
    afc__thread_will_end();
    complete_in_child(context);
}

/** Starts a task that wasn't started yet. The loop gets a reference until the task leaves it. */
static void start(afc_task *task) {
    afc_session *session = task->session;
    if (session->generation != afc__process_generation()) {
        atomic_store(&task->completes_in_child, true);
        /* A forked child has no loop thread: the task completes on a new thread, or else on this one. */
        if (afc__thread_start("af-closed", run_closed, task, NULL) != 0) complete_in_child(task);
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
    /* Before the call: on failure it calls release, and `out` may lie in what that frees. */
    if (out != NULL) *out = NULL;
    afc_status status = afc_task_new(&task, session, request, events, failure);
    if (status != AFC_OK) return status;
    if (out != NULL) *out = afc_task_retain(task);
    atomic_store_explicit(&task->was_started, true, memory_order_relaxed);
    start(task);
    return AFC_OK;
}

/** Posts an operation unless the task wasn't started: afc_task_start() considers earlier calls. */
static void post_if_started(afc_task *task, unsigned what) {
    if (atomic_load(&task->was_started)) afc__task_post(task, what);
}

void afc_task_suspend(afc_task *task) {
    afc__transfer_suspend(&task->transfer);
}

void afc_task_resume(afc_task *task) {
    if (afc__transfer_resume(&task->transfer)) post_if_started(task, AFC__TASK_CHECK);
}

void afc_task_cancel(afc_task *task) {
    if (!atomic_exchange(&task->transfer.is_cancelled, true))
        post_if_started(task, AFC__TASK_CHECK);
}

void afc_task_wake(afc_task *task) {
    bool is_in_callback = afc__loop_is_current(&task->session->loop);
    post_if_started(task, is_in_callback ? AFC__TASK_WAKE_SOON : AFC__TASK_WAKE);
}

void afc__task_wake_sending(afc_task *task) {
    post_if_started(task, AFC__TASK_SEND);
}
