/*
 * Answers that come while the body is still on its way, with the connection gone right behind them:
 * the answer is what counts, wherever the bytes of both directions happened to be.
 */
#include "support/call.h"
#include "support/files.h"
#include "support/form.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE = 8 << 20, ROUNDS = 200, FEW_ROUNDS = 20, READ = 100000 };

static size_t rounds(void) {
    return test_amount(ROUNDS, FEW_ROUNDS);
}

typedef struct bodies {
    folder folder;
    const char *path;
    char *bytes;
    script_reader reader;
} bodies;

static void bodies_make(bodies *bodies) {
    folder_make(&bodies->folder);
    bodies->bytes = calloc(1, SIZE);
    assert_non_null(bodies->bytes);
    bodies->path = path_in(&bodies->folder, "body");
    write_file(bodies->path, (afc_slice){bodies->bytes, SIZE});
}

static void bodies_remove(bodies *bodies) {
    free(bodies->bytes);
    folder_remove(&bodies->folder);
}

/** Send a body to where `script` answers, until that is over. */
static call *send_to(fixture *fixture, afts_script *script, bodies *bodies, afc_body_kind kind) {
    serve(fixture, "/", script);
    call *call = call_new(fixture, "/");
    call->request.method = "POST";
    call->request.expect = AFC_EXPECT_NEVER;
    call->request.body.kind = kind;
    call->request.body.bytes = (afc_slice){bodies->bytes, SIZE};
    if (kind == AFC_BODY_FILE) call->request.body.path = bodies->path;
    if (kind == AFC_BODY_READER) {
        bodies->reader = (script_reader){.bytes = {bodies->bytes, SIZE}, .reads_once = true};
        call->request.body.reader = reader_of(&bodies->reader);
        call->request.body.length = AFC_LENGTH_UNKNOWN;
    }
    if (kind == AFC_BODY_MULTIPART) {
        call->request.body.form = form_new();
        form_add_file(call->request.body.form, "f", bodies->path);
    }
    call_perform(call);
    return call;
}

/** Reads some of the body; what is added comes next. */
static afts_script *in_the_middle(void) {
    afts_script *script = afts_script_new();
    afts_read_head_only(script);
    afts_read_body_bytes(script, READ);
    return script;
}

/** Reads some of the body, answers and is gone. */
static afts_script *early(int status, uint64_t position, bool resets) {
    afts_script *script = afts_script_new();
    afts_read_head_only(script);
    if (position > 0) afts_read_body_bytes(script, position);
    afts_respond(script, status, NULL, "too large", 9);
    if (resets)
        afts_reset(script);
    else
        afts_close_abruptly(script);
    return script;
}

static void check_early(fixture *fixture, bool resets) {
    static const uint64_t positions[] = {0, 1, 65536, 1 << 20, SIZE - 1};
    bodies bodies;
    bodies_make(&bodies);
    for (size_t i = 0; i < rounds(); i++) {
        afc_body_kind kind = (afc_body_kind)(AFC_BODY_BYTES + i / COUNT_OF(positions) % 4);
        afts_script *script = early(413, positions[i % COUNT_OF(positions)], resets);
        call *call = send_to(fixture, script, &bodies, kind);
        check_ended(call, AFC_OK);
        assert_int_equal(status_of(call), 413);
        check_slice(call->body, "too large");
        assert_int_equal(call->hop_count, 1);
        assert_int_equal(call->hops[0].received, 9);
        call_free(call);
    }
    bodies_remove(&bodies);
}

/** No connection is used twice: one that the server has closed meanwhile is another matter. */
static fixture *plain_fixture(void) {
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    options.max_idle_connections = 0;
    return fixture_new(NULL, &options);
}

static fixture *tls_fixture(void) {
    fixture *fixture = fixture_new_tls();
    afc_session_release(fixture->session);
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    options.max_idle_connections = 0;
    options.trust = policy_trusting(afts_cert_pem(fixture->authority));
    check_status(afc_session_new(&fixture->session, &options, NULL), AFC_OK);
    afc_trust_policy_release(options.trust);
    return fixture;
}

/** A name that can't be looked up, for a proxy. */
static call *send_through(fixture *fixture, const char *proxy, const bodies *bodies) {
    call *call = call_new(fixture, "/");
    call->request.url = "http://early.invalid/";
    call->request.proxy = proxy;
    call_send(call, "POST", (afc_slice){bodies->bytes, SIZE});
    call->request.expect = AFC_EXPECT_NEVER;
    call_perform(call);
    return call;
}

static void returns_early_response_through_proxy(void **state) {
    (void)state;
    fixture *fixture = plain_fixture();
    bodies bodies;
    bodies_make(&bodies);
    for (size_t i = 0; i < rounds(); i++) {
        serve(fixture, "/", early(413, 1 << 20, i % 2 != 0));
        call *call = send_through(fixture, url_of(fixture, ""), &bodies);
        check_ended(call, AFC_OK);
        assert_int_equal(status_of(call), 413);
        call_free(call);
    }
    bodies_remove(&bodies);
    fixture_free(fixture);
}

static bool read_all(afts_conn *conn, unsigned char *out, size_t size) {
    for (size_t done = 0; done < size;) {
        size_t count;
        afts_status status = afts_conn_read(conn, out + done, size - done, &count);
        if (status != AFTS_OK || count == 0) return false;
        done += count;
    }
    return true;
}

/** As a SOCKS proxy, and then as the server behind it. */
static void answer_through_socks(afts_conn *conn, const struct afts_request *request,
                                 void *payload) {
    (void)request, (void)payload;
    unsigned char bytes[512];
    static const char text[] = "HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n";
    bool is_made = read_all(conn, bytes, 2) && read_all(conn, bytes, bytes[1]) &&
                   afts_conn_send(conn, "\5\0", 2) == 0 && read_all(conn, bytes, 5) &&
                   read_all(conn, bytes + 5, bytes[4] + 2u) &&
                   afts_conn_send(conn, "\5\0\0\1\0\0\0\0\0\0", 10) == 0;
    for (size_t i = 0; is_made && i < 1000; i++) is_made = read_all(conn, bytes, sizeof bytes);
    if (is_made) (void)afts_conn_send(conn, text, sizeof text - 1);
}

/** What libcurl can't have of the answer is lost, but its host is never looked up here. */
static void socks_proxy_resolves_the_host(void **state) {
    (void)state;
    fixture *fixture = plain_fixture();
    bodies bodies;
    bodies_make(&bodies);
    afts_script *script = afts_script_new();
    afts_handle(script, answer_through_socks, NULL, NULL);
    afts_close_abruptly(script);
    afts_on_connection(fixture->server, AFTS_EVERY_CONNECTION, script);
    char proxy[64];
    snprintf(proxy, sizeof proxy, "socks5h://127.0.0.1:%u",
             (unsigned)afts_server_port(fixture->server));
    for (size_t i = 0; i < rounds(); i++) {
        call *call = send_through(fixture, proxy, &bodies);
        if (call->failure.status != AFC_OK) check_ended(call, AFC_ELOST);
        if (call->failure.status == AFC_OK) assert_int_equal(status_of(call), 413);
        call_free(call);
    }
    bodies_remove(&bodies);
    fixture_free(fixture);
}

static void returns_early_response_before_close(void **state) {
    (void)state;
    fixture *fixture = plain_fixture();
    check_early(fixture, false);
    fixture_free(fixture);
}

static void returns_early_response_before_reset(void **state) {
    (void)state;
    fixture *fixture = plain_fixture();
    check_early(fixture, true);
    fixture_free(fixture);
}

static void returns_early_response_over_tls(void **state) {
    (void)state;
    fixture *fixture = tls_fixture();
    check_early(fixture, false);
    check_early(fixture, true);
    fixture_free(fixture);
}

/** What libcurl has to take apart, as on any connection. */
static void reads_early_response_in_each_framing(void **state) {
    (void)state;
    static const char *const answers[] = {
        "HTTP/1.1 413 No\r\nContent-Length: 9\r\n\r\ntoo large",
        "HTTP/1.1 413 No\r\nTransfer-Encoding: chunked\r\n\r\n3\r\ntoo\r\n6\r\n large\r\n0\r\n\r\n",
        "HTTP/1.1 413 No\r\nConnection: close\r\n\r\ntoo large", "HTTP/1.0 413 No\r\n\r\ntoo large",
        "HTTP/1.1 102 Wait\r\n\r\nHTTP/1.1 413 No\r\nContent-Length: 9\r\n\r\ntoo large"};
    bodies bodies;
    bodies_make(&bodies);
    fixture *fixture = plain_fixture();
    for (size_t i = 0; i < rounds(); i++) {
        afts_script *script = in_the_middle();
        afts_send_text(script, answers[i % COUNT_OF(answers)]);
        afts_reset(script);
        call *call = send_to(fixture, script, &bodies, AFC_BODY_BYTES);
        check_ended(call, AFC_OK);
        assert_int_equal(status_of(call), 413);
        check_slice(call->body, "too large");
        call_free(call);
    }
    fixture_free(fixture);
    bodies_remove(&bodies);
}

/** A reset can lose the end of a body without a length, so such a body isn't complete. */
static void never_accepts_a_success_that_a_reset_cut(void **state) {
    (void)state;
    static const char *const answers[] = {"HTTP/1.1 200 OK\r\n\r\n{\"balance\": 1000",
                                          "HTTP/1.0 201 Made\r\n\r\n{\"balance\": 1000"};
    bodies bodies;
    bodies_make(&bodies);
    fixture *fixture = plain_fixture();
    for (size_t i = 0; i < rounds(); i++) {
        afc_body_kind kind = (afc_body_kind)(AFC_BODY_BYTES + i % 4);
        afts_script *script = in_the_middle();
        afts_send_text(script, answers[i % COUNT_OF(answers)]);
        if (i % 3 > 0) {
            afts_reset(script);
        } else {
            afts_close_abruptly(script);
        }
        call *call = send_to(fixture, script, &bodies, kind);
        check_ended(call, AFC_ELOST);
        call_free(call);
    }
    fixture_free(fixture);
    bodies_remove(&bodies);
}

static void reads_large_early_response_whole(void **state) {
    (void)state;
    /* No longer than any receive buffer: what a server could not yet send goes with its reset. */
    static char page[30000];
    memset(page, 'x', sizeof page);
    bodies bodies;
    bodies_make(&bodies);
    fixture *fixture = plain_fixture();
    for (size_t i = 0; i < rounds() / 4; i++) {
        afts_script *script = in_the_middle();
        afts_respond(script, 400, NULL, page, sizeof page);
        afts_close_abruptly(script);
        call *call = send_to(fixture, script, &bodies, AFC_BODY_FILE);
        check_ended(call, AFC_OK);
        assert_int_equal(status_of(call), 400);
        assert_int_equal(call->body.size, sizeof page);
        call_free(call);
    }
    fixture_free(fixture);
    bodies_remove(&bodies);
}

/** A redirect is followed, with the body once more if it says so. */
static void follows_early_redirect(void **state) {
    (void)state;
    bodies bodies;
    bodies_make(&bodies);
    fixture *fixture = plain_fixture();
    serve(fixture, "/there", answer(200, NULL, "fine"));
    for (size_t i = 0; i < rounds() / 4; i++) {
        afts_script *script = in_the_middle();
        afts_respond(script, i % 2 == 0 ? 307 : 303, "Location: /there", "", 0);
        afts_close_abruptly(script);
        call *call = send_to(fixture, script, &bodies, AFC_BODY_FILE);
        check_ended(call, AFC_OK);
        check_slice(call->body, "fine");
        assert_int_equal(call->hop_count, 2);
        call_free(call);
    }
    fixture_free(fixture);
    bodies_remove(&bodies);
}

/**
 * Below 300 the rest is sent all the same (RFC 9112 9.3: the connection could be used again only
 * then); that it can't be changes nothing about an answer that is there.
 */
static void returns_early_success(void **state) {
    (void)state;
    bodies bodies;
    bodies_make(&bodies);
    fixture *fixture = plain_fixture();
    for (size_t i = 0; i < rounds(); i++) {
        afc_body_kind kind = (afc_body_kind)(AFC_BODY_BYTES + i % 4);
        call *call = send_to(fixture, early(200, READ, i % 2 == 0), &bodies, kind);
        check_ended(call, AFC_OK);
        assert_int_equal(status_of(call), 200);
        check_slice(call->body, "too large");
        call_free(call);
    }
    fixture_free(fixture);
    bodies_remove(&bodies);
}

static void connection_lost_without_response_fails(void **state) {
    (void)state;
    bodies bodies;
    bodies_make(&bodies);
    for (int tls = 0; tls < 2; tls++) {
        fixture *fixture = tls ? tls_fixture() : plain_fixture();
        for (size_t i = 0; i < rounds() / 4; i++) {
            afts_script *script = in_the_middle();
            if (i % 2 == 0)
                afts_reset(script);
            else
                afts_close_abruptly(script);
            call *call = send_to(fixture, script, &bodies, AFC_BODY_FILE);
            check_ended(call, AFC_ELOST);
            assert_int_equal(call->hop_count, 1);
            assert_int_equal(status_of(call), 0);
            call_free(call);
        }
        fixture_free(fixture);
    }
    bodies_remove(&bodies);
}

/** What came is no answer, or half of one. */
static void incomplete_early_response_fails(void **state) {
    (void)state;
    static const struct {
        const char *text;
        afc_status expected;
    } rows[] = {{"HTTP/1.1 413 No\r\nContent-Le", AFC_EPROTOCOL},
                {"HTTP/1.1 413 No\r\nContent-Length: 9\r\n\r\ntoo", AFC_ETRUNCATED}};
    bodies bodies;
    bodies_make(&bodies);
    fixture *fixture = plain_fixture();
    for (size_t i = 0; i < rounds() / 4; i++) {
        afts_script *script = in_the_middle();
        afts_send_text(script, rows[i % COUNT_OF(rows)].text);
        afts_close_abruptly(script);
        call *call = send_to(fixture, script, &bodies, AFC_BODY_FILE);
        afc_status status = call->failure.status;
        assert_true(status == rows[i % COUNT_OF(rows)].expected || status == AFC_ELOST);
        call_free(call);
    }
    fixture_free(fixture);
    bodies_remove(&bodies);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(returns_early_response_through_proxy),
        cmocka_unit_test(socks_proxy_resolves_the_host),
        cmocka_unit_test(returns_early_response_before_close),
        cmocka_unit_test(returns_early_response_before_reset),
        cmocka_unit_test(never_accepts_a_success_that_a_reset_cut),
        cmocka_unit_test(returns_early_response_over_tls),
        cmocka_unit_test(reads_early_response_in_each_framing),
        cmocka_unit_test(reads_large_early_response_whole),
        cmocka_unit_test(follows_early_redirect),
        cmocka_unit_test(returns_early_success),
        cmocka_unit_test(connection_lost_without_response_fails),
        cmocka_unit_test(incomplete_early_response_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
