/* The body of a response that refuses a WebSocket: received as HTTP frames it, limited, and never waited for too long. */
#include "support/websocket.h"

#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>

#define PROBLEM "{\"title\":\"no token\"}"

/** Opens a socket, which must be refused; `text` is in the failure. The body is in the wire. */
static wire *refused_at(world *world, const char *path, const char *text) {
    wire *wire = wire_new(world, path);
    wire_open(wire, world);
    check_log(wire, "closed 1006;");
    check_contains(wire->failure.text, text);
    return wire;
}

static void check_body(const wire *wire, const char *body, afc_status status) {
    check_status(wire->body_status, status);
    assert_string_equal(wire->body, body);
    assert_int_equal(wire->body_size, strlen(body));
    assert_int_equal(strstr(wire->failure.text, "cut after") != NULL, status != AFC_OK);
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
    world *world = *state;
    for (size_t i = 0; i < 2 * COUNT_OF(framed_rows); i++) {
        const framed *row = &framed_rows[i / 2];
        afts_script *script = afts_script_new();
        size_t size = strlen(row->response);
        afts_send_crumbs(script, row->response, size, i % 2 == 0 ? size : 1, 0);
        afts_wait_peer_close(script);
        serve(world, "/", script);
        wire *wire = refused_at(world, "/", "expected 101");
        check_body(wire, row->body, AFC_OK);
        check_status(wire->failure.status, AFC_EPROTOCOL);
        wire_free(wire);
    }
}

static void passes_on_a_body_that_ends_with_the_connection(void **state) {
    world *world = *state;
    static const char *const heads[] = {"HTTP/1.1 403 Forbidden\r\n\r\n", "HTTP/1.0 200 OK\r\n\r\n",
                                        "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"};
    for (size_t i = 0; i < COUNT_OF(heads); i++) {
        serve_text(world, "/", text_of(world, "%s%s", heads[i], PROBLEM));
        wire *wire = refused_at(world, "/", "expected 101");
        check_body(wire, PROBLEM, AFC_OK);
        wire_free(wire);
    }
}

static void passes_on_the_body_over_tls(void **state) {
    (void)state;
    world *world = world_new_alpn("http/1.1", NULL);
    afc_failure failure;
    for (size_t i = 0; i < COUNT_OF(framed_rows); i++) {
        serve_text(world, "/", framed_rows[i].response);
        wire *wire = wire_new(world, "/");
        wire->request.url = text_of(world, "wss%s", strchr(tls_url(world), ':'));
        assert_int_equal(afc_websocket_open(&wire->socket, world->session, &wire->request,
                                            &wire->options, &wire->events, &failure),
                         AFC_OK);
        check_log(wire, "closed 1006;");
        check_contains(wire->failure.text, "expected 101");
        check_body(wire, framed_rows[i].body, AFC_OK);
        wire_free(wire);
    }
    world_free(world);
}

/** It isn't asked for, but a server may encode it all the same (RFC 9110 12.5.3). */
static void decodes_the_body(void **state) {
    world *world = *state;
    static const char hello[] =
        "\x1F\x8B\x08\0\0\0\0\0\x02\x03\xCB\x48\xCD\xC9\xC9\x07\0\x86\xA6\x10\x36\x05\0\0";
    static const int statuses[] = {200, 403};
    for (size_t i = 0; i < COUNT_OF(statuses); i++) {
        afts_script *script = afts_script_new();
        afts_respond(script, statuses[i], "Content-Encoding: gzip", hello, sizeof hello);
        serve(world, "/", script);
        wire *wire = refused_at(world, "/", "expected 101");
        check_body(wire, "hello", AFC_OK);
        assert_string_equal(seen_header(world, i, "Accept-Encoding"), "");
        wire_free(wire);
    }
}

static void messages_that_waited_are_not_sent(void **state) {
    world *world = *state;
    serve(world, "/", answer(403, NULL, PROBLEM));
    wire *wire = wire_new(world, "/");
    wire_open(wire, world);
    (void)afc_websocket_send(wire->socket, AFC_WEBSOCKET_TEXT, afc_slice_of("hi"), 0, NULL);
    wire_wait(wire);
    assert_null(strstr(wire->log, "sent ok"));
    check_body(wire, PROBLEM, AFC_OK);
    afts_connection *connection = afts_copy_connection(world->server, 0);
    assert_int_equal(connection->requests, 1);
    afts_connection_free(connection);
    wire_free(wire);
}

/* ---- Limits -------------------------------------------------------------------------------- */

static void check_cut_body(const wire *wire) {
    check_status(wire->body_status, AFC_ETOOBIG);
    assert_int_equal(wire->body_size, AFC_WEBSOCKET_REFUSAL_MAX);
    assert_int_equal(strspn(wire->body, "a"), AFC_WEBSOCKET_REFUSAL_MAX);
    check_contains(wire->failure.text, "cut after 65536 bytes");
}

static void keeps_no_more_than_the_limit(void **state) {
    world *world = *state;
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
        serve(world, "/", script);
        wire *wire = refused_at(world, "/", "status 403 Forbidden; expected 101");
        if (i % 2 == 0) {
            check_status(wire->body_status, AFC_OK);
            assert_int_equal(wire->body_size, AFC_WEBSOCKET_REFUSAL_MAX);
        } else {
            check_cut_body(wire);
        }
        wire_free(wire);
    }
}

static void does_not_read_a_body_without_end(void **state) {
    world *world = *state;
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
        serve(world, "/", script);
        wire *wire = refused_at(world, "/", "expected 101");
        check_cut_body(wire);
        wire_free(wire);
    }
}

/* ---- Bodies that are cut ------------------------------------------------------------------- */

static void keeps_what_was_received_of_a_cut_body(void **state) {
    world *world = *state;
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
        serve_text(world, "/", rows[i].response);
        wire *wire = refused_at(world, "/", "expected 101");
        if (wire->body_status != rows[i].status)
            fail_msg("row %zu: %s", i, afc_status_name(wire->body_status));
        check_body(wire, "body", rows[i].status);
        wire_free(wire);
    }
}

/** A server that never ends its response delays the failure by one of the two limits at most. */
static void a_slow_body_does_not_delay_the_failure(void **state) {
    world *world = *state;
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
        serve(world, "/", script);
        wire *wire = wire_new(world, "/");
        wire->options.open_timeout_ms = limits[i].open_ms;
        wire->options.close_timeout_ms = limits[i].close_ms;
        wire_open(wire, world);
        check_log(wire, "closed 1006;");
        check_contains(wire->failure.text, "expected 101; its body is cut after 4 bytes");
        check_body(wire, "body", AFC_ETIMEOUT);
        wire_free(wire);
    }
}

/** Waits until messages are refused, which the handshake's failure does first. */
static void wait_for_refusal(wire *wire) {
    afc_status status;
    do {
        sched_yield();
        status = afc_websocket_send(wire->socket, AFC_WEBSOCKET_TEXT, afc_slice_of(""), 0, NULL);
    } while (status == AFC_OK || status == AFC_EAGAIN);
    check_status(status, AFC_ECLOSED);
}

static void cancel_or_close_ends_the_wait_for_a_body(void **state) {
    world *world = *state;
    afts_script *script = afts_script_new();
    afts_send_text(script, "HTTP/1.1 403 No\r\nContent-Length: 1000\r\n\r\n");
    afts_wait_peer_close(script);
    serve(world, "/", script);
    for (int i = 0; i < 2; i++) {
        wire *wire = wire_new(world, "/");
        wire_open(wire, world);
        wait_for_refusal(wire);
        check_status(afc_websocket_ping(wire->socket, afc_slice_of("")), AFC_ECLOSED);
        if (i == 0)
            afc_websocket_cancel(wire->socket);
        else
            wire_close(wire);
        wire_wait(wire);
        check_status(wire->failure.status, AFC_ECANCELED);
        assert_int_equal(wire->status, 403);
        wire_free(wire);
    }
}

/* ---- Challenges ---------------------------------------------------------------------------- */

typedef struct question {
    sem_t is_asked;
    uint32_t number;
} question;

static afc_challenge_decision on_challenge(void *context, const afc_challenge *challenge,
                                           afc_credentials *credentials) {
    question *question = ((wire *)context)->payload;
    (void)credentials;
    question->number = challenge->number;
    sem_post(&question->is_asked);
    return AFC_CHALLENGE_LATER;
}

static wire *asked(world *world, question *question) {
    wire *wire = wire_new(world, "/");
    sem_init(&question->is_asked, 0, 0);
    wire->payload = question;
    wire->events.on_challenge = on_challenge;
    wire_open(wire, world);
    sem_wait(&question->is_asked);
    return wire;
}

static void reply_to(wire *wire, question *question, afc_challenge_decision answer) {
    afc_credentials credentials = AFC_CREDENTIALS_INIT;
    credentials.user = "user";
    credentials.password = "pass";
    check_status(
        afc_websocket_answer_challenge(wire->socket, question->number, answer, &credentials),
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
    world *world = *state;
    static const framed rows[] = {
        {"Content-Length: 4\r\n\r\nbody", "body"},
        {"Content-Length: 0\r\n\r\n", ""},
        {"Transfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n", "body"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        question question;
        afts_script *script = challenge_with(rows[i].response);
        afts_wait_peer_close(script);
        serve(world, "/", script);
        wire *wire = asked(world, &question);
        reply_to(wire, &question, AFC_CHALLENGE_DEFAULT);
        check_log(wire, "closed 1006;");
        check_status(wire->failure.status, AFC_EAUTH);
        check_body(wire, rows[i].body, AFC_OK);
        wire_free(wire);
    }
}

static void limits_the_body_of_an_unanswered_challenge(void **state) {
    world *world = *state;
    question question;
    afts_script *script = challenge_with("\r\n");
    afts_send_repeated(script, "aaaaaaaa", 8, AFTS_FOREVER);
    serve(world, "/", script);
    wire *wire = asked(world, &question);
    reply_to(wire, &question, AFC_CHALLENGE_DEFAULT);
    check_log(wire, "closed 1006;");
    check_status(wire->failure.status, AFC_EAUTH);
    check_cut_body(wire);
    wire_free(wire);
}

/** While the answer is awaited, the only connection that this session may have is free, once the body is complete. */
static void whole_body_of_a_challenge_frees_its_connection(void **state) {
    world *world = *state;
    question question;
    afts_script *script = challenge_with("Content-Length: 4\r\n\r\nbody");
    afts_wait_peer_close(script);
    world_close_session(world);
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    options.max_connections_per_host = 1;
    assert_int_equal(afc_session_new(&world->session, &options, NULL), AFC_OK);
    serve_echo(world, "/", NULL);
    serve_once(world, "/", script);
    serve(world, "/token", answer(200, NULL, "token"));
    wire *wire = asked(world, &question);
    afc_request request = AFC_REQUEST_INIT;
    request.url = url_of(world, "/token");
    afc_result *result = NULL;
    assert_int_equal(afc_perform(&result, world->session, &request, NULL), AFC_OK);
    afc_result_free(result);
    reply_to(wire, &question, AFC_CHALLENGE_USE);
    wire_wait_for(wire, &wire->open_count, 1);
    wire_close(wire);
    check_log(wire, "open;closed 1000;");
    wire_free(wire);
}

/** It would never end. */
static void answered_challenge_does_not_wait_for_its_body(void **state) {
    world *world = *state;
    static const char *const rests[] = {"\r\nbody", "Content-Length: 1000\r\n\r\nbody",
                                        "Transfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n"};
    for (size_t i = 0; i < 2 * COUNT_OF(rests); i++) {
        question question;
        afts_script *script = challenge_with(rests[i / 2]);
        if (i % 2 == 0)
            afts_wait_peer_close(script);
        else
            afts_send_repeated(script, "aaaaaaaa", 8, AFTS_FOREVER);
        serve_echo(world, "/", NULL);
        serve_once(world, "/", script);
        wire *wire = asked(world, &question);
        reply_to(wire, &question, AFC_CHALLENGE_USE);
        wire_wait_for(wire, &wire->open_count, 1);
        wire_close(wire);
        check_log(wire, "open;closed 1000;");
        wire_free(wire);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        WORLD_TEST(passes_on_the_body_of_a_refusal),
        WORLD_TEST(passes_on_a_body_that_ends_with_the_connection),
        cmocka_unit_test(passes_on_the_body_over_tls),
        WORLD_TEST(decodes_the_body),
        WORLD_TEST(messages_that_waited_are_not_sent),
        WORLD_TEST(keeps_no_more_than_the_limit),
        WORLD_TEST(does_not_read_a_body_without_end),
        WORLD_TEST(keeps_what_was_received_of_a_cut_body),
        WORLD_TEST(a_slow_body_does_not_delay_the_failure),
        WORLD_TEST(cancel_or_close_ends_the_wait_for_a_body),
        WORLD_TEST(passes_on_the_body_of_an_unanswered_challenge),
        WORLD_TEST(limits_the_body_of_an_unanswered_challenge),
        WORLD_TEST(whole_body_of_a_challenge_frees_its_connection),
        WORLD_TEST(answered_challenge_does_not_wait_for_its_body),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
