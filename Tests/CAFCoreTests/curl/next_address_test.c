/* Hosts with several addresses, some of which have no listener. */
#include "support/call.h"
#include "support/h2.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

/** NEVER_MS is longer than a task of these tests may take. */
enum { BY_DEFAULT = 0, NEVER_MS = 60000, TOTAL_MS = 50000 };

static uint16_t port_of(fixture *fixture) {
    return (uint16_t)strtoul(strrchr(url_of(fixture, ""), ':') + 1, NULL, 10);
}

/**
 * Makes a request of "/" of a host with these addresses. After `delay_ms`, the other family and, from libcurl 8.16, the
 * next is tried.
 */
static call *call_many(fixture *fixture, const char *addresses, uint32_t delay_ms) {
    const afc_host_override override = {"many.test", port_of(fixture), addresses, {0}};
    fixture_close_session(fixture);
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    options.network = (afc_network_options){
        .overrides = &override, .override_count = 1, .happy_eyeballs_ms = delay_ms};
    check_status(afc_session_new(&fixture->session, &options, NULL), AFC_OK);
    call *call = call_new(fixture, "/");
    call->request.url = text_of(fixture, "http://many.test:%u/", port_of(fixture));
    call->request.timeouts.total_ms = TOTAL_MS;
    return call;
}

static void fetch(fixture *fixture, const char *addresses, uint32_t delay_ms, uint32_t connect_ms,
                  afc_status expected) {
    call *call = call_many(fixture, addresses, delay_ms);
    call->request.timeouts.connect_ms = connect_ms;
    call_perform(call);
    check_ended(call, expected);
    call_free(call);
}

/** No timer helps: the only limit is that of the whole task. */
static void tries_each_address_that_refuses(void **state) {
    fixture *fixture = *state;
    serve(fixture, "/", answer(200, NULL, "here"));
    fetch(fixture, "127.0.0.9,127.0.0.1", NEVER_MS, 0, AFC_OK);
    fetch(fixture, "127.0.0.9,127.0.0.8,127.0.0.7,127.0.0.1", NEVER_MS, 0, AFC_OK);
    fetch(fixture, "::1,127.0.0.9,127.0.0.1", NEVER_MS, 0, AFC_OK);
    fetch(fixture, "127.0.0.9,127.0.0.8,127.0.0.7", NEVER_MS, 0, AFC_ECONNECT);
}

/** That nothing may be connected to the first of several addresses is known at once, too. */
static void fails_at_an_address_that_is_not_allowed(void **state) {
    fixture *fixture = *state;
    const afc_host_override override = {
        "many.test", port_of(fixture), "127.0.0.9,127.0.0.8,127.0.0.1", {0}};
    fixture_close_session(fixture);
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    options.network = (afc_network_options){.overrides = &override,
                                            .override_count = 1,
                                            .happy_eyeballs_ms = NEVER_MS,
                                            .require_public_addresses = true};
    check_status(afc_session_new(&fixture->session, &options, NULL), AFC_OK);
    call *call = call_new(fixture, "/");
    call->request.url = text_of(fixture, "http://many.test:%u/", port_of(fixture));
    call->request.timeouts.total_ms = TOTAL_MS;
    call_perform(call);
    check_ended(call, AFC_ECONNECT);
    check_contains(call->failure.text, "isn't public");
    call_free(call);
}

/** Refuses the first request. */
static void refuse_first(afts_conn *conn, const afts_request *request, void *payload) {
    (void)request;
    atomic_uint *requests = payload;
    h2_peer peer;
    uint32_t stream;
    if (!h2_begin(&peer, conn)) return;
    while ((stream = h2_read_request(&peer)) != 0) {
        bool goes_on = atomic_fetch_add(requests, 1) == 0
                           ? h2_send_reset(&peer, stream, H2_REFUSED_STREAM)
                           : h2_send_head(&peer, stream, 200, H2_END_STREAM);
        if (!goes_on) return;
    }
}

/** libcurl repeats it by itself, on another connection. */
static void tries_each_address_for_a_refused_request(void **state) {
    fixture *fixture = *state;
    atomic_uint requests = 0;
    /* Those versions don't repeat it. */
    if (libcurl_is_at_least(8, 1) && !libcurl_is_at_least(8, 4)) skip();
    h2_serve(fixture, refuse_first, &requests, H2_CLOSE);
    call *call = call_many(fixture, "127.0.0.9,127.0.0.8,127.0.0.1", NEVER_MS);
    call->request.version = AFC_HTTP_PREFER_2_PRIOR_KNOWLEDGE;
    call_perform(call);
    check_ended(call, AFC_OK);
    assert_int_equal(atomic_load(&requests), 2);
    call_free(call);
}

/** Opens a listener that accepts nothing, and fills its queue: later attempts get no response. */
static int open_silent_listener(const char *address, uint16_t port, int waiting[], size_t count) {
    struct sockaddr_in name = {.sin_family = AF_INET, .sin_port = htons(port)};
    assert_int_equal(inet_pton(AF_INET, address, &name.sin_addr), 1);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&name, sizeof name), 0);
    assert_int_equal(listen(listener, 0), 0);
    for (size_t i = 0; i < count; i++) {
        waiting[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        int result = connect(waiting[i], (struct sockaddr *)&name, sizeof name);
        assert_true(result == 0 || errno == EINPROGRESS);
    }
    return listener;
}

/** Before 8.16, libcurl leaves an address half of the time to connect. */
static void leaves_address_that_does_not_respond(void **state) {
    fixture *fixture = *state;
    int waiting[4];
    serve(fixture, "/", answer(200, NULL, "here"));
    int listener = open_silent_listener("127.0.0.9", port_of(fixture), waiting, COUNT_OF(waiting));
    fetch(fixture, "127.0.0.9,127.0.0.1", BY_DEFAULT, 6000, AFC_OK);
    for (size_t i = 0; i < COUNT_OF(waiting); i++) close(waiting[i]);
    close(listener);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(tries_each_address_that_refuses),
        FIXTURE_TEST(fails_at_an_address_that_is_not_allowed),
        FIXTURE_TEST(tries_each_address_for_a_refused_request),
        FIXTURE_TEST(leaves_address_that_does_not_respond),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
