/*
 * The body of a response that refuses a WebSocket: received as HTTP frames it, limited, and never waited for too long.
 */
#include "support/recorded_socket.h"

#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>

#define PROBLEM "{\"title\":\"no token\"}"

/** Opens a socket, which must be refused; `text` is in the failure. The body is in the wire. */
static recorded_socket *refused_at(fixture *fixture, const char *path, const char *text) {
    recorded_socket *socket = socket_new(fixture, path);
    socket_open(socket, fixture);
    check_log(socket, "closed 1006;");
    check_contains(socket->failure.text, text);
    return socket;
}

static void check_body(const recorded_socket *socket, const char *body, afc_status status) {
    check_status(socket->body_status, status);
    assert_string_equal(socket->body, body);
    assert_int_equal(socket->body_size, strlen(body));
    assert_int_equal(strstr(socket->failure.text, "cut after") != NULL, status != AFC_OK);
}

/* ---- Whole bodies -------------------------------------------------------------------------- */

typedef struct framed {
    const char *response, *body;
} framed;

/** What is behind a body isn't part of it. */
static const framed framed_rows[] = {
    {"HTTP/1.1 403 Forbidden\r\nContent-Length: 4\r\n\r\nbody", "body"},
    {"HTTP/1.1 403 Forbidden\r\nContent-Length: 4\r\n\r\nbody, and more", "body"},
    {"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody", "body"},
    {"HTTP/1.1 403 No\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nbo\r\n2\r\ndy\r\n0\r\n\r\n",
     "body"},
    {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nbo\r\n2\r\ndy\r\n0\r\n\r\n",
     "body"},
    {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nA: b\r\n\r\n", ""},
    {"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n", ""},
    {"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", ""},
    {"HTTP/1.1 204 Nothing\r\n\r\n", ""},
    {"HTTP/1.1 204 Nothing\r\n\r\nno body", ""},
    {"HTTP/1.1 304 Same\r\nContent-Length: 4\r\n\r\n", ""},
    {"HTTP/1.1 300 Choose\r\nContent-Length: 4\r\n\r\nbody", "body"},
    {"HTTP/1.1 103 Hint\r\n\r\nHTTP/1.1 403 No\r\nContent-Length: 4\r\n\r\nbody", "body"},
};

/** All at once, and byte by byte. The connection stays open: nothing but the framing ends the body. */
static void passes_on_the_body_of_a_refusal(void **state) {
    fixture *fixture = *state;
    for (size_t i = 0; i < 2 * COUNT_OF(framed_rows); i++) {
        const framed *row = &framed_rows[i / 2];
        afts_script *script = afts_script_new();
        size_t size = strlen(row->response);
        afts_send_crumbs(script, row->response, size, i % 2 == 0 ? size : 1, 0);
        afts_wait_peer_close(script);
        serve(fixture, "/", script);
        recorded_socket *socket = refused_at(fixture, "/", "expected 101");
        check_body(socket, row->body, AFC_OK);
        check_status(socket->failure.status, AFC_EPROTOCOL);
        socket_free(socket);
    }
}

static void passes_on_a_body_that_ends_with_the_connection(void **state) {
    fixture *fixture = *state;
    static const char *const heads[] = {"HTTP/1.1 403 Forbidden\r\n\r\n", "HTTP/1.0 200 OK\r\n\r\n",
                                        "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"};
    for (size_t i = 0; i < COUNT_OF(heads); i++) {
        serve_text(fixture, "/", text_of(fixture, "%s%s", heads[i], PROBLEM));
        recorded_socket *socket = refused_at(fixture, "/", "expected 101");
        check_body(socket, PROBLEM, AFC_OK);
        socket_free(socket);
    }
}

static void passes_on_the_body_over_tls(void **state) {
    (void)state;
    fixture *fixture = fixture_new_alpn("http/1.1", NULL);
    afc_failure failure;
    for (size_t i = 0; i < COUNT_OF(framed_rows); i++) {
        serve_text(fixture, "/", framed_rows[i].response);
        recorded_socket *socket = socket_new(fixture, "/");
        socket->request.url = text_of(fixture, "wss%s", strchr(tls_url(fixture), ':'));
        assert_int_equal(afc_websocket_open(&socket->socket, fixture->session, &socket->request,
                                            &socket->options, &socket->events, &failure),
                         AFC_OK);
        check_log(socket, "closed 1006;");
        check_contains(socket->failure.text, "expected 101");
        check_body(socket, framed_rows[i].body, AFC_OK);
        socket_free(socket);
    }
    fixture_free(fixture);
}

/** It isn't asked for, but a server may encode it all the same (RFC 9110 12.5.3). */
static void decodes_the_body(void **state) {
    fixture *fixture = *state;
    static const char hello[] =
        "\x1F\x8B\x08\0\0\0\0\0\x02\x03\xCB\x48\xCD\xC9\xC9\x07\0\x86\xA6\x10\x36\x05\0\0";
    static const int statuses[] = {200, 403};
    for (size_t i = 0; i < COUNT_OF(statuses); i++) {
        afts_script *script = afts_script_new();
        afts_respond(script, statuses[i], "Content-Encoding: gzip", hello, sizeof hello);
        serve(fixture, "/", script);
        recorded_socket *socket = refused_at(fixture, "/", "expected 101");
        check_body(socket, "hello", AFC_OK);
        assert_string_equal(seen_header(fixture, i, "Accept-Encoding"), "");
        socket_free(socket);
    }
}

static void messages_that_waited_are_not_sent(void **state) {
    fixture *fixture = *state;
    serve(fixture, "/", answer(403, NULL, PROBLEM));
    recorded_socket *socket = socket_new(fixture, "/");
    socket_open(socket, fixture);
    (void)afc_websocket_send(socket->socket, AFC_WEBSOCKET_TEXT, afc_slice_of("hi"), 0, NULL);
    socket_wait(socket);
    assert_null(strstr(socket->log, "sent ok"));
    check_body(socket, PROBLEM, AFC_OK);
    afts_connection *connection = afts_copy_connection(fixture->server, 0);
    assert_int_equal(connection->requests, 1);
    afts_connection_free(connection);
    socket_free(socket);
}

/* ---- Limits -------------------------------------------------------------------------------- */

static void check_cut_body(const recorded_socket *socket) {
    check_status(socket->body_status, AFC_ETOOBIG);
    assert_int_equal(socket->body_size, AFC_WEBSOCKET_REFUSAL_MAX);
    assert_int_equal(strspn(socket->body, "a"), AFC_WEBSOCKET_REFUSAL_MAX);
    check_contains(socket->failure.text, "cut after 65536 bytes");
}

static void keeps_no_more_than_the_limit(void **state) {
    fixture *fixture = *state;
    static char block[AFC_WEBSOCKET_REFUSAL_MAX + 1];
    memset(block, 'a', sizeof block);
    for (size_t i = 0; i < 4; i++) {
        size_t size = sizeof block - 1 + i % 2;
        afts_script *script = afts_script_new();
        if (i < 2) {
            afts_respond(script, 403, NULL, block, size);
        } else {
            afts_respond_chunked(script, 403, NULL);
            afts_chunk(script, block, size);
            afts_last_chunk(script, NULL);
        }
        serve(fixture, "/", script);
        recorded_socket *socket = refused_at(fixture, "/", "status 403 Forbidden; expected 101");
        if (i % 2 == 0) {
            check_status(socket->body_status, AFC_OK);
            assert_int_equal(socket->body_size, AFC_WEBSOCKET_REFUSAL_MAX);
        } else {
            check_cut_body(socket);
        }
        socket_free(socket);
    }
}

static void does_not_read_a_body_without_end(void **state) {
    fixture *fixture = *state;
    static const char block[] = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
    /* 70000 times "a" by zlib. */
    static const char encoded[] =
        "\x78\xDA\xED\xC1\x31\x01\x00\x00\x00\xC2\xA0\xAC\xEB\x5F\xC2\x12\x9E\x40\x01\x00\x00\x00"
        "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
        "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
        "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x6F\x03"
        "\x47\x0A\xA1\x7A";
    for (size_t i = 0; i < 4; i++) {
        afts_script *script = afts_script_new();
        if (i == 0) afts_respond_repeated(script, 403, NULL, block, sizeof block - 1, AFTS_FOREVER);
        if (i == 1) {
            afts_respond_chunked(script, 200, NULL);
            afts_chunk_repeated(script, block, sizeof block - 1, AFTS_FOREVER);
        }
        if (i == 2) {
            afts_send_text(script,
                           "HTTP/1.1 401 No\r\nContent-Length: 9223372036854775807\r\n\r\n");
            afts_send_repeated(script, block, sizeof block - 1, AFTS_FOREVER);
        }
        if (i == 3)
            afts_respond(script, 403, "Content-Encoding: deflate", encoded, sizeof encoded - 1);
        serve(fixture, "/", script);
        recorded_socket *socket = refused_at(fixture, "/", "expected 101");
        check_cut_body(socket);
        socket_free(socket);
    }
}

/* ---- Bodies that are cut ------------------------------------------------------------------- */

static void keeps_what_was_received_of_a_cut_body(void **state) {
    fixture *fixture = *state;
    static const struct {
        const char *response;
        afc_status status;
    } rows[] = {
        {"HTTP/1.1 403 No\r\nContent-Length: 9\r\n\r\nbody", AFC_ETRUNCATED},
        {"HTTP/1.1 200 No\r\nContent-Length: 9\r\n\r\nbody", AFC_ETRUNCATED},
        {"HTTP/1.1 403 No\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n", AFC_ETRUNCATED},
        {"HTTP/1.1 200 No\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nbody", AFC_ETRUNCATED},
        {"HTTP/1.1 403 No\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\nnonsense\r\n",
         AFC_EPROTOCOL},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        serve_text(fixture, "/", rows[i].response);
        recorded_socket *socket = refused_at(fixture, "/", "expected 101");
        if (socket->body_status != rows[i].status)
            fail_msg("row %zu: %s", i, afc_status_name(socket->body_status));
        check_body(socket, "body", rows[i].status);
        socket_free(socket);
    }
}

/** A server that never ends its response delays the failure by one of the two limits at most. */
static void a_slow_body_does_not_delay_the_failure(void **state) {
    fixture *fixture = *state;
    static const char *const responses[] = {
        "HTTP/1.1 403 No\r\n\r\nbody",
        "HTTP/1.1 200 No\r\n\r\nbody",
        "HTTP/1.1 401 No\r\nContent-Length: 1000\r\n\r\nbody",
        "HTTP/1.1 403 No\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n",
    };
    /* The head must come within the first one. */
    static const struct {
        uint32_t open_ms, close_ms;
    } limits[] = {{PATIENCE_MS, 50}, {0, 50}, {0, 50}, {PATIENCE_MS, 50}, {3000, PATIENCE_MS}};
    for (size_t i = 0; i < COUNT_OF(limits); i++) {
        afts_script *script = afts_script_new();
        afts_send_text(script, responses[i % COUNT_OF(responses)]);
        afts_wait_peer_close(script);
        serve(fixture, "/", script);
        recorded_socket *socket = socket_new(fixture, "/");
        socket->options.open_timeout_ms = limits[i].open_ms;
        socket->options.close_timeout_ms = limits[i].close_ms;
        socket_open(socket, fixture);
        check_log(socket, "closed 1006;");
        check_contains(socket->failure.text, "expected 101; its body is cut after 4 bytes");
        check_body(socket, "body", AFC_ETIMEOUT);
        socket_free(socket);
    }
}

/** Waits until messages are refused, which the handshake's failure does first. */
static void wait_for_refusal(recorded_socket *socket) {
    afc_status status;
    do {
        sched_yield();
        status = afc_websocket_send(socket->socket, AFC_WEBSOCKET_TEXT, afc_slice_of(""), 0, NULL);
    } while (status == AFC_OK || status == AFC_EAGAIN);
    check_status(status, AFC_ECLOSED);
}

static void cancel_or_close_ends_the_wait_for_a_body(void **state) {
    fixture *fixture = *state;
    afts_script *script = afts_script_new();
    afts_send_text(script, "HTTP/1.1 403 No\r\nContent-Length: 1000\r\n\r\n");
    afts_wait_peer_close(script);
    serve(fixture, "/", script);
    for (int i = 0; i < 2; i++) {
        recorded_socket *socket = socket_new(fixture, "/");
        socket_open(socket, fixture);
        wait_for_refusal(socket);
        check_status(afc_websocket_ping(socket->socket, afc_slice_of("")), AFC_ECLOSED);
        if (i == 0)
            afc_websocket_cancel(socket->socket);
        else
            socket_close(socket);
        socket_wait(socket);
        check_status(socket->failure.status, AFC_ECANCELED);
        assert_int_equal(socket->status, 403);
        socket_free(socket);
    }
}

/* ---- Challenges ---------------------------------------------------------------------------- */

typedef struct question {
    sem_t is_asked;
    uint32_t number;
} question;

static afc_challenge_decision on_challenge(void *context, const afc_challenge *challenge,
                                           afc_credentials *credentials) {
    question *question = ((recorded_socket *)context)->payload;
    (void)credentials;
    question->number = challenge->number;
    sem_post(&question->is_asked);
    return AFC_CHALLENGE_LATER;
}

static recorded_socket *asked(fixture *fixture, question *question) {
    recorded_socket *socket = socket_new(fixture, "/");
    sem_init(&question->is_asked, 0, 0);
    socket->payload = question;
    socket->events.on_challenge = on_challenge;
    socket_open(socket, fixture);
    sem_wait(&question->is_asked);
    return socket;
}

static void reply_to(recorded_socket *socket, question *question, afc_challenge_decision answer) {
    afc_credentials credentials = AFC_CREDENTIALS_INIT;
    credentials.user = "user";
    credentials.password = "pass";
    check_status(
        afc_websocket_answer_challenge(socket->socket, question->number, answer, &credentials),
        AFC_OK);
    sem_destroy(&question->is_asked);
}

#define CHALLENGE "WWW-Authenticate: Basic realm=\"x\""

static afts_script *challenge_with(const char *rest) {
    afts_script *script = afts_script_new();
    afts_send_text(script, "HTTP/1.1 401 No\r\n" CHALLENGE "\r\n");
    afts_send_text(script, rest);
    return script;
}

static void passes_on_the_body_of_an_unanswered_challenge(void **state) {
    fixture *fixture = *state;
    static const framed rows[] = {
        {"Content-Length: 4\r\n\r\nbody", "body"},
        {"Content-Length: 0\r\n\r\n", ""},
        {"Transfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n", "body"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        question question;
        afts_script *script = challenge_with(rows[i].response);
        afts_wait_peer_close(script);
        serve(fixture, "/", script);
        recorded_socket *socket = asked(fixture, &question);
        reply_to(socket, &question, AFC_CHALLENGE_DEFAULT);
        check_log(socket, "closed 1006;");
        check_status(socket->failure.status, AFC_EAUTH);
        check_body(socket, rows[i].body, AFC_OK);
        socket_free(socket);
    }
}

static void limits_the_body_of_an_unanswered_challenge(void **state) {
    fixture *fixture = *state;
    question question;
    afts_script *script = challenge_with("\r\n");
    afts_send_repeated(script, "aaaaaaaa", 8, AFTS_FOREVER);
    serve(fixture, "/", script);
    recorded_socket *socket = asked(fixture, &question);
    reply_to(socket, &question, AFC_CHALLENGE_DEFAULT);
    check_log(socket, "closed 1006;");
    check_status(socket->failure.status, AFC_EAUTH);
    check_cut_body(socket);
    socket_free(socket);
}

/** While the answer is awaited, the only connection that this session may have is free, once the body is complete. */
static void whole_body_of_a_challenge_frees_its_connection(void **state) {
    fixture *fixture = *state;
    question question;
    afts_script *script = challenge_with("Content-Length: 4\r\n\r\nbody");
    afts_wait_peer_close(script);
    fixture_close_session(fixture);
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    options.max_connections_per_host = 1;
    assert_int_equal(afc_session_new(&fixture->session, &options, NULL), AFC_OK);
    serve_echo(fixture, "/", NULL);
    serve_once(fixture, "/", script);
    serve(fixture, "/token", answer(200, NULL, "token"));
    recorded_socket *socket = asked(fixture, &question);
    afc_request request = AFC_REQUEST_INIT;
    request.url = url_of(fixture, "/token");
    afc_result *result = NULL;
    assert_int_equal(afc_perform(&result, fixture->session, &request, NULL), AFC_OK);
    afc_result_free(result);
    reply_to(socket, &question, AFC_CHALLENGE_USE);
    socket_wait_for(socket, &socket->open_count, 1);
    socket_close(socket);
    check_log(socket, "open;closed 1000;");
    socket_free(socket);
}

/** It would never end. */
static void answered_challenge_does_not_wait_for_its_body(void **state) {
    fixture *fixture = *state;
    static const char *const rests[] = {"\r\nbody", "Content-Length: 1000\r\n\r\nbody",
                                        "Transfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n"};
    for (size_t i = 0; i < 2 * COUNT_OF(rests); i++) {
        question question;
        afts_script *script = challenge_with(rests[i / 2]);
        if (i % 2 == 0)
            afts_wait_peer_close(script);
        else
            afts_send_repeated(script, "aaaaaaaa", 8, AFTS_FOREVER);
        serve_echo(fixture, "/", NULL);
        serve_once(fixture, "/", script);
        recorded_socket *socket = asked(fixture, &question);
        reply_to(socket, &question, AFC_CHALLENGE_USE);
        socket_wait_for(socket, &socket->open_count, 1);
        socket_close(socket);
        check_log(socket, "open;closed 1000;");
        socket_free(socket);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(passes_on_the_body_of_a_refusal),
        FIXTURE_TEST(passes_on_a_body_that_ends_with_the_connection),
        cmocka_unit_test(passes_on_the_body_over_tls),
        FIXTURE_TEST(decodes_the_body),
        FIXTURE_TEST(messages_that_waited_are_not_sent),
        FIXTURE_TEST(keeps_no_more_than_the_limit),
        FIXTURE_TEST(does_not_read_a_body_without_end),
        FIXTURE_TEST(keeps_what_was_received_of_a_cut_body),
        FIXTURE_TEST(a_slow_body_does_not_delay_the_failure),
        FIXTURE_TEST(cancel_or_close_ends_the_wait_for_a_body),
        FIXTURE_TEST(passes_on_the_body_of_an_unanswered_challenge),
        FIXTURE_TEST(limits_the_body_of_an_unanswered_challenge),
        FIXTURE_TEST(whole_body_of_a_challenge_frees_its_connection),
        FIXTURE_TEST(answered_challenge_does_not_wait_for_its_body),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
