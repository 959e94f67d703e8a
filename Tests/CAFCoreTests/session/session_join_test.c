/* Waiting for one session: afc_session_join(). */
#include "support/call.h"
#include "support/child.h"
#include "support/files.h"
#include "support/threads.h"

#include <poll.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LARGE = 4 << 20, THREADS = 8, ROUNDS = 20 };

static void count(void *context) {
    atomic_fetch_add((atomic_uint *)context, 1);
}

/** Counts the calls of its on_closed. */
static afc_session *new_session(atomic_uint *closed) {
    afc_session *session;
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    options.on_closed = count;
    options.context = closed;
    check_status(afc_session_new(&session, &options, NULL), AFC_OK);
    return session;
}

static void begin(fixture *fixture, afc_session *session, const char *path) {
    afc_request request = AFC_REQUEST_INIT;
    request.url = url_of(fixture, path);
    check_status(afc_task_begin(NULL, session, &request, NULL, NULL), AFC_OK);
}

static void serve_stalled(fixture *fixture, const char *path, const char *gate) {
    afts_script *script = afts_script_new();
    afts_stall(script, gate);
    afts_respond(script, 200, NULL, "late", 4);
    serve(fixture, path, script);
}

static void waits_for_no_other_session(void **state) {
    fixture *fixture = *state;
    atomic_uint closed = 0, other_closed = 0;
    serve(fixture, "/", answer(200, NULL, "hello"));
    serve_stalled(fixture, "/late", "gate");
    afc_session *other = new_session(&other_closed);
    begin(fixture, other, "/late");
    afc_session_release(other);
    afc_session *session = new_session(&closed);
    for (int i = 0; i < 10; i++) begin(fixture, session, "/");
    check_status(afc_session_join(session, -1), AFC_OK);
    assert_int_equal(atomic_load(&closed), 1);
    assert_int_equal(atomic_load(&other_closed), 0);
    afts_release(fixture->server, "gate", AFTS_OPEN);
    afc_join_closed_sessions();
    assert_int_equal(atomic_load(&other_closed), 1);
}

static void reports_that_the_time_is_over(void **state) {
    fixture *fixture = *state;
    atomic_uint closed = 0;
    static const int64_t limits[] = {0, 1};
    for (size_t i = 0; i < COUNT_OF(limits); i++) {
        char gate[8];
        snprintf(gate, sizeof gate, "gate%zu", i);
        serve_stalled(fixture, "/late", gate);
        afc_session *session = new_session(&closed);
        begin(fixture, session, "/late");
        check_status(afc_session_join(session, limits[i]), AFC_ETIMEOUT);
        assert_int_equal(atomic_load(&closed), i);
        /* It was released: nothing else closes it. */
        afts_release(fixture->server, gate, AFTS_OPEN);
        afc_join_closed_sessions();
        assert_int_equal(atomic_load(&closed), i + 1);
    }
}

static void waits_for_cancelled_tasks(void **state) {
    fixture *fixture = *state;
    atomic_uint closed = 0;
    serve_stalled(fixture, "/late", "gate");
    afc_session *session = new_session(&closed);
    for (int i = 0; i < 10; i++) begin(fixture, session, "/late");
    afc_session_cancel_all(session);
    check_status(afc_session_join(session, PATIENCE_MS), AFC_OK);
    assert_int_equal(atomic_load(&closed), 1);
    check_status(afc_session_join(NULL, -1), AFC_OK);
}

/** The session's own thread, and the one that writes its files. */
static void waits_for_both_threads(void **state) {
    fixture *fixture = *state;
    atomic_uint closed = 0;
    folder folder;
    folder_make(&folder);
    char *bytes = malloc(LARGE);
    memset(bytes, 'a', LARGE);
    afts_script *script = afts_script_new();
    afts_respond(script, 200, NULL, bytes, LARGE);
    serve(fixture, "/large", script);
    fixture_close_session(fixture);
    afc_session *session = new_session(&closed);
    afc_request request = AFC_REQUEST_INIT;
    request.url = url_of(fixture, "/large");
    request.sink.kind = AFC_SINK_FILE;
    request.sink.path = path_in(&folder, "got");
    check_status(afc_perform(NULL, session, &request, NULL), AFC_OK);
    assert_int_equal(count_threads("af-writer"), 1);
    check_status(afc_session_join(session, -1), AFC_OK);
    assert_int_equal(count_threads("af-writer"), 0);
    assert_int_equal(count_threads("af-loop"), 0);
    free(bytes);
    folder_remove(&folder);
}

static void saves_the_cookies(void **state) {
    fixture *fixture = *state;
    folder folder;
    folder_make(&folder);
    serve(fixture, "/", answer(200, "Set-Cookie: a=b; Max-Age=1000\r\n", ""));
    afc_cookie_jar_options jar_options = AFC_COOKIE_JAR_OPTIONS_INIT;
    jar_options.path = path_in(&folder, "cookies");
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    afc_session *session;
    check_status(afc_cookie_jar_new(&options.cookies, &jar_options, NULL), AFC_OK);
    check_status(afc_session_new(&session, &options, NULL), AFC_OK);
    afc_cookie_jar_release(options.cookies);
    begin(fixture, session, "/");
    check_status(afc_session_join(session, -1), AFC_OK);
    assert_true(file_exists(path_in(&folder, "cookies")));
    folder_remove(&folder);
}

static void *release_later(void *session) {
    poll(NULL, 0, 20);
    afc_session_release(session);
    return NULL;
}

static void waits_for_other_references(void **state) {
    (void)state;
    atomic_uint closed = 0;
    pthread_t thread;
    afc_session *session = afc_session_retain(new_session(&closed));
    check_status(afc_session_join(afc_session_retain(session), 1), AFC_ETIMEOUT);
    assert_int_equal(pthread_create(&thread, NULL, release_later, session), 0);
    check_status(afc_session_join(session, -1), AFC_OK);
    assert_int_equal(atomic_load(&closed), 1);
    pthread_join(thread, NULL);
}

/** The last callback of a session: its thread hasn't ended yet, and never would. */
typedef struct closing {
    afc_session *session;
    afc_status status;
    sem_t done;
} closing;

static void join_at_done(void *context, afc_result *result) {
    closing *closing = context;
    afc_result_free(result);
    closing->status = afc_session_join(closing->session, -1);
    sem_post(&closing->done);
}

static void returns_at_once_on_a_loop_thread(void **state) {
    fixture *fixture = *state;
    atomic_uint closed = 0;
    serve(fixture, "/", answer(200, NULL, "hello"));
    /* The callback has a reference of its own: that of this thread is needed until afc_task_begin() has returned. */
    afc_session *session = new_session(&closed);
    closing closing = {.session = afc_session_retain(session)};
    assert_int_equal(sem_init(&closing.done, 0, 0), 0);
    afc_request request = AFC_REQUEST_INIT;
    request.url = url_of(fixture, "/");
    afc_task_events events = AFC_TASK_EVENTS_INIT;
    events.context = &closing;
    events.on_done = join_at_done;
    check_status(afc_task_begin(NULL, session, &request, &events, NULL), AFC_OK);
    afc_session_release(session);
    assert_int_equal(sem_wait(&closing.done), 0);
    check_status(closing.status, AFC_EINVAL);
    /* The session was released all the same. */
    afc_join_closed_sessions();
    assert_int_equal(atomic_load(&closed), 1);
    sem_destroy(&closing.done);
}

/** What the last callbacks of a session have: another session, with a task that isn't complete. */
typedef struct last_waits {
    afc_session *other;
    afc_task *task;
    unsigned refused;
    sem_t done;
} last_waits;

static void wait_at_the_end(void *context) {
    last_waits *last = context;
    afc_request request = AFC_REQUEST_INIT;
    request.url = "http://127.0.0.1/";
    afc_join_closed_sessions();
    last->refused += afc_perform(NULL, last->other, &request, NULL) == AFC_EINVAL;
    last->refused += afc_task_wait(last->task, -1) == AFC_EINVAL;
    last->refused += afc_session_join(last->other, -1) == AFC_EINVAL;
    sem_post(&last->done);
}

/** Closes a session that calls wait_at_the_end() when its driver ends, or later. */
static void check_last_waits(fixture *fixture, bool in_release) {
    last_waits last = {.refused = 0};
    atomic_uint closed = 0;
    afc_request request = AFC_REQUEST_INIT;
    request.url = url_of(fixture, "/late");
    last.other = new_session(&closed);
    check_status(afc_task_begin(&last.task, last.other, &request, NULL, NULL), AFC_OK);
    assert_int_equal(sem_init(&last.done, 0, 0), 0);
    afc_session *session;
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    if (in_release) {
        afc_trust_options trust = AFC_TRUST_OPTIONS_INIT;
        trust.handler.release = wait_at_the_end;
        trust.handler.context = &last;
        afc_trust_policy *policy;
        check_status(afc_trust_policy_new(&policy, &trust, NULL), AFC_OK);
        options.trust = policy;
        check_status(afc_session_new(&session, &options, NULL), AFC_OK);
        afc_trust_policy_release(policy);
    } else {
        options.on_closed = wait_at_the_end;
        options.context = &last;
        check_status(afc_session_new(&session, &options, NULL), AFC_OK);
    }
    afc_session_release(session);
    assert_int_equal(sem_wait(&last.done), 0);
    assert_int_equal(last.refused, 3);
    afc_task_cancel(last.task);
    check_status(afc_task_wait(last.task, -1), AFC_OK);
    afc_task_release(last.task);
    afc_join_closed_sessions();
    assert_int_equal(atomic_load(&closed), 1);
    sem_destroy(&last.done);
}

static void last_callbacks_do_not_wait(void **state) {
    fixture *fixture = *state;
    serve_stalled(fixture, "/late", "gate");
    check_last_waits(fixture, false);
    check_last_waits(fixture, true);
}

static void returns_at_once_without_a_thread(void **state) {
    (void)state;
    afc_session *session;
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    options.loop = AFC_LOOP_EXTERNAL;
    check_status(afc_session_new(&session, &options, NULL), AFC_OK);
    check_status(afc_session_join(session, -1), AFC_EINVAL);
    afc_status status = AFC_OK;
    while (status == AFC_OK) status = afc_session_dispatch(session);
    check_status(status, AFC_ECLOSED);
}

static void returns_at_once_in_a_child(void **state) {
    fixture *fixture = *state;
    atomic_uint closed = 0;
    serve(fixture, "/", answer(200, NULL, "hello"));
    afc_session *session = new_session(&closed);
    begin(fixture, session, "/");
    pid_t child = fork();
    if (child == 0) child_exit(afc_session_join(session, -1) == AFC_ECLOSED ? 0 : 1);
    child_check(child);
    check_status(afc_session_join(session, -1), AFC_OK);
    assert_int_equal(atomic_load(&closed), 1);
}

static void *join_many(void *url) {
    uintptr_t failures = 0;
    for (int i = 0; i < ROUNDS; i++) {
        atomic_uint closed = 0;
        afc_session_options options = AFC_SESSION_OPTIONS_INIT;
        options.on_closed = count;
        options.context = &closed;
        afc_session *session;
        afc_request request = AFC_REQUEST_INIT;
        request.url = url;
        if (afc_session_new(&session, &options, NULL) != AFC_OK) return (void *)1;
        failures += afc_task_begin(NULL, session, &request, NULL, NULL) != AFC_OK;
        if (i % 2 == 0) afc_session_cancel_all(session);
        failures += afc_session_join(session, -1) != AFC_OK;
        failures += atomic_load(&closed) != 1;
    }
    return (void *)failures;
}

static void waits_on_several_threads_at_once(void **state) {
    fixture *fixture = *state;
    pthread_t threads[THREADS];
    serve(fixture, "/", answer(200, NULL, "hello"));
    char *url = (char *)(uintptr_t)url_of(fixture, "/");
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, join_many, url), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        void *failures;
        pthread_join(threads[i], &failures);
        assert_int_equal((uintptr_t)failures, 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(waits_for_no_other_session),
        FIXTURE_TEST(reports_that_the_time_is_over),
        FIXTURE_TEST(waits_for_cancelled_tasks),
        FIXTURE_TEST(waits_for_both_threads),
        FIXTURE_TEST(saves_the_cookies),
        cmocka_unit_test(waits_for_other_references),
        FIXTURE_TEST(returns_at_once_on_a_loop_thread),
        FIXTURE_TEST(last_callbacks_do_not_wait),
        cmocka_unit_test(returns_at_once_without_a_thread),
        FIXTURE_TEST(returns_at_once_in_a_child),
        FIXTURE_TEST(waits_on_several_threads_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
