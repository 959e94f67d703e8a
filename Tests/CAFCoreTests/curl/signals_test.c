/* The handlers of signals are the program's: libcurl, which would set that of SIGPIPE around each of its calls, sets none. */
#include "support/call.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdatomic.h>

typedef int setter(int signal, const struct sigaction *action, struct sigaction *previous);

static setter *real_sigaction;
static atomic_uint changes;

static __attribute__((constructor)) void find_real_sigaction(void) {
    *(void **)&real_sigaction = dlsym(RTLD_NEXT, "sigaction");
}

/** Takes the place of libc's. */
int sigaction(int signal, const struct sigaction *action, struct sigaction *previous) {
    if (action != NULL) atomic_fetch_add(&changes, 1);
    return real_sigaction(signal, action, previous);
}

static void requests_change_no_signal_handler(void **state) {
    fixture *fixture = *state;
    serve(fixture, "/", answer(200, "Connection: close", "here"));
    unsigned before = atomic_load(&changes);
    check_fetch(fixture, "/", AFC_OK);
    check_fetch_url(
        fixture,
        text_of(fixture, "http://localhost:%u/", (unsigned)afts_server_port(fixture->server)),
        AFC_OK);
    fixture_close_session(fixture);
    assert_int_equal(atomic_load(&changes), before);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(requests_change_no_signal_handler),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
