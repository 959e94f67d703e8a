/*
 * A process forks while its loops are in the middle of TLS handshakes: what OpenSSL's locks are at that moment they
 * stay in the child. The server lives in another process, so that the only OpenSSL that is in use is the library's own.
 */
#include "support/child.h"
#include "support/fixture.h"

#include <afcore/task.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/*
 * How often a lock is held is a matter of luck, which sanitizers and valgrind don't need: they look for other faults.
 */
#if HAS_ADDRESS_SANITIZER
enum { FORKS = 50 };
#else
enum { FORKS = 600 };
#endif

/* A child that needs longer hangs. */
enum { SESSIONS = 2, TASKS = 4, LONGEST_CHILD_S = 30 };

enum { IS_FINE, HAS_NO_POLICY, HAS_NO_SESSION, HAS_NO_TASK, HAS_NO_ANSWER };

static const char *program, *url, *anchors;

/* ---- In the process that forks ------------------------------------------------------------- */

static atomic_bool is_over;
static atomic_uint fetched;
static sem_t has_fetched;

static afc_session *open_session(void) {
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    afc_trust_options trust = AFC_TRUST_OPTIONS_INIT;
    afc_trust_policy *policy;
    afc_session *session;
    trust.anchors = afc_slice_of(anchors);
    if (afc_trust_policy_new(&policy, &trust, NULL) != AFC_OK) child_exit(HAS_NO_POLICY);
    options.trust = policy;
    if (afc_session_new(&session, &options, NULL) != AFC_OK) child_exit(HAS_NO_SESSION);
    afc_trust_policy_release(policy);
    return session;
}

static void fetch_again(void *context, afc_result *result);

static void fetch(afc_session *session) {
    afc_request request = AFC_REQUEST_INIT;
    afc_task_events events = AFC_TASK_EVENTS_INIT;
    request.url = url;
    events.on_done = fetch_again;
    events.context = session;
    if (afc_task_begin(NULL, session, &request, &events, NULL) != AFC_OK) child_exit(HAS_NO_TASK);
}

static void fetch_again(void *context, afc_result *result) {
    afc_result_free(result);
    if (atomic_fetch_add(&fetched, 1) == 0) sem_post(&has_fetched);
    if (!atomic_load(&is_over)) fetch(context);
}

static sem_t child_is_done;
static atomic_bool child_is_fine;

static void note_end(void *context, afc_result *result) {
    (void)context;
    atomic_store(&child_is_fine, afc_result_get_failure(result)->status == AFC_OK);
    afc_result_free(result);
    sem_post(&child_is_done);
}

static _Noreturn void live_as_child(void) {
    alarm(LONGEST_CHILD_S);
    sem_init(&child_is_done, 0, 0);
    afc_session *session = open_session();
    afc_request request = AFC_REQUEST_INIT;
    afc_task_events events = AFC_TASK_EVENTS_INIT;
    request.url = url;
    events.on_done = note_end;
    if (afc_task_begin(NULL, session, &request, &events, NULL) != AFC_OK) child_exit(HAS_NO_TASK);
    while (sem_wait(&child_is_done) != 0) continue;
    child_exit(atomic_load(&child_is_fine) ? IS_FINE : HAS_NO_ANSWER);
}

/** Prints how the children ended; 0: all of them as promised. */
static int fork_again_and_again(void) {
    afc_session *sessions[SESSIONS];
    unsigned counts[HAS_NO_ANSWER + 1] = {0}, hanging = 0, forks = (unsigned)test_amount(FORKS, 20);
    sem_init(&has_fetched, 0, 0);
    for (size_t i = 0; i < SESSIONS; i++) {
        sessions[i] = open_session();
        for (size_t k = 0; k < TASKS; k++) fetch(sessions[i]);
    }
    while (sem_wait(&has_fetched) != 0) continue;
    for (unsigned i = 0; i < forks; i++) {
        pid_t child = fork();
        int status;
        if (child == 0) live_as_child();
        if (child < 0) return 1;
        while (waitpid(child, &status, 0) != child) continue;
        if (WIFEXITED(status) && WEXITSTATUS(status) <= HAS_NO_ANSWER) {
            counts[WEXITSTATUS(status)]++;
        } else {
            hanging++;
        }
    }
    atomic_store(&is_over, true);
    for (size_t i = 0; i < SESSIONS; i++) afc_session_release(sessions[i]);
    afc_join_closed_sessions();
    /* On a busy machine a turn of a loop can take longer than the second that fork() waits for it. */
    unsigned refused = counts[HAS_NO_POLICY] + counts[HAS_NO_SESSION];
    fprintf(stderr, "%u children: %u fine, %u refused a session, %u without an answer, %u hung\n",
            forks, counts[IS_FINE], refused, counts[HAS_NO_TASK] + counts[HAS_NO_ANSWER], hanging);
    return counts[IS_FINE] + refused == forks && refused <= forks / 20 ? 0 : 1;
}

/* ---- In the process of the test ------------------------------------------------------------ */

static void child_forked_during_handshakes_can_make_sessions(void **state) {
    (void)state;
    fixture *fixture = fixture_new_tls();
    serve(fixture, "/", answer(200, "Connection: close", "here"));
    setenv("AF_TEST_ANCHORS", afts_cert_pem(fixture->authority), 1);
    char *arguments[] = {"fork_tls_test", (char *)(uintptr_t)tls_url(fixture), NULL};
    pid_t child;
    assert_int_equal(posix_spawn(&child, program, NULL, NULL, arguments, environ), 0);
    child_check(child);
    fixture_free(fixture);
}

/* ---- A fork that can't wait ---------------------------------------------------------------- */

static sem_t is_inside, may_leave;

static afc_status block(void *context, afc_response *response) {
    (void)context, (void)response;
    sem_post(&is_inside);
    while (sem_wait(&may_leave) != 0) continue;
    return AFC_OK;
}

static void child_of_a_blocked_loop_is_refused_a_session(void **state) {
    (void)state;
    fixture *fixture = fixture_new(NULL, NULL);
    sem_init(&is_inside, 0, 0);
    sem_init(&may_leave, 0, 0);
    afc_request request = AFC_REQUEST_INIT;
    afc_task_events events = AFC_TASK_EVENTS_INIT;
    request.url = url_of(fixture, "/");
    events.on_head = block;
    check_status(afc_task_begin(NULL, fixture->session, &request, &events, NULL), AFC_OK);
    while (sem_wait(&is_inside) != 0) continue;
    pid_t child = fork();
    if (child == 0) {
        alarm(LONGEST_CHILD_S);
        afc_session *session;
        afc_trust_policy *policy;
        afc_failure failure;
        bool is_refused = afc_session_new(&session, NULL, &failure) == AFC_EINTERNAL &&
                          strstr(failure.text, "forked") != NULL &&
                          afc_trust_policy_new(&policy, NULL, NULL) == AFC_EINTERNAL;
        child_exit(is_refused ? 0 : 1);
    }
    sem_post(&may_leave);
    child_check(child);
    fixture_free(fixture);
}

static void callback_may_fork(void *context, afc_result *result) {
    pid_t *child = context;
    *child = fork();
    if (*child == 0) {
        afc_session *session;
        child_exit(afc_session_new(&session, NULL, NULL) == AFC_OK ? 0 : 1);
    }
    afc_result_free(result);
    sem_post(&is_inside);
}

static void child_forked_in_a_callback_can_make_sessions(void **state) {
    (void)state;
    fixture *fixture = fixture_new(NULL, NULL);
    sem_init(&is_inside, 0, 0);
    pid_t child = -1;
    afc_request request = AFC_REQUEST_INIT;
    afc_task_events events = AFC_TASK_EVENTS_INIT;
    request.url = url_of(fixture, "/");
    events.on_done = callback_may_fork;
    events.context = &child;
    check_status(afc_task_begin(NULL, fixture->session, &request, &events, NULL), AFC_OK);
    while (sem_wait(&is_inside) != 0) continue;
    child_check(child);
    fixture_free(fixture);
}

int main(int argc, char **argv) {
    if (!CAN_FORK) return 0;
    program = argv[0];
    anchors = getenv("AF_TEST_ANCHORS");
    if (argc == 2) {
        url = argv[1];
        return fork_again_and_again();
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(child_forked_during_handshakes_can_make_sessions),
        cmocka_unit_test(child_of_a_blocked_loop_is_refused_a_session),
        cmocka_unit_test(child_forked_in_a_callback_can_make_sessions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
