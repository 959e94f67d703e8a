/*
 * The descriptor of a closed connection gets a new file at once, as close() of this program, which the library calls,
 * replaces it: nothing that the library remembers of the connection may reach that file.
 */
#include "base/clock.h"
#include "support/call.h"

#include <errno.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/** The port of the server; 0 as long as close() replaces nothing. */
static atomic_uint port;

/** The descriptor that was replaced, and the other end of what it is now; -1 before. */
static atomic_int replaced, other_end;

static bool leads_to_server(int descriptor) {
    struct sockaddr_in peer;
    socklen_t size = sizeof peer;
    unsigned awaited = atomic_load(&port);
    return awaited != 0 && getpeername(descriptor, (struct sockaddr *)&peer, &size) == 0 &&
           peer.sin_family == AF_INET && ntohs(peer.sin_port) == awaited;
}

int close(int descriptor) {
    int ends[2];
    if (!leads_to_server(descriptor) || socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
        return (int)syscall(SYS_close, descriptor);
    int result = dup2(ends[0], descriptor) == descriptor ? 0 : -1;
    syscall(SYS_close, ends[0]);
    atomic_store(&port, 0);
    atomic_store(&other_end, ends[1]);
    atomic_store(&replaced, descriptor);
    return result;
}

static void wait_until_replaced(void) {
    int64_t deadline = afc__now_us() + (int64_t)PATIENCE_MS * 1000;
    while (atomic_load(&replaced) < 0 && afc__now_us() < deadline) sched_yield();
    assert_true(atomic_load(&replaced) >= 0);
}

static void leaves_file_that_replaces_an_idle_connection_alone(void **state) {
    (void)state;
    char byte;
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    options.max_idle_s = 1;
    fixture *fixture = fixture_new(NULL, &options);
    serve(fixture, "/", answer(200, NULL, "hi"));
    serve(fixture, "/close", answer(200, "Connection: close", "hi"));
    static const char *const paths[] = {"/", "/close"};
    for (size_t i = 0; i < COUNT_OF(paths); i++) {
        atomic_store(&replaced, -1);
        atomic_store(&port, afts_server_port(fixture->server));
        check_fetch(fixture, paths[i], AFC_OK);
        wait_until_replaced();
        /* Turns of the loop. */
        for (int n = 0; n < 5; n++) check_fetch(fixture, "/close", AFC_OK);
        ssize_t count = recv(atomic_load(&other_end), &byte, 1, MSG_DONTWAIT);
        assert_true(count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK));
        assert_int_equal(close(atomic_load(&replaced)), 0);
        assert_int_equal(close(atomic_load(&other_end)), 0);
    }
    fixture_free(fixture);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(leaves_file_that_replaces_an_idle_connection_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
