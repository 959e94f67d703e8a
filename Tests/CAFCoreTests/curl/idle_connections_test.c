/*
 * Connections that nothing uses are closed, although no other request makes libcurl look at them. The limit counts whole
 * seconds of libcurl; what is waited for is what the server sees, and the descriptors of this process.
 */
#include "base/clock.h"
#include "support/call.h"
#include "support/h2.h"

#include <sched.h>
#include <string.h>

typedef enum protocol { PLAIN, TLS, HTTP_2, PROTOCOLS } protocol;

static world *make_world(protocol protocol, uint32_t max_idle_s, uint32_t max_connections) {
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    options.max_idle_s = max_idle_s;
    options.max_connections = max_connections;
    if (protocol == PLAIN) return world_new(NULL, &options);
    return protocol == TLS ? world_new_alpn("http/1.1", &options) : h2_world(&options);
}

static const char *root_of(world *world, protocol protocol) {
    return protocol == PLAIN ? url_of(world, "/") : tls_url(world);
}

static bool fetch(world *world, const char *url) {
    call *call = call_new(world, "/");
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
static size_t count_without_connections(world *world) {
    call *call = call_new(world, "/");
    call->request.url = "http://127.0.0.1:1/";
    call_perform(call);
    check_ended(call, AFC_ECONNECT);
    call_free(call);
    return count_descriptors();
}

/** Answers requests until the client ends the connection. */
static void answer_all(afts_conn *conn, const afts_request *request, void *payload) {
    (void)request, (void)payload;
    h2_peer peer;
    uint32_t stream;
    if (!h2_begin(&peer, conn)) return;
    while ((stream = h2_read_request(&peer)) != 0) {
        if (!h2_send_head(&peer, stream, 200, H2_END_STREAM)) return;
    }
}

/** Answers one request. A `payload` names a gate: frames are sent while the connection is idle, and then it waits there. */
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
        world *world = make_world(protocol, 1, 0);
        if (protocol == HTTP_2)
            h2_serve(world, answer_all, NULL, H2_CLOSE);
        else
            serve(world, "/*", answer(200, NULL, "hi"));
        size_t before = count_without_connections(world);
        assert_false(fetch(world, root_of(world, protocol)));
        assert_true(afts_wait_closed(world->server, 1, PATIENCE_MS));
        wait_for_descriptors(before);
        world_free(world);
    }
}

static afc_status suspend(call *call, afc_response *response) {
    (void)response;
    afc_task_suspend(call->task);
    return AFC_OK;
}

static void leaves_a_paused_connection_alone(void **state) {
    (void)state;
    world *world = make_world(PLAIN, 1, 0);
    static const char body[100000];
    afts_script *large = afts_script_new();
    afts_respond(large, 200, NULL, body, sizeof body);
    serve(world, "/large", large);
    serve(world, "/short", answer(200, NULL, "hi"));
    call *paused = call_new(world, "/large");
    paused->request.sink.kind = AFC_SINK_CALLBACK;
    paused->at_head = suspend;
    call_start(paused);
    call_wait_for(paused, &paused->head_count, 1);
    /* When the later connection is too old, the paused one would be as well. */
    assert_false(fetch(world, url_of(world, "/short")));
    assert_true(afts_wait_closed(world->server, 1, PATIENCE_MS));
    afc_task_resume(paused->task);
    call_wait(paused);
    check_ended(paused, AFC_OK);
    assert_int_equal(atomic_load(&paused->taken), sizeof body);
    call_free(paused);
    world_free(world);
}

/* ---- Ended by the server ------------------------------------------------------------------- */

static void closes_a_connection_that_the_server_has_closed(void **state) {
    (void)state;
    for (protocol protocol = PLAIN; protocol < PROTOCOLS; protocol++) {
        world *world = make_world(protocol, 3600, 0);
        afts_script *script = afts_script_new();
        afts_respond(script, 200, NULL, "hi", 2);
        afts_close(script);
        if (protocol == HTTP_2)
            h2_serve(world, answer_once, NULL, H2_CLOSE);
        else
            serve(world, "/*", script);
        size_t before = count_without_connections(world);
        for (unsigned i = 0; i < 2; i++) {
            (void)fetch(world, root_of(world, protocol));
            wait_for_descriptors(before);
        }
        if (protocol == HTTP_2) afts_script_release(script);
        world_free(world);
    }
}

/** The frames aren't read until the next request; the end behind them is noticed all the same. */
static void notices_the_end_behind_frames(void **state) {
    (void)state;
    static char gate[] = "end";
    world *world = make_world(HTTP_2, 3600, 0);
    h2_serve(world, answer_once, gate, H2_CLOSE);
    size_t before = count_without_connections(world);
    assert_false(fetch(world, tls_url(world)));
    afts_release(world->server, "frames", 1);
    assert_true(afts_wait_stalled(world->server, gate, 1, PATIENCE_MS));
    /* Turns of the loop. */
    (void)count_without_connections(world);
    assert_true(count_descriptors() > before);
    afts_release(world->server, gate, 1);
    wait_for_descriptors(before);
    world_free(world);
}

/** Also if the session has as many connections as it may have. */
static void keeps_the_other_connections(void **state) {
    (void)state;
    world *world = make_world(PLAIN, 3600, 2);
    afts_script *ending = afts_script_new();
    afts_read_request(ending);
    afts_stall(ending, "both");
    /* So that the other one is idle for longer, and would be closed for another connection. */
    afts_pause(ending, 50);
    afts_respond(ending, 200, NULL, "hi", 2);
    afts_stall(ending, "end");
    afts_close(ending);
    afts_on_connection(world->server, 0, ending);
    serve(world, "/*", answer(200, NULL, "hi"));
    size_t before = count_without_connections(world);
    call *first = call_new(world, "/");
    call_start(first);
    assert_true(afts_wait_stalled(world->server, "both", 1, PATIENCE_MS));
    assert_false(fetch(world, url_of(world, "/")));
    afts_release(world->server, "both", 1);
    call_wait(first);
    check_ended(first, AFC_OK);
    call_free(first);
    afts_release(world->server, "end", 1);
    /* Both ends of the other one. */
    wait_for_descriptors(before + 2);
    assert_true(fetch(world, url_of(world, "/")));
    assert_int_equal(afts_server_stats(world->server).accepted, 2);
    world_free(world);
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
