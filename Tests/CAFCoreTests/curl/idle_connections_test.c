/*
 * Connections that nothing uses are closed, although no other request makes libcurl look at them. The limit counts
 * whole seconds of libcurl; what is waited for is what the server sees, and the descriptors of this process.
 */
#include "base/clock.h"
#include "support/call.h"
#include "support/h2.h"

#include <sched.h>
#include <string.h>

typedef enum protocol { PLAIN, TLS, HTTP_2, PROTOCOLS } protocol;

static fixture *make_fixture(protocol protocol, uint32_t max_idle_s, uint32_t max_connections) {
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    options.max_idle_s = max_idle_s;
    options.max_connections = max_connections;
    if (protocol == PLAIN) return fixture_new(NULL, &options);
    return protocol == TLS ? fixture_new_alpn("http/1.1", &options) : h2_fixture(&options);
}

static const char *root_of(fixture *fixture, protocol protocol) {
    return protocol == PLAIN ? url_of(fixture, "/") : tls_url(fixture);
}

static bool fetch(fixture *fixture, const char *url) {
    call *call = call_new(fixture, "/");
    call->request.url = url;
    call_perform(call);
    check_ended(call, AFC_OK);
    bool is_reused = call->hops[0].is_reused;
    call_free(call);
    return is_reused;
}

/** The server's connections are this process's, too. */
static void wait_for_descriptors(size_t most) {
    int64_t deadline = afc__now_us() + (int64_t)PATIENCE_MS * 1000;
    while (count_descriptors() > most && afc__now_us() < deadline) sched_yield();
    assert_true(count_descriptors() <= most);
}

/** Opens whatever the first request of a process or a session opens, and returns the number of descriptors then. */
static size_t count_without_connections(fixture *fixture) {
    call *call = call_new(fixture, "/");
    call->request.url = "http://127.0.0.1:1/";
    call_perform(call);
    check_ended(call, AFC_ECONNECT);
    call_free(call);
    return count_descriptors();
}

/**
 * Answers one request. A `payload` names a gate: frames are sent while the connection is idle, and then it waits there.
 */
static void answer_once(afts_conn *conn, const afts_request *request, void *payload) {
    (void)request;
    h2_peer peer;
    if (!h2_begin(&peer, conn)) return;
    uint32_t stream = h2_read_request(&peer);
    if (stream == 0 || !h2_send_head(&peer, stream, 200, H2_END_STREAM) || payload == NULL) return;
    if (afts_conn_stall(conn, "frames") != AFTS_OK) return;
    if (!h2_send(&peer, H2_PING, 0, 0, "12345678", 8)) return;
    (void)afts_conn_stall(conn, payload);
}

/* ---- Lifetime ------------------------------------------------------------------------------ */

static void closes_a_connection_whose_lifetime_is_over(void **state) {
    (void)state;
    for (protocol protocol = PLAIN; protocol < PROTOCOLS; protocol++) {
        fixture *fixture = make_fixture(protocol, 1, 0);
        if (protocol == HTTP_2)
            h2_serve(fixture, h2_answer_all, NULL, H2_CLOSE);
        else
            serve(fixture, "/*", answer(200, NULL, "hi"));
        size_t before = count_without_connections(fixture);
        assert_false(fetch(fixture, root_of(fixture, protocol)));
        assert_true(afts_wait_closed(fixture->server, 1, PATIENCE_MS));
        wait_for_descriptors(before);
        fixture_free(fixture);
    }
}

static afc_status suspend(call *call, afc_response *response) {
    (void)response;
    afc_task_suspend(call->task);
    return AFC_OK;
}

static void leaves_a_paused_connection_alone(void **state) {
    (void)state;
    fixture *fixture = make_fixture(PLAIN, 1, 0);
    static const char body[100000];
    afts_script *large = afts_script_new();
    afts_respond(large, 200, NULL, body, sizeof body);
    serve(fixture, "/large", large);
    serve(fixture, "/short", answer(200, NULL, "hi"));
    call *paused = call_new(fixture, "/large");
    paused->request.sink.kind = AFC_SINK_CALLBACK;
    paused->at_head = suspend;
    call_start(paused);
    call_wait_for(paused, &paused->head_count, 1);
    /* When the later connection is too old, the paused one would be as well. */
    assert_false(fetch(fixture, url_of(fixture, "/short")));
    assert_true(afts_wait_closed(fixture->server, 1, PATIENCE_MS));
    afc_task_resume(paused->task);
    call_wait(paused);
    check_ended(paused, AFC_OK);
    assert_int_equal(atomic_load(&paused->taken), sizeof body);
    call_free(paused);
    fixture_free(fixture);
}

/* ---- Ended by the server ------------------------------------------------------------------- */

static void closes_a_connection_that_the_server_has_closed(void **state) {
    (void)state;
    for (protocol protocol = PLAIN; protocol < PROTOCOLS; protocol++) {
        fixture *fixture = make_fixture(protocol, 3600, 0);
        afts_script *script = afts_script_new();
        afts_respond(script, 200, NULL, "hi", 2);
        afts_close(script);
        if (protocol == HTTP_2)
            h2_serve(fixture, answer_once, NULL, H2_CLOSE);
        else
            serve(fixture, "/*", script);
        size_t before = count_without_connections(fixture);
        for (unsigned i = 0; i < 2; i++) {
            (void)fetch(fixture, root_of(fixture, protocol));
            wait_for_descriptors(before);
        }
        if (protocol == HTTP_2) afts_script_release(script);
        fixture_free(fixture);
    }
}

/** The frames aren't read until the next request; the end behind them is noticed all the same. */
static void notices_the_end_behind_frames(void **state) {
    (void)state;
    static char gate[] = "end";
    fixture *fixture = make_fixture(HTTP_2, 3600, 0);
    h2_serve(fixture, answer_once, gate, H2_CLOSE);
    size_t before = count_without_connections(fixture);
    assert_false(fetch(fixture, tls_url(fixture)));
    afts_release(fixture->server, "frames", 1);
    assert_true(afts_wait_stalled(fixture->server, gate, 1, PATIENCE_MS));
    /* Turns of the loop. */
    (void)count_without_connections(fixture);
    assert_true(count_descriptors() > before);
    afts_release(fixture->server, gate, 1);
    wait_for_descriptors(before);
    fixture_free(fixture);
}

/** Also if the session has as many connections as it may have. */
static void keeps_the_other_connections(void **state) {
    (void)state;
    fixture *fixture = make_fixture(PLAIN, 3600, 2);
    afts_script *ending = afts_script_new();
    afts_read_request(ending);
    afts_stall(ending, "both");
    /* So that the other one is idle for longer, and would be closed for another connection. */
    afts_pause(ending, 50);
    afts_respond(ending, 200, NULL, "hi", 2);
    afts_stall(ending, "end");
    afts_close(ending);
    afts_on_connection(fixture->server, 0, ending);
    serve(fixture, "/*", answer(200, NULL, "hi"));
    size_t before = count_without_connections(fixture);
    call *first = call_new(fixture, "/");
    call_start(first);
    assert_true(afts_wait_stalled(fixture->server, "both", 1, PATIENCE_MS));
    assert_false(fetch(fixture, url_of(fixture, "/")));
    afts_release(fixture->server, "both", 1);
    call_wait(first);
    check_ended(first, AFC_OK);
    call_free(first);
    afts_release(fixture->server, "end", 1);
    /* Both ends of the other one. */
    wait_for_descriptors(before + 2);
    assert_true(fetch(fixture, url_of(fixture, "/")));
    assert_int_equal(afts_server_stats(fixture->server).accepted, 2);
    fixture_free(fixture);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(closes_a_connection_whose_lifetime_is_over),
        cmocka_unit_test(leaves_a_paused_connection_alone),
        cmocka_unit_test(closes_a_connection_that_the_server_has_closed),
        cmocka_unit_test(notices_the_end_behind_frames),
        cmocka_unit_test(keeps_the_other_connections),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
