/* What on_trace reports: the heads that really went over the wire, and the connections under them. */
#include "support/call.h"
#include "support/h2.h"
#include "support/test_proxy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/** Everything that was reported, as text: "C" connection, ">" request, "<" response, "T" for a tunnel's. */
typedef struct tape {
    char text[16384];
    size_t size;
    size_t hops;
    afc_trace_connection connections[8];
    char subjects[8][128], alpns[8][32], versions[8][32], ciphers[8][64];
    size_t connection_count;
} tape;

static void put(tape *tape, const char *bytes, size_t size) {
    if (tape->size + size >= sizeof tape->text) return;
    memcpy(tape->text + tape->size, bytes, size);
    tape->size += size;
    tape->text[tape->size] = '\0';
}

static void copy(char *out, size_t size, const char *text) {
    snprintf(out, size, "%s", text != NULL ? text : "-");
}

static void keep_connection(tape *tape, const afc_trace_connection *connection) {
    size_t index = tape->connection_count;
    if (index == COUNT_OF(tape->connections)) return;
    tape->connections[index] = *connection;
    copy(tape->subjects[index], sizeof tape->subjects[index], connection->subject);
    copy(tape->alpns[index], sizeof tape->alpns[index], connection->alpn);
    copy(tape->versions[index], sizeof tape->versions[index], connection->tls_version);
    copy(tape->ciphers[index], sizeof tape->ciphers[index], connection->cipher);
    tape->connection_count++;
}

static void on_trace(void *context, const afc_trace *trace) {
    call *call = context;
    tape *tape = call->payload;
    static const char marks[] = "C><";
    put(tape, &marks[trace->kind], 1);
    if (trace->is_tunnel) put(tape, "T", 1);
    put(tape, " ", 1);
    if (trace->kind == AFC_TRACE_CONNECTION) {
        keep_connection(tape, trace->connection);
        put(tape, "\n", 1);
    } else {
        put(tape, trace->bytes.bytes, trace->bytes.size);
    }
    tape->hops = trace->hop + 1;
}

static call *traced(fixture *fixture, const char *path, tape *tape) {
    *tape = (struct tape){0};
    call *call = call_new(fixture, path);
    call->payload = tape;
    call->events.on_trace = on_trace;
    return call;
}

static void run(call *call, afc_status expected) {
    call_perform(call);
    check_ended(call, expected);
}

/** The head of the request that came as number `index`, as the server saw it. */
static const char *head_seen(fixture *fixture, size_t index) {
    afts_request *request = afts_copy_request(fixture->server, index);
    assert_non_null(request);
    const char *text = text_of(fixture, "%.*s", (int)request->head_size, request->head);
    afts_request_free(request);
    return text;
}

static size_t times(const char *text, const char *part) {
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, part)) != NULL; at++) count++;
    return count;
}

/* ---- HTTP/1.1 in the clear ----------------------------------------------------------------- */

static void reports_the_bytes_that_the_server_saw(void **state) {
    fixture *fixture = *state;
    tape tape;
    serve(fixture, "/a", answer(200, "X-A:  1 \r\n", "body"));
    call *call = traced(fixture, "/a?b=c", &tape);
    call_send(call, "POST", S("secret body"));
    run(call, AFC_OK);
    call_free(call);
    const char *expected = text_of(fixture, "C \n> %s< HTTP/1.1 200 OK\r\n< X-A:  1 \r\n",
                                   head_seen(fixture, 0));
    assert_memory_equal(tape.text, expected, strlen(expected));
    assert_null(strstr(tape.text, "body"));
    assert_string_equal(tape.text + tape.size - 4, "< \r\n");
    const afc_trace_connection *connection = &tape.connections[0];
    assert_string_equal(connection->remote_address, "127.0.0.1");
    assert_int_equal(connection->remote_port, afts_server_port(fixture->server));
    assert_false(connection->is_proxy);
    assert_false(connection->is_reused);
    assert_null(connection->tls_version);

    call = traced(fixture, "/a", &tape);
    run(call, AFC_OK);
    call_free(call);
    assert_true(tape.connections[0].is_reused);
    assert_string_equal(tape.connections[0].remote_address, "127.0.0.1");
}

static void reports_each_hop_by_its_index(void **state) {
    fixture *fixture = *state;
    tape tape;
    serve(fixture, "/1", answer(302, "Location: /2\r\n", "gone"));
    serve(fixture, "/2", answer(301, "Location: http://u:pass@127.0.0.1:1/\r\n", ""));
    call *call = traced(fixture, "/1", &tape);
    run(call, AFC_ECONNECT);
    check_contains(tape.text, "> GET /1 HTTP/1.1\r\n");
    check_contains(tape.text, "< HTTP/1.1 302 Found\r\n");
    check_contains(tape.text, "> GET /2 HTTP/1.1\r\n");
    check_contains(tape.text, "< Location: http://127.0.0.1:1/\r\n");
    /* The third hop sent nothing. */
    assert_int_equal(call->hop_count, 3);
    assert_int_equal(tape.hops, 2);
    assert_int_equal(times(tape.text, "> "), 2);
    call_free(call);
}

static void redacts_secrets_and_nothing_else(void **state) {
    fixture *fixture = *state;
    static const afc_header own[] = {{{"Authorization", 13}, {"Bearer s3cret", 13}, 0},
                                     {{"Cookie", 6}, {"a=s3cret", 8}, 0},
                                     {{"X-Key", 5}, {"s3cret", 6}, AFC_HEADER_SECRET},
                                     {{"X-Plain", 7}, {"seen", 4}, 0}};
    tape tape;
    serve(fixture, "/", answer(200, "Set-Cookie: b=s3cret\r\n", ""));
    call *call = traced(fixture, "/", &tape);
    call->request.headers = own;
    call->request.header_count = COUNT_OF(own);
    run(call, AFC_OK);
    call_free(call);
    assert_null(strstr(tape.text, "s3cret"));
    check_contains(
        tape.text,
        "Authorization: <hidden>\r\nCookie: <hidden>\r\nX-Key: <hidden>\r\nX-Plain: seen\r\n");
    check_contains(tape.text, "< Set-Cookie: <hidden>\r\n");
}

static void reports_interim_responses_and_trailers(void **state) {
    fixture *fixture = *state;
    tape tape;
    serve_text(fixture, "/",
               "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
               "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
               "2\r\nhi\r\n0\r\nX-After: 1\r\n\r\n");
    call *call = traced(fixture, "/", &tape);
    run(call, AFC_OK);
    call_free(call);
    check_contains(tape.text,
                   "< HTTP/1.1 103 Early Hints\r\n< Link: </a>\r\n< \r\n< HTTP/1.1 200 OK\r\n");
    check_contains(tape.text, "< X-After: 1\r\n");
}

static void reports_both_rounds_of_authentication(void **state) {
    fixture *fixture = *state;
    tape tape;
    afc_credentials credentials = AFC_CREDENTIALS_INIT;
    credentials.user = "me";
    credentials.password = "s3cret";
    serve_once(
        fixture, "/",
        answer(401, "WWW-Authenticate: Digest realm=\"r\", nonce=\"n\", qop=\"auth\"\r\n", "no"));
    serve(fixture, "/", answer(200, NULL, "in"));
    call *call = traced(fixture, "/", &tape);
    call->request.credentials = &credentials;
    run(call, AFC_OK);
    call_free(call);
    assert_int_equal(times(tape.text, "> GET / HTTP/1.1\r\n"), 2);
    assert_int_equal(times(tape.text, "Authorization: <hidden>\r\n"), 1);
    check_contains(tape.text, "< HTTP/1.1 401 Unauthorized\r\n");
    check_contains(tape.text, "nonce=\"n\"");
}

enum { LONG_FIELD = 200000, LONG_FIELDS = 4 };

static void check_large_head(fixture *fixture, const char *url, const char *method) {
    char *value = malloc(LONG_FIELD);
    memset(value, 'v', LONG_FIELD);
    afc_header own[LONG_FIELDS];
    for (size_t i = 0; i < LONG_FIELDS; i++) {
        own[i] = (afc_header){{"Cookie", 6}, {value, LONG_FIELD}, 0};
    }
    tape tape;
    call *call = traced(fixture, "/", &tape);
    call->request.url = url;
    call->request.method = method;
    call->request.headers = own;
    call->request.header_count = LONG_FIELDS;
    run(call, AFC_OK);
    call_free(call);
    free(value);
    assert_int_equal(times(tape.text, text_of(fixture, "> %s", method)), 1);
    assert_int_equal(times(tape.text, "Cookie: <hidden>\r\n"), LONG_FIELDS);
}

/** The socket takes such a head in many pieces. A POST without a body announces that it has none. */
static void reports_a_large_head_once_and_whole(void **state) {
    (void)state;
    for (int i = 0; i < 2; i++) {
        fixture *fixture = i == 0 ? fixture_new(NULL, NULL) : fixture_new_alpn("http/1.1", NULL);
        serve_bytes(fixture, "/", S("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"));
        const char *url = i == 0 ? url_of(fixture, "/") : tls_url(fixture);
        check_large_head(fixture, url, "GET");
        check_large_head(fixture, url, "POST");
        fixture_free(fixture);
    }
}

/* ---- TLS, HTTP/2, proxies ------------------------------------------------------------------ */

static void describes_connections_over_tls(void **state) {
    (void)state;
    fixture *fixture = fixture_new_tls();
    tape tape;
    for (int i = 0; i < 2; i++) {
        call *call = traced(fixture, "/", &tape);
        call->request.url = tls_url(fixture);
        run(call, AFC_OK);
        call_free(call);
        assert_int_equal(tape.connection_count, 1);
        assert_string_equal(tape.versions[0], "TLSv1.3");
        check_contains(tape.ciphers[0], "TLS_");
        assert_string_not_equal(tape.subjects[0], "-");
        assert_int_equal(tape.connections[0].is_reused, i == 1);
    }
    fixture_free(fixture);
}

static void describes_a_connection_whose_certificate_is_refused(void **state) {
    (void)state;
    fixture *fixture = fixture_new_tls();
    afts_cert *stranger = afts_cert_new(&(afts_cert_options){.authority = true}, NULL);
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    tape tape;
    options.trust = policy_trusting(afts_cert_pem(stranger));
    fixture_close_session(fixture);
    check_status(afc_session_new(&fixture->session, &options, NULL), AFC_OK);
    afc_trust_policy_release(options.trust);
    call *call = traced(fixture, "/", &tape);
    call->request.url = tls_url(fixture);
    run(call, AFC_EUNTRUSTED);
    call_free(call);
    assert_string_equal(tape.text, "C \n");
    assert_string_equal(tape.connections[0].remote_address, "127.0.0.1");
    assert_int_not_equal(tape.connections[0].remote_port, 0);
    assert_string_equal(tape.versions[0], "TLSv1.3");
    check_contains(tape.ciphers[0], "TLS_");
    assert_string_not_equal(tape.subjects[0], "-");
    afts_cert_free(stranger);
    fixture_free(fixture);
}

/** Without a certificate of the server, only the address is known. */
static void reports_the_address_of_a_server_without_tls(void **state) {
    fixture *fixture = *state;
    tape tape;
    afts_script *script = afts_script_new();
    afts_send_text(script, "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
    afts_close(script);
    afts_on_accept(fixture->server, AFTS_EVERY_CONNECTION, script);
    call *call = traced(fixture, "/", &tape);
    call->request.url = text_of(fixture, "https://127.0.0.1:%d/",
                                afts_server_port(fixture->server));
    run(call, AFC_ETLS);
    call_free(call);
    assert_string_equal(tape.text, "C \n");
    assert_string_equal(tape.connections[0].remote_address, "127.0.0.1");
    assert_string_equal(tape.versions[0], "-");
}

static void answer_stream(afts_conn *conn, const afts_request *request, void *payload) {
    h2_peer peer;
    (void)request, (void)payload;
    if (!h2_begin(&peer, conn)) return;
    for (uint32_t stream; (stream = h2_read_request(&peer)) != 0;) {
        if (!h2_send_head(&peer, stream, 200, H2_END_STREAM | H2_END_HEADERS)) return;
    }
}

static void reports_http_2_without_fields_that_it_does_not_send(void **state) {
    (void)state;
    static const afc_header own[] = {{{"X-Mixed", 7}, {"Case", 4}, 0},
                                     {{"Connection", 10}, {"close", 5}, 0}};
    fixture *fixture = h2_fixture(NULL);
    tape tape;
    h2_serve(fixture, answer_stream, NULL, H2_CLOSE);
    call *call = traced(fixture, "/", &tape);
    call->request.url = tls_url(fixture);
    call->request.headers = own;
    call->request.header_count = COUNT_OF(own);
    run(call, AFC_OK);
    call_free(call);
    check_contains(tape.text, "> GET / HTTP/2\r\nhost: localhost:");
    check_contains(tape.text, "x-mixed: Case\r\n");
    assert_null(strstr(tape.text, "onnection"));
    check_contains(tape.text, "< HTTP/2 200 \r\n");
    assert_string_equal(tape.alpns[0], "h2");
    fixture_free(fixture);
}

static void use_proxy(fixture *fixture, test_proxy *test_proxy, const char *scheme,
                      const afts_cert *authority) {
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    options.trust = fixture->authority != NULL ? policy_trusting(afts_cert_pem(fixture->authority))
                                               : NULL;
    options.proxy_trust = authority != NULL ? policy_trusting(afts_cert_pem(authority)) : NULL;
    options.proxies = (afc_proxies){
        AFC_PROXIES_GIVEN, NULL, NULL, test_proxy_url(test_proxy, scheme, "me:s3cret"), NULL, {0}};
    fixture_close_session(fixture);
    check_status(afc_session_new(&fixture->session, &options, NULL), AFC_OK);
    afc_trust_policy_release(options.trust);
    afc_trust_policy_release(options.proxy_trust);
}

static void reports_connect_and_the_connections_before_and_behind_it(void **state) {
    (void)state;
    fixture *fixture = fixture_new_tls();
    test_proxy *test_proxy = test_proxy_new(fixture);
    tape tape;
    use_proxy(fixture, test_proxy, "http", NULL);
    call *call = traced(fixture, "/", &tape);
    call->request.url = tls_url(fixture);
    run(call, AFC_OK);
    call_free(call);
    const char *start = "CT \n>T CONNECT localhost:";
    assert_memory_equal(tape.text, start, strlen(start));
    check_contains(tape.text, "Proxy-Authorization: <hidden>\r\n");
    check_contains(tape.text, "<T HTTP/1.1 200");
    check_contains(tape.text, "\r\nC \n> GET / HTTP/1.1\r\n");
    assert_int_equal(tape.connection_count, 2);
    assert_true(tape.connections[0].is_proxy);
    assert_string_equal(tape.connections[0].remote_address, "127.0.0.1");
    assert_int_not_equal(tape.connections[0].remote_port, 0);
    assert_null(tape.connections[0].tls_version);
    assert_string_equal(tape.versions[1], "TLSv1.3");
    fixture_close_session(fixture);
    test_proxy_free(test_proxy);
    fixture_free(fixture);
}

static void reports_a_refused_connect(void **state) {
    fixture *fixture = *state;
    test_proxy *test_proxy = test_proxy_new(fixture);
    tape tape;
    use_proxy(fixture, test_proxy, "http", NULL);
    test_proxy_refuse(test_proxy, 403);
    call *call = traced(fixture, "/", &tape);
    call->request.url = "https://example.test/";
    run(call, AFC_ECONNECT);
    call_free(call);
    check_contains(tape.text, ">T CONNECT example.test:443 HTTP/1.1\r\n");
    check_contains(tape.text, "<T HTTP/1.1 403");
    assert_null(strstr(tape.text, "GET"));
    fixture_close_session(fixture);
    test_proxy_free(test_proxy);
}

static void describes_tls_of_the_proxy_and_of_the_server(void **state) {
    (void)state;
    fixture *fixture = fixture_new_tls();
    afts_cert *authority = afts_cert_new(&(afts_cert_options){.authority = true}, NULL);
    afts_cert *leaf = afts_cert_new(NULL, authority);
    test_proxy *test_proxy = test_proxy_new_tls(fixture, leaf);
    tape tape;
    use_proxy(fixture, test_proxy, "https", authority);
    call *call = traced(fixture, "/", &tape);
    call->request.url = tls_url(fixture);
    run(call, AFC_OK);
    call_free(call);
    assert_int_equal(tape.connection_count, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_string_equal(tape.versions[i], "TLSv1.3");
        assert_string_not_equal(tape.subjects[i], "-");
    }
    fixture_close_session(fixture);
    test_proxy_free(test_proxy);
    afts_cert_free(leaf);
    afts_cert_free(authority);
    fixture_free(fixture);
}

/* ---- What is not asked for ----------------------------------------------------------------- */

/** A traced task shares its session, and its handle, with others, whose heads it must not see. */
static void reports_only_its_own_task(void **state) {
    fixture *fixture = *state;
    tape tape;
    char printed[64];
    FILE *file = tmpfile();
    assert_non_null(file);
    fflush(stderr);
    int original = dup(STDERR_FILENO);
    assert_true(original >= 0 && dup2(fileno(file), STDERR_FILENO) >= 0);
    for (int i = 0; i < 8; i++) {
        call *call = traced(fixture, "/traced", &tape);
        call_perform(call);
        call_free(call);
        call_free(call_fetch(fixture, "/other"));
        if (strstr(tape.text, "/other") != NULL) break;
    }
    fflush(stderr);
    assert_true(dup2(original, STDERR_FILENO) >= 0);
    close(original);
    rewind(file);
    size_t size = fread(printed, 1, sizeof printed, file);
    fclose(file);
    assert_int_equal(size, 0);
    assert_null(strstr(tape.text, "/other"));
    check_contains(tape.text, "/traced");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(reports_the_bytes_that_the_server_saw),
        FIXTURE_TEST(reports_each_hop_by_its_index),
        FIXTURE_TEST(redacts_secrets_and_nothing_else),
        FIXTURE_TEST(reports_interim_responses_and_trailers),
        FIXTURE_TEST(reports_both_rounds_of_authentication),
        cmocka_unit_test(reports_a_large_head_once_and_whole),
        cmocka_unit_test(describes_connections_over_tls),
        cmocka_unit_test(describes_a_connection_whose_certificate_is_refused),
        FIXTURE_TEST(reports_the_address_of_a_server_without_tls),
        cmocka_unit_test(reports_http_2_without_fields_that_it_does_not_send),
        cmocka_unit_test(reports_connect_and_the_connections_before_and_behind_it),
        FIXTURE_TEST(reports_a_refused_connect),
        cmocka_unit_test(describes_tls_of_the_proxy_and_of_the_server),
        FIXTURE_TEST(reports_only_its_own_task),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
