/* Waiting for tasks, on threads of the caller. */
#include "support/call.h"
#include "support/child.h"

#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static afc_request get(fixture *fixture, const char *path) {
    afc_request request = AFC_REQUEST_INIT;
    request.url = url_of(fixture, path);
    return request;
}

static afts_script *stalled(const char *gate) {
    afts_script *script = afts_script_new();
    afts_stall(script, gate);
    afts_respond(script, 200, NULL, "late", 4);
    return script;
}

/* ---- afc_perform --------------------------------------------------------------------------- */

static void performs_a_request(void **state) {
    fixture *fixture = *state;
    serve(fixture, "/", answer(200, "X-A: b\r\n", "hello"));
    afc_request request = get(fixture, "/");
    afc_result *result;
    afc_failure failure;
    check_status(afc_perform(&result, fixture->session, &request, &failure), AFC_OK);
    check_status(failure.status, AFC_OK);
    assert_int_equal(afc_result_get_head(result)->status, 200);
    afc_slice body = afc_result_get_body(result);
    assert_int_equal(body.size, 5);
    assert_memory_equal(body.bytes, "hello", 5);
    afc_result_free(result);
}

static void returns_result_of_failed_request(void **state) {
    fixture *fixture = *state;
    serve_text(fixture, "/", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello");
    afc_request request = get(fixture, "/");
    afc_result *result;
    afc_failure failure;
    check_status(afc_perform(&result, fixture->session, &request, &failure), AFC_ETRUNCATED);
    check_status(failure.status, AFC_ETRUNCATED);
    assert_non_null(result);
    assert_int_equal(afc_result_get_head(result)->status, 200);
    afc_result_free(result);
    check_status(afc_perform(&result, fixture->session, &request, NULL), AFC_ETRUNCATED);
    afc_result_free(result);
}

static void refuses_invalid_request_without_result(void **state) {
    fixture *fixture = *state;
    afc_request request = AFC_REQUEST_INIT;
    afc_result *result;
    request.url = "ftp://a/";
    check_status(afc_perform(&result, fixture->session, &request, NULL), AFC_EINVAL);
    assert_null(result);
}

typedef struct performer {
    pthread_t id;
    fixture *fixture;
    const char *url;
    unsigned succeeded;
} performer;

enum { THREADS = 8, REQUESTS = 25 };

static void *perform_many(void *context) {
    performer *performer = context;
    for (int i = 0; i < REQUESTS; i++) {
        afc_request request = AFC_REQUEST_INIT;
        request.url = performer->url;
        afc_result *result;
        if (afc_perform(&result, performer->fixture->session, &request, NULL) == AFC_OK) {
            performer->succeeded++;
        }
        afc_result_free(result);
    }
    return NULL;
}

static void performs_on_several_threads_at_once(void **state) {
    fixture *fixture = *state;
    serve(fixture, "/", answer(200, NULL, "hello"));
    const char *url = url_of(fixture, "/");
    performer performers[THREADS];
    for (int i = 0; i < THREADS; i++) {
        performers[i] = (performer){.fixture = fixture, .url = url};
        assert_int_equal(pthread_create(&performers[i].id, NULL, perform_many, &performers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(performers[i].id, NULL);
        assert_int_equal(performers[i].succeeded, REQUESTS);
    }
}

/* ---- afc_task_wait ------------------------------------------------------------------------- */

static void reports_that_the_time_is_over(void **state) {
    fixture *fixture = *state;
    serve(fixture, "/", stalled("gate"));
    call *call = call_new(fixture, "/");
    call_start(call);
    check_status(afc_task_wait(call->task, 0), AFC_ETIMEOUT);
    check_status(afc_task_wait(call->task, 1), AFC_ETIMEOUT);
    afts_release(fixture->server, "gate", AFTS_OPEN);
    check_status(afc_task_wait(call->task, PATIENCE_MS), AFC_OK);
    /* Both callbacks have returned. */
    assert_int_equal(atomic_load(&call->done_count), 1);
    assert_int_equal(atomic_load(&call->release_count), 1);
    check_status(afc_task_wait(call->task, 0), AFC_OK);
    check_status(afc_task_wait(call->task, INT64_MAX), AFC_OK);
    call_wait(call);
    check_ended(call, AFC_OK);
    call_free(call);
}

static void *wait_for(void *task) {
    return (void *)(intptr_t)afc_task_wait(task, -1);
}

static void wakes_all_who_wait_when_task_is_cancelled(void **state) {
    fixture *fixture = *state;
    serve(fixture, "/", stalled("gate"));
    call *call = call_new(fixture, "/");
    call_start(call);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, wait_for, call->task), 0);
    }
    afc_task_cancel(call->task);
    for (int i = 0; i < THREADS; i++) {
        void *status;
        pthread_join(threads[i], &status);
        check_status((afc_status)(intptr_t)status, AFC_OK);
    }
    call_wait(call);
    check_ended(call, AFC_ECANCELED);
    call_free(call);
}

static void waits_for_task_that_another_thread_starts(void **state) {
    fixture *fixture = *state;
    serve(fixture, "/", answer(200, NULL, "hello"));
    call *call = call_new(fixture, "/");
    check_status(afc_task_new(&call->task, call->session, &call->request, &call->events, NULL),
                 AFC_OK);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, wait_for, call->task), 0);
    afc_task_start(call->task);
    void *status;
    pthread_join(thread, &status);
    check_status((afc_status)(intptr_t)status, AFC_OK);
    call_wait(call);
    call_free(call);
}

static afc_status wait_on_loop(call *call, afc_response *response) {
    (void)response;
    afc_request request = AFC_REQUEST_INIT;
    afc_result *result;
    afc_failure failure;
    unsigned *refused = call->payload;
    request.url = call->request.url;
    *refused += afc_task_wait(call->task, -1) == AFC_EINVAL;
    *refused += afc_perform(&result, call->session, &request, &failure) == AFC_EINVAL;
    *refused += result == NULL && strstr(failure.text, "loop thread") != NULL;
    return AFC_OK;
}

static void refuses_to_wait_on_a_loop_thread(void **state) {
    fixture *fixture = *state;
    serve(fixture, "/", answer(200, NULL, "hello"));
    unsigned refused = 0;
    call *call = call_new(fixture, "/");
    call->at_head = wait_on_loop;
    call->payload = &refused;
    call->task = NULL;
    check_status(afc_task_new(&call->task, call->session, &call->request, &call->events, NULL),
                 AFC_OK);
    afc_task_start(call->task);
    call_wait(call);
    assert_int_equal(refused, 3);
    call_free(call);
}

/** The last callback of a session that is closed: its thread hasn't ended yet, and never would. */
typedef struct closing {
    afc_session *session;
    sem_t joined;
} closing;

static void join_at_done(void *context, afc_result *result) {
    closing *closing = context;
    afc_result_free(result);
    afc_session_release(closing->session);
    afc_join_closed_sessions();
    sem_post(&closing->joined);
}

static void does_not_wait_on_a_loop_thread_for_its_end(void **state) {
    fixture *fixture = *state;
    serve(fixture, "/", answer(200, NULL, "hello"));
    closing closing;
    assert_int_equal(sem_init(&closing.joined, 0, 0), 0);
    /* The callback has a reference of its own: that of this thread is needed until afc_task_begin() has returned. */
    afc_session *session;
    check_status(afc_session_new(&session, NULL, NULL), AFC_OK);
    closing.session = afc_session_retain(session);
    afc_request request = get(fixture, "/");
    afc_task_events events = AFC_TASK_EVENTS_INIT;
    events.context = &closing;
    events.on_done = join_at_done;
    check_status(afc_task_begin(NULL, session, &request, &events, NULL), AFC_OK);
    afc_session_release(session);
    assert_int_equal(sem_wait(&closing.joined), 0);
    afc_join_closed_sessions();
    sem_destroy(&closing.joined);
}

static void does_not_wait_in_a_child_for_the_parents_task(void **state) {
    fixture *fixture = *state;
    serve(fixture, "/", stalled("gate"));
    call *call = call_new(fixture, "/");
    call_start(call);
    pid_t child = fork();
    if (child == 0) child_exit(afc_task_wait(call->task, -1) == AFC_ECLOSED ? 0 : 1);
    child_check(child);
    afts_release(fixture->server, "gate", AFTS_OPEN);
    check_status(afc_task_wait(call->task, -1), AFC_OK);
    call_wait(call);
    call_free(call);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(performs_a_request),
        FIXTURE_TEST(returns_result_of_failed_request),
        FIXTURE_TEST(refuses_invalid_request_without_result),
        FIXTURE_TEST(performs_on_several_threads_at_once),
        FIXTURE_TEST(reports_that_the_time_is_over),
        FIXTURE_TEST(wakes_all_who_wait_when_task_is_cancelled),
        FIXTURE_TEST(waits_for_task_that_another_thread_starts),
        FIXTURE_TEST(refuses_to_wait_on_a_loop_thread),
        FIXTURE_TEST(does_not_wait_on_a_loop_thread_for_its_end),
        FIXTURE_TEST(does_not_wait_in_a_child_for_the_parents_task),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
