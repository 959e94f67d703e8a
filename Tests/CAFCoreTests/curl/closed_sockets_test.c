/*
 * The descriptor of a closed connection gets a new file at once, as close() of this program, which the library calls,
 * replaces it: nothing that the library remembers of the connection may reach that file.
 */
#include "support/call.h"

#include <dlfcn.h>
#include <errno.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/** The next socket is the connection that is replaced. */
static atomic_bool is_awaited;

/** The descriptor of that connection until it is closed; -1 before and afterwards. */
static atomic_int connection = -1;

/** What the connection's descriptor is now, and the other end of that. */
static atomic_int replaced, other_end;

static sem_t was_replaced;

/** Also ThreadSanitizer's, which must know that a descriptor was used again. */
static int (*real_socket)(int, int, int);

static __attribute__((constructor)) void find_real_socket(void) {
    *(void **)&real_socket = dlsym(RTLD_NEXT, "socket");
}

/**
 * Takes the place of libc's. What close() replaces is recognised here, and not by its peer: a connection that was shut
 * down has none any more, and where everything is slow, as under valgrind, idle ones are shut down before libcurl
 * closes them.
 */
int socket(int domain, int type, int protocol) {
    int descriptor = real_socket(domain, type, protocol);
    if (domain == AF_INET && atomic_exchange(&is_awaited, false))
        atomic_store(&connection, descriptor);
    return descriptor;
}

int close(int descriptor) {
    int ends[2];
    bool is_connection = descriptor >= 0 && descriptor == atomic_load(&connection);
    if (!is_connection || socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
        return (int)syscall(SYS_close, descriptor);
    int result = dup2(ends[0], descriptor) == descriptor ? 0 : -1;
    syscall(SYS_close, ends[0]);
    atomic_store(&connection, -1);
    atomic_store(&other_end, ends[1]);
    atomic_store(&replaced, descriptor);
    sem_post(&was_replaced);
    return result;
}

static void wait_until_replaced(void) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE_MS / 1000;
    assert_int_equal(sem_timedwait(&was_replaced, &until), 0);
}

static void leaves_file_that_replaces_an_idle_connection_alone(void **state) {
    (void)state;
    char byte;
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    options.max_idle_s = 1;
    sem_init(&was_replaced, 0, 0);
    fixture *fixture = fixture_new(NULL, &options);
    serve(fixture, "/", answer(200, NULL, "hi"));
    serve(fixture, "/close", answer(200, "Connection: close", "hi"));
    static const char *const paths[] = {"/", "/close"};
    for (size_t i = 0; i < COUNT_OF(paths); i++) {
        atomic_store(&is_awaited, true);
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
    sem_destroy(&was_replaced);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(leaves_file_that_replaces_an_idle_connection_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
