/*
 * Connections from the pool: bytes that no request waits for are no response to the next one (RFC 9112 6.3), and a
 * request is sent again only where that can't process it twice (RFC 9110 9.2.2).
 */
#include "curl/connection/socket.h"
#include "curl/driver_internal.h"
#include "session/session_internal.h"
#include "support/call.h"
#include "support/form.h"
#include "support/h2.h"
#include "support/test_proxy.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/** What a server sends behind a response, to be taken for the next one. */
#define FORGED "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged"
#define OK_2 "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"

enum { LARGE = 40000 };

static void check_genuine(fixture *fixture, const char *url) {
    call *call = call_new(fixture, "/genuine");
    if (url != NULL) call->request.url = url;
    call_perform(call);
    check_ended(call, AFC_OK);
    check_slice(call->body, "genuine");
    assert_false(call->hops[0].is_retried);
    call_free(call);
}

/* ---- Idle connections ---------------------------------------------------------------------- */

/** The first connection: one response, and once the gate opens, `late`. It stays open. */
static void send_late(fixture *fixture, const char *response, const char *late) {
    afts_script *script = afts_script_new();
    afts_read_request(script);
    afts_send_text(script, response);
    afts_stall(script, "idle");
    afts_send_text(script, late);
    afts_wait_peer_close(script);
    afts_on_connection(fixture->server, 0, script);
    serve(fixture, "/genuine", answer(200, NULL, "genuine"));
}

static void check_idle(fixture *fixture, const char *url, const char *response, const char *late) {
    send_late(fixture, response, late);
    call *first = call_new(fixture, "/first");
    if (url != NULL) first->request.url = url;
    call_perform(first);
    check_ended(first, AFC_OK);
    call_free(first);
    afts_release(fixture->server, "idle", 1);
    /* Nobody asks for anything: the loop ends it by itself. */
    assert_true(afts_wait_closed(fixture->server, 1, PATIENCE_MS));
    check_genuine(fixture, url != NULL ? text_of(fixture, "%sgenuine", url) : NULL);
    assert_int_equal(afts_server_stats(fixture->server).accepted, 2);
}

static void ends_idle_connection_with_input(void **state) {
    (void)state;
    static const char *const late[] = {FORGED, "HTTP/1.1 408 Request Timeout\r\n\r\n", "\r\n", "x"};
    static const char *const responses[] = {
        OK_2, "HTTP/1.1 204 No Content\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n"};
    for (size_t i = 0; i < COUNT_OF(late) * COUNT_OF(responses); i++) {
        fixture *fixture = fixture_new(NULL, NULL);
        check_idle(fixture, NULL, responses[i / COUNT_OF(late)], late[i % COUNT_OF(late)]);
        fixture_free(fixture);
    }
}

static void ends_idle_tls_connection_with_input(void **state) {
    (void)state;
    fixture *fixture = fixture_new_alpn("http/1.1", NULL);
    check_idle(fixture, tls_url(fixture), OK_2, FORGED);
    fixture_free(fixture);
}

static void closes_connection_after_transfer_coding_of_http_1_0(void **state) {
    (void)state;
    static const struct {
        const char *version;
        size_t connections;
    } rows[] = {{"1.0", 2}, {"1.1", 1}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        fixture *fixture = fixture_new(NULL, NULL);
        afts_script *script = afts_script_new();
        afts_read_request(script);
        afts_send_text(script, text_of(fixture,
                                       "HTTP/%s 200 OK\r\nConnection: keep-alive\r\n"
                                       "Transfer-Encoding: chunked\r\n\r\n"
                                       "2\r\nhi\r\n0\r\n\r\n",
                                       rows[i].version));
        afts_read_request(script);
        afts_respond(script, 200, NULL, "genuine", 7);
        afts_on_connection(fixture->server, 0, script);
        serve(fixture, "/genuine", answer(200, NULL, "genuine"));
        check_fetch(fixture, "/first", AFC_OK);
        check_genuine(fixture, NULL);
        assert_int_equal(afts_server_stats(fixture->server).accepted, rows[i].connections);
        fixture_free(fixture);
    }
}

/** A connection to a proxy is another origin's next. */
static void ends_idle_connection_to_proxy_with_input(void **state) {
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        bool is_tunnel = i != 0;
        fixture *fixture = is_tunnel ? fixture_new_alpn("http/1.1", NULL) : fixture_new(NULL, NULL);
        test_proxy *test_proxy = test_proxy_new(fixture);
        send_late(fixture, OK_2, FORGED);
        const char *hosts[] = {"http://one.test/", "http://two.test/genuine"};
        if (is_tunnel) hosts[0] = tls_url(fixture);
        if (is_tunnel) hosts[1] = text_of(fixture, "%sgenuine", hosts[0]);
        for (size_t j = 0; j < 2; j++) {
            call *call = call_new(fixture, "/");
            call->request.url = hosts[j];
            call->request.proxy = test_proxy_url(test_proxy, "http", NULL);
            call_perform(call);
            check_ended(call, AFC_OK);
            check_slice(call->body, j == 0 ? "hi" : "genuine");
            call_free(call);
            if (j == 0) {
                afts_release(fixture->server, "idle", 1);
                if (!is_tunnel) assert_true(afts_wait_closed(fixture->server, 1, PATIENCE_MS));
            }
        }
        fixture_close_session(fixture);
        test_proxy_free(test_proxy);
        fixture_free(fixture);
    }
}

/* ---- Connections that are taken up at once -------------------------------------------------- */

/** A body that libcurl reads exactly, so that what comes behind it is left on the connection. */
static void send_behind(fixture *fixture, const char *late) {
    static const char head[] = "HTTP/1.1 200 OK\r\nContent-Length: 40000\r\n\r\n";
    char *bytes = calloc(1, sizeof head + LARGE + strlen(late));
    assert_non_null(bytes);
    memcpy(bytes, head, sizeof head - 1);
    memset(bytes + sizeof head - 1, 'x', LARGE);
    memcpy(bytes + sizeof head - 1 + LARGE, late, strlen(late));
    afts_script *script = afts_script_new();
    afts_read_request(script);
    afts_stall(script, "together");
    afts_send(script, bytes, sizeof head - 1 + LARGE + strlen(late));
    afts_wait_peer_close(script);
    afts_on_connection(fixture->server, 0, script);
    free(bytes);
    serve(fixture, "/genuine", answer(200, NULL, "genuine"));
}

/**
 * One connection at a time: the second request takes the first's in the same turn of the loop. Its body can be read
 * once, and goes out once.
 */
static void check_behind(fixture *fixture, const char *base) {
    send_behind(fixture, FORGED);
    call *first = call_new(fixture, "/first");
    call *second = call_new(fixture, "/genuine");
    script_reader reader = {.bytes = S("body"), .reads_once = true};
    second->request.method = "POST";
    second->request.body.kind = AFC_BODY_READER;
    second->request.body.reader = reader_of(&reader);
    second->request.body.length = 4;
    if (base != NULL) {
        first->request.url = base;
        second->request.url = text_of(fixture, "%sgenuine", base);
    }
    call_start(first);
    call_start(second);
    assert_true(afts_wait_stalled(fixture->server, "together", 1, PATIENCE_MS));
    afts_release(fixture->server, "together", 1);
    call_wait(first);
    call_wait(second);
    check_ended(first, AFC_OK);
    assert_int_equal(first->body.size, LARGE);
    check_ended(second, AFC_OK);
    check_slice(second->body, "genuine");
    assert_int_equal(second->hop_count, 1);
    assert_false(second->hops[0].is_reused);
    assert_false(second->hops[0].is_retried);
    call_free(first);
    call_free(second);
    afts_request *seen = afts_copy_request(fixture->server,
                                           afts_server_stats(fixture->server).requests - 1);
    check_slice(((afc_slice){(const char *)seen->body, seen->body_size}), "body");
    afts_request_free(seen);
}

static afc_session_options one_connection(void) {
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    options.max_connections_per_host = 1;
    return options;
}

/** What the loop does if libcurl reads a whole response before the socket's turn comes. */
static void report_idle_sockets_as_readable(call *call) {
    afc__driver *driver = call->session->driver;
    size_t *count = call->payload;
    for (size_t i = 0; i < driver->socket_capacity; i++) {
        afc__socket *socket = driver->sockets[i];
        if (socket == NULL || socket->kind != AFC__CONNECTION_HTTP_1 || socket->wanted != 0)
            continue;
        if (afc__socket_is_in_use(socket)) continue;
        socket->watch.ready(&socket->watch, AFC__READABLE);
        ++*count;
    }
}

static void keeps_idle_connection_whose_input_was_read(void **state) {
    (void)state;
    fixture *fixture = fixture_new(NULL, NULL), *other = fixture_new(NULL, NULL);
    serve(fixture, "/genuine", answer(200, NULL, "genuine"));
    serve(other, "/", answer(200, NULL, "other"));
    check_genuine(fixture, NULL);
    size_t count = 0;
    call *call = call_new(other, "/");
    call->session = fixture->session;
    call->at_done = report_idle_sockets_as_readable;
    call->payload = &count;
    call_perform(call);
    check_ended(call, AFC_OK);
    call_free(call);
    assert_true(count >= 1);
    check_genuine(fixture, NULL);
    assert_int_equal(afts_server_stats(fixture->server).accepted, 1);
    fixture_free(other);
    fixture_free(fixture);
}

static void discards_pooled_connection_with_input(void **state) {
    (void)state;
    afc_session_options options = one_connection();
    for (size_t i = 0; i < 10; i++) {
        fixture *fixture = fixture_new(NULL, &options);
        check_behind(fixture, NULL);
        fixture_free(fixture);
    }
}

/** OpenSSL has what is left of a record; nothing is left to see on the socket. */
static void discards_pooled_tls_connection_with_input(void **state) {
    (void)state;
    afc_session_options options = one_connection();
    for (size_t i = 0; i < 10; i++) {
        fixture *fixture = fixture_new_alpn("http/1.1", &options);
        check_behind(fixture, tls_url(fixture));
        fixture_free(fixture);
    }
}

static void discards_pooled_unix_socket_connection_with_input(void **state) {
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        fixture *fixture = fixture_new(NULL, NULL);
        const char *path = text_of(fixture, "@af-reuse-%d-%zu", (int)getpid(), i);
        test_proxy *test_proxy = test_proxy_new_at(fixture, path);
        fixture_close_session(fixture);
        afc_session_options options = one_connection();
        options.network.unix_socket = path;
        check_status(afc_session_new(&fixture->session, &options, NULL), AFC_OK);
        check_behind(fixture, NULL);
        fixture_close_session(fixture);
        test_proxy_free(test_proxy);
        fixture_free(fixture);
    }
}

/** libcurl reads these bytes together with the response, drops them, and would use the connection again. */
static void ends_connection_with_bytes_behind_response(void **state) {
    (void)state;
    static const struct {
        const char *method, *bytes;
    } rows[] = {
        {"GET", OK_2 FORGED},
        {"GET", "HTTP/1.1 204 No Content\r\n\r\n" FORGED},
        {"GET", "HTTP/1.1 204 No Content\r\n\r\nx"},
        {"GET", "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\nhello"},
        {"GET", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n" FORGED},
        {"HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"},
        {"HEAD", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"},
        {"GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n" FORGED},
        {"GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nA: b\r\n\r\n" FORGED},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        fixture *fixture = fixture_new(NULL, NULL);
        afts_script *script = afts_script_new();
        afts_read_request(script);
        afts_send_text(script, rows[i].bytes);
        afts_on_connection(fixture->server, 0, script);
        serve(fixture, "/genuine", answer(200, NULL, "genuine"));
        call *call = call_new(fixture, "/");
        call->request.method = rows[i].method;
        call_perform(call);
        check_ended(call, AFC_OK);
        call_free(call);
        check_genuine(fixture, NULL);
        assert_int_equal(afts_server_stats(fixture->server).accepted, 2);
        fixture_free(fixture);
    }
}

static void keeps_connection_without_input(void **state) {
    fixture *fixture = *state;
    serve(fixture, "/", answer(200, NULL, "whole"));
    serve(fixture, "/204", answer(204, NULL, ""));
    afts_script *chunked = afts_script_new();
    afts_respond_chunked(chunked, 200, NULL);
    afts_chunk(chunked, "chunk", 5);
    afts_last_chunk(chunked, "A: b");
    serve(fixture, "/chunked", chunked);
    for (size_t i = 0; i < 10; i++) {
        check_fetch(fixture, "/", AFC_OK);
        check_fetch(fixture, "/204", AFC_OK);
        check_fetch(fixture, "/chunked", AFC_OK);
    }
    assert_int_equal(afts_server_stats(fixture->server).accepted, 1);
}

/* ---- Sending again ------------------------------------------------------------------------- */

/** The second request of the first connection is read, and then the connection ends. */
static void lose_second(fixture *fixture, bool resets) {
    afts_script *script = afts_script_new();
    afts_read_request(script);
    afts_respond(script, 200, NULL, "first", 5);
    afts_read_request(script);
    if (resets)
        afts_reset(script);
    else
        afts_close(script);
    afts_on_connection(fixture->server, 0, script);
    serve(fixture, "/genuine", answer(200, NULL, "genuine"));
    check_fetch(fixture, "/", AFC_OK);
}

static void repeats_only_idempotent_requests(void **state) {
    (void)state;
    static const struct {
        const char *method;
        bool repeats;
    } rows[] = {{"POST", false}, {"PATCH", false}, {"PROPFIND", false}, {"GET", true},
                {"PUT", true},   {"DELETE", true}, {"HEAD", true},      {"OPTIONS", true}};
    for (size_t i = 0; i < 2 * COUNT_OF(rows); i++) {
        fixture *fixture = fixture_new(NULL, NULL);
        bool repeats = rows[i / 2].repeats;
        lose_second(fixture, i % 2 != 0);
        call *call = call_new(fixture, "/genuine");
        if (strcmp(rows[i / 2].method, "HEAD") == 0)
            call->request.method = "HEAD";
        else
            call_send(call, rows[i / 2].method, S("content"));
        call_perform(call);
        check_ended(call, repeats ? AFC_OK : AFC_ELOST);
        bool is_recorded = false;
        for (size_t hop = 0; hop < call->hop_count; hop++) {
            if (call->hops[hop].is_retried) is_recorded = true;
        }
        assert_int_equal(is_recorded, repeats);
        assert_int_equal(afts_server_stats(fixture->server).requests, repeats ? 3 : 2);
        call_free(call);
        fixture_free(fixture);
    }
}

/** A body that libcurl reads piece by piece has to be read from its beginning again. */
static void repeats_long_body_from_its_beginning(void **state) {
    fixture *fixture = *state;
    static char body[200000];
    memset(body, 'x', sizeof body);
    lose_second(fixture, false);
    call *call = call_new(fixture, "/genuine");
    call_send(call, "PUT", (afc_slice){body, sizeof body});
    call_perform(call);
    check_ended(call, AFC_OK);
    call_free(call);
    afts_request *seen = afts_copy_request(fixture->server, 2);
    assert_int_equal(seen->body_total, sizeof body);
    afts_request_free(seen);
}

typedef struct ending {
    enum {
        CLOSES,    /**< The connection ends. */
        REFUSES,   /**< RST_STREAM with REFUSED_STREAM: the request wasn't processed. */
        RESETS,    /**< RST_STREAM with NO_ERROR. */
        BAD_FRAME, /**< A frame that breaks the protocol. */
        GOES_AWAY, /**< GOAWAY for the streams behind this one, and nothing after it. */
        LEAVES     /**< GOAWAY for this stream, too: the request wasn't processed (RFC 9113 6.8). */
    } how;
    atomic_uint posts;
} ending;

/** false: the connection ends. */
static bool end_stream(h2_peer *peer, uint32_t stream, const ending *ending) {
    switch (ending->how) {
    case CLOSES:
        return false;
    case REFUSES:
        return h2_send_reset(peer, stream, H2_REFUSED_STREAM);
    case RESETS:
        return h2_send_reset(peer, stream, H2_NO_ERROR);
    case BAD_FRAME:
        /* RFC 9113 6.1: DATA belongs to a stream. */
        /* RFC 9113 5.4.1: the peer ends the connection with GOAWAY. libcurl 8.5.0 waits for the server to close it. */
        (void)h2_send(peer, H2_DATA, 0, 0, "x", 1);
        while (h2_read(peer) && peer->frame.type != H2_GOAWAY) {}
        return false;
    case GOES_AWAY:
        (void)h2_send_goaway(peer, stream, H2_NO_ERROR);
        return false;
    case LEAVES:
        (void)h2_send_goaway(peer, stream - 2, H2_NO_ERROR);
        return false;
    }
    return false;
}

/** Answers GET, and ends the first POST. */
static void end_post(afts_conn *conn, const struct afts_request *request, void *payload) {
    (void)request;
    ending *ending = payload;
    h2_peer *peer = malloc(sizeof *peer);
    bool goes_on = peer != NULL && h2_begin(peer, conn);
    while (goes_on) {
        uint32_t stream = h2_read_request(peer);
        if (stream == 0) break;
        bool is_post = (peer->frame.flags & H2_END_STREAM) == 0;
        if (is_post) goes_on = h2_read_body(peer, 7);
        if (is_post && atomic_fetch_add(&ending->posts, 1) == 0) {
            goes_on = goes_on && end_stream(peer, stream, ending);
        } else {
            goes_on = goes_on && h2_send_sized_head(peer, stream, 200, 0, H2_END_STREAM);
        }
    }
    free(peer);
}

/** A GET, and then a POST on its connection, over TLS or in the clear. */
static void check_ending(int how, bool is_clear) {
    fixture *fixture = is_clear ? fixture_new(NULL, NULL) : h2_fixture(NULL);
    ending ending = {.how = how};
    h2_serve(fixture, end_post, &ending, H2_CLOSE);
    call *calls[2];
    for (size_t i = 0; i < COUNT_OF(calls); i++) {
        calls[i] = call_new(fixture, "/");
        if (is_clear)
            calls[i]->request.version = AFC_HTTP_PREFER_2_PRIOR_KNOWLEDGE;
        else
            calls[i]->request.url = tls_url(fixture);
        if (i == 1) call_send(calls[i], "POST", S("content"));
        call_perform(calls[i]);
    }
    check_ended(calls[0], AFC_OK);
    const call *post = calls[1];
    afc_status status = post->failure.status;
    /* A stream or a connection that breaks the protocol is that, or a lost connection: versions of libcurl differ. */
    bool may_differ = (how == RESETS || how == BAD_FRAME) && status == AFC_EPROTOCOL;
    /*
     * In the clear nothing tells a refusal from the end that libcurl 8.19 and later wait for when they close, nor from
     * broken frames with 8.0. A refusal just before the end is only certain with 8.8 to 8.18.
     */
    bool is_certain = libcurl_is_at_least(8, 8) && !libcurl_is_at_least(8, 19);
    bool is_doubtful = libcurl_is_at_least(8, 19) ||
                       (libcurl_is_at_least(8, 0) && !libcurl_is_at_least(8, 1));
    bool may_be_lost = status == AFC_ELOST &&
                       (how == LEAVES ? !is_certain : is_clear && is_doubtful);
    bool is_repeated = (how == REFUSES || how == LEAVES) && !may_be_lost;
    check_ended(post, is_repeated ? AFC_OK : may_differ ? AFC_EPROTOCOL : AFC_ELOST);
    assert_int_equal(post->hops[post->hop_count - 1].is_retried, is_repeated);
    assert_int_equal(atomic_load(&ending.posts), is_repeated ? 2 : 1);
    for (size_t i = 0; i < COUNT_OF(calls); i++) call_free(calls[i]);
    fixture_free(fixture);
}

static void repeats_refused_http_2_streams(void **state) {
    (void)state;
    for (int how = CLOSES; how <= LEAVES; how++) check_ending(how, false);
}

/* ---- New connections ----------------------------------------------------------------------- */

typedef struct departure {
    unsigned refusals; /**< How many connections are refused. */
    bool stays;        /**< The server doesn't close them. */
    bool is_lost;      /**< They end without GOAWAY. */
    atomic_uint connections;
} departure;

/** GOAWAY for every stream of the first connections; the others answer. */
static void depart(afts_conn *conn, const struct afts_request *request, void *payload) {
    (void)request;
    departure *departure = payload;
    h2_peer *peer = malloc(sizeof *peer);
    bool is_refused = atomic_fetch_add(&departure->connections, 1) < departure->refusals;
    uint32_t stream = peer != NULL && h2_begin(peer, conn) ? h2_read_request(peer) : 0;
    if (stream != 0 && is_refused && !departure->is_lost) {
        (void)h2_send_goaway(peer, 0, H2_NO_ERROR);
        while (departure->stays && h2_read(peer)) {}
    }
    if (stream != 0 && !is_refused && h2_send_sized_head(peer, stream, 200, 0, H2_END_STREAM)) {
        while (h2_read(peer)) {}
    }
    free(peer);
}

/** RFC 9113 6.8: streams above the last one that GOAWAY names weren't processed. */
static void repeats_request_once_after_goaway_on_new_connection(void **state) {
    (void)state;
    static const struct {
        departure departure;
        const char *method;
        afc_status expected;
        unsigned connections;
    } rows[] = {
        {{.refusals = 1}, "GET", AFC_OK, 2},
        {{.refusals = 1, .stays = true}, "GET", AFC_OK, 2},
        {{.refusals = 9, .stays = true}, "GET", AFC_ELOST, 2},
        {{.refusals = 1}, "POST", AFC_ELOST, 1},
        {{.refusals = 1, .is_lost = true}, "GET", AFC_ELOST, 1},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        departure departure = rows[i].departure;
        fixture *fixture = h2_fixture(NULL);
        h2_serve(fixture, depart, &departure, H2_CLOSE);
        call *call = call_new(fixture, "/");
        call->request.url = tls_url(fixture);
        call->request.method = rows[i].method;
        call_perform(call);
        unsigned connections = atomic_load(&departure.connections);
        /* libcurl 8.1 repeats it by itself, and more often. It begins to repeat a POST, which may end there. */
        bool may_differ = libcurl_is_at_least(8, 1) && !departure.is_lost;
        bool is_repeated = rows[i].expected == AFC_OK && libcurl_is_at_least(8, 1);
        if (!may_differ || is_repeated) check_ended(call, rows[i].expected);
        if (!may_differ) {
            assert_int_equal(connections, rows[i].connections);
            assert_int_equal(call->hop_count, connections);
            assert_int_equal(call->hops[call->hop_count - 1].is_retried, connections > 1);
        }
        call_free(call);
        fixture_free(fixture);
    }
}

static void repeats_refused_cleartext_http_2_streams(void **state) {
    (void)state;
    for (int how = CLOSES; how <= LEAVES; how++) check_ending(how, true);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ends_idle_connection_with_input),
        cmocka_unit_test(ends_idle_tls_connection_with_input),
        cmocka_unit_test(closes_connection_after_transfer_coding_of_http_1_0),
        cmocka_unit_test(ends_idle_connection_to_proxy_with_input),
        cmocka_unit_test(keeps_idle_connection_whose_input_was_read),
        cmocka_unit_test(discards_pooled_connection_with_input),
        cmocka_unit_test(discards_pooled_tls_connection_with_input),
        cmocka_unit_test(discards_pooled_unix_socket_connection_with_input),
        cmocka_unit_test(ends_connection_with_bytes_behind_response),
        FIXTURE_TEST(keeps_connection_without_input),
        cmocka_unit_test(repeats_only_idempotent_requests),
        FIXTURE_TEST(repeats_long_body_from_its_beginning),
        cmocka_unit_test(repeats_refused_http_2_streams),
        cmocka_unit_test(repeats_refused_cleartext_http_2_streams),
        cmocka_unit_test(repeats_request_once_after_goaway_on_new_connection),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
