/*
 * A process may end at any moment: main() returns while loops are in the middle of TLS transfers.
 * Nothing must crash or hang, though nothing was released or joined.
 */
#include "support/files.h"
#include "support/fixture.h"

#include <afcore/session.h>
#include <openssl/crypto.h>
#include <semaphore.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { ROUNDS = 20, TASKS = 16 };

static sem_t under_way;
static const char *program;

static afc_status note_body(void *context, afc_slice chunk) {
    (void)context, (void)chunk;
    sem_post(&under_way);
    return AFC_OK;
}

/** In the child: start downloads without end, wait until bytes come, and leave. */
static int leave_in_the_middle(const char *url, const char *anchors) {
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    options.trust = policy_trusting(anchors);
    afc_session *session;
    if (afc_session_new(&session, &options, NULL) != AFC_OK) return 2;
    sem_init(&under_way, 0, 0);
    afc_request request = AFC_REQUEST_INIT;
    afc_task_events events = AFC_TASK_EVENTS_INIT;
    request.url = url;
    request.sink.kind = AFC_SINK_CALLBACK;
    events.on_body = note_body;
    for (int i = 0; i < TASKS; i++) {
        if (afc_task_begin(NULL, session, &request, &events, NULL) != AFC_OK) return 3;
    }
    while (sem_wait(&under_way) != 0) continue;
    return 0;
}

/** Registered first, so it runs last: has OpenSSL torn itself down by then? */
static void look_at_openssl(void) {
    if (OPENSSL_init_crypto(0, NULL) != 1) _exit(4);
}

/** In the child: the first of all that has to do with OpenSSL is a file of certificates. */
static int read_certificates_and_leave(const char *path) {
    afc_bytes certificates;
    if (atexit(look_at_openssl) != 0) return 2;
    if (afc_certificates_read(&certificates, path, NULL) != AFC_OK) return 3;
    afc_free(certificates.bytes);
    return 0;
}

/** `argument` is a path if there are no anchors. */
static int run_child(const char *argument, const char *anchors) {
    if (anchors != NULL)
        setenv("AF_TEST_ANCHORS", anchors, 1);
    else
        unsetenv("AF_TEST_ANCHORS");
    char *arguments[] = {"exit_test", (char *)(uintptr_t)argument, NULL};
    pid_t child;
    assert_int_equal(posix_spawn(&child, program, NULL, NULL, arguments, environ), 0);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void process_may_exit_during_transfers(void **state) {
    (void)state;
    fixture *fixture = fixture_new_tls();
    afts_script *script = afts_script_new();
    afts_respond_repeated(script, 200, NULL, "0123456789abcdef", 16, AFTS_FOREVER);
    serve(fixture, "/endless", script);
    for (int i = 0; i < ROUNDS; i++) {
        int status = run_child(url_of(fixture, "/endless"), afts_cert_pem(fixture->authority));
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
    fixture_free(fixture);
}

static void exit_is_safe_whoever_used_openssl_first(void **state) {
    (void)state;
    folder folder;
    folder_make(&folder);
    afts_cert *authority = afts_cert_new(&(afts_cert_options){.authority = true}, NULL);
    write_file(path_in(&folder, "ca.pem"), afc_slice_of(afts_cert_pem(authority)));
    int status = run_child(path_in(&folder, "ca.pem"), NULL);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    afts_cert_free(authority);
    folder_remove(&folder);
}

int main(int argc, char **argv) {
    program = argv[0];
    const char *anchors = getenv("AF_TEST_ANCHORS");
    if (argc == 2 && anchors == NULL) return read_certificates_and_leave(argv[1]);
    if (argc == 2) return leave_in_the_middle(argv[1], anchors);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exit_is_safe_whoever_used_openssl_first),
        cmocka_unit_test(process_may_exit_during_transfers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
