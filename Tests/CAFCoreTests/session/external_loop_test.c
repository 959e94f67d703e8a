/* Sessions without a thread, which the program drives. */
#include "base/clock.h"
#include "curl/allocator.h"
#include "curl/driver_internal.h"
#include "session/task_internal.h"
#include "session/task_limits.h"
#include "support/call.h"
#include "support/child.h"
#include "support/files.h"
#include "support/recorded_socket.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int closed_count;

static void on_closed(void *context) {
    (void)context;
    closed_count++;
}

static afc_session_options external(void) {
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    options.loop = AFC_LOOP_EXTERNAL;
    options.on_closed = on_closed;
    return options;
}

static int setup(void **state) {
    afc_session_options options = external();
    closed_count = 0;
    *state = fixture_new(NULL, &options);
    return 0;
}

/** One round of a program's loop: waits as long as it may, and dispatches. */
static afc_status turn(afc_session *session) {
    struct pollfd polled = {.fd = afc_session_get_fd(session), .events = POLLIN};
    int timeout = afc_session_get_timeout_ms(session);
    assert_true(polled.fd >= 0);
    assert_true(timeout >= -1);
    int limit = timeout < 0 || timeout > PATIENCE_MS ? PATIENCE_MS : timeout;
    int count = poll(&polled, 1, limit);
    /* Nothing happens in all this time: a wake-up was lost. */
    assert_true(count > 0 || limit < PATIENCE_MS);
    return afc_session_dispatch(session);
}

static void close_session(fixture *fixture) {
    afc_session *session = fixture->session;
    fixture->session = NULL;
    afc_session_release(session);
    while (turn(session) == AFC_OK) {}
    assert_int_equal(closed_count, 1);
}

static int teardown(void **state) {
    fixture *fixture = *state;
    if (fixture->session != NULL) {
        afc_session_cancel_all(fixture->session);
        close_session(fixture);
    }
    fixture_free(fixture);
    return 0;
}

#define EXTERNAL_TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

static void drive(call *call) {
    while (atomic_load(&call->release_count) == 0) {
        check_status(turn(call->session), AFC_OK);
    }
}

static call *fetch(fixture *fixture, const char *path) {
    call *call = call_new(fixture, path);
    call_start(call);
    drive(call);
    return call;
}

/* ---- Requests ------------------------------------------------------------------------------ */

static void fetches_and_reuses_connection(void **state) {
    fixture *fixture = *state;
    serve(fixture, "/", answer(200, NULL, "hello"));
    for (int i = 0; i < 3; i++) {
        call *call = fetch(fixture, "/");
        check_ended(call, AFC_OK);
        assert_int_equal(call->body.size, 5);
        assert_int_equal(call->hops[0].is_reused, i > 0);
        call_free(call);
    }
}

static void runs_all_callbacks_in_the_dispatching_thread(void **state) {
    fixture *fixture = *state;
    serve(fixture, "/", answer(302, "Location: /next\r\n", ""));
    serve(fixture, "/next", answer(200, NULL, "hello"));
    call *call = call_new(fixture, "/");
    call->request.sink.kind = AFC_SINK_CALLBACK;
    call_start(call);
    /* Nothing runs by itself. */
    assert_string_equal(call->log, "");
    drive(call);
    check_ended(call, AFC_OK);
    assert_string_equal(call->log, "rhbpdx");
    call_free(call);
}

static void count_wake(void *context) {
    ++*(int *)((call *)context)->payload;
}

static void wake_right_after_the_start_is_reported(void **state) {
    fixture *fixture = *state;
    int wakes = 0;
    serve(fixture, "/", answer(200, NULL, "hello"));
    call *call = call_new(fixture, "/");
    call->payload = &wakes;
    call->events.on_wake = count_wake;
    call_start(call);
    afc_task_wake(call->task);
    drive(call);
    check_ended(call, AFC_OK);
    assert_int_equal(wakes, 1);
    call_free(call);
}

static void fetches_over_tls(void **state) {
    (void)state;
    afc_session_options options = external();
    closed_count = 0;
    fixture *fixture = fixture_new_alpn(NULL, &options);
    serve(fixture, "/", answer(200, NULL, "hello"));
    call *call = call_new(fixture, "/");
    call->request.url = tls_url(fixture);
    call_start(call);
    drive(call);
    check_ended(call, AFC_OK);
    call_free(call);
    close_session(fixture);
    fixture_free(fixture);
}

static void runs_many_tasks_at_once(void **state) {
    fixture *fixture = *state;
    enum { TASKS = 200 };
    serve(fixture, "/", answer(200, NULL, "hello"));
    call *calls[TASKS];
    for (int i = 0; i < TASKS; i++) {
        calls[i] = call_new(fixture, "/");
        call_start(calls[i]);
    }
    for (int i = 0; i < TASKS; i++) {
        drive(calls[i]);
        check_ended(calls[i], AFC_OK);
        call_free(calls[i]);
    }
}

static void writes_a_large_file_with_the_writer(void **state) {
    fixture *fixture = *state;
    enum { SIZE = 3 << 20 };
    folder folder;
    char *body = calloc(1, SIZE);
    assert_non_null(body);
    folder_make(&folder);
    afts_script *script = afts_script_new();
    afts_respond(script, 200, NULL, body, SIZE);
    serve(fixture, "/", script);
    call *call = call_new(fixture, "/");
    call->request.sink.kind = AFC_SINK_FILE;
    call->request.sink.path = path_in(&folder, "file");
    call->request.sink.flags = AFC_FILE_SYNC;
    call_start(call);
    drive(call);
    check_ended(call, AFC_OK);
    assert_int_equal(afc_result_get_download(call->result)->size, SIZE);
    call_free(call);
    folder_remove(&folder);
    free(body);
}

/** A round of the loop for each event of a socket, until it has ended. */
static void echoes_over_a_websocket(void **state) {
    fixture *fixture = *state;
    serve_echo(fixture, "/", NULL);
    recorded_socket *socket = socket_new(fixture, "/");
    socket_open(socket, fixture);
    socket_send_text(socket, "hello");
    while (atomic_load(&socket->message_count) == 0) check_status(turn(fixture->session), AFC_OK);
    socket_close(socket);
    while (atomic_load(&socket->release_count) == 0) check_status(turn(fixture->session), AFC_OK);
    check_log(socket, "open;sent ok;text hello;closed 1000;");
    socket_free(socket);
}

/* ---- Waiting ------------------------------------------------------------------------------- */

static void waits_without_a_limit_when_idle(void **state) {
    fixture *fixture = *state;
    check_status(afc_session_dispatch(fixture->session), AFC_OK);
    assert_int_equal(afc_session_get_timeout_ms(fixture->session), -1);
    struct pollfd polled = {.fd = afc_session_get_fd(fixture->session), .events = POLLIN};
    assert_int_equal(poll(&polled, 1, 0), 0);
}

static void ends_a_task_at_its_time_limit(void **state) {
    fixture *fixture = *state;
    afts_script *script = afts_script_new();
    afts_stall(script, "never");
    serve(fixture, "/", script);
    call *call = call_new(fixture, "/");
    call->request.timeouts.total_ms = 50;
    call_start(call);
    drive(call);
    check_ended(call, AFC_ETIMEOUT);
    call_free(call);
}

static void time_without_a_dispatch_is_not_idle(void **state) {
    fixture *fixture = *state;
    afts_script *script = afts_script_new();
    afts_send_text(script, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n1");
    afts_stall(script, "half");
    afts_send_text(script, "2");
    serve(fixture, "/", script);
    call *call = call_new(fixture, "/");
    call->request.timeouts.idle_ms = 2000;
    call_start(call);
    while (atomic_load(&call->head_count) == 0) check_status(turn(fixture->session), AFC_OK);
    int64_t end = afc__now_us() + 3000000;
    while (afc__now_us() < end) sched_yield();
    check_status(afc_session_dispatch(fixture->session), AFC_OK);
    assert_int_equal(atomic_load(&call->done_count), 0);
    afts_release(fixture->server, "half", 1);
    drive(call);
    check_ended(call, AFC_OK);
    call_free(call);
}

/** The time of the limit passes while the loop hasn't noticed yet that the task is resumed. */
static void resumed_task_is_not_idle_before_the_loop_notices(void **state) {
    fixture *fixture = *state;
    afts_script *script = afts_script_new();
    afts_stall(script, "late");
    serve(fixture, "/", script);
    call *call = call_new(fixture, "/");
    call->request.timeouts = (afc_timeouts){.idle_ms = 1000};
    call_start(call);
    while (call->task->state != AFC__STATE_CONNECTED) check_status(turn(fixture->session), AFC_OK);
    int64_t late_us = afc__now_us() + 3600 * INT64_C(1000000);
    afc_failure failure;
    assert_int_equal(afc__task_due(call->task, late_us, &failure), AFC__DUE_HOP_END);
    afc_task_suspend(call->task);
    assert_int_equal(afc__task_due(call->task, late_us, &failure), AFC__DUE_NOTHING);
    afc_task_resume(call->task);
    assert_int_equal(afc__task_due(call->task, late_us, &failure), AFC__DUE_NOTHING);
    check_status(afc_session_dispatch(fixture->session), AFC_OK);
    assert_int_equal(afc__task_due(call->task, late_us, &failure), AFC__DUE_HOP_END);
    afc_task_cancel(call->task);
    drive(call);
    check_ended(call, AFC_ECANCELED);
    call_free(call);
}

static void *start_call(void *context) {
    call_start(context);
    return NULL;
}

static void wakes_for_posts_of_other_threads(void **state) {
    fixture *fixture = *state;
    serve(fixture, "/", answer(200, NULL, "hello"));
    for (int i = 0; i < 50; i++) {
        call *call = call_new(fixture, "/");
        pthread_t thread;
        /* The loop waits already, or not yet. */
        assert_int_equal(pthread_create(&thread, NULL, start_call, call), 0);
        drive(call);
        pthread_join(thread, NULL);
        check_ended(call, AFC_OK);
        call_free(call);
    }
}

static afc_status start_another(call *call, afc_response *response) {
    (void)response;
    afc_task_start(((struct call *)call->payload)->task);
    return AFC_OK;
}

static void starts_tasks_inside_callbacks(void **state) {
    fixture *fixture = *state;
    serve(fixture, "/", answer(200, NULL, "hello"));
    call *first = call_new(fixture, "/"), *second = call_new(fixture, "/");
    check_status(
        afc_task_new(&second->task, fixture->session, &second->request, &second->events, NULL),
        AFC_OK);
    first->payload = second;
    first->at_head = start_another;
    call_start(first);
    drive(first);
    drive(second);
    check_ended(second, AFC_OK);
    call_free(first);
    call_free(second);
}

/** The thread's own use of libcurl must not touch what the session keeps: another thread may dispatch it then. */
static void keeps_nothing_of_libcurl_outside_of_dispatch(void **state) {
    fixture *fixture = *state;
    serve(fixture, "/", answer(200, NULL, "hello"));
    call_free(fetch(fixture, "/"));
    const afc__memory *memory = fixture->session->driver->memory;
    size_t kept = afc__memory_kept(memory);
    CURL *easy = curl_easy_init();
    assert_non_null(easy);
    assert_int_equal(afc__memory_kept(memory), kept);
    curl_easy_cleanup(easy);
    assert_int_equal(afc__memory_kept(memory), kept);
}

typedef struct inner_loop {
    afc_session *session;
    call *call;
} inner_loop;

static afc_status run_inner_loop(call *call, afc_response *response) {
    inner_loop *inner = call->payload;
    (void)response;
    while (atomic_load(&inner->call->release_count) == 0)
        (void)afc_session_dispatch(inner->session);
    return AFC_OK;
}

static void is_dispatched_inside_a_callback_of_another_session(void **state) {
    fixture *fixture = *state;
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    afc_session *threaded;
    serve(fixture, "/", answer(200, NULL, "hello"));
    check_status(afc_session_new(&threaded, &options, NULL), AFC_OK);
    call *outer = call_new(fixture, "/"), *call = call_new(fixture, "/");
    inner_loop inner = {fixture->session, call};
    call_start(call);
    outer->session = threaded;
    outer->at_head = run_inner_loop;
    outer->payload = &inner;
    call_start(outer);
    call_wait(outer);
    check_ended(outer, AFC_OK);
    check_ended(call, AFC_OK);
    call_free(call);
    /* What the other session's thread keeps isn't this session's. */
    close_session(fixture);
    call_free(outer);
    afc_session_release(threaded);
    afc_join_closed_sessions();
}

/* ---- Closing ------------------------------------------------------------------------------- */

static void completes_tasks_before_it_closes(void **state) {
    fixture *fixture = *state;
    serve(fixture, "/", answer(200, NULL, "hello"));
    call *call = call_new(fixture, "/");
    call_start(call);
    close_session(fixture);
    check_ended(call, AFC_OK);
    call_free(call);
}

static void joining_does_not_wait_for_it(void **state) {
    fixture *fixture = *state;
    afc_session *session = fixture->session;
    fixture->session = NULL;
    afc_session_release(session);
    afc_join_closed_sessions();
    while (turn(session) == AFC_OK) {}
    assert_int_equal(closed_count, 1);
}

/* ---- Misuse -------------------------------------------------------------------------------- */

static void refuses_sessions_with_a_thread(void **state) {
    fixture *fixture = *state;
    assert_int_equal(afc_session_get_fd(fixture->session), -1);
    assert_int_equal(afc_session_get_timeout_ms(fixture->session), -1);
    check_status(afc_session_dispatch(fixture->session), AFC_EINVAL);
}

static afc_status dispatch_inside(call *call, afc_response *response) {
    (void)response;
    *(afc_status *)call->payload = afc_session_dispatch(call->session);
    return AFC_OK;
}

static void refuses_to_dispatch_inside_its_callbacks(void **state) {
    fixture *fixture = *state;
    afc_status status = AFC_OK;
    serve(fixture, "/", answer(200, NULL, "hello"));
    call *call = call_new(fixture, "/");
    call->at_head = dispatch_inside;
    call->payload = &status;
    call_start(call);
    drive(call);
    check_status(status, AFC_EINVAL);
    call_free(call);
}

typedef struct last_calls {
    afc_session *session;
    afc_status dispatched;
    uint64_t connections;
} last_calls;

static void call_at_the_end(void *context) {
    last_calls *last = context;
    afc_session_statistics statistics;
    last->dispatched = afc_session_dispatch(last->session);
    afc_session_get_statistics(last->session, &statistics);
    last->connections = statistics.connections;
    afc_join_closed_sessions();
}

static void refuses_to_dispatch_inside_its_last_callback(void **state) {
    (void)state;
    last_calls last = {.dispatched = AFC_OK, .connections = 1};
    afc_session_options options = external();
    options.on_closed = call_at_the_end;
    options.context = &last;
    check_status(afc_session_new(&last.session, &options, NULL), AFC_OK);
    afc_session_release(last.session);
    afc_status status = AFC_OK;
    while (status == AFC_OK) status = afc_session_dispatch(last.session);
    check_status(status, AFC_ECLOSED);
    check_status(last.dispatched, AFC_EINVAL);
    assert_int_equal(last.connections, 0);
}

typedef struct succession {
    afc_session *session, *next;
    int descriptor;
    bool was_open;
} succession;

static void open_next(void *context) {
    succession *succession = context;
    afc_session_options options = external();
    succession->descriptor = afc_session_get_fd(succession->session);
    succession->was_open = fcntl(succession->descriptor, F_GETFD) >= 0;
    (void)afc_session_new(&succession->next, &options, NULL);
}

/** A loop that still waits for the old descriptor would take the next one for it. */
static void session_made_in_on_closed_has_another_descriptor(void **state) {
    (void)state;
    succession succession = {0};
    afc_session_options options = external();
    options.on_closed = open_next;
    options.context = &succession;
    closed_count = 0;
    check_status(afc_session_new(&succession.session, &options, NULL), AFC_OK);
    int descriptor = afc_session_get_fd(succession.session);
    afc_session_release(succession.session);
    while (turn(succession.session) == AFC_OK) {}
    assert_int_equal(succession.descriptor, descriptor);
    assert_true(succession.was_open);
    assert_int_equal(fcntl(descriptor, F_GETFD), -1);
    assert_non_null(succession.next);
    assert_int_not_equal(afc_session_get_fd(succession.next), descriptor);
    afc_session_release(succession.next);
    while (turn(succession.next) == AFC_OK) {}
    assert_int_equal(closed_count, 1);
}

static void refuses_to_wait(void **state) {
    fixture *fixture = *state;
    serve(fixture, "/", answer(200, NULL, "hello"));
    call *call = call_new(fixture, "/");
    call_start(call);
    check_status(afc_task_wait(call->task, 0), AFC_EINVAL);
    afc_result *result;
    afc_failure failure;
    check_status(afc_perform(&result, fixture->session, &call->request, &failure), AFC_EINVAL);
    assert_non_null(strstr(failure.text, "dispatch"));
    drive(call);
    check_status(afc_task_wait(call->task, 0), AFC_OK);
    call_free(call);
}

static void refuses_other_loops(void **state) {
    (void)state;
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    afc_session *session;
    options.loop = (afc_session_loop)2;
    check_status(afc_session_new(&session, &options, NULL), AFC_EINVAL);
    assert_null(session);
    options.loop = AFC_LOOP_THREAD;
    options.reserved = 1;
    check_status(afc_session_new(&session, &options, NULL), AFC_EUNSUPPORTED);
    assert_null(session);
}

static void is_closed_in_a_child(void **state) {
    fixture *fixture = *state;
    pid_t child = fork();
    if (child == 0) child_exit(afc_session_dispatch(fixture->session) == AFC_ECLOSED ? 0 : 1);
    child_check(child);
}

/** The thread of a session blocks all signals; a program's thread may not. */
static void survives_broken_connection_without_sigpipe(void **state) {
    fixture *fixture = *state;
    enum { SIZE = 8 << 20 };
    char *body = calloc(1, SIZE);
    assert_non_null(body);
    afts_script *script = afts_script_new();
    afts_read_head_only(script);
    afts_reset(script);
    serve(fixture, "/", script);
    signal(SIGPIPE, SIG_DFL);
    call *call = call_new(fixture, "/");
    call_send(call, "PUT", (afc_slice){body, SIZE});
    call->request.expect = AFC_EXPECT_NEVER;
    call_start(call);
    drive(call);
    check_ended(call, AFC_ELOST);
    call_free(call);
    free(body);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        EXTERNAL_TEST(fetches_and_reuses_connection),
        EXTERNAL_TEST(runs_all_callbacks_in_the_dispatching_thread),
        EXTERNAL_TEST(wake_right_after_the_start_is_reported),
        cmocka_unit_test(fetches_over_tls),
        EXTERNAL_TEST(runs_many_tasks_at_once),
        EXTERNAL_TEST(writes_a_large_file_with_the_writer),
        EXTERNAL_TEST(echoes_over_a_websocket),
        EXTERNAL_TEST(waits_without_a_limit_when_idle),
        EXTERNAL_TEST(ends_a_task_at_its_time_limit),
        EXTERNAL_TEST(time_without_a_dispatch_is_not_idle),
        EXTERNAL_TEST(resumed_task_is_not_idle_before_the_loop_notices),
        EXTERNAL_TEST(wakes_for_posts_of_other_threads),
        EXTERNAL_TEST(starts_tasks_inside_callbacks),
        EXTERNAL_TEST(keeps_nothing_of_libcurl_outside_of_dispatch),
        EXTERNAL_TEST(is_dispatched_inside_a_callback_of_another_session),
        EXTERNAL_TEST(completes_tasks_before_it_closes),
        EXTERNAL_TEST(joining_does_not_wait_for_it),
        FIXTURE_TEST(refuses_sessions_with_a_thread),
        EXTERNAL_TEST(refuses_to_dispatch_inside_its_callbacks),
        cmocka_unit_test(refuses_to_dispatch_inside_its_last_callback),
        cmocka_unit_test(session_made_in_on_closed_has_another_descriptor),
        EXTERNAL_TEST(refuses_to_wait),
        cmocka_unit_test(refuses_other_loops),
        EXTERNAL_TEST(is_closed_in_a_child),
        EXTERNAL_TEST(survives_broken_connection_without_sigpipe),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
