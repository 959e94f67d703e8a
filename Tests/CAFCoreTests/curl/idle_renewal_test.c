/*
 * A connection whose responses are there as soon as their requests were sent: libcurl then never waits for its socket,
 * and yet each request begins the time anew after which an idle connection is closed. To make that certain, send() of
 * this program, which libcurl calls, returns when the response is there.
 */
#include "base/clock.h"
#include "support/call.h"

#include <netinet/in.h>
#include <poll.h>
#include <stdatomic.h>
#include <sys/socket.h>

/** The port of the server; 0 as long as send() doesn't wait. */
static atomic_uint port;

static bool leads_to_server(int descriptor) {
    struct sockaddr_in peer;
    socklen_t size = sizeof peer;
    unsigned awaited = atomic_load(&port);
    return awaited != 0 && getpeername(descriptor, (struct sockaddr *)&peer, &size) == 0 &&
           peer.sin_family == AF_INET && ntohs(peer.sin_port) == awaited;
}

ssize_t send(int descriptor, const void *bytes, size_t size, int flags) {
    ssize_t count = sendto(descriptor, bytes, size, flags, NULL, 0);
    struct pollfd polled = {.fd = descriptor, .events = POLLIN};
    if (count > 0 && leads_to_server(descriptor)) (void)poll(&polled, 1, PATIENCE_MS);
    return count;
}

static bool fetch(fixture *fixture) {
    call *call = call_new(fixture, "/");
    call_perform(call);
    check_ended(call, AFC_OK);
    bool is_reused = call->hops[0].is_reused;
    call_free(call);
    return is_reused;
}

static void keeps_connection_whose_responses_arrive_at_once(void **state) {
    (void)state;
    /* libcurl counts whole seconds: a connection is certainly reused after one, and never after two. */
    enum { SECOND_US = 1000000, RESPONSE_MS = 50 };
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    options.max_idle_s = 1;
    fixture *fixture = fixture_new(NULL, &options);
    afts_script *script = afts_script_new();
    afts_pause(script, RESPONSE_MS);
    afts_respond(script, 200, NULL, "hi", 2);
    serve(fixture, "/", script);
    assert_false(fetch(fixture));
    atomic_store(&port, afts_server_port(fixture->server));
    /* If this machine is so slow that the connection is idle for a second, a new one is allowed. */
    int64_t now = afc__now_us(), last = now, used_for = 0;
    while (used_for < 3 * SECOND_US) {
        bool is_reused = fetch(fixture);
        now = afc__now_us();
        used_for = is_reused ? used_for + (now - last) : 0;
        assert_true(is_reused || now - last >= SECOND_US);
        last = now;
    }
    atomic_store(&port, 0);
    fixture_free(fixture);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_connection_whose_responses_arrive_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
