/* What goes over the wire as a request, and what an answer becomes. */
#include "support/call.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char curl_accepts[] = "Accept-Encoding: ";

/** The head that came as number `index`, with the values that depend on the machine replaced. */
static const char *seen_head(fixture *fixture, size_t index) {
    afts_request *request = afts_copy_request(fixture->server, index);
    assert_non_null(request);
    char head[512], port[16];
    assert_true(request->head_size < sizeof head);
    memcpy(head, request->head, request->head_size);
    head[request->head_size] = '\0';
    afts_request_free(request);
    snprintf(port, sizeof port, "%u", (unsigned)afts_server_port(fixture->server));
    char *found = strstr(head, port);
    if (found != NULL) memmove(found + 1, found + strlen(port), strlen(found + strlen(port)) + 1);
    if (found != NULL) *found = 'P';
    char *accepts = strstr(head, curl_accepts);
    if (accepts != NULL) {
        char *end = strstr(accepts, "\r\n");
        memmove(accepts + strlen(curl_accepts), end, strlen(end) + 1);
    }
    return text_of(fixture, "%s", head);
}

static void check_body_seen(fixture *fixture, size_t index, const char *expected) {
    afts_request *request = afts_copy_request(fixture->server, index);
    assert_non_null(request);
    check_slice(((afc_slice){(const char *)request->body, request->body_size}), expected);
    assert_true(request->body_complete);
    afts_request_free(request);
}

/* ---- Requests ------------------------------------------------------------------------------ */

static void sends_any_method_as_given(void **state) {
    fixture *fixture = *state;
    static const char *const methods[] = {"GET",     "POST",  "PUT",      "PATCH", "DELETE",
                                          "OPTIONS", "TRACE", "PROPFIND", "get",   "M-SEARCH",
                                          "post",    "Put",   "X!#$%&'*"};
    for (size_t i = 0; i < COUNT_OF(methods); i++) {
        call *call = call_new(fixture, "/method");
        call->request.method = methods[i];
        call_perform(call);
        check_ended(call, AFC_OK);
        assert_int_equal(status_of(call), 200);
        call_free(call);
        afts_request *seen = afts_copy_request(fixture->server, i);
        assert_string_equal(seen->method, methods[i]);
        assert_string_equal(seen->version, "HTTP/1.1");
        afts_request_free(seen);
    }
}

/** libcurl would report that memory is out. */
static void refuses_method_beyond_the_limit_of_heads(void **state) {
    fixture *fixture = *state;
    enum { LIMIT = 900 * 1024 };
    char *method = malloc(2 * LIMIT + 1);
    assert_non_null(method);
    static const size_t sizes[] = {LIMIT, 2 * LIMIT};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        memset(method, 'A', sizes[i]);
        method[sizes[i]] = '\0';
        call *call = call_new(fixture, "/");
        call->request.method = method;
        call_perform(call);
        check_ended(call, AFC_ETOOBIG);
        check_contains(call->failure.text, "head");
        call_free(call);
    }
    free(method);
    check_fetch(fixture, "/", AFC_OK);
    assert_int_equal(afts_server_stats(fixture->server).requests, 1);
}

static void any_method_may_have_a_body(void **state) {
    fixture *fixture = *state;
    static const char *const methods[] = {"GET", "POST", "PUT", "PATCH", "DELETE", "REPORT"};
    for (size_t i = 0; i < COUNT_OF(methods); i++) {
        call *call = call_new(fixture, "/method");
        call_send(call, methods[i], S("payload"));
        call_perform(call);
        check_ended(call, AFC_OK);
        call_free(call);
        assert_string_equal(seen_header(fixture, i, "Content-Length"), "7");
        check_body_seen(fixture, i, "payload");
    }
}

static void sends_zero_length_for_methods_that_expect_content(void **state) {
    fixture *fixture = *state;
    static const char *const expected[][2] = {{"POST", "0"},  {"PUT", "0"}, {"PATCH", "0"},
                                              {"DELETE", ""}, {"GET", ""},  {"HEAD", ""}};
    for (size_t i = 0; i < COUNT_OF(expected); i++) {
        call *call = call_new(fixture, "/method");
        call->request.method = expected[i][0];
        call_perform(call);
        check_ended(call, AFC_OK);
        call_free(call);
        assert_string_equal(seen_header(fixture, i, "Content-Length"), expected[i][1]);
    }
}

/** A body of no bytes needs no pointer. */
static void sends_empty_body_without_pointer(void **state) {
    fixture *fixture = *state;
    call *call = call_new(fixture, "/method");
    call_send(call, "POST", (afc_slice){NULL, 0});
    call_perform(call);
    check_ended(call, AFC_OK);
    call_free(call);
    assert_string_equal(seen_header(fixture, 0, "Content-Length"), "0");
    check_body_seen(fixture, 0, "");
}

static void request_head_holds_only_the_defaults(void **state) {
    fixture *fixture = *state;
    call_free(call_fetch(fixture, "/a/b%20c?d=e"));
    assert_string_equal(seen_head(fixture, 0), "GET /a/b%20c?d=e HTTP/1.1\r\n"
                                               "Host: 127.0.0.1:P\r\n"
                                               "Accept: */*\r\n"
                                               "Accept-Encoding: \r\n"
                                               "User-Agent: afcore\r\n\r\n");
    call *call = call_new(fixture, "/");
    call_send(call, "POST", S("x"));
    call_perform(call);
    call_free(call);
    assert_string_equal(seen_head(fixture, 1), "POST / HTTP/1.1\r\n"
                                               "Host: 127.0.0.1:P\r\n"
                                               "Accept: */*\r\n"
                                               "Accept-Encoding: \r\n"
                                               "User-Agent: afcore\r\n"
                                               "Content-Length: 1\r\n\r\n");
}

static void sends_the_target_byte_for_byte(void **state) {
    fixture *fixture = *state;
    static const char *const targets[] = {"/a%2Fb%c3%A9?q=%5B%5d&r=1%2B1", "/?", "/x?a=b?c=/d",
                                          "/plain", "/a;b=1,2'(c)*!$&+=:@~-._"};
    for (size_t i = 0; i < COUNT_OF(targets); i++) {
        call_free(call_fetch(fixture, targets[i]));
        afts_request *seen = afts_copy_request(fixture->server, i);
        assert_string_equal(seen->target, targets[i]);
        afts_request_free(seen);
    }
}

static void each_default_can_be_removed(void **state) {
    fixture *fixture = *state;
    static const afc_header none[] = {{{"User-Agent", 10}, {NULL, 0}, AFC_HEADER_REMOVE},
                                      {{"accept", 6}, {NULL, 0}, AFC_HEADER_REMOVE},
                                      {{"Accept-Encoding", 15}, {NULL, 0}, AFC_HEADER_REMOVE}};
    call *call = call_new(fixture, "/bare");
    call->request.headers = none;
    call->request.header_count = COUNT_OF(none);
    call_perform(call);
    check_ended(call, AFC_OK);
    call_free(call);
    assert_string_equal(seen_head(fixture, 0), "GET /bare HTTP/1.1\r\nHost: 127.0.0.1:P\r\n\r\n");
}

static void each_default_can_be_replaced(void **state) {
    fixture *fixture = *state;
    static const afc_header own[] = {{{"host", 4}, {"example.test", 12}, 0},
                                     {{"User-Agent", 10}, {"me/1", 4}, 0},
                                     {{"Accept", 6}, {"text/plain", 10}, 0},
                                     {{"Accept-Encoding", 15}, {"br;q=0", 6}, 0}};
    call *call = call_new(fixture, "/own");
    call->request.headers = own;
    call->request.header_count = COUNT_OF(own);
    call_perform(call);
    check_ended(call, AFC_OK);
    call_free(call);
    assert_string_equal(seen_header(fixture, 0, "Host"), "example.test");
    assert_string_equal(seen_header(fixture, 0, "User-Agent"), "me/1");
    assert_string_equal(seen_header(fixture, 0, "Accept"), "text/plain");
    assert_string_equal(seen_header(fixture, 0, "Accept-Encoding"), "br;q=0");
    afts_request *seen = afts_copy_request(fixture->server, 0);
    assert_int_equal(seen->header_count, 4);
    afts_request_free(seen);
}

static void fields_keep_case_order_and_duplicates(void **state) {
    fixture *fixture = *state;
    static const afc_header fields[] = {
        {{"X-b", 3}, {"1", 1}, 0},           {{"x-A", 3}, {"two words", 9}, 0},
        {{"X-B", 3}, {"2", 1}, 0},           {{"X-Empty", 7}, {NULL, 0}, 0},
        {{"X-Blank", 7}, {" \t", 2}, 0},     {{"X-b", 3}, {"1", 1}, 0},
        {{"X-Latin", 7}, {"caf\xE9", 4}, 0}, {{"Content-Type", 12}, {"a/b", 3}, 0}};
    call *call = call_new(fixture, "/");
    call->request.headers = fields;
    call->request.header_count = COUNT_OF(fields);
    call_perform(call);
    check_ended(call, AFC_OK);
    call_free(call);
    check_contains(seen_head(fixture, 0),
                   "X-b: 1\r\nx-A: two words\r\nX-B: 2\r\nX-Empty:\r\n"
                   "X-Blank:\r\nX-b: 1\r\nX-Latin: caf\xE9\r\nContent-Type: a/b\r\n\r\n");
}

/** A range is one of the encoded body, so a part can't be decoded; a whole response to the same request is. */
/** Some versions of libcurl would read the rest by the rules of HTTP/2. */
static void refuses_http_2_status_line_over_http_1(void **state) {
    fixture *fixture = *state;
    static const char *const versions[] = {"HTTP/2", "HTTP/2.0"};
    for (size_t i = 0; i < COUNT_OF(versions); i++) {
        afts_script *script = afts_script_new();
        afts_send_text(script,
                       text_of(fixture, "%s 200 OK\r\nContent-Length: 2\r\n\r\nhi", versions[i]));
        afts_close(script);
        serve(fixture, "/claim", script);
        check_fetch(fixture, "/claim", AFC_EPROTOCOL);
    }
}

static void requests_identity_for_a_range(void **state) {
    fixture *fixture = *state;
    static const char gzip[] =
        "\x1F\x8B\x08\0\0\0\0\0\0\xFF\x01\x05\0\xFA\xFFhello\x86\xA6\x10\x36\x05\0\0\0";
    static const afc_header range = {{"Range", 5}, {"bytes=0-27", 10}, 0};
    for (size_t i = 0; i < 4; i++) {
        bool is_part = i % 2 == 0;
        afts_script *script = afts_script_new();
        const char *fields = is_part ? "Content-Encoding: gzip\r\nContent-Range: bytes 0-27/100"
                                     : "Content-Encoding: gzip";
        afts_respond(script, is_part ? 206 : 200, fields, gzip, sizeof gzip - 1);
        serve(fixture, "/", script);
        call *call = call_new(fixture, "/");
        call->request.headers = &range;
        call->request.header_count = 1;
        call->request.sink.kind = i < 2 ? AFC_SINK_MEMORY : AFC_SINK_CALLBACK;
        call->keeps_body = i >= 2;
        call_perform(call);
        check_ended(call, AFC_OK);
        afc_slice body = call->body;
        if (is_part) {
            assert_int_equal(body.size, sizeof gzip - 1);
            assert_memory_equal(body.bytes, gzip, body.size);
        } else {
            check_slice(body, "hello");
        }
        call_free(call);
        assert_string_equal(seen_header(fixture, i, "Accept-Encoding"), "identity");
    }
    /* The next request with the same handle. */
    check_fetch(fixture, "/", AFC_OK);
    assert_string_not_equal(seen_header(fixture, 4, "Accept-Encoding"), "identity");
}

static void requests_identity_if_nothing_is_decoded(void **state) {
    fixture *fixture = *state;
    serve(fixture, "/", answer(200, "Content-Encoding: gzip", "not gzip at all"));
    call *call = call_new(fixture, "/");
    call->request.keep_encoding = true;
    call_perform(call);
    check_ended(call, AFC_OK);
    check_slice(call->body, "not gzip at all");
    call_free(call);
    assert_string_equal(seen_header(fixture, 0, "Accept-Encoding"), "identity");
}

static void userinfo_becomes_a_credential_and_stays_hidden(void **state) {
    fixture *fixture = *state;
    call *call = call_new(fixture, "/");
    call->request.url = text_of(fixture, "http://us%%65r:p%%20w@127.0.0.1:%u/x#part",
                                (unsigned)afts_server_port(fixture->server));
    call_perform(call);
    check_ended(call, AFC_OK);
    assert_string_equal(afc_result_get_url(call->result), url_of(fixture, "/x"));
    assert_string_equal(call->hops[0].url, url_of(fixture, "/x"));
    call_free(call);
    assert_string_equal(seen_header(fixture, 0, "Authorization"), "Basic dXNlcjpwIHc=");
    check_contains(seen_head(fixture, 0), "GET /x HTTP/1.1\r\n");
}

/* ---- Heads of answers ---------------------------------------------------------------------- */

static void result_head_outlives_the_task(void **state) {
    fixture *fixture = *state;
    serve_text(fixture, "/",
               "HTTP/1.1 299 Fine by me\r\n"
               "X-One:  1 \r\nSet-Cookie: a=b\r\nX-Empty:\r\nx-one: \t2\r\n"
               "Set-Cookie: c=d\r\nLatin: \xE9\xFF\r\nContent-Length: 2\r\n\r\nok");
    call *call = call_fetch(fixture, "/");
    check_ended(call, AFC_OK);
    const afc_head *head = call->head;
    assert_non_null(head);
    assert_int_equal(head->status, 299);
    assert_int_equal(head->version, AFC_HTTP_1_1);
    check_slice(head->reason, "Fine by me");
    static const char *const expected[][2] = {
        {"X-One", "1"},        {"Set-Cookie", "a=b"}, {"X-Empty", ""},        {"x-one", "2"},
        {"Set-Cookie", "c=d"}, {"Latin", "\xE9\xFF"}, {"Content-Length", "2"}};
    assert_int_equal(head->header_count, COUNT_OF(expected));
    for (size_t i = 0; i < COUNT_OF(expected); i++) {
        check_slice(head->headers[i].name, expected[i][0]);
        check_slice(head->headers[i].value, expected[i][1]);
    }
    check_slice(call->body, "ok");
    assert_string_equal(call->log, "hpdx");
    call_free(call);
}

static void joins_folded_lines(void **state) {
    fixture *fixture = *state;
    serve_text(fixture, "/",
               "HTTP/1.1 200 OK\r\nX-Long: one\r\n  two\r\n\tthree\r\n"
               "X-Next: 1\r\nContent-Length: 0\r\n\r\n");
    call *call = call_fetch(fixture, "/");
    check_ended(call, AFC_OK);
    check_slice(field_of(call, "x-long"), "one two three");
    check_slice(field_of(call, "X-NEXT"), "1");
    call_free(call);
}

static void accepts_status_line_without_reason(void **state) {
    fixture *fixture = *state;
    serve_text(fixture, "/", "HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n");
    call *call = call_fetch(fixture, "/");
    check_ended(call, AFC_OK);
    assert_int_equal(status_of(call), 200);
    check_slice(call->head->reason, "");
    call_free(call);
}

static void skips_informational_responses(void **state) {
    fixture *fixture = *state;
    afts_script *script = afts_script_new();
    afts_interim(script, 100, NULL);
    afts_interim(script, 103, "Link: </a>; rel=preload");
    afts_interim(script, 102, NULL);
    afts_respond(script, 200, "X: y", "final", 5);
    serve(fixture, "/", script);
    call *call = call_fetch(fixture, "/");
    check_ended(call, AFC_OK);
    assert_int_equal(status_of(call), 200);
    check_slice(call->body, "final");
    check_slice(field_of(call, "Link"), "");
    assert_int_equal(atomic_load(&call->informational_count), 3);
    assert_int_equal(call->informational[0], 100);
    assert_int_equal(call->informational[1], 103);
    assert_int_equal(call->informational[2], 102);
    assert_string_equal(call->log, "iiihpdx");
    call_free(call);
}

static void refuses_switching_protocols(void **state) {
    fixture *fixture = *state;
    serve_text(fixture, "/", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\nhello");
    check_fetch(fixture, "/", AFC_EPROTOCOL);
}

/* ---- Bodies of answers --------------------------------------------------------------------- */

static void keeps_trailers_apart(void **state) {
    fixture *fixture = *state;
    afts_script *script = afts_script_new();
    afts_respond_chunked(script, 200, "Trailer: X-Sum");
    afts_chunk(script, "hello ", 6);
    afts_chunk(script, "world", 5);
    afts_last_chunk(script, "X-Sum: 42\r\nX-More:  a b");
    serve(fixture, "/", script);
    call *call = call_fetch(fixture, "/");
    check_ended(call, AFC_OK);
    check_slice(call->body, "hello world");
    size_t count;
    const afc_header *trailers = afc_result_get_trailers(call->result, &count);
    assert_int_equal(count, 2);
    check_slice(trailers[0].name, "X-Sum");
    check_slice(trailers[0].value, "42");
    check_slice(trailers[1].value, "a b");
    check_slice(field_of(call, "X-Sum"), "");
    call_free(call);
}

static void trailer_is_never_a_head(void **state) {
    fixture *fixture = *state;
    static const char *const reasons[] = {"Found", "Found: here"};
    for (size_t i = 0; i < COUNT_OF(reasons); i++) {
        serve_text(fixture, "/",
                   text_of(fixture,
                           "HTTP/1.1 200 OK\r\nX: y\r\nTransfer-Encoding: chunked\r\n\r\n"
                           "2\r\nok\r\n0\r\nHTTP/1.1 302 %s\r\nLocation: /b\r\n\r\n",
                           reasons[i]));
        call *call = call_fetch(fixture, "/");
        check_ended(call, AFC_EPROTOCOL);
        assert_int_equal(atomic_load(&call->head_count), 1);
        assert_int_equal(status_of(call), 200);
        check_slice(field_of(call, "X"), "y");
        call_free(call);
    }
}

static void response_in_single_bytes_is_the_same(void **state) {
    fixture *fixture = *state;
    static const char bytes[] = "HTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\n"
                                "HTTP/1.1 200 OK\r\nX: y\r\nTransfer-Encoding: chunked\r\n\r\n"
                                "5;ext=1\r\nhello\r\n00A\r\n0123456789\r\n0\r\nT: v\r\n\r\n";
    afts_script *script = afts_script_new();
    afts_send_crumbs(script, bytes, sizeof bytes - 1, 1, 0);
    serve(fixture, "/", script);
    call *call = call_fetch(fixture, "/");
    check_ended(call, AFC_OK);
    check_slice(call->body, "hello0123456789");
    size_t count;
    afc_result_get_trailers(call->result, &count);
    assert_int_equal(count, 1);
    assert_int_equal(atomic_load(&call->informational_count), 1);
    call_free(call);
    check_fetch(fixture, "/", AFC_OK);
    assert_int_equal(afts_server_stats(fixture->server).accepted, 1);
}

static void responses_to_head_have_no_body(void **state) {
    fixture *fixture = *state;
    serve(fixture, "/", answer(200, "Content-Length: 1000000\r\nX: y", ""));
    for (int i = 0; i < 2; i++) {
        call *call = call_new(fixture, "/");
        call->request.method = "HEAD";
        call_perform(call);
        check_ended(call, AFC_OK);
        check_slice(field_of(call, "X"), "y");
        check_slice(field_of(call, "Content-Length"), "1000000");
        assert_int_equal(call->body.size, 0);
        assert_int_equal(afc_result_get_body_size(call->result), 0);
        call_free(call);
    }
    assert_int_equal(afts_server_stats(fixture->server).accepted, 1);
}

static void statuses_without_content_have_no_body(void **state) {
    fixture *fixture = *state;
    serve_text(fixture, "/204", "HTTP/1.1 204 No Content\r\n\r\n");
    serve_text(fixture, "/304", "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n");
    serve_text(fixture, "/204-bogus", "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nbogus");
    serve_text(fixture, "/304-bogus",
               "HTTP/1.1 304 Not Modified\r\n"
               "Transfer-Encoding: chunked\r\n\r\n5\r\nbogus\r\n0\r\n\r\n");
    static const char *const paths[] = {"/204", "/304", "/204-bogus", "/304-bogus"};
    for (size_t i = 0; i < COUNT_OF(paths); i++) {
        call *call = call_fetch(fixture, paths[i]);
        check_ended(call, AFC_OK);
        assert_int_equal(status_of(call), i % 2 == 0 ? 204 : 304);
        assert_int_equal(call->body.size, 0);
        call_free(call);
    }
    /* What followed such an answer must not be taken for the next one. */
    call *next = call_fetch(fixture, "/echo");
    check_ended(next, AFC_OK);
    check_contains(text_of(fixture, "%.*s", (int)next->body.size, next->body.bytes), "/echo");
    call_free(next);
}

static void http_1_0_body_ends_with_the_connection(void **state) {
    fixture *fixture = *state;
    serve_text(fixture, "/", "HTTP/1.0 200 OK\r\n\r\nall of it");
    call *call = call_fetch(fixture, "/");
    check_ended(call, AFC_OK);
    assert_int_equal(call->head->version, AFC_HTTP_1_0);
    check_slice(call->body, "all of it");
    assert_int_equal(call->progress.received, 9);
    assert_int_equal(call->progress.received_total, AFC_LENGTH_UNKNOWN);
    call_free(call);
}

/* ---- Hops ---------------------------------------------------------------------------------- */

static void hop_reports_times_and_bytes(void **state) {
    fixture *fixture = *state;
    serve(fixture, "/", answer(200, NULL, "0123456789"));
    for (int i = 0; i < 2; i++) {
        call *call = call_new(fixture, "/");
        call_send(call, "POST", S("abc"));
        call_perform(call);
        check_ended(call, AFC_OK);
        assert_int_equal(call->hop_count, 1);
        const afc_hop *hop = call->hops;
        assert_string_equal(hop->url, url_of(fixture, "/"));
        assert_null(hop->location);
        assert_int_equal(hop->status, 200);
        assert_int_equal(hop->version, AFC_HTTP_1_1);
        assert_int_equal(hop->sent, 3);
        assert_int_equal(hop->received, 10);
        assert_true(hop->head_received > 0);
        assert_string_equal(hop->remote_address, "127.0.0.1");
        assert_string_equal(hop->local_address, "127.0.0.1");
        assert_int_equal(hop->remote_port, afts_server_port(fixture->server));
        assert_true(hop->local_port != 0);
        assert_int_equal(hop->is_reused, i == 1);
        assert_false(hop->is_retried);
        assert_true(hop->dns_us >= 0 && hop->connect_us >= hop->dns_us);
        assert_int_equal(hop->tls_us, 0);
        assert_true(hop->request_sent_us >= hop->connect_us);
        assert_true(hop->first_byte_us >= hop->request_sent_us);
        assert_true(hop->total_us >= hop->first_byte_us);
        if (i == 1) assert_int_equal(hop->connect_us, 0);
        call_free(call);
    }
}

static void refuses_http_3_without_support(void **state) {
    fixture *fixture = *state;
    if ((curl_version_info(CURLVERSION_NOW)->features & CURL_VERSION_HTTP3) != 0) skip();
    call *call = call_new(fixture, "/");
    call->request.version = AFC_HTTP_PREFER_3;
    call_perform(call);
    check_ended(call, AFC_EUNSUPPORTED);
    assert_null(call->head);
    call_free(call);
    assert_int_equal(afts_server_stats(fixture->server).accepted, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(sends_any_method_as_given),
        FIXTURE_TEST(refuses_method_beyond_the_limit_of_heads),
        FIXTURE_TEST(any_method_may_have_a_body),
        FIXTURE_TEST(sends_zero_length_for_methods_that_expect_content),
        FIXTURE_TEST(sends_empty_body_without_pointer),
        FIXTURE_TEST(request_head_holds_only_the_defaults),
        FIXTURE_TEST(sends_the_target_byte_for_byte),
        FIXTURE_TEST(each_default_can_be_removed),
        FIXTURE_TEST(each_default_can_be_replaced),
        FIXTURE_TEST(fields_keep_case_order_and_duplicates),
        FIXTURE_TEST(refuses_http_2_status_line_over_http_1),
        FIXTURE_TEST(requests_identity_for_a_range),
        FIXTURE_TEST(requests_identity_if_nothing_is_decoded),
        FIXTURE_TEST(userinfo_becomes_a_credential_and_stays_hidden),
        FIXTURE_TEST(result_head_outlives_the_task),
        FIXTURE_TEST(joins_folded_lines),
        FIXTURE_TEST(accepts_status_line_without_reason),
        FIXTURE_TEST(skips_informational_responses),
        FIXTURE_TEST(refuses_switching_protocols),
        FIXTURE_TEST(keeps_trailers_apart),
        FIXTURE_TEST(trailer_is_never_a_head),
        FIXTURE_TEST(response_in_single_bytes_is_the_same),
        FIXTURE_TEST(responses_to_head_have_no_body),
        FIXTURE_TEST(statuses_without_content_have_no_body),
        FIXTURE_TEST(http_1_0_body_ends_with_the_connection),
        FIXTURE_TEST(hop_reports_times_and_bytes),
        FIXTURE_TEST(refuses_http_3_without_support),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
