/* Tasks: their operations in every state, from every thread, and what is told in which order. */
#include "base/clock.h"
#include "session/task_internal.h"
#include "support/call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void make(call *call) {
    afc_failure failure;
    check_status(afc_task_new(&call->task, call->session, &call->request, &call->events, &failure),
                 AFC_OK);
}

static void serve_stalled(fixture *fixture, const char *path) {
    afts_script *script = afts_script_new();
    afts_respond_chunked(script, 200, NULL);
    afts_chunk(script, "first", 5);
    afts_stall(script, path);
    afts_chunk(script, "second", 6);
    afts_last_chunk(script, NULL);
    serve(fixture, path, script);
}

/* ---- Making -------------------------------------------------------------------------------- */

static void checks_requests(void **state) {
    fixture *fixture = *state;
    static const afc_header bad[] = {{{"Content-Length", 14}, {"1", 1}, 0},
                                     {{"transfer-encoding", 17}, {"chunked", 7}, 0},
                                     {{"X Y", 3}, {"1", 1}, 0},
                                     {{"", 0}, {"1", 1}, 0},
                                     {{"X", 1}, {"a\r\nY: b", 7}, 0},
                                     {{"X", 1}, {"a\nb", 3}, 0},
                                     {{"X", 1}, {"a\0b", 3}, 0},
                                     {{"X:", 2}, {"b", 1}, 0}};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        afc_request request = AFC_REQUEST_INIT;
        request.url = url_of(fixture, "/");
        request.headers = &bad[i];
        request.header_count = 1;
        afc_task *task;
        afc_failure failure;
        check_status(afc_task_begin(&task, fixture->session, &request, NULL, &failure), AFC_EINVAL);
        assert_null(task);
    }
    static const char *const urls[] = {NULL,
                                       "",
                                       "/",
                                       "127.0.0.1",
                                       "ftp://a/",
                                       "http://",
                                       "http://a/\nb",
                                       "http://[::1",
                                       "file:///etc/passwd"};
    for (size_t i = 0; i < COUNT_OF(urls); i++) {
        afc_request request = AFC_REQUEST_INIT;
        request.url = urls[i];
        afc_task *task;
        check_status(afc_task_begin(&task, fixture->session, &request, NULL, NULL), AFC_EINVAL);
    }
    static const char *const methods[] = {"", "G T", "GET\r\n", "G\xC3\x89T", "GET:", "CONNECT"};
    for (size_t i = 0; i < COUNT_OF(methods); i++) {
        afc_request request = AFC_REQUEST_INIT;
        request.url = url_of(fixture, "/");
        request.method = methods[i];
        afc_task *task;
        check_status(afc_task_begin(&task, fixture->session, &request, NULL, NULL), AFC_EINVAL);
    }
    static const int versions[] = {-1, AFC_HTTP_PREFER_3 + 1, AFC_HTTP_1_1};
    for (size_t i = 0; i < COUNT_OF(versions); i++) {
        afc_request request = AFC_REQUEST_INIT;
        request.url = url_of(fixture, "/");
        request.version = (afc_http_version_preference)versions[i];
        afc_task *task;
        afc_failure failure;
        check_status(afc_task_begin(&task, fixture->session, &request, NULL, &failure), AFC_EINVAL);
        check_contains(failure.text, "version");
    }
    assert_int_equal(afts_server_stats(fixture->server).accepted, 0);
}

static void method_is_get_by_default(void **state) {
    fixture *fixture = *state;
    call *call = call_new(fixture, "/");
    call->request.method = NULL;
    call_perform(call);
    check_ended(call, AFC_OK);
    call_free(call);
    afts_request *seen = afts_copy_request(fixture->server, 0);
    assert_string_equal(seen->method, "GET");
    afts_request_free(seen);
}

/** Whichever step of making a task would be the first to look at the fields. */
static void refuses_headers_without_bytes(void **state) {
    fixture *fixture = *state;
    static const afc_header nameless = {{NULL, 1}, {"x", 1}, 0},
                            valueless = {{"X", 1}, {NULL, 1}, 0};
    const struct {
        const afc_header *headers;
        const char *reason;
    } cases[] = {{NULL, "headers is NULL"}, {&nameless, "the name"}, {&valueless, "the value"}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        afc_request request = AFC_REQUEST_INIT;
        request.url = url_of(fixture, "/");
        request.headers = cases[i].headers;
        request.header_count = 1;
        afc_task *task;
        afc_failure failure;
        check_status(afc_task_new(&task, fixture->session, &request, NULL, &failure), AFC_EINVAL);
        check_contains(failure.text, cases[i].reason);
    }
}

static void unwanted_result_is_freed(void **state) {
    fixture *fixture = *state;
    afc_request request = AFC_REQUEST_INIT;
    request.url = url_of(fixture, "/");
    check_status(afc_perform(NULL, fixture->session, &request, NULL), AFC_OK);
    request.url = "ftp://a/";
    check_status(afc_perform(NULL, fixture->session, &request, NULL), AFC_EINVAL);
    assert_int_equal(afts_server_stats(fixture->server).requests, 1);
}

/** What a program frees in `release`, with the task that it begins. */
typedef struct owner {
    afc_task *task;
    afc_task *seen;
} owner;

static afc_task *const freed = (afc_task *)(uintptr_t)0x5a5a;

static void free_owner(void *context) {
    owner *owner = context;
    owner->seen = owner->task;
    owner->task = freed;
}

static void refused_request_sets_no_task_after_its_release(void **state) {
    fixture *fixture = *state;
    owner owner = {freed, freed};
    afc_request request = AFC_REQUEST_INIT;
    afc_task_events events = AFC_TASK_EVENTS_INIT;
    request.url = "ftp://a/";
    events.context = &owner;
    events.release = free_owner;
    check_status(afc_task_begin(&owner.task, fixture->session, &request, &events, NULL),
                 AFC_EINVAL);
    assert_null(owner.seen);
    assert_ptr_equal(owner.task, freed);
}

static void count_call(void *context) {
    ++*(int *)context;
}

/** Whatever bytes stand in a structure that wasn't made with its macro, none of them is used. */
static void refuses_structures_made_without_their_macro(void **state) {
    fixture *fixture = *state;
    afc_task *task;
    afc_failure failure;
    int releases = 0, drops = 0;
    afc_task_events events = AFC_TASK_EVENTS_INIT, odd_events;
    events.context = &drops;
    events.release = count_call;
    for (int octet = 0; octet < 256; octet++) {
        afc_request odd;
        memset(&odd, octet, sizeof odd);
        check_status(afc_task_new(&task, fixture->session, &odd, &events, &failure), AFC_EINVAL);
        assert_null(task);
        check_contains(failure.text, "AFC_REQUEST_INIT");
        assert_int_equal(drops, octet + 1);
        afc_request request = AFC_REQUEST_INIT;
        request.url = url_of(fixture, "/");
        request.body.kind = AFC_BODY_BYTES;
        request.body.release = count_call;
        request.body.context = &releases;
        memset(&odd_events, octet, sizeof odd_events);
        check_status(afc_task_begin(&task, fixture->session, &request, &odd_events, &failure),
                     AFC_EINVAL);
        assert_null(task);
        check_contains(failure.text, "AFC_TASK_EVENTS_INIT");
        assert_int_equal(releases, octet + 1);
        check_status(afc_task_new(&task, fixture->session, &odd, &odd_events, NULL), AFC_EINVAL);
    }
    check_status(afc_task_new(&task, fixture->session, NULL, &events, &failure), AFC_EINVAL);
    assert_int_equal(drops, 257);
}

static void task_needs_no_callbacks(void **state) {
    fixture *fixture = *state;
    afc_request request = AFC_REQUEST_INIT;
    request.url = url_of(fixture, "/");
    check_status(afc_task_begin(NULL, fixture->session, &request, NULL, NULL), AFC_OK);
    assert_true(afts_wait_requests(fixture->server, 1, PATIENCE_MS));
}

static void second_start_has_no_effect(void **state) {
    fixture *fixture = *state;
    call *call = call_new(fixture, "/");
    make(call);
    afc_task_start(call->task);
    afc_task_start(call->task);
    call_wait(call);
    afc_task_start(call->task);
    check_ended(call, AFC_OK);
    call_free(call);
    assert_int_equal(afts_server_stats(fixture->server).requests, 1);
}

/* ---- Cancelling ---------------------------------------------------------------------------- */

static void task_cancelled_before_its_start_never_connects(void **state) {
    fixture *fixture = *state;
    call *call = call_new(fixture, "/");
    make(call);
    afc_task_cancel(call->task);
    afc_task_cancel(call->task);
    afc_task_start(call->task);
    call_wait(call);
    check_ended(call, AFC_ECANCELED);
    assert_int_equal(call->hop_count, 0);
    assert_string_equal(afc_result_get_url(call->result), "");
    assert_string_equal(call->log, "pdx");
    call_free(call);
    assert_int_equal(afts_server_stats(fixture->server).accepted, 0);
}

static void task_cancelled_in_flight_ends_at_once(void **state) {
    fixture *fixture = *state;
    serve_stalled(fixture, "/stall");
    call *call = call_new(fixture, "/stall");
    call_start(call);
    assert_true(afts_wait_stalled(fixture->server, "/stall", 1, PATIENCE_MS));
    call_wait_for(call, &call->head_count, 1);
    afc_task_cancel(call->task);
    call_wait(call);
    check_ended(call, AFC_ECANCELED);
    assert_int_equal(status_of(call), 200);
    /* The start of the body may have been received before or not. */
    assert_int_equal(call->body.size, afc_result_get_body_size(call->result));
    call_free(call);
}

static void cancelling_finished_task_changes_nothing(void **state) {
    fixture *fixture = *state;
    call *call = call_fetch(fixture, "/");
    afc_task_cancel(call->task);
    check_fetch(fixture, "/", AFC_OK);
    check_ended(call, AFC_OK);
    call_free(call);
}

static afc_status cancel_at_head(call *call, afc_response *response) {
    (void)response;
    afc_task_cancel(call->payload);
    return AFC_OK;
}

static afc_status cancel_at_body(call *call, afc_slice chunk) {
    (void)chunk;
    afc_task_cancel(call->payload);
    return AFC_OK;
}

static void cancel_at_done(call *call) {
    afc_task_cancel(call->payload);
    afc_task_release(call->payload);
    call->task = NULL;
}

static void callbacks_can_cancel_their_task(void **state) {
    fixture *fixture = *state;
    serve_stalled(fixture, "/stall");
    for (int i = 0; i < 3; i++) {
        call *call = call_new(fixture, i < 2 ? "/stall" : "/");
        call->request.sink.kind = AFC_SINK_CALLBACK;
        if (i == 0) call->at_head = cancel_at_head;
        if (i == 1) call->at_body = cancel_at_body;
        if (i == 2) call->at_done = cancel_at_done;
        make(call);
        call->payload = call->task;
        afc_task_start(call->task);
        call_wait(call);
        check_ended(call, i < 2 ? AFC_ECANCELED : AFC_OK);
        call_free(call);
    }
}

/* ---- Waking -------------------------------------------------------------------------------- */

/** What on_wake has seen of a body. */
typedef struct wakes {
    afc_task *task;
    atomic_uint count;
    atomic_size_t seen; /**< The bytes that had been received at the last one. */
    unsigned rounds;    /**< How often it wakes its task again. */
} wakes;

static afc_status wake_at_body(call *call, afc_slice chunk) {
    (void)chunk;
    wakes *wakes = call->payload;
    afc_task_wake(wakes->task);
    return AFC_OK;
}

static void count_wake(void *context) {
    call *call = context;
    wakes *wakes = call->payload;
    if (wakes->rounds > 0) {
        wakes->rounds--;
        afc_task_wake(wakes->task);
    }
    pthread_mutex_lock(&call->lock);
    atomic_store(&wakes->seen, atomic_load(&call->taken));
    atomic_fetch_add(&wakes->count, 1);
    pthread_cond_broadcast(&call->changed);
    pthread_mutex_unlock(&call->lock);
}

static call *call_that_wakes(fixture *fixture, const char *path, wakes *wakes) {
    call *call = call_new(fixture, path);
    call->request.sink.kind = AFC_SINK_CALLBACK;
    call->events.on_wake = count_wake;
    call->at_body = wake_at_body;
    call->payload = wakes;
    make(call);
    *wakes = (struct wakes){.task = call->task};
    return call;
}

static void wakes_at_most_once_a_millisecond_for_its_callbacks(void **state) {
    fixture *fixture = *state;
    enum { ROUNDS = 20 };
    serve_stalled(fixture, "/stall");
    wakes wakes;
    call *call = call_that_wakes(fixture, "/stall", &wakes);
    wakes.rounds = ROUNDS - 1;
    int64_t begin_us = afc__now_us();
    afc_task_start(call->task);
    call_wait_for(call, &wakes.count, ROUNDS);
    int64_t taken_us = afc__now_us() - begin_us;
    assert_true(taken_us >= (ROUNDS - 1) * 1000);
    afts_release(fixture->server, "/stall", 1);
    call_wait(call);
    check_ended(call, AFC_OK);
    call_free(call);
}

static void delayed_wake_follows_when_no_more_arrives(void **state) {
    fixture *fixture = *state;
    enum { SIZE = 1 << 20 };
    static char part[SIZE];
    afts_script *script = afts_script_new();
    afts_respond_chunked(script, 200, NULL);
    afts_chunk(script, part, SIZE);
    afts_stall(script, "rest");
    afts_last_chunk(script, NULL);
    serve(fixture, "/part", script);
    wakes wakes;
    call *call = call_that_wakes(fixture, "/part", &wakes);
    afc_task_start(call->task);
    for (unsigned i = 1; atomic_load(&wakes.seen) < SIZE; i++) {
        call_wait_for(call, &wakes.count, i);
    }
    afts_release(fixture->server, "rest", 1);
    call_wait(call);
    check_ended(call, AFC_OK);
    call_free(call);
}

/* ---- Suspending ---------------------------------------------------------------------------- */

static void task_suspended_before_its_start_waits(void **state) {
    fixture *fixture = *state;
    call *call = call_new(fixture, "/");
    make(call);
    afc_task_suspend(call->task);
    afc_task_suspend(call->task);
    afc_task_start(call->task);
    afc_task_wake(call->task);
    check_fetch(fixture, "/other", AFC_OK);
    assert_int_equal(afts_server_stats(fixture->server).requests, 1);
    afc_task_resume(call->task); /* Suspends don't add up. */
    call_wait(call);
    check_ended(call, AFC_OK);
    call_free(call);
}

static void suspended_task_can_be_cancelled(void **state) {
    fixture *fixture = *state;
    serve_stalled(fixture, "/stall");
    for (int is_started = 0; is_started <= 1; is_started++) {
        call *call = call_new(fixture, "/stall");
        make(call);
        if (!is_started) afc_task_suspend(call->task);
        afc_task_start(call->task);
        if (is_started) {
            call_wait_for(call, &call->head_count, 1);
            afc_task_suspend(call->task);
        }
        afc_task_cancel(call->task);
        call_wait(call);
        check_ended(call, AFC_ECANCELED);
        call_free(call);
    }
}

static void suspending_loses_no_byte(void **state) {
    fixture *fixture = *state;
    enum { LINES = 40000, SIZE = 16 };
    char *lines = malloc(LINES * SIZE + 1);
    assert_non_null(lines);
    for (unsigned i = 0; i < LINES; i++) {
        snprintf(lines + (size_t)i * SIZE, SIZE + 1, "line %9u\r\n", i);
    }
    afts_script *script = afts_script_new();
    afts_respond(script, 200, NULL, lines, LINES * SIZE);
    serve(fixture, "/lines", script);
    for (afc_sink_kind kind = AFC_SINK_MEMORY; kind <= AFC_SINK_CALLBACK; kind += 2) {
        call *call = call_new(fixture, "/lines");
        call->request.sink.kind = kind;
        call->keeps_body = kind == AFC_SINK_CALLBACK;
        call_start(call);
        for (int i = 0; i < 200; i++) {
            afc_task_suspend(call->task);
            if (i % 3 == 0) afc_task_wake(call->task);
            if (i % 20 == 0) check_fetch(fixture, "/other", AFC_OK);
            afc_task_resume(call->task);
        }
        call_wait(call);
        check_ended(call, AFC_OK);
        assert_int_equal(call->body.size, LINES * SIZE);
        assert_memory_equal(call->body.bytes, lines, LINES * SIZE);
        call_free(call);
    }
    free(lines);
}

static void upload_can_be_suspended(void **state) {
    fixture *fixture = *state;
    static char body[4 << 20];
    for (size_t i = 0; i < sizeof body; i++) body[i] = (char)(i * 31 + i / 997);
    call *call = call_new(fixture, "/");
    call_send(call, "PUT", (afc_slice){body, sizeof body});
    call_start(call);
    for (int i = 0; i < 100; i++) {
        afc_task_suspend(call->task);
        if (i % 20 == 0) check_fetch(fixture, "/other", AFC_OK);
        afc_task_resume(call->task);
    }
    call_wait(call);
    check_ended(call, AFC_OK);
    assert_int_equal(call->hops[0].sent, sizeof body);
    call_free(call);
}

/* ---- Callbacks that start tasks ------------------------------------------------------------ */

static void start_next(call *call) {
    call_start(call->payload);
}

static void callback_can_start_the_next_task(void **state) {
    fixture *fixture = *state;
    call *first = call_new(fixture, "/first"), *second = call_new(fixture, "/second");
    first->payload = second;
    first->at_done = start_next;
    call_start(first);
    call_wait(first);
    call_wait(second);
    check_ended(second, AFC_OK);
    call_free(first);
    call_free(second);
    assert_int_equal(afts_server_stats(fixture->server).accepted, 1);
}

/* ---- Progress ------------------------------------------------------------------------------ */

static void progress_is_merged_and_the_last_is_reported(void **state) {
    fixture *fixture = *state;
    static const char block[65536];
    afts_script *script = afts_script_new();
    afts_respond_repeated(script, 200, NULL, block, sizeof block, 64);
    serve(fixture, "/", script);
    call *call = call_new(fixture, "/");
    call_send(call, "POST", S("12345"));
    call->request.sink.kind = AFC_SINK_CALLBACK;
    call->request.progress_ms = UINT32_MAX;
    call_perform(call);
    check_ended(call, AFC_OK);
    assert_int_equal(call->progress.sent, 5);
    assert_int_equal(call->progress.sent_total, 5);
    assert_int_equal(call->progress.received, 64 * sizeof block);
    assert_int_equal(call->progress.received_total, 64 * sizeof block);
    size_t told = 0;
    for (const char *at = call->log; *at != '\0'; at++) told += *at == 'p';
    assert_true(told <= 2);
    assert_non_null(strstr(call->log, "pdx"));
    call_free(call);
}

static afc_status note_sent(call *call, afc_response *response) {
    (void)response;
    *(int64_t *)call->payload = call->progress.sent;
    return AFC_OK;
}

/** libcurl sends it with the head, and asks for no pieces. */
static void small_body_is_reported_as_sent_before_the_head(void **state) {
    fixture *fixture = *state;
    static char bytes[64 * 1024];
    static const size_t sizes[] = {1, sizeof bytes};
    serve(fixture, "/", answer(200, NULL, "hello"));
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        int64_t sent = -1;
        call *call = call_new(fixture, "/");
        call_send(call, "POST", (afc_slice){bytes, sizes[i]});
        call->at_head = note_sent;
        call->payload = &sent;
        make(call);
        /* Every report is made. */
        call->task->transfer.progress_interval_us = 0;
        afc_task_start(call->task);
        call_wait(call);
        check_ended(call, AFC_OK);
        assert_int_equal(sent, sizes[i]);
        call_free(call);
    }
}

static void total_is_unknown_without_a_length(void **state) {
    fixture *fixture = *state;
    afts_script *script = afts_script_new();
    afts_respond_chunked(script, 200, NULL);
    afts_chunk(script, "123", 3);
    afts_last_chunk(script, NULL);
    serve(fixture, "/", script);
    call *call = call_fetch(fixture, "/");
    check_ended(call, AFC_OK);
    assert_int_equal(call->progress.received, 3);
    assert_int_equal(call->progress.received_total, AFC_LENGTH_UNKNOWN);
    call_free(call);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(checks_requests),
        FIXTURE_TEST(refuses_structures_made_without_their_macro),
        FIXTURE_TEST(method_is_get_by_default),
        FIXTURE_TEST(refuses_headers_without_bytes),
        FIXTURE_TEST(unwanted_result_is_freed),
        FIXTURE_TEST(refused_request_sets_no_task_after_its_release),
        FIXTURE_TEST(task_needs_no_callbacks),
        FIXTURE_TEST(second_start_has_no_effect),
        FIXTURE_TEST(task_cancelled_before_its_start_never_connects),
        FIXTURE_TEST(task_cancelled_in_flight_ends_at_once),
        FIXTURE_TEST(cancelling_finished_task_changes_nothing),
        FIXTURE_TEST(callbacks_can_cancel_their_task),
        FIXTURE_TEST(wakes_at_most_once_a_millisecond_for_its_callbacks),
        FIXTURE_TEST(delayed_wake_follows_when_no_more_arrives),
        FIXTURE_TEST(task_suspended_before_its_start_waits),
        FIXTURE_TEST(suspended_task_can_be_cancelled),
        FIXTURE_TEST(suspending_loses_no_byte),
        FIXTURE_TEST(upload_can_be_suspended),
        FIXTURE_TEST(callback_can_start_the_next_task),
        FIXTURE_TEST(progress_is_merged_and_the_last_is_reported),
        FIXTURE_TEST(small_body_is_reported_as_sent_before_the_head),
        FIXTURE_TEST(total_is_unknown_without_a_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
