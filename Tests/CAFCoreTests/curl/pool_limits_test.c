/*
 * What is in the pool: connections made before any request, and those that are too old or have carried enough.
 */
#include "base/clock.h"
#include "support/call.h"
#include "support/h2.h"
#include "support/test_proxy.h"

#include <curl/curl.h>
#include <sched.h>
#include <string.h>

static call *connect_to(fixture *fixture, const char *url) {
    call *call = call_new(fixture, "/unused");
    if (url != NULL) call->request.url = url;
    call->request.flags = AFC_REQUEST_CONNECT_ONLY;
    return call;
}

static void check_connects(fixture *fixture, const char *url, afc_status expected) {
    call *call = connect_to(fixture, url);
    call_perform(call);
    check_ended(call, expected);
    assert_null(call->head);
    assert_int_equal(call->hop_count, 1);
    call_free(call);
}

/** Performs a GET; returns whether its connection came from the pool. */
static bool is_reused(fixture *fixture, const char *url) {
    call *call = call_new(fixture, "/");
    if (url != NULL) call->request.url = url;
    call_perform(call);
    check_ended(call, AFC_OK);
    bool is_reused = call->hops[call->hop_count - 1].is_reused;
    call_free(call);
    return is_reused;
}

/** The kernel completes connections before the server accepts them; the first one is waited for. */
static unsigned accepted(fixture *fixture) {
    assert_true(afts_wait_accepted(fixture->server, 1, PATIENCE_MS));
    return (unsigned)afts_server_stats(fixture->server).accepted;
}

/* ---- Connecting only ----------------------------------------------------------------------- */

static void connects_without_a_request_for_the_next_one(void **state) {
    fixture *fixture = *state;
    serve(fixture, "/*", answer(200, NULL, "hi"));
    for (unsigned i = 0; i < 3; i++) {
        check_connects(fixture, NULL, AFC_OK);
        assert_int_equal(accepted(fixture), 1);
        assert_true(is_reused(fixture, NULL));
    }
    assert_int_equal(accepted(fixture), 1);
    assert_int_equal(afts_server_stats(fixture->server).requests, 3);
}

static void keeps_bodies_and_methods_of_later_requests_intact(void **state) {
    fixture *fixture = *state;
    serve(fixture, "/*", answer(200, NULL, "hi"));
    static const char *const methods[] = {"PUT", "POST", "GET", "HEAD"};
    for (size_t i = 0; i < COUNT_OF(methods); i++) {
        check_connects(fixture, NULL, AFC_OK);
        call *call = call_new(fixture, "/body");
        if (i < 2)
            call_send(call, methods[i], afc_slice_of("body"));
        else
            call->request.method = methods[i];
        call_perform(call);
        check_ended(call, AFC_OK);
        call_free(call);
        afts_request *seen = afts_copy_request(fixture->server, i);
        assert_non_null(seen);
        assert_string_equal(seen->method, methods[i]);
        assert_int_equal(seen->body_size, i < 2 ? 4 : 0);
        afts_request_free(seen);
        assert_string_equal(seen_header(fixture, i, "Content-Range"), "");
        assert_string_equal(seen_header(fixture, i, "Range"), "");
    }
    assert_int_equal(accepted(fixture), 1);
}

static void connects_several_times_at_once(void **state) {
    fixture *fixture = *state;
    serve(fixture, "/*", answer(200, NULL, "hi"));
    call *calls[4];
    for (size_t i = 0; i < COUNT_OF(calls); i++) calls[i] = connect_to(fixture, NULL);
    for (size_t i = 0; i < COUNT_OF(calls); i++) call_start(calls[i]);
    for (size_t i = 0; i < COUNT_OF(calls); i++) {
        call_wait(calls[i]);
        check_ended(calls[i], AFC_OK);
        call_free(calls[i]);
    }
    assert_true(is_reused(fixture, NULL));
    assert_true(accepted(fixture) >= 1 && accepted(fixture) <= 4);
}

/** libcurl 8.12 to 8.15 would make the next request wait for a response on that connection. */
static bool keeps_tls_connections(void) {
    unsigned version = curl_version_info(CURLVERSION_NOW)->version_num;
    return version < 0x080c00 || version >= 0x081000;
}

static void check_is_used(fixture *fixture) {
    assert_int_equal(is_reused(fixture, tls_url(fixture)), keeps_tls_connections());
    assert_int_equal(accepted(fixture), keeps_tls_connections() ? 1 : 2);
}

static void connects_over_tls_and_http_2(void **state) {
    (void)state;
    fixture *fixture = h2_fixture(NULL);
    atomic_uint ready = 0;
    h2_serve(fixture, h2_answer_all, &ready, H2_CLOSE);
    check_connects(fixture, tls_url(fixture), AFC_OK);
    /*
     * Tickets alone would end the connection; see AFC_REQUEST_CONNECT_ONLY. From 8.16 on nothing is sent before a
     * request.
     */
    if (curl_version_info(CURLVERSION_NOW)->version_num >= 0x081000) {
        (void)is_reused(fixture, tls_url(fixture));
        fixture_free(fixture);
        return;
    }
    for (int64_t end = afc__now_us() + PATIENCE_MS * INT64_C(1000); atomic_load(&ready) == 0;) {
        assert_true(afc__now_us() < end);
        sched_yield();
    }
    check_is_used(fixture);
    fixture_free(fixture);
}

static void connects_over_tls_1_2(void **state) {
    (void)state;
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    options.tls.max_version = AFC_TLS_1_2;
    fixture *fixture = fixture_new_alpn("http/1.1", &options);
    serve(fixture, "/*", answer(200, NULL, "hi"));
    check_connects(fixture, tls_url(fixture), AFC_OK);
    check_is_used(fixture);
    fixture_free(fixture);
}

/** With TLS 1.3 and HTTP/1.1 tickets may end the connection; the next request must not notice. */
static void a_request_succeeds_after_connecting_over_tls_1_3(void **state) {
    (void)state;
    fixture *fixture = fixture_new_alpn("http/1.1", NULL);
    serve(fixture, "/*", answer(200, NULL, "hi"));
    for (unsigned i = 0; i < 5; i++) {
        check_connects(fixture, tls_url(fixture), AFC_OK);
        (void)is_reused(fixture, tls_url(fixture));
    }
    fixture_free(fixture);
}

static void connects_through_a_proxy(void **state) {
    (void)state;
    fixture *fixture = fixture_new_alpn("h2", NULL);
    serve(fixture, "/*", answer(200, NULL, "hi"));
    test_proxy *test_proxy = test_proxy_new(fixture);
    const char *proxy = test_proxy_url(test_proxy, "http", NULL);
    call *call = connect_to(fixture, tls_url(fixture));
    call->request.proxy = proxy;
    call_perform(call);
    check_ended(call, AFC_OK);
    call_free(call);
    fixture_close_session(fixture);
    test_proxy_free(test_proxy);
    fixture_free(fixture);
}

static void reports_why_it_cannot_connect(void **state) {
    fixture *fixture = *state;
    check_connects(fixture, "http://127.0.0.1:1/", AFC_ECONNECT);
    check_connects(fixture, "http://name.invalid./", AFC_EDNS);
}

static void refuses_a_body_and_a_file(void **state) {
    fixture *fixture = *state;
    afc_failure failure;
    afc_request request = AFC_REQUEST_INIT;
    request.url = "http://127.0.0.1/";
    request.flags = 1U << 31;
    assert_int_equal(afc_task_begin(NULL, fixture->session, &request, NULL, &failure),
                     AFC_EUNSUPPORTED);
    request.flags = AFC_REQUEST_CONNECT_ONLY;
    request.body.kind = AFC_BODY_BYTES;
    request.body.bytes = afc_slice_of("x");
    assert_int_equal(afc_task_begin(NULL, fixture->session, &request, NULL, &failure), AFC_EINVAL);
    request.body.kind = AFC_BODY_NONE;
    request.sink.kind = AFC_SINK_FILE;
    request.sink.path = "/dev/null";
    assert_int_equal(afc_task_begin(NULL, fixture->session, &request, NULL, &failure), AFC_EINVAL);
}

/* ---- Limits of a connection ---------------------------------------------------------------- */

static void closes_a_connection_after_its_requests(void **state) {
    (void)state;
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    options.max_requests_per_connection = 3;
    fixture *fixture = fixture_new(NULL, &options);
    serve(fixture, "/*", answer(200, NULL, "hi"));
    static const bool expected[] = {false, true, true, false, true, true, false};
    for (size_t i = 0; i < COUNT_OF(expected); i++) {
        assert_int_equal(is_reused(fixture, NULL), expected[i]);
    }
    assert_int_equal(accepted(fixture), 3);
    /* Connecting doesn't count as a request. */
    check_connects(fixture, NULL, AFC_OK);
    for (size_t i = 0; i < 2; i++) assert_true(is_reused(fixture, NULL));
    assert_false(is_reused(fixture, NULL));
    fixture_free(fixture);
}

static void closes_an_http_2_connection_after_its_requests(void **state) {
    (void)state;
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    options.max_requests_per_connection = 2;
    fixture *fixture = h2_fixture(&options);
    h2_serve(fixture, h2_answer_all, NULL, H2_CLOSE);
    static const bool expected[] = {false, true, false, true, false};
    for (size_t i = 0; i < COUNT_OF(expected); i++) {
        assert_int_equal(is_reused(fixture, tls_url(fixture)), expected[i]);
    }
    fixture_free(fixture);
}

static void one_request_per_connection_reuses_none(void **state) {
    (void)state;
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    options.max_requests_per_connection = 1;
    fixture *fixture = fixture_new(NULL, &options);
    serve(fixture, "/*", answer(200, NULL, "hi"));
    for (size_t i = 0; i < 3; i++) assert_false(is_reused(fixture, NULL));
    fixture_free(fixture);
}

/** Waits on the server's side: the limit counts whole seconds of libcurl. */
static void does_not_reuse_an_old_connection(void **state) {
    (void)state;
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    options.max_connection_age_s = 1;
    fixture *fixture = fixture_new(NULL, &options);
    afts_script *slow = afts_script_new();
    afts_pause(slow, 2500);
    afts_respond(slow, 200, NULL, "hi", 2);
    serve(fixture, "/*", slow);
    assert_false(is_reused(fixture, NULL));
    assert_false(is_reused(fixture, NULL));
    assert_int_equal(accepted(fixture), 2);
    fixture_free(fixture);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(connects_without_a_request_for_the_next_one),
        FIXTURE_TEST(keeps_bodies_and_methods_of_later_requests_intact),
        FIXTURE_TEST(connects_several_times_at_once),
        cmocka_unit_test(connects_over_tls_and_http_2),
        cmocka_unit_test(connects_over_tls_1_2),
        cmocka_unit_test(a_request_succeeds_after_connecting_over_tls_1_3),
        cmocka_unit_test(connects_through_a_proxy),
        FIXTURE_TEST(reports_why_it_cannot_connect),
        FIXTURE_TEST(refuses_a_body_and_a_file),
        cmocka_unit_test(closes_a_connection_after_its_requests),
        cmocka_unit_test(closes_an_http_2_connection_after_its_requests),
        cmocka_unit_test(one_request_per_connection_reuses_none),
        cmocka_unit_test(does_not_reuse_an_old_connection),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
