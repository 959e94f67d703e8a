/*
 * What libcurl keeps in a handle from one exchange to the next must not reach the next. libcurl 7.84.0 to
 * 8.0.1 keep a pointer to the last field of the previous response, which they have freed, and add a folded
 * first line to it: a server could corrupt memory with a space.
 */
#include "support/auth_server.h"
#include "support/test_proxy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 10 };

#define FOLDED "HTTP/1.1 200 OK\r\n\tfolded: line\r\nContent-Length: 2\r\n\r\nhi"

/** Fields of many sizes, so that what is freed is in use again. */
static const char *const fields[] = {"A: b", "A: b\r\nB: 0123456789012345678901234567890123456789",
                                     ("Long: 00000000000000000000000000000000000000000000000000"
                                      "00000000000000000000000000000000000000000000000000000000")};

static afts_script *folded(void) {
    afts_script *script = afts_script_new();
    afts_send_text(script, FOLDED);
    afts_close(script);
    return script;
}

static void check_refused(call *call) {
    call_perform(call);
    check_ended(call, AFC_EPROTOCOL);
    assert_string_equal(call->failure.text, "the first response header line is folded");
    call_free(call);
}

static void refuses_folded_first_line_after_redirect(void **state) {
    fixture *fixture = *state;
    serve(fixture, "/b", folded());
    for (size_t i = 0; i < ROUNDS; i++) {
        const char *more = fields[i % COUNT_OF(fields)];
        serve(fixture, "/a", answer(302, text_of(fixture, "Location: /b\r\n%s", more), "moved"));
        check_refused(call_new(fixture, "/a"));
    }
}

static void refuses_folded_first_line_after_other_requests(void **state) {
    fixture *fixture = *state;
    serve(fixture, "/b", folded());
    for (size_t i = 0; i < ROUNDS; i++) {
        serve(fixture, "/a", answer(200, fields[i % COUNT_OF(fields)], "first"));
        for (size_t j = 0; j < 3; j++) check_fetch(fixture, "/a", AFC_OK);
        check_refused(call_new(fixture, "/b"));
    }
}

static void refuses_folded_first_line_after_interim_response(void **state) {
    fixture *fixture = *state;
    for (size_t i = 0; i < ROUNDS; i++) {
        afts_script *script = afts_script_new();
        afts_interim(script, 103, fields[i % COUNT_OF(fields)]);
        afts_send_text(script, FOLDED);
        afts_close(script);
        serve(fixture, "/", script);
        check_refused(call_new(fixture, "/"));
    }
}

/** libcurl 7 adds the line to the last field of the round before, which it still has. */
static void refuses_folded_first_line_after_authentication(void **state) {
    fixture *fixture = *state;
    if (!has_ntlm()) skip();
    afc_credentials only = {"me", "secret", NULL, AFC_AUTH_NTLM, true, {0}};
    for (size_t i = 0; i < ROUNDS; i++) {
        afts_script *script = afts_script_new();
        afts_read_request(script);
        afts_respond(script, 401, "WWW-Authenticate: " NTLM_CHALLENGE, "who?", 4);
        afts_read_request(script);
        afts_send_text(script, FOLDED);
        afts_close(script);
        afts_on_connection(fixture->server, i, script);
        call *call = call_new(fixture, "/");
        call->request.credentials = &only;
        check_refused(call);
    }
}

static void refuses_folded_first_line_after_tunnel(void **state) {
    (void)state;
    fixture *fixture = fixture_new_tls();
    test_proxy *test_proxy = test_proxy_new(fixture);
    serve(fixture, "/", folded());
    for (size_t i = 0; i < ROUNDS; i++) {
        call *call = call_new(fixture, "/");
        call->request.url = tls_url(fixture);
        call->request.proxy = test_proxy_url(test_proxy, "http", NULL);
        check_refused(call);
    }
    fixture_close_session(fixture);
    test_proxy_free(test_proxy);
    fixture_free(fixture);
}

static void refuses_folded_first_line_after_retry(void **state) {
    fixture *fixture = *state;
    serve(fixture, "/b", folded());
    for (size_t i = 0; i < ROUNDS; i++) {
        afts_script *script = afts_script_new();
        afts_read_request(script);
        afts_respond(script, 200, fields[i % COUNT_OF(fields)], "first", 5);
        afts_read_request(script);
        afts_close(script);
        afts_on_connection(fixture->server, 2 * i, script);
        check_fetch(fixture, "/a", AFC_OK);
        check_refused(call_new(fixture, "/b"));
    }
}

/** The response is given to libcurl once more, over another connection. */
static void refuses_folded_first_line_of_early_response(void **state) {
    fixture *fixture = *state;
    enum { SIZE = 4 << 20 };
    char *body = calloc(1, SIZE);
    assert_non_null(body);
    for (size_t i = 0; i < ROUNDS; i++) {
        afts_script *script = afts_script_new();
        afts_read_head_only(script);
        afts_interim(script, 103, fields[i % COUNT_OF(fields)]);
        afts_read_body_bytes(script, 1000);
        afts_send_text(script, FOLDED);
        afts_close_abruptly(script);
        serve(fixture, "/", script);
        call *call = call_new(fixture, "/");
        call_send(call, "POST", (afc_slice){body, SIZE});
        call->request.expect = AFC_EXPECT_NEVER;
        check_refused(call);
    }
    free(body);
}

/** Neither an interim head without fields nor a final head without them ends what libcurl has to be kept from. */
static void refuses_folded_first_line_after_interim_response_without_fields(void **state) {
    fixture *fixture = *state;
    for (size_t i = 0; i < ROUNDS; i++) {
        serve(fixture, "/a", answer(200, fields[i % COUNT_OF(fields)], "first"));
        check_fetch(fixture, "/a", AFC_OK);
        serve_text(fixture, "/b", "HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 100 \n\n" FOLDED);
        check_refused(call_new(fixture, "/b"));
    }
}

/** The folded line is not there yet when the status line is read. */
static void refuses_folded_first_line_received_byte_by_byte(void **state) {
    fixture *fixture = *state;
    for (size_t i = 0; i < 3; i++) {
        serve(fixture, "/a", answer(200, fields[i % COUNT_OF(fields)], "first"));
        check_fetch(fixture, "/a", AFC_OK);
        afts_script *script = afts_script_new();
        afts_send_crumbs(script, FOLDED, strlen(FOLDED), 1, 1);
        afts_close(script);
        serve(fixture, "/b", script);
        check_refused(call_new(fixture, "/b"));
    }
}

static void ignore_trace(void *context, const afc_trace *trace) {
    (void)context, (void)trace;
}

static void refuses_folded_first_line_of_traced_task(void **state) {
    fixture *fixture = *state;
    serve(fixture, "/b", folded());
    for (size_t i = 0; i < ROUNDS; i++) {
        serve(fixture, "/a",
              answer(302, text_of(fixture, "Location: /b\r\n%s", fields[i % COUNT_OF(fields)]),
                     "moved"));
        call *call = call_new(fixture, "/a");
        call->events.on_trace = ignore_trace;
        check_refused(call);
    }
}

static void refuses_folded_first_line_of_tunnel(void **state) {
    fixture *fixture = *state;
    for (size_t i = 0; i < ROUNDS; i++) {
        serve(fixture, "/a", answer(200, fields[i % COUNT_OF(fields)], "first"));
        check_fetch(fixture, "/a", AFC_OK);
        afts_script *script = afts_script_new();
        afts_read_head_only(script);
        afts_send_text(script, FOLDED);
        afts_close(script);
        afts_on_connection(fixture->server, i + 1, script);
        call *call = call_new(fixture, "/b");
        call->request.url = "https://127.0.0.1:1/b";
        call->request.proxy = url_of(fixture, "");
        call_perform(call);
        /*
         * libcurl 8.18.0 and later join the line to the status line before they pass that on (recv_CONNECT_resp() in
         * lib/cf-h1-proxy.c): the tunnel stands, and TLS fails in it.
         */
        bool is_joined = libcurl_is_at_least(8, 18);
        check_ended(call, is_joined ? AFC_ETLS : AFC_ECONNECT);
        if (!is_joined) {
            assert_true(strstr(call->failure.text, "has a folded first field line (proxy http://"));
            assert_int_equal(call->failure.party, AFC_PARTY_PROXY);
        }
        call_free(call);
    }
}

/** libcurl refuses it with the same code. From 8.1 on, nothing tells them apart. */
static void line_with_bare_return_is_not_called_folded(void **state) {
    fixture *fixture = *state;
    if (libcurl_is_at_least(8, 1)) skip();
    const char *text = "HTTP/1.1 200 OK\r\nName\r: value\r\n\r\n";
    serve_text(fixture, "/", text);
    call *call = call_fetch(fixture, "/");
    check_ended(call, AFC_EPROTOCOL);
    assert_null(strstr(call->failure.text, "folded"));
    call_free(call);
    afts_script *script = afts_script_new();
    afts_read_head_only(script);
    afts_send_text(script, text);
    afts_close(script);
    afts_on_connection(fixture->server, 1, script);
    call = call_new(fixture, "/");
    call->request.url = "https://127.0.0.1:1/";
    call->request.proxy = url_of(fixture, "");
    call_perform(call);
    assert_int_not_equal(call->failure.status, AFC_OK);
    assert_null(strstr(call->failure.text, "folded"));
    call_free(call);
}

static void accepts_folded_line_behind_first_field(void **state) {
    fixture *fixture = *state;
    serve(fixture, "/", answer(200, "X: y\r\n\tfolded", "body"));
    for (size_t i = 0; i < ROUNDS; i++) check_fetch(fixture, "/", AFC_OK);
}

/* ---- What else a handle could keep --------------------------------------------------------- */

enum { WAITING = 30 };

/** libcurl keeps the buffers of a transfer that never got a connection, and refuses other sizes of them. */
static void cancelled_wait_for_connection_leaves_nothing_behind(void **state) {
    (void)state;
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    options.max_connections_per_host = 1;
    fixture *fixture = fixture_new(NULL, &options);
    call *calls[WAITING + 1];
    afts_script *stalled = afts_script_new();
    afts_stall(stalled, "never");
    serve(fixture, "/stalled", stalled);
    serve(fixture, "/", answer(200, NULL, "healthy"));
    for (size_t i = 0; i < COUNT_OF(calls); i++) {
        calls[i] = call_new(fixture, "/stalled");
        call_start(calls[i]);
    }
    /* Another host, as its name goes: once it has answered, libcurl has looked at all that went before. */
    const char *other = text_of(fixture, "http://localhost%s/", strrchr(url_of(fixture, ""), ':'));
    check_fetch_url(fixture, other, AFC_OK);
    for (size_t i = 0; i < COUNT_OF(calls); i++) afc_task_cancel(calls[i]->task);
    for (size_t i = 0; i < COUNT_OF(calls); i++) {
        call_wait(calls[i]);
        check_ended(calls[i], AFC_ECANCELED);
        call_free(calls[i]);
    }
    for (size_t i = 0; i < WAITING; i++) {
        call *call = call_new(fixture, "/");
        /* With the large buffer. */
        call->request.sink.kind = AFC_SINK_CALLBACK;
        call_perform(call);
        check_ended(call, AFC_OK);
        call_free(call);
    }
    fixture_free(fixture);
}

static void system_error_belongs_to_its_task(void **state) {
    fixture *fixture = *state;
    afts_script *reset = afts_script_new();
    afts_send_text(reset, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n123");
    afts_reset(reset);
    serve(fixture, "/reset", reset);
    serve_text(fixture, "/broken", "HTTP/1.1 200 OK\r\nContent-Length: 9, 8\r\n\r\n");
    for (size_t i = 0; i < ROUNDS; i++) {
        call *first = call_fetch(fixture, "/reset");
        assert_int_equal(first->failure.system_error, ECONNRESET);
        call_free(first);
        call *second = call_fetch(fixture, "/broken");
        check_ended(second, AFC_EPROTOCOL);
        assert_int_equal(second->failure.system_error, 0);
        call_free(second);
    }
}

/** A request on a pooled connection that ends without a response: libcurl repeats it by itself, or would. */
static void check_lost(fixture *fixture, size_t round, const char *method, afc_status expected) {
    afts_script *script = afts_script_new();
    afts_read_request(script);
    afts_respond(script, 200, NULL, "first", 5);
    afts_read_request(script);
    afts_close(script);
    afts_on_connection(fixture->server, 2 * round, script);
    check_fetch(fixture, "/a", AFC_OK);
    call *call = call_new(fixture, "/b");
    call_send(call, method, S("content"));
    call_perform(call);
    check_ended(call, expected);
    if (expected != AFC_OK) {
        assert_string_equal(call->failure.text,
                            "the connection was lost; the server may have processed the request");
    }
    call_free(call);
}

/** libcurl fails the sixth one of a handle, and says that it has tried five times. */
static void lost_requests_of_others_dont_count(void **state) {
    fixture *fixture = *state;
    serve(fixture, "/b", answer(200, "Connection: close", "repeated"));
    for (size_t i = 0; i < ROUNDS; i++) check_lost(fixture, i, "POST", AFC_ELOST);
    for (size_t i = 0; i < ROUNDS; i++) check_lost(fixture, ROUNDS + i, "PUT", AFC_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(refuses_folded_first_line_after_redirect),
        FIXTURE_TEST(refuses_folded_first_line_after_other_requests),
        FIXTURE_TEST(refuses_folded_first_line_after_interim_response),
        FIXTURE_TEST(refuses_folded_first_line_after_authentication),
        cmocka_unit_test(refuses_folded_first_line_after_tunnel),
        FIXTURE_TEST(refuses_folded_first_line_after_retry),
        FIXTURE_TEST(refuses_folded_first_line_of_early_response),
        FIXTURE_TEST(refuses_folded_first_line_after_interim_response_without_fields),
        FIXTURE_TEST(refuses_folded_first_line_received_byte_by_byte),
        FIXTURE_TEST(refuses_folded_first_line_of_traced_task),
        FIXTURE_TEST(refuses_folded_first_line_of_tunnel),
        FIXTURE_TEST(line_with_bare_return_is_not_called_folded),
        FIXTURE_TEST(accepts_folded_line_behind_first_field),
        cmocka_unit_test(cancelled_wait_for_connection_leaves_nothing_behind),
        FIXTURE_TEST(system_error_belongs_to_its_task),
        FIXTURE_TEST(lost_requests_of_others_dont_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
