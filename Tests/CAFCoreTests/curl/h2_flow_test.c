/*
 * Streams of HTTP/2 that wait: they cost no more than buffers hold, and no other stream any
 * time.
 */
#include "base/clock.h"
#include "support/call.h"
#include "support/files.h"
#include "support/h2.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MANY = 64,
    /* More than there are connections to be set apart and used again. */
    STREAMS = 9,
    LARGE_FRAMES = 256,
    /* Longer than it takes to connect. */
    IDLE_MS = 3000,
    FRAME = 16000
};

/* ---- The server ---------------------------------------------------------------------------- */

typedef enum role {
    ANSWERS,      /**< Each request at once. */
    ENDLESS,      /**< The first one without end. */
    LARGE_FIRST,  /**< The first one at length, then each at once. */
    SILENT_FIRST, /**< The first one never, the others at once. */
    DRIBBLING     /**< The first one in crumbs without end, the others never. */
} role;

typedef struct server {
    role role; /**< Role of the first `count` connections; the others answer. */
    unsigned count;
    atomic_uint requests[64]; /**< Number of requests on each connection. */
} server;

static void send_answer(h2_peer *peer, uint32_t stream) {
    h2_send_head(peer, stream, 200, 0);
    h2_send(peer, H2_DATA, H2_END_STREAM, stream, "fine", 4);
}

static void send_large(h2_peer *peer, uint32_t stream) {
    static const uint8_t block[FRAME];
    h2_send_head(peer, stream, 200, 0);
    for (int i = 1; i < LARGE_FRAMES; i++) h2_send(peer, H2_DATA, 0, stream, block, FRAME);
    h2_send(peer, H2_DATA, H2_END_STREAM, stream, block, FRAME);
}

static void dribble(h2_peer *peer) {
    h2_send_head(peer, 1, 200, 0);
    while (h2_send(peer, H2_DATA, 0, 1, ".", 1) && afts_conn_pause(peer->conn, 10) == 0) {}
}

static void serve_connection(server *server, h2_peer *peer) {
    size_t index = afts_conn_index(peer->conn);
    role role = index < server->count ? server->role : ANSWERS;
    for (unsigned i = 0;; i++) {
        uint32_t stream = h2_read_request(peer);
        if (stream == 0) return;
        if (index < COUNT_OF(server->requests)) atomic_fetch_add(&server->requests[index], 1);
        if (role == DRIBBLING) {
            if (i > 0) dribble(peer);
        } else if (i > 0 || role == ANSWERS) {
            send_answer(peer, stream);
        } else if (role == LARGE_FIRST) {
            send_large(peer, stream);
        } else if (role == ENDLESS) {
            h2_send_head(peer, stream, 200, 0);
            if (!h2_send_endless(peer, stream)) return;
        }
    }
}

static void handle(afts_conn *conn, const struct afts_request *request, void *payload) {
    (void)request;
    h2_peer *peer = malloc(sizeof *peer);
    if (peer != NULL && h2_begin(peer, conn)) serve_connection(payload, peer);
    free(peer);
}

static fixture *fixture_of(server *server) {
    fixture *fixture = h2_fixture(NULL);
    h2_serve(fixture, handle, server, H2_CLOSE);
    return fixture;
}

/* ---- The client ---------------------------------------------------------------------------- */

static call *start_events(fixture *fixture, afc_status (*at_body)(struct call *, afc_slice),
                          void *payload) {
    call *call = call_new(fixture, "/");
    call->request.sink.kind = AFC_SINK_CALLBACK;
    call->at_body = at_body;
    call->payload = payload;
    call_start(call);
    return call;
}

static void stop(call *call) {
    afc_task_cancel(call->task);
    call_wait(call);
    check_ended(call, AFC_ECANCELED);
    call_free(call);
}

static void check_fine(fixture *fixture) {
    call *call = call_fetch(fixture, "/");
    check_ended(call, AFC_OK);
    check_slice(call->body, "fine");
    assert_int_equal(call->head->version, AFC_HTTP_2);
    call_free(call);
}

static size_t connections_of(fixture *fixture) {
    return afts_server_stats(fixture->server).accepted;
}

/* ---- Readers that wait --------------------------------------------------------------------- */

static void slow_reader_stops_the_server(void **state) {
    (void)state;
    server server = {.role = ENDLESS, .count = 1};
    fixture *fixture = fixture_of(&server);
    atomic_uint permits = 0;
    call *slow = start_events(fixture, call_take_one, &permits);
    for (unsigned i = 1; i <= 300; i++) {
        call_wait_for(slow, &slow->refused_count, i);
        check_fine(fixture);
        atomic_fetch_add(&permits, 1);
        afc_task_wake(slow->task);
    }
    call_wait_for(slow, &slow->refused_count, 301);
    assert_true(atomic_load(&slow->taken) > 0);
    uint64_t sent = afts_server_stats(fixture->server).sent;
    assert_true(sent <= atomic_load(&slow->taken) + buffered_at_most());
    stop(slow);
    fixture_free(fixture);
}

static void paused_stream_does_not_stop_others(void **state) {
    (void)state;
    server server = {.role = ENDLESS, .count = 1};
    fixture *fixture = fixture_of(&server);
    call *held = start_events(fixture, call_hold, NULL);
    call_wait_for(held, &held->refused_count, 1);
    call *calls[MANY];
    for (size_t i = 0; i < MANY; i++) {
        calls[i] = call_new(fixture, "/");
        call_start(calls[i]);
    }
    for (size_t i = 0; i < MANY; i++) {
        call_wait(calls[i]);
        check_ended(calls[i], AFC_OK);
        call_free(calls[i]);
    }
    assert_int_equal(atomic_load(&held->refused_count), 1);
    assert_int_equal(atomic_load(&server.requests[0]), 1);
    unsigned others = 0;
    for (size_t i = 1; i < COUNT_OF(server.requests); i++) others += server.requests[i];
    assert_int_equal(others, MANY);
    stop(held);
    fixture_free(fixture);
}

static void isolated_connection_is_reused(void **state) {
    (void)state;
    server server = {0};
    fixture *fixture = fixture_of(&server);
    folder folder;
    folder_make(&folder);
    for (int i = 0; i < 5; i++) {
        call *events = start_events(fixture, NULL, NULL);
        call_wait(events);
        check_ended(events, AFC_OK);
        call_free(events);
        call *file = call_new(fixture, "/");
        file->request.sink = (afc_sink){.kind = AFC_SINK_FILE, .path = path_in(&folder, "file")};
        call_perform(file);
        check_ended(file, AFC_OK);
        call_free(file);
        check_fine(fixture);
    }
    assert_int_equal(connections_of(fixture), h2_multiplexes() ? 2 : 1);
    folder_remove(&folder);
    fixture_free(fixture);
}

static void many_streams_can_be_paused_at_once(void **state) {
    (void)state;
    server server = {.role = ENDLESS, .count = STREAMS};
    fixture *fixture = fixture_of(&server);
    fixture_close_session(fixture);
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    options.max_connections_per_host = 0;
    options.trust = policy_trusting(afts_cert_pem(fixture->authority));
    check_status(afc_session_new(&fixture->session, &options, NULL), AFC_OK);
    afc_trust_policy_release(options.trust);
    call *calls[STREAMS];
    for (size_t i = 0; i < STREAMS; i++) calls[i] = start_events(fixture, call_hold, NULL);
    for (size_t i = 0; i < STREAMS; i++) call_wait_for(calls[i], &calls[i]->refused_count, 1);
    check_fine(fixture);
    assert_int_equal(connections_of(fixture), STREAMS + 1);
    for (size_t i = 0; i < STREAMS; i++) stop(calls[i]);
    /* All of them were broken off: none may be found by those that come now. */
    for (size_t i = 0; i < STREAMS; i++) {
        call *call = start_events(fixture, NULL, NULL);
        call_wait(call);
        check_ended(call, AFC_OK);
        call_free(call);
    }
    fixture_free(fixture);
}

/** Five responses of each of two hosts wait at the same time, twice: the second time on the same connections. */
static void isolated_connections_of_several_hosts_are_reused(void **state) {
    (void)state;
    enum { HOSTS = 2, EACH = 5 };
    server servers[HOSTS] = {0};
    fixture *worlds[HOSTS];
    char anchors[16384] = "";
    for (size_t i = 0; i < HOSTS; i++) {
        worlds[i] = fixture_of(&servers[i]);
        fixture_close_session(worlds[i]);
        size_t used = strlen(anchors);
        snprintf(anchors + used, sizeof anchors - used, "%s", afts_cert_pem(worlds[i]->authority));
    }
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    options.trust = policy_trusting(anchors);
    afc_session *session;
    check_status(afc_session_new(&session, &options, NULL), AFC_OK);
    afc_trust_policy_release(options.trust);
    worlds[0]->session = session;
    worlds[1]->session = session;
    for (int round = 0; round < 2; round++) {
        call *calls[HOSTS * EACH];
        atomic_uint permits = 0;
        for (size_t i = 0; i < HOSTS * EACH; i++) {
            calls[i] = start_events(worlds[i % HOSTS], call_take_one, &permits);
        }
        for (size_t i = 0; i < HOSTS * EACH; i++)
            call_wait_for(calls[i], &calls[i]->refused_count, 1);
        atomic_store(&permits, HOSTS * EACH);
        for (size_t i = 0; i < HOSTS * EACH; i++) {
            afc_task_wake(calls[i]->task);
            call_wait(calls[i]);
            check_ended(calls[i], AFC_OK);
            call_free(calls[i]);
        }
        for (size_t i = 0; i < HOSTS; i++) assert_int_equal(connections_of(worlds[i]), EACH);
    }
    worlds[1]->session = NULL;
    for (size_t i = 0; i < HOSTS; i++) fixture_free(worlds[i]);
}

/* ---- Who shares a connection --------------------------------------------------------------- */

static afc_status suspend(call *call, afc_response *response) {
    (void)response;
    afc_task_suspend(call->task);
    return AFC_OK;
}

static void suspended_task_does_not_stop_others(void **state) {
    (void)state;
    server server = {.role = LARGE_FIRST, .count = 1};
    fixture *fixture = fixture_of(&server);
    call *call = call_new(fixture, "/");
    call->at_head = suspend;
    check_status(afc_task_new(&call->task, call->session, &call->request, &call->events, NULL),
                 AFC_OK);
    afc_task_start(call->task);
    call_wait_for(call, &call->head_count, 1);
    for (int i = 0; i < MANY; i++) check_fine(fixture);
    assert_int_equal(connections_of(fixture), h2_multiplexes() ? 1 : 2);
    assert_int_equal(atomic_load(&call->done_count), 0);
    afc_task_resume(call->task);
    call_wait(call);
    check_ended(call, AFC_OK);
    assert_int_equal(call->body.size, LARGE_FRAMES * FRAME);
    call_free(call);
    fixture_free(fixture);
}

static afc_status to_file(call *call, afc_response *response) {
    response->path = call->payload;
    return AFC_OK;
}

/** Nobody knew that when the connection was chosen. */
static void response_that_becomes_a_download_shares_its_connection(void **state) {
    (void)state;
    server server = {.role = LARGE_FIRST, .count = 1};
    fixture *fixture = fixture_of(&server);
    folder folder;
    folder_make(&folder);
    char path[128];
    snprintf(path, sizeof path, "%s", path_in(&folder, "file"));
    call *call = call_new(fixture, "/");
    call->at_head = to_file;
    call->payload = path;
    call_start(call);
    for (int i = 0; i < MANY; i++) check_fine(fixture);
    call_wait(call);
    check_ended(call, AFC_OK);
    assert_int_equal(afc_result_get_download(call->result)->size, LARGE_FRAMES * FRAME);
    assert_int_equal(connections_of(fixture), h2_multiplexes() ? 1 : 2);
    call_free(call);
    folder_remove(&folder);
    fixture_free(fixture);
}

/** What moves on a connection is not what moves for a task. */
static void idle_task_times_out_beside_active_streams(void **state) {
    (void)state;
    server server = {.role = SILENT_FIRST, .count = 1};
    fixture *fixture = fixture_of(&server);
    call *silent = call_new(fixture, "/");
    silent->request.timeouts.idle_ms = IDLE_MS;
    call_start(silent);
    int64_t end = afc__now_us() + (int64_t)PATIENCE_MS * 1000;
    while (atomic_load(&silent->done_count) == 0 && afc__now_us() < end) check_fine(fixture);
    assert_int_equal(atomic_load(&silent->done_count), 1);
    call_wait(silent);
    check_ended(silent, AFC_ETIMEOUT);
    assert_int_equal(silent->failure.timeout, AFC_TIMEOUT_IDLE);
    call_free(silent);
    assert_int_equal(connections_of(fixture), h2_multiplexes() ? 1 : 2);
    fixture_free(fixture);
}

static void bytes_of_other_streams_do_not_reset_the_idle_limit(void **state) {
    (void)state;
    if (!h2_multiplexes()) skip();
    server server = {.role = DRIBBLING, .count = 1};
    fixture *fixture = fixture_of(&server);
    call *dribbling = call_new(fixture, "/");
    call_start(dribbling);
    assert_true(afts_wait_accepted(fixture->server, 1, PATIENCE_MS));
    call *silent = call_new(fixture, "/");
    silent->request.timeouts.idle_ms = IDLE_MS;
    call_start(silent);
    call_wait(silent);
    check_ended(silent, AFC_ETIMEOUT);
    assert_int_equal(silent->failure.timeout, AFC_TIMEOUT_IDLE);
    call_free(silent);
    assert_int_equal(connections_of(fixture), 1);
    assert_int_equal(atomic_load(&dribbling->done_count), 0);
    stop(dribbling);
    fixture_free(fixture);
}

/* nghttp2 gives up earlier, and libcurl then says nothing to the server. */
enum { MANY_PARTS = 100 };

/** On the first connection only the first request is answered; then a head comes in too many parts. It stays open. */
static void send_endless_head(afts_conn *conn, const struct afts_request *request, void *payload) {
    (void)request;
    atomic_uint *connections = payload;
    bool is_first = atomic_fetch_add(connections, 1) == 0;
    h2_peer *peer = malloc(sizeof *peer);
    uint32_t stream = 0;
    bool is_open = peer != NULL && h2_begin(peer, conn);
    for (int i = 0; is_open && (stream = h2_read_request(peer)) != 0; i++) {
        bool is_bad = is_first && i == 1;
        if (!is_bad) is_open = h2_send_head(peer, stream, 204, H2_END_STREAM);
        if (is_bad) is_open = h2_send(peer, H2_HEADERS, 0, stream, "\x88", 1);
        for (int n = 0; is_bad && is_open && n < MANY_PARTS; n++) {
            is_open = h2_send(peer, H2_CONTINUATION, 0, stream, "", 0);
        }
    }
    free(peer);
}

static void broken_connection_is_not_used_again(void **state) {
    (void)state;
    atomic_uint connections = 0;
    fixture *fixture = h2_fixture(NULL);
    h2_serve(fixture, send_endless_head, &connections, H2_CLOSE);
    for (int i = 0; i < 6; i++) {
        call *call = call_new(fixture, "/");
        call->request.url = tls_url(fixture);
        call->request.timeouts.idle_ms = IDLE_MS;
        call_perform(call);
        /* That one may fail, or be sent again. */
        if (i != 1) check_ended(call, AFC_OK);
        call_free(call);
    }
    fixture_free(fixture);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slow_reader_stops_the_server),
        cmocka_unit_test(paused_stream_does_not_stop_others),
        cmocka_unit_test(isolated_connection_is_reused),
        cmocka_unit_test(isolated_connections_of_several_hosts_are_reused),
        cmocka_unit_test(many_streams_can_be_paused_at_once),
        cmocka_unit_test(suspended_task_does_not_stop_others),
        cmocka_unit_test(response_that_becomes_a_download_shares_its_connection),
        cmocka_unit_test(idle_task_times_out_beside_active_streams),
        cmocka_unit_test(bytes_of_other_streams_do_not_reset_the_idle_limit),
        cmocka_unit_test(broken_connection_is_not_used_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
