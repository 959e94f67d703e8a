/* A forked child has the memory of its parent's sessions but not their threads. */
#include "base/alloc.h"
#include "support/call.h"
#include "support/child.h"

#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* In the child no assertion may run: it would report into the parent's test run. */
static bool child_waits_for(atomic_uint *counter, call *call) {
    struct timespec deadline;
    clock_gettime(CLOCK_REALTIME, &deadline);
    deadline.tv_sec += PATIENCE_MS / 1000;
    int error = 0;
    pthread_mutex_lock(&call->lock);
    while (atomic_load(counter) == 0 && error == 0) {
        error = pthread_cond_timedwait(&call->changed, &call->lock, &deadline);
    }
    pthread_mutex_unlock(&call->lock);
    return error == 0;
}

static void session_refuses_tasks_in_a_child(void **state) {
    fixture *fixture = *state;
    check_fetch(fixture, "/", AFC_OK);
    call *call = call_new(fixture, "/");
    pid_t child = fork();
    if (child == 0) {
        afc_task *task;
        afc_status status = afc_task_begin(&task, call->session, &call->request, &call->events,
                                           NULL);
        child_exit(status == AFC_ECLOSED && task == NULL &&
                           atomic_load(&call->release_count) == 1 &&
                           atomic_load(&call->done_count) == 0
                       ? 0
                       : 1);
    }
    child_check(child);
    call_perform(call);
    check_ended(call, AFC_OK);
    call_free(call);
    assert_int_equal(afts_server_stats(fixture->server).accepted, 1);
}

static void task_made_before_the_fork_completes_in_the_child(void **state) {
    fixture *fixture = *state;
    check_fetch(fixture, "/", AFC_OK);
    call *call = call_new(fixture, "/");
    check_status(afc_task_new(&call->task, call->session, &call->request, &call->events, NULL),
                 AFC_OK);
    pid_t child = fork();
    if (child == 0) {
        afc_task_start(call->task);
        bool ended = child_waits_for(&call->release_count, call);
        afc_task_release(call->task);
        afc_session_cancel_all(call->session);
        afc_session_release(call->session);
        afc_join_closed_sessions();
        child_exit(ended && call->failure.status == AFC_ECLOSED && call->done_count == 1 ? 0 : 1);
    }
    child_check(child);
    afc_task_start(call->task);
    call_wait(call);
    check_ended(call, AFC_OK);
    call_free(call);
}

static void task_completes_in_the_child_also_without_a_thread(void **state) {
    fixture *fixture = *state;
    call *call = call_new(fixture, "/");
    check_status(afc_task_new(&call->task, call->session, &call->request, &call->events, NULL),
                 AFC_OK);
    pid_t child = fork();
    if (child == 0) {
        /* That of the thread. */
        afc__alloc_fail_at(1);
        afc_task_start(call->task);
        afc__alloc_fail_at(0);
        bool ended = call->done_count == 1 && call->release_count == 1;
        afc_task_release(call->task);
        afc_session_release(call->session);
        child_exit(ended && call->failure.status == AFC_ECLOSED ? 0 : 1);
    }
    child_check(child);
    afc_task_start(call->task);
    call_wait(call);
    check_ended(call, AFC_OK);
    call_free(call);
}

static void wait_at_done(call *call) {
    *(bool *)call->payload = afc_task_wait(call->task, -1) == AFC_EINVAL;
    afc_join_closed_sessions();
}

/** Whether it has a thread of its own, or is called by afc_task_start(). */
static void completion_in_the_child_does_not_wait_for_itself(void **state) {
    fixture *fixture = *state;
    for (int has_thread = 0; has_thread < 2; has_thread++) {
        bool is_refused = false;
        call *call = call_new(fixture, "/");
        call->at_done = wait_at_done;
        call->payload = &is_refused;
        check_status(afc_task_new(&call->task, call->session, &call->request, &call->events, NULL),
                     AFC_OK);
        pid_t child = fork();
        if (child == 0) {
            if (!has_thread) afc__alloc_fail_at(1);
            afc_task_start(call->task);
            afc__alloc_fail_at(0);
            bool ended = child_waits_for(&call->release_count, call);
            afc_join_closed_sessions();
            /* Elsewhere waiting is allowed again. */
            ended = ended && afc_task_wait(call->task, -1) == AFC_OK;
            child_exit(ended && is_refused ? 0 : 1);
        }
        child_check(child);
        call->at_done = NULL;
        afc_task_start(call->task);
        call_wait(call);
        check_ended(call, AFC_OK);
        call_free(call);
    }
}

static void fork_does_not_disturb_tasks_in_flight(void **state) {
    fixture *fixture = *state;
    afts_script *script = afts_script_new();
    afts_stall(script, "late");
    afts_respond(script, 200, NULL, "late", 4);
    serve(fixture, "/late", script);
    call *call = call_new(fixture, "/late");
    call_start(call);
    assert_true(afts_wait_stalled(fixture->server, "late", 1, PATIENCE_MS));
    pid_t child = fork();
    if (child == 0) {
        afc_task_cancel(call->task);
        afc_task_release(call->task);
        afc_session_release(call->session);
        child_exit(0);
    }
    child_check(child);
    check_fetch(fixture, "/other", AFC_OK);
    afts_release(fixture->server, "late", 1);
    call_wait(call);
    check_ended(call, AFC_OK);
    check_slice(call->body, "late");
    call_free(call);
}

static void child_can_make_its_own_sessions(void **state) {
    fixture *fixture = *state;
    check_fetch(fixture, "/", AFC_OK);
    pid_t child = fork();
    if (child == 0) {
        call *call = call_new(fixture, "/child");
        if (afc_session_new(&call->session, NULL, NULL) != AFC_OK) child_exit(1);
        call_start(call);
        bool ended = child_waits_for(&call->release_count, call);
        bool is_fine = ended && call->failure.status == AFC_OK;
        call_free(call);
        child_exit(is_fine ? 0 : 1);
    }
    child_check(child);
    check_fetch(fixture, "/", AFC_OK);
    assert_int_equal(afts_server_stats(fixture->server).accepted, 2);
}

/** On the loop thread. */
static void fork_and_perform(call *call) {
    pid_t *child = call->payload;
    *child = fork();
    if (*child != 0) return;
    afc_session *session;
    afc_failure failure = {0};
    afc_request request = AFC_REQUEST_INIT;
    afc_result *result = NULL;
    request.url = call->request.url;
    afc_status status = afc_session_new(&session, NULL, &failure);
    if (status == AFC_OK) status = afc_perform(&result, session, &request, &failure);
    child_exit(status == AFC_OK && result != NULL ? 0 : 1);
}

static void child_forked_in_a_callback_can_perform(void **state) {
    fixture *fixture = *state;
    pid_t child = -1;
    call *call = call_new(fixture, "/");
    call->payload = &child;
    call->at_done = fork_and_perform;
    call_perform(call);
    check_ended(call, AFC_OK);
    assert_true(child > 0);
    child_check(child);
    call_free(call);
}

int main(void) {
    if (!CAN_FORK) return 0;
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(session_refuses_tasks_in_a_child),
        FIXTURE_TEST(task_made_before_the_fork_completes_in_the_child),
        FIXTURE_TEST(task_completes_in_the_child_also_without_a_thread),
        FIXTURE_TEST(completion_in_the_child_does_not_wait_for_itself),
        FIXTURE_TEST(fork_does_not_disturb_tasks_in_flight),
        FIXTURE_TEST(child_can_make_its_own_sessions),
        FIXTURE_TEST(child_forked_in_a_callback_can_perform),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
