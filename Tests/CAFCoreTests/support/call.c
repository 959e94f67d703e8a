#include "support/call.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- Callbacks ----------------------------------------------------------------------------- */

static void note(call *call, char what) {
    size_t size = strlen(call->log);
    bool repeats = size > 0 && call->log[size - 1] == what && (what == 'b' || what == 'p');
    if (!repeats && size + 1 < sizeof call->log) call->log[size] = what;
}

static void count(call *call, atomic_uint *counter) {
    pthread_mutex_lock(&call->lock);
    atomic_fetch_add(counter, 1);
    pthread_cond_broadcast(&call->changed);
    pthread_mutex_unlock(&call->lock);
}

static afc_redirect_decision on_redirect(void *context, afc_redirect *redirect) {
    call *call = context;
    note(call, 'r');
    afc_redirect_decision answer = AFC_REDIRECT_FOLLOW;
    if (call->at_redirect != NULL) answer = call->at_redirect(call, redirect);
    count(call, &call->redirect_count);
    return answer;
}

static void on_informational(void *context, const afc_head *head) {
    call *call = context;
    note(call, 'i');
    unsigned index = atomic_load(&call->informational_count);
    if (index < COUNT_OF(call->informational)) call->informational[index] = head->status;
    count(call, &call->informational_count);
}

static afc_status on_head(void *context, afc_response *response) {
    call *call = context;
    note(call, 'h');
    call->head_use = afc_response_get_cache_use(response);
    afc_status status = call->at_head != NULL ? call->at_head(call, response) : AFC_OK;
    count(call, &call->head_count);
    return status;
}

static void collect(call *call, afc_slice chunk) {
    char *more = realloc(call->collected, call->collected_size + chunk.size);
    if (more == NULL) return;
    memcpy(more + call->collected_size, chunk.bytes, chunk.size);
    call->collected = more;
    call->collected_size += chunk.size;
}

static afc_status on_body(void *context, afc_slice chunk) {
    call *call = context;
    note(call, 'b');
    afc_status status = call->at_body != NULL ? call->at_body(call, chunk) : AFC_OK;
    if (status == AFC_OK) {
        if (call->keeps_body) collect(call, chunk);
        atomic_fetch_add(&call->taken, chunk.size);
    }
    count(call, status == AFC_OK ? &call->body_count : &call->refused_count);
    return status;
}

static void on_progress(void *context, const afc_progress *progress) {
    call *call = context;
    note(call, 'p');
    call->progress = *progress;
}

static void on_done(void *context, afc_result *result) {
    call *call = context;
    note(call, 'd');
    call->result = result;
    call->failure = *afc_result_get_failure(result);
    call->head = afc_result_get_head(result);
    call->hops = afc_result_get_hops(result, &call->hop_count);
    call->body = afc_result_get_body(result);
    if (call->at_done != NULL) call->at_done(call);
    count(call, &call->done_count);
}

static void on_release(void *context) {
    call *call = context;
    note(call, 'x');
    count(call, &call->release_count);
}

/* ---- Making and waiting -------------------------------------------------------------------- */

call *call_new(fixture *fixture, const char *path) {
    call *new = calloc(1, sizeof *new);
    assert_non_null(new);
    pthread_mutex_init(&new->lock, NULL);
    pthread_cond_init(&new->changed, NULL);
    new->session = fixture->session;
    new->request = (afc_request)AFC_REQUEST_INIT;
    new->request.url = url_of(fixture, path);
    /* A limit that a test doesn't set is not what it tests, however slow the machine is. */
    new->request.timeouts.connect_ms = new->request.timeouts.idle_ms = PATIENCE_MS;
    new->events = (afc_task_events)AFC_TASK_EVENTS_INIT;
    new->events.context = new;
    new->events.on_redirect = on_redirect;
    new->events.on_informational = on_informational;
    new->events.on_head = on_head;
    new->events.on_body = on_body;
    new->events.on_progress = on_progress;
    new->events.on_done = on_done;
    new->events.release = on_release;
    return new;
}

void call_start(call *call) {
    afc_failure failure;
    afc_status status = afc_task_begin(&call->task, call->session, &call->request, &call->events,
                                       &failure);
    if (status != AFC_OK) print_error("%s\n", failure.text);
    check_status(status, AFC_OK);
}

bool call_wait_or_end(call *call, atomic_uint *counter, unsigned count) {
    struct timespec deadline;
    clock_gettime(CLOCK_REALTIME, &deadline);
    deadline.tv_sec += PATIENCE_MS / 1000;
    int error = 0;
    pthread_mutex_lock(&call->lock);
    while (atomic_load(counter) < count && atomic_load(&call->release_count) == 0 && error == 0) {
        error = pthread_cond_timedwait(&call->changed, &call->lock, &deadline);
    }
    pthread_mutex_unlock(&call->lock);
    if (error != 0) print_error("still waiting after events \"%s\"\n", call->log);
    assert_int_equal(error, 0);
    return atomic_load(counter) >= count;
}

void call_wait_for(call *call, atomic_uint *counter, unsigned count) {
    if (call_wait_or_end(call, counter, count)) return;
    print_error("ended after events \"%s\"; %s\n", call->log, call->failure.text);
    fail();
}

void call_wait(call *call) {
    call_wait_for(call, &call->release_count, 1);
    if (call->keeps_body) call->body = (afc_slice){call->collected, call->collected_size};
}

void call_perform(call *call) {
    call_start(call);
    call_wait(call);
}

call *call_fetch(fixture *fixture, const char *path) {
    call *new = call_new(fixture, path);
    call_perform(new);
    return new;
}

void call_free(call *call) {
    afc_task_release(call->task);
    assert_int_equal(atomic_load(&call->release_count), 1);
    assert_true(atomic_load(&call->done_count) <= 1);
    afc_result_free(call->result);
    free(call->collected);
    pthread_cond_destroy(&call->changed);
    pthread_mutex_destroy(&call->lock);
    free(call);
}

void call_send(call *call, const char *method, afc_slice body) {
    call->request.method = method;
    call->request.body = (afc_body){.kind = AFC_BODY_BYTES, .bytes = body};
}

/* ---- Checks -------------------------------------------------------------------------------- */

void check_ended_at(const call *call, afc_status expected, const char *file, int line) {
    if (call->failure.status != expected) print_error("failure: %s\n", call->failure.text);
    if (atomic_load(&call->done_count) != 1) print_error("events were \"%s\"\n", call->log);
    check_status_at(call->failure.status, expected, file, line);
    _assert_int_equal(atomic_load(&call->done_count), 1, file, line);
}

void check_fetch_at(fixture *fixture, const char *path, afc_status expected, const char *file,
                    int line) {
    call *call = call_fetch(fixture, path);
    check_ended_at(call, expected, file, line);
    call_free(call);
}

call *call_fetch_url_at(fixture *fixture, const char *url, afc_status expected, const char *file,
                        int line) {
    call *call = call_new(fixture, "/");
    const afc_header header = {S_INIT("Authorization"), S_INIT("Bearer token"), 0};
    call->request.url = url;
    call->request.headers = &header;
    call->request.header_count = 1;
    call_perform(call);
    check_ended_at(call, expected, file, line);
    return call;
}

int status_of(const call *call) {
    return call->head != NULL ? call->head->status : 0;
}

afc_slice field_of(const call *call, const char *name) {
    const afc_header *field = call->head != NULL ? afc_head_find(call->head, name) : NULL;
    return field != NULL ? field->value : (afc_slice){NULL, 0};
}

afc_status call_hold(call *call, afc_slice chunk) {
    (void)call, (void)chunk;
    return AFC_EAGAIN;
}

afc_status call_take_one(call *call, afc_slice chunk) {
    (void)chunk;
    atomic_uint *permits = call->payload;
    if (atomic_load(permits) == 0) return AFC_EAGAIN;
    atomic_fetch_sub(permits, 1);
    return AFC_OK;
}

void call_perform_with_refusals(call *call) {
    atomic_uint permits = 0;
    call->request.sink.kind = AFC_SINK_CALLBACK;
    call->keeps_body = true;
    call->at_body = call_take_one;
    call->payload = &permits;
    call_start(call);
    for (unsigned i = 1; call_wait_or_end(call, &call->refused_count, i); i++) {
        atomic_fetch_add(&permits, 1);
        afc_task_wake(call->task);
    }
    call_wait(call);
}

size_t call_perform_failing(call *call, size_t n, afc_status *status) {
    afc__alloc_fail_at(n);
    *status = afc_task_begin(&call->task, call->session, &call->request, &call->events, NULL);
    if (*status == AFC_OK) {
        call_wait(call);
        *status = call->failure.status;
    }
    size_t made = afc__alloc_fail_at(0);
    if (*status != AFC_OK && *status != AFC_ENOMEM) print_error("%s\n", call->failure.text);
    assert_true(*status == AFC_OK || *status == AFC_ENOMEM);
    return made;
}
