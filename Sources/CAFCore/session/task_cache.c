#include "session/task_cache.h"

#include "session/lifetime.h"
#include "transfer/cookies_hsts.h"

/* The limit of a validation in the background whose request has no total limit: nothing else would end it. */
enum { VALIDATION_MS = 60 * 1000 };

/** Called on any thread when the cache can continue. Releases the reference that was taken for this call. */
static void on_cache_wake(void *context) {
    afc_task *task = context;
    afc__task_post(task, AFC__TASK_CACHED);
    afc_task_release(task);
}

/** The body of a validation isn't passed on: the cache has stored the bytes already. */
static afc_status discard_body(void *context, afc_slice chunk) {
    (void)context, (void)chunk;
    return AFC_OK;
}

/**
 * Validates a stale response that has just been used, in the background. The request's options about its connection,
 * its response and its cookies apply there, too. A redirect is stored, but not followed, so on_redirect isn't needed.
 */
static void validate_in_background(afc_task *task) {
    afc_task *made;
    const afc__transfer *transfer = &task->transfer;
    afc_request request = AFC_REQUEST_INIT;
    afc_task_events events = AFC_TASK_EVENTS_INIT;
    events.on_body = discard_body;
    request.url = transfer->request.url.text;
    request.headers = transfer->request.headers;
    request.header_count = transfer->request.header_count;
    request.sink.kind = AFC_SINK_CALLBACK;
    request.keep_encoding = transfer->coding == AFC__CODING_KEPT;
    request.ignore_cookies = transfer->ignores_cookies;
    request.cache_policy = AFC_HTTP_CACHE_REVALIDATE;
    request.flags = AFC_REQUEST_COLLAPSE;
    if (transfer->merges_cookies) request.flags |= AFC_REQUEST_MERGE_COOKIES;
    request.version = transfer->version;
    request.priority = transfer->priority;
    request.max_receive_bytes_per_s = transfer->receive_rate.per_second;
    request.timeouts = transfer->timeouts;
    request.limits = transfer->limits;
    request.limits.redirects = -1;
    if (request.timeouts.total_ms == 0) request.timeouts.total_ms = VALIDATION_MS;
    if (afc_task_new(&made, task->session, &request, &events, NULL) != AFC_OK) return;
    if (afc__transfer_set_validation_only(&made->transfer, transfer->document_host)) {
        afc_task_start(made);
    }
    afc_task_release(made);
}

afc__cache_next afc__task_ask_cache(afc_task *task) {
    afc__transfer *transfer = &task->transfer;
    /*
     * First, as https may be another entry of the queue and the cache. What HSTS learns about the host while the task
     * waits is applied when the hop begins.
     */
    if (!afc__transfer_upgrade(transfer)) return AFC__CACHE_NEXT_FAIL;
    afc__http_cache_wake wake = {on_cache_wake, task};
    afc__cache_next next = afc__transfer_ask_cache(transfer, wake);
    /* For the wake, which may even have been called already: the loop has a reference of its own. */
    if (next == AFC__CACHE_NEXT_WAIT) afc_task_retain(task);
    bool validates = next == AFC__CACHE_NEXT_REPLAY && afc__transfer_takes_validation(transfer);
    if (validates) validate_in_background(task);
    return next;
}

afc__replay afc__task_replay(afc_task *task) {
    afc__replay step = afc__transfer_replay(&task->transfer);
    if (step == AFC__REPLAY_MORE) afc__task_post(task, AFC__TASK_CACHED);
    /* For the wake, as above. */
    if (step == AFC__REPLAY_PENDING) afc_task_retain(task);
    return step;
}
