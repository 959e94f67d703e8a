/*
 * A process may end at any moment: main() returns while loops are in the middle of TLS transfers.
 * Nothing must crash or hang, though nobody released or joined anything.
 */
#include "support/world.h"

#include <afcore/session.h>
#include <semaphore.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

extern char **environ;

enum { ROUNDS = 20, TASKS = 16 };

static sem_t under_way;
static const char *program;

static af_status note_body(void *context, af_slice chunk) {
    (void)context, (void)chunk;
    sem_post(&under_way);
    return AF_OK;
}

/** In the child: start downloads without end, wait until bytes come, and leave. */
static int leave_in_the_middle(const char *url, const char *anchors) {
    af_session_options options = AF_SESSION_OPTIONS_INIT;
    options.trust = policy_trusting(anchors);
    af_session *session;
    if (af_session_new(&session, &options, NULL) != AF_OK) return 2;
    sem_init(&under_way, 0, 0);
    af_request request = AF_REQUEST_INIT;
    af_task_events events = AF_TASK_EVENTS_INIT;
    request.url = url;
    request.sink.kind = AF_SINK_EVENTS;
    events.on_body = note_body;
    for (int i = 0; i < TASKS; i++) {
        if (af_task_begin(NULL, session, &request, &events, NULL) != AF_OK) return 3;
    }
    while (sem_wait(&under_way) != 0) continue;
    return 0;
}

static int run_child(const char *url, const char *anchors) {
    setenv("AF_TEST_ANCHORS", anchors, 1);
    char *arguments[] = {"exit_test", (char *)(uintptr_t)url, NULL};
    pid_t child;
    assert_int_equal(posix_spawn(&child, program, NULL, NULL, arguments, environ), 0);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void a_process_may_end_in_the_middle_of_transfers(void **state) {
    (void)state;
    world *world = world_new_tls();
    afts_script *script = afts_script_new();
    afts_respond_repeated(script, 200, NULL, "0123456789abcdef", 16, AFTS_FOREVER);
    serve(world, "/endless", script);
    for (int i = 0; i < ROUNDS; i++) {
        int status = run_child(url_of(world, "/endless"), afts_cert_pem(world->authority));
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
    world_free(world);
}

int main(int argc, char **argv) {
    program = argv[0];
    if (argc == 2) return leave_in_the_middle(argv[1], getenv("AF_TEST_ANCHORS"));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_process_may_end_in_the_middle_of_transfers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
