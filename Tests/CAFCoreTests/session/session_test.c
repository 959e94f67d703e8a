/* Sessions: their end, their connections, their counters. */
#include "support/call.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void count_up(void *context) {
    atomic_fetch_add((atomic_uint *)context, 1);
}

static fixture *fixture_with(uint32_t per_host, uint32_t idle) {
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    options.max_connections_per_host = per_host;
    options.max_idle_connections = idle;
    return fixture_new(NULL, &options);
}

static afts_script *stalled_answer(const char *gate) {
    afts_script *script = afts_script_new();
    afts_stall(script, gate);
    afts_respond(script, 200, NULL, "late", 4);
    return script;
}

/* ---- The beginning --------------------------------------------------------------------------- */

static void *prepare(void *unused) {
    (void)unused;
    afc_prepare();
    return NULL;
}

static void libraries_can_be_prepared_by_any_thread(void **state) {
    fixture *fixture = *state;
    pthread_t threads[4];
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, prepare, NULL), 0);
    afc_prepare();
    for (size_t i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    check_fetch(fixture, "/", AFC_OK);
}

/* ---- The end ------------------------------------------------------------------------------- */

static void unused_session_ends(void **state) {
    (void)state;
    atomic_uint closed = 0;
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    options.on_closed = count_up;
    options.context = &closed;
    for (unsigned i = 1; i <= 20; i++) {
        afc_session *session;
        check_status(afc_session_new(&session, &options, NULL), AFC_OK);
        afc_session_release(afc_session_retain(session));
        afc_session_release(session);
        afc_join_closed_sessions();
        assert_int_equal(atomic_load(&closed), i);
    }
    afc_session_release(NULL);
}

static void tasks_in_flight_complete_after_release(void **state) {
    (void)state;
    enum { TASKS = 20 };
    atomic_uint closed = 0;
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    options.on_closed = count_up;
    options.context = &closed;
    options.max_connections_per_host = 4;
    fixture *fixture = fixture_new(NULL, &options);
    serve(fixture, "/late", stalled_answer("late"));
    call *calls[TASKS];
    for (size_t i = 0; i < TASKS; i++) {
        calls[i] = call_new(fixture, "/late");
        call_start(calls[i]);
    }
    assert_true(afts_wait_stalled(fixture->server, "late", 4, PATIENCE_MS));
    afc_session_release(fixture->session);
    fixture->session = NULL;
    assert_int_equal(atomic_load(&closed), 0);
    afts_release(fixture->server, "late", AFTS_OPEN);
    for (size_t i = 0; i < TASKS; i++) {
        call_wait(calls[i]);
        check_ended(calls[i], AFC_OK);
        check_slice(calls[i]->body, "late");
        call_free(calls[i]);
    }
    afc_join_closed_sessions();
    assert_int_equal(atomic_load(&closed), 1);
    assert_true(afts_wait_open_at_most(fixture->server, 0, PATIENCE_MS));
    fixture_free(fixture);
}

static void release_in_callback(call *call) {
    afc_session_release(call->payload);
}

static void callback_can_release_its_session(void **state) {
    fixture *fixture = *state;
    call *call = call_new(fixture, "/");
    call->payload = fixture->session;
    call->at_done = release_in_callback;
    call_start(call);
    fixture->session = NULL;
    call_wait(call);
    check_ended(call, AFC_OK);
    afc_join_closed_sessions();
    call_free(call);
}

static void task_outlives_its_session(void **state) {
    fixture *fixture = *state;
    call *call = call_fetch(fixture, "/");
    fixture_close_session(fixture);
    afc_task_cancel(call->task);
    afc_task_wake(call->task);
    afc_task_suspend(call->task);
    afc_task_resume(call->task);
    afc_task_start(call->task);
    /* None of these reaches a session any more. The result is the caller's. */
    check_ended(call, AFC_OK);
    check_status(afc_task_wait(call->task, 0), AFC_OK);
    assert_int_equal(status_of(call), 200);
    assert_int_equal(afc_result_get_failure(call->result)->status, AFC_OK);
    call_free(call);
}

static void unstarted_task_keeps_its_session(void **state) {
    (void)state;
    atomic_uint closed = 0;
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    options.on_closed = count_up;
    options.context = &closed;
    fixture *fixture = fixture_new(NULL, &options);
    call *idle = call_new(fixture, "/"), *late = call_new(fixture, "/");
    afc_task_new(&idle->task, idle->session, &idle->request, &idle->events, NULL);
    afc_task_new(&late->task, late->session, &late->request, &late->events, NULL);
    afc_session_release(fixture->session);
    fixture->session = NULL;
    assert_int_equal(atomic_load(&closed), 0);
    afc_task_start(late->task);
    call_wait(late);
    check_ended(late, AFC_OK);
    afc_task_release(idle->task);
    idle->task = NULL;
    afc_join_closed_sessions();
    assert_int_equal(atomic_load(&closed), 1);
    call_free(idle);
    call_free(late);
    fixture_free(fixture);
}

static void cancel_all_ends_each_task(void **state) {
    (void)state;
    enum { TASKS = 30 };
    fixture *fixture = fixture_with(2, 2);
    serve(fixture, "/late", stalled_answer("late"));
    call *calls[TASKS];
    for (size_t i = 0; i < TASKS; i++) {
        calls[i] = call_new(fixture, "/late");
        call_start(calls[i]);
    }
    afc_session_cancel_all(fixture->session);
    for (size_t i = 0; i < TASKS; i++) {
        call_wait(calls[i]);
        check_ended(calls[i], AFC_ECANCELED);
        call_free(calls[i]);
    }
    check_fetch(fixture, "/", AFC_OK);
    fixture_free(fixture);
}

typedef struct twice {
    fixture *fixture;
    call *late;
} twice;

/** On the loop thread: the first request of cancel_all stays in the inbox while another task is started. */
static void cancel_around_start(call *call) {
    twice *twice = call->payload;
    afc_session_cancel_all(twice->fixture->session);
    call_start(twice->late);
    afc_session_cancel_all(twice->fixture->session);
}

static void cancels_tasks_started_while_an_earlier_cancel_all_is_pending(void **state) {
    (void)state;
    fixture *fixture = fixture_new(NULL, NULL);
    serve(fixture, "/late", stalled_answer("late"));
    twice twice = {fixture, call_new(fixture, "/late")};
    call *first = call_new(fixture, "/");
    first->payload = &twice;
    first->at_done = cancel_around_start;
    call_perform(first);
    call_wait(twice.late);
    check_ended(first, AFC_OK);
    check_ended(twice.late, AFC_ECANCELED);
    call_free(first);
    call_free(twice.late);
    fixture_free(fixture);
}

/** On the loop thread: what is started after the last cancel_all isn't meant by it. */
static void start_after_cancel(call *call) {
    twice *twice = call->payload;
    afc_session_cancel_all(twice->fixture->session);
    call_start(twice->late);
}

/** It was made before, but only started tasks are cancelled. */
static void keeps_task_made_before_cancel_all(void **state) {
    (void)state;
    fixture *fixture = fixture_new(NULL, NULL);
    call *call = call_new(fixture, "/");
    check_status(afc_task_new(&call->task, call->session, &call->request, &call->events, NULL),
                 AFC_OK);
    afc_session_cancel_all(fixture->session);
    afc_task_start(call->task);
    call_wait(call);
    check_ended(call, AFC_OK);
    call_free(call);
    fixture_free(fixture);
}

static void keeps_tasks_started_after_cancel_all(void **state) {
    (void)state;
    fixture *fixture = fixture_new(NULL, NULL);
    twice twice = {fixture, call_new(fixture, "/")};
    call *first = call_new(fixture, "/");
    first->payload = &twice;
    first->at_done = start_after_cancel;
    call_perform(first);
    call_wait(twice.late);
    check_ended(twice.late, AFC_OK);
    call_free(first);
    call_free(twice.late);
    fixture_free(fixture);
}

static afc_status cancel_all_at_head(call *call, afc_response *response) {
    (void)response;
    afc_session_cancel_all(call->session);
    return AFC_OK;
}

static afc_status cancel_all_at_body(call *call, afc_slice chunk) {
    (void)chunk;
    afc_session_cancel_all(call->session);
    return AFC_OK;
}

/** The whole response is there already, so the task would complete before its loop handles any post. */
static void cancel_all_in_a_callback_includes_its_own_task(void **state) {
    fixture *fixture = *state;
    serve(fixture, "/", answer(200, NULL, "body"));
    for (int i = 0; i < 2; i++) {
        call *call = call_new(fixture, "/");
        call->request.sink.kind = AFC_SINK_CALLBACK;
        if (i == 0) call->at_head = cancel_all_at_head;
        if (i == 1) call->at_body = cancel_all_at_body;
        call_perform(call);
        check_ended(call, AFC_ECANCELED);
        call_free(call);
    }
    check_fetch(fixture, "/", AFC_OK);
}

static void sessions_do_not_disturb_each_other(void **state) {
    fixture *first = *state;
    fixture *second = fixture_new(NULL, NULL);
    serve(first, "/late", stalled_answer("late"));
    call *call = call_new(first, "/late");
    call_start(call);
    afc_session_cancel_all(second->session);
    check_fetch(second, "/", AFC_OK);
    fixture_free(second);
    afts_release(first->server, "late", 1);
    call_wait(call);
    check_ended(call, AFC_OK);
    call_free(call);
}

/* ---- Connections --------------------------------------------------------------------------- */

static void reuses_connections(void **state) {
    fixture *fixture = *state;
    for (int i = 0; i < 100; i++) check_fetch(fixture, "/", AFC_OK);
    afts_stats stats = afts_server_stats(fixture->server);
    assert_int_equal(stats.accepted, 1);
    assert_int_equal(stats.requests, 100);
    afc_session_statistics own;
    memset(&own, 0x5a, sizeof own);
    afc_session_get_statistics(fixture->session, &own);
    assert_int_equal(own.connections, 1);
    assert_int_equal(own.tasks, 100);
    for (size_t i = 0; i < COUNT_OF(own.reserved); i++) assert_int_equal(own.reserved[i], 0);
}

static void limits_connections_per_host(void **state) {
    (void)state;
    enum { TASKS = 24, LIMIT = 3 };
    fixture *fixture = fixture_with(LIMIT, 64);
    serve(fixture, "/late", stalled_answer("late"));
    call *calls[TASKS];
    for (size_t i = 0; i < TASKS; i++) {
        calls[i] = call_new(fixture, "/late");
        call_start(calls[i]);
    }
    assert_true(afts_wait_stalled(fixture->server, "late", LIMIT, PATIENCE_MS));
    afts_release(fixture->server, "late", AFTS_OPEN);
    for (size_t i = 0; i < TASKS; i++) {
        call_wait(calls[i]);
        check_ended(calls[i], AFC_OK);
        call_free(calls[i]);
    }
    afts_stats stats = afts_server_stats(fixture->server);
    assert_int_equal(stats.peak_open, LIMIT);
    assert_int_equal(stats.accepted, LIMIT);
    fixture_free(fixture);
}

static void keeps_no_idle_connection_if_asked(void **state) {
    (void)state;
    afc_session_options none = AFC_SESSION_OPTIONS_INIT, at_once = AFC_SESSION_OPTIONS_INIT;
    none.max_idle_connections = 0;
    at_once.max_idle_s = 0;
    const afc_session_options *const rows[] = {&none, &at_once};
    for (size_t row = 0; row < COUNT_OF(rows); row++) {
        fixture *fixture = fixture_new(NULL, rows[row]);
        for (size_t i = 1; i <= 3; i++) {
            check_fetch(fixture, "/", AFC_OK);
            assert_true(afts_wait_closed(fixture->server, i, PATIENCE_MS));
        }
        assert_int_equal(afts_server_stats(fixture->server).accepted, 3);
        fixture_free(fixture);
    }
}

/** One answer, then the gate, then the end of the connection, which stays in the pool meanwhile. */
static void close_when_told(fixture *fixture, bool resets) {
    afts_script *script = afts_script_new();
    afts_read_request(script);
    afts_respond(script, 200, NULL, "first", 5);
    afts_stall(script, "idle");
    if (resets)
        afts_reset(script);
    else
        afts_close(script);
    afts_on_connection(fixture->server, 0, script);
}

static void replaces_stale_pooled_connection(void **state) {
    (void)state;
    for (int resets = 0; resets <= 1; resets++) {
        fixture *fixture = fixture_new(NULL, NULL);
        close_when_told(fixture, resets != 0);
        check_fetch(fixture, "/", AFC_OK);
        afts_release(fixture->server, "idle", 1);
        assert_true(afts_wait_closed(fixture->server, 1, PATIENCE_MS));
        call *call = call_new(fixture, "/");
        call_send(call, "POST", S("content"));
        call_perform(call);
        check_ended(call, AFC_OK);
        assert_int_equal(afts_server_stats(fixture->server).accepted, 2);
        call_free(call);
        fixture_free(fixture);
    }
}

/** The second request of the first connection is read, and then nothing or a part comes back. */
static void fail_second_request(fixture *fixture, const char *part, bool resets) {
    afts_script *script = afts_script_new();
    afts_read_request(script);
    afts_respond(script, 200, NULL, "first", 5);
    afts_read_request(script);
    afts_send_text(script, part);
    if (resets)
        afts_reset(script);
    else
        afts_close(script);
    afts_on_connection(fixture->server, 0, script);
    check_fetch(fixture, "/", AFC_OK);
}

static void repeats_request_lost_on_pooled_connection(void **state) {
    (void)state;
    for (int resets = 0; resets <= 1; resets++) {
        fixture *fixture = fixture_new(NULL, NULL);
        fail_second_request(fixture, "", resets != 0);
        call *call = call_new(fixture, "/again");
        call_send(call, "PUT", S("content"));
        call_perform(call);
        check_ended(call, AFC_OK);
        call_free(call);
        afts_stats stats = afts_server_stats(fixture->server);
        assert_int_equal(stats.accepted, 2);
        afts_request *seen = afts_copy_request(fixture->server, stats.requests - 1);
        assert_string_equal(seen->target, "/again");
        assert_int_equal(seen->body_size, 7);
        afts_request_free(seen);
        fixture_free(fixture);
    }
}

static void never_repeats_request_with_partial_response(void **state) {
    (void)state;
    static const char *const parts[] = {"HTTP/1.1 200 OK\r\n", "HTTP/1.1 103 Hints\r\n\r\n",
                                        "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n123"};
    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        fixture *fixture = fixture_new(NULL, NULL);
        fail_second_request(fixture, parts[i], false);
        call *call = call_fetch(fixture, "/again");
        assert_true(call->failure.status != AFC_OK);
        assert_true(call->hops[0].is_reused);
        call_free(call);
        assert_int_equal(afts_server_stats(fixture->server).accepted, 1);
        fixture_free(fixture);
    }
}

static ptrdiff_t read_once(void *context, void *buffer, size_t size) {
    atomic_uint *reads = context;
    if (size == 0 || atomic_fetch_add(reads, 1) > 0) return AFC_READ_END;
    *(char *)buffer = 'x';
    return 1;
}

static void never_repeats_body_that_cannot_be_replayed(void **state) {
    (void)state;
    fixture *fixture = fixture_new(NULL, NULL);
    fail_second_request(fixture, "", false);
    atomic_uint reads = 0;
    call *call = call_new(fixture, "/again");
    call->request.method = "PUT";
    call->request.body = (afc_body){.kind = AFC_BODY_READER, .length = AFC_LENGTH_UNKNOWN};
    call->request.body.reader = (afc_reader){&reads, read_once, NULL, NULL};
    call->request.expect = AFC_EXPECT_NEVER;
    call_perform(call);
    assert_true(call->failure.status == AFC_EREPLAY || call->failure.status == AFC_ELOST);
    call_free(call);
    assert_int_equal(afts_server_stats(fixture->server).requests, 2);
    fixture_free(fixture);
}

static void never_repeats_request_lost_on_new_connection(void **state) {
    fixture *fixture = *state;
    serve_text(fixture, "/", "");
    check_fetch(fixture, "/", AFC_ELOST);
    assert_int_equal(afts_server_stats(fixture->server).requests, 1);
}

/* ---- Descriptors --------------------------------------------------------------------------- */

static void leaves_no_descriptor_open(void **state) {
    (void)state;
    fixture_free(fixture_new(NULL, NULL)); /* What is made once for good has been made. */
    size_t before = count_descriptors();
    for (int i = 0; i < 3; i++) {
        fixture *fixture = fixture_new(NULL, NULL);
        serve(fixture, "/late", stalled_answer("late"));
        check_fetch(fixture, "/", AFC_OK);
        call *call = call_new(fixture, "/late");
        call_start(call);
        assert_true(afts_wait_stalled(fixture->server, "late", 1, PATIENCE_MS));
        afc_task_cancel(call->task);
        call_wait(call);
        call_free(call);
        fixture_free(fixture);
    }
    assert_int_equal(count_descriptors(), before);
}

static void finished_task_keeps_no_descriptor(void **state) {
    (void)state;
    fixture_free(fixture_new(NULL, NULL));
    fixture *fixture = fixture_new(NULL, NULL);
    size_t before = count_descriptors();
    afc_session *session;
    check_status(afc_session_new(&session, NULL, NULL), AFC_OK);
    call *call = call_new(fixture, "/");
    call->session = session;
    call_perform(call);
    check_ended(call, AFC_OK);
    afc_session_release(session);
    afc_join_closed_sessions();
    assert_true(afts_wait_open_at_most(fixture->server, 0, PATIENCE_MS));
    assert_int_equal(count_descriptors(), before);
    call_free(call);
    fixture_free(fixture);
}

/** A connection, or the loop's own. The sockets that libcurl keeps for its poll are not ours. */
static bool is_of_session(int descriptor) {
    struct sockaddr_storage address;
    socklen_t size = sizeof address;
    if (getsockname(descriptor, (struct sockaddr *)&address, &size) == 0) {
        return address.ss_family == AF_INET || address.ss_family == AF_INET6;
    }
    char path[64], target[256];
    snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(path, target, sizeof target - 1);
    target[length > 0 ? length : 0] = '\0';
    return strncmp(target, "anon_inode:", strlen("anon_inode:")) == 0;
}

static void started_programs_inherit_no_descriptor(void **state) {
    fixture *fixture = *state;
    serve(fixture, "/late", stalled_answer("late"));
    check_fetch(fixture, "/", AFC_OK);
    call *call = call_new(fixture, "/late");
    call_start(call);
    assert_true(afts_wait_stalled(fixture->server, "late", 1, PATIENCE_MS));
    for (int descriptor = 3; descriptor < 1024; descriptor++) {
        int flags = fcntl(descriptor, F_GETFD);
        if (flags >= 0 && (flags & FD_CLOEXEC) == 0) assert_false(is_of_session(descriptor));
    }
    afts_release(fixture->server, "late", 1);
    call_wait(call);
    call_free(call);
}

/* ---- Options and counters ------------------------------------------------------------------ */

static void checks_options(void **state) {
    (void)state;
    afc_session *session;
    afc_failure failure;
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    options.size--;
    check_status(afc_session_new(&session, &options, &failure), AFC_EINVAL);
    assert_null(session);
    assert_true(failure.text[0] != '\0');
    static const char *const agents[] = {"a\r\nX: y", "a\n", "\x01", "a\x7f"};
    for (size_t i = 0; i < COUNT_OF(agents); i++) {
        options = (afc_session_options)AFC_SESSION_OPTIONS_INIT;
        options.user_agent = agents[i];
        check_status(afc_session_new(&session, &options, &failure), AFC_EINVAL);
        assert_null(session);
        check_contains(failure.text, "user agent");
    }
}

static void sends_the_user_agent_of_the_session(void **state) {
    (void)state;
    static const char *const agents[] = {"mine/2.0 (x)", NULL};
    for (size_t i = 0; i < COUNT_OF(agents); i++) {
        afc_session_options options = AFC_SESSION_OPTIONS_INIT;
        options.user_agent = agents[i];
        fixture *fixture = fixture_new(NULL, &options);
        check_fetch(fixture, "/", AFC_OK);
        assert_string_equal(seen_header(fixture, 0, "User-Agent"), i == 0 ? agents[0] : "");
        fixture_free(fixture);
    }
}

static void burst_of_operations_wakes_the_loop_once(void **state) {
    fixture *fixture = *state;
    enum { TASKS = 50 };
    call *calls[TASKS], *blocker = call_new(fixture, "/");
    serve(fixture, "/late", stalled_answer("late"));
    afc_session_statistics before, after;
    call_perform(blocker);
    afc_session_get_statistics(fixture->session, &before);
    for (size_t i = 0; i < TASKS; i++) {
        calls[i] = call_new(fixture, "/");
        calls[i]->events.on_head = NULL;
        calls[i]->events.on_progress = NULL;
        call_start(calls[i]);
    }
    for (size_t i = 0; i < TASKS; i++) call_wait(calls[i]);
    afc_session_get_statistics(fixture->session, &after);
    assert_int_equal(after.tasks - before.tasks, TASKS);
    assert_int_equal(after.posts - before.posts, TASKS);
    assert_int_equal(after.events - before.events, TASKS);
    /* None at all if the loop never got to sleep in between. */
    assert_true(after.wakeups - before.wakeups <= TASKS);
    for (size_t i = 0; i < TASKS; i++) call_free(calls[i]);
    call_free(blocker);
}

static void wake_many(call *call) {
    for (int i = 0; i < 100; i++) afc_task_wake(call->payload);
}

static void operations_on_the_loop_need_no_wake_up(void **state) {
    fixture *fixture = *state;
    serve(fixture, "/late", stalled_answer("late"));
    call *other = call_new(fixture, "/late"), *call = call_new(fixture, "/");
    call_start(other);
    assert_true(afts_wait_stalled(fixture->server, "late", 1, PATIENCE_MS));
    call->payload = other->task;
    call->at_done = wake_many;
    afc_session_statistics before, after;
    afc_session_get_statistics(fixture->session, &before);
    call_perform(call);
    check_fetch(fixture, "/", AFC_OK);
    afc_session_get_statistics(fixture->session, &after);
    assert_true(after.wakeups - before.wakeups <= 2);
    assert_int_equal(after.posts - before.posts, 3); /* Two starts, and the wakes together. */
    afts_release(fixture->server, "late", 1);
    call_wait(other);
    call_free(other);
    call_free(call);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(libraries_can_be_prepared_by_any_thread),
        cmocka_unit_test(unused_session_ends),
        cmocka_unit_test(tasks_in_flight_complete_after_release),
        FIXTURE_TEST(callback_can_release_its_session),
        FIXTURE_TEST(task_outlives_its_session),
        cmocka_unit_test(unstarted_task_keeps_its_session),
        cmocka_unit_test(cancel_all_ends_each_task),
        cmocka_unit_test(cancels_tasks_started_while_an_earlier_cancel_all_is_pending),
        cmocka_unit_test(keeps_task_made_before_cancel_all),
        cmocka_unit_test(keeps_tasks_started_after_cancel_all),
        FIXTURE_TEST(cancel_all_in_a_callback_includes_its_own_task),
        FIXTURE_TEST(sessions_do_not_disturb_each_other),
        FIXTURE_TEST(reuses_connections),
        cmocka_unit_test(limits_connections_per_host),
        cmocka_unit_test(keeps_no_idle_connection_if_asked),
        cmocka_unit_test(replaces_stale_pooled_connection),
        cmocka_unit_test(repeats_request_lost_on_pooled_connection),
        cmocka_unit_test(never_repeats_request_with_partial_response),
        cmocka_unit_test(never_repeats_body_that_cannot_be_replayed),
        FIXTURE_TEST(never_repeats_request_lost_on_new_connection),
        cmocka_unit_test(leaves_no_descriptor_open),
        cmocka_unit_test(finished_task_keeps_no_descriptor),
        FIXTURE_TEST(started_programs_inherit_no_descriptor),
        cmocka_unit_test(checks_options),
        cmocka_unit_test(sends_the_user_agent_of_the_session),
        FIXTURE_TEST(burst_of_operations_wakes_the_loop_once),
        FIXTURE_TEST(operations_on_the_loop_need_no_wake_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
