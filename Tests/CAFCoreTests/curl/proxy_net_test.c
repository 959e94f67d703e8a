/* Requests through proxies: what the proxy hears, what the server hears, and what neither may. */
#include "support/call.h"
#include "support/test_proxy.h"

#include <stdlib.h>

/** "me:secret" in the Basic scheme. */
#define BASIC "Basic bWU6c2VjcmV0"

typedef struct route {
    fixture *fixture;
    test_proxy *test_proxy;
} route;

static route make_route(fixture *fixture) {
    serve(fixture, "/", answer(200, NULL, "here"));
    return (route){fixture, test_proxy_new(fixture)};
}

static void end_route(route *route) {
    fixture_close_session(route->fixture);
    test_proxy_free(route->test_proxy);
}

/** Replace the fixture's session. */
static void use(route *route, afc_proxies proxies) {
    fixture *fixture = route->fixture;
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    options.proxies = proxies;
    if (fixture->authority != NULL)
        options.trust = policy_trusting(afts_cert_pem(fixture->authority));
    fixture_close_session(fixture);
    check_status(afc_session_new(&fixture->session, &options, NULL), AFC_OK);
    afc_trust_policy_release(options.trust);
}

static void use_all(route *route, const char *scheme, const char *userinfo) {
    use(route, (afc_proxies){AFC_PROXIES_GIVEN,
                             NULL,
                             NULL,
                             test_proxy_url(route->test_proxy, scheme, userinfo),
                             NULL,
                             {0}});
}

static void check_lacks(const char *text, const char *part) {
    if (strstr(text, part) != NULL) print_error("%s\n", text);
    assert_null(strstr(text, part));
}

static void forwards_plain_requests(void **state) {
    route route = make_route(*state);
    serve(route.fixture, "/a/b", answer(200, NULL, "query"));
    use_all(&route, "http", "me:secret");
    check_fetch_url(route.fixture, "http://me2:other@example.test:81/a/b?c=d#e", AFC_OK);
    const char *head = test_proxy_request(route.test_proxy, 0);
    check_contains(head, "GET http://example.test:81/a/b?c=d HTTP/1.1\r\n");
    check_contains(head, "Host: example.test:81\r\n");
    check_contains(head, "Proxy-Authorization: " BASIC "\r\n");
    check_contains(head, "Authorization: Bearer token\r\n");
    end_route(&route);
}

static void tunnel_hides_request_fields_from_proxy(void **state) {
    (void)state;
    fixture *fixture = fixture_new_tls();
    route route = make_route(fixture);
    use_all(&route, "http", "me:secret");
    const char *port = strrchr(url_of(fixture, ""), ':');
    check_fetch_url(fixture, tls_url(fixture), AFC_OK);
    const char *head = test_proxy_request(route.test_proxy, 0);
    check_contains(head, text_of(fixture, "CONNECT localhost%s HTTP/1.1\r\n", port));
    check_contains(head, "Proxy-Authorization: " BASIC "\r\n");
    check_lacks(head, "Bearer");
    check_lacks(head, "afcore");
    assert_string_equal(seen_header(fixture, 0, "Proxy-Authorization"), "");
    assert_string_equal(seen_header(fixture, 0, "Authorization"), "Bearer token");
    end_route(&route);
    fixture_free(fixture);
}

/** It is for the next proxy (RFC 9110 11.7.2), so the server at the end of a tunnel must not get it. */
static void tunnel_keeps_a_field_for_the_proxy_from_the_server(void **state) {
    (void)state;
    static const afc_header field = {{"proxy-authorization", 19}, {"secret", 6}, 0};
    fixture *fixture = fixture_new_tls();
    route route = make_route(fixture);
    use_all(&route, "http", NULL);
    call *call = call_new(fixture, "/");
    call->request.url = tls_url(fixture);
    call->request.headers = &field;
    call->request.header_count = 1;
    call_perform(call);
    check_ended(call, AFC_OK);
    call_free(call);
    assert_string_equal(seen_header(fixture, 0, "Proxy-Authorization"), "");
    end_route(&route);
    fixture_free(fixture);
}

static void check_field_seen(route *route, const char *url, const char *proxy,
                             const char *expected) {
    static const afc_header field = {{"proxy-authorization", 19}, {"secret", 6}, 0};
    static size_t count;
    call *call = call_new(route->fixture, "/");
    call->request.url = url;
    call->request.proxy = proxy;
    call->request.headers = &field;
    call->request.header_count = 1;
    call_perform(call);
    check_ended(call, AFC_OK);
    call_free(call);
    assert_string_equal(seen_header(route->fixture, count++, "Proxy-Authorization"), expected);
}

static void only_a_forwarding_proxy_gets_a_field_for_the_proxy(void **state) {
    route route = make_route(*state);
    serve(route.fixture, "/", answer(200, NULL, "hello"));
    const char *url = url_of(route.fixture, "/");
    check_field_seen(&route, url, "", "");
    check_field_seen(&route, url, test_proxy_url(route.test_proxy, "socks5", NULL), "");
    check_field_seen(&route, url, test_proxy_url(route.test_proxy, "http", NULL), "secret");
    end_route(&route);
}

static void refused_tunnel_names_the_reason(void **state) {
    (void)state;
    fixture *fixture = fixture_new_tls();
    route route = make_route(fixture);
    use_all(&route, "http", NULL);
    static const struct {
        int status;
        afc_status expected;
    } rows[] = {{403, AFC_ECONNECT}, {502, AFC_ECONNECT}, {302, AFC_ECONNECT}, {407, AFC_EAUTH}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        test_proxy_refuse(route.test_proxy, rows[i].status);
        call *call = call_fetch_url(route.fixture, tls_url(fixture), rows[i].expected);
        check_contains(call->failure.text, text_of(fixture, "(proxy %s)",
                                                   test_proxy_url(route.test_proxy, "http", NULL)));
        check_contains(call->failure.text, text_of(fixture, "%d", rows[i].status));
        assert_int_equal(call->failure.party, AFC_PARTY_PROXY);
        call_free(call);
    }
    assert_int_equal(afts_server_stats(fixture->server).accepted, 0);
    test_proxy_refuse(route.test_proxy, 0);
    check_fetch_url(route.fixture, tls_url(fixture), AFC_OK);
    end_route(&route);
    fixture_free(fixture);
}

/** The first field line of a head must not be folded (RFC 9112 2.2); a later one may be. */
static void only_later_lines_of_response_to_connect_may_be_folded(void **state) {
    (void)state;
    fixture *fixture = fixture_new_tls();
    route route = make_route(fixture);
    use_all(&route, "http", NULL);
    static const struct {
        const char *response;
        afc_status expected;
    } rows[] = {
        {"HTTP/1.1 200 Made\r\n folded: line\r\n\r\nno TLS\r\n", AFC_ECONNECT},
        {"HTTP/1.1 200 Made\r\n\tfolded: line\r\n\r\nno TLS\r\n", AFC_ECONNECT},
        {"HTTP/1.1 200 Made\r\nA: b\r\n c\r\n\td\r\n\r\nno TLS\r\n", AFC_ETLS},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        test_proxy_answer(route.test_proxy, afc_slice_of(rows[i].response));
        call *call = call_fetch_url(route.fixture, tls_url(fixture), rows[i].expected);
        call_free(call);
    }
    assert_int_equal(afts_server_stats(fixture->server).accepted, 0);
    end_route(&route);
    fixture_free(fixture);
}

/** Nothing was sent to the server, so the connection to it is what failed, whatever libcurl calls it. */
static void invalid_response_to_connect_fails_to_connect(void **state) {
    (void)state;
    fixture *fixture = fixture_new_tls();
    route route = make_route(fixture);
    use_all(&route, "http", NULL);
    static const char made[] = "HTTP/1.1 200 Made\r\nA: ";
    enum { LINE = 300000 };
    char *line = malloc(LINE);
    memset(line, 'x', LINE);
    memcpy(line, made, sizeof made - 1);
    const afc_slice rows[] = {
        S("HTTP/1.1 103 Early Hints\r\nA: b\r\n\r\n"),
        S("HTTP/2 200 OK\r\n\r\n"),
        S("HTTP/1.1 200 Made\r\nA: \0\r\n\r\n"),
        S("HTTP/1.1 200 Made\r\nA: b\r\n"),
        S("hello\r\n\r\n"),
        {line, LINE},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        test_proxy_answer(route.test_proxy, rows[i]);
        call *call = call_fetch_url(route.fixture, tls_url(fixture), AFC_ECONNECT);
        check_contains(call->failure.text, text_of(fixture, "(proxy %s)",
                                                   test_proxy_url(route.test_proxy, "http", NULL)));
        assert_int_equal(call->failure.party, AFC_PARTY_PROXY);
        call_free(call);
    }
    assert_int_equal(afts_server_stats(fixture->server).accepted, 0);
    /* What the server does behind the tunnel stays its own failure. */
    test_proxy_answer(route.test_proxy, S("HTTP/1.1 200 Made\r\n\r\nhello, which is no TLS\r\n"));
    call *call = call_fetch_url(route.fixture, tls_url(fixture), AFC_ETLS);
    assert_int_equal(call->failure.party, AFC_PARTY_SERVER);
    call_free(call);
    end_route(&route);
    /* The proxy has been sending it until now. */
    free(line);
    fixture_free(fixture);
}

static void returns_407_for_plain_requests(void **state) {
    route route = make_route(*state);
    serve(route.fixture, "/denied", answer(407, "Proxy-Authenticate: Basic", "who?"));
    use_all(&route, "http", NULL);
    call *call = call_fetch_url(route.fixture, "http://example.test/denied", AFC_OK);
    assert_int_equal(status_of(call), 407);
    call_free(call);
    end_route(&route);
}

static void socks_resolves_locally_or_remotely(void **state) {
    route route = make_route(*state);
    char longest[300] = "http://";
    memset(longest + 7, 'a', 255);
    longest[7 + 255] = '/';
    use_all(&route, "socks5h", NULL);
    check_fetch_url(route.fixture, "http://example.test/", AFC_OK);
    assert_string_equal(test_proxy_request(route.test_proxy, 0), "SOCKS example.test:80");
    check_fetch_url(route.fixture, "http://[2001:db8::1]:81/", AFC_OK);
    assert_string_equal(test_proxy_request(route.test_proxy, 1), "SOCKS 2001:db8::1:81");
    /* Longer names than SOCKS has room for never come this far. */
    check_fetch_url(route.fixture, longest, AFC_OK);
    assert_int_equal(strlen(test_proxy_request(route.test_proxy, 2)), strlen("SOCKS :80") + 255);
    use_all(&route, "socks5", NULL);
    check_fetch_url(route.fixture, "http://localhost:82/", AFC_OK);
    check_contains(test_proxy_request(route.test_proxy, 3), "1:82");
    check_fetch_url(route.fixture, "http://no-such-host.invalid/", AFC_EDNS);
    assert_int_equal(test_proxy_count(route.test_proxy), 4);
    end_route(&route);
}

/** A recycled handle keeps the server of its last request, as long as that is the same. */
static void port_that_continues_a_url_is_another_server(void **state) {
    route route = make_route(*state);
    use_all(&route, "socks5h", NULL);
    check_fetch_url(route.fixture, "http://example.test:8080/", AFC_OK);
    check_fetch_url(route.fixture, "http://example.test/", AFC_OK);
    check_contains(test_proxy_request(route.test_proxy, 0), "SOCKS example.test:8080");
    assert_string_equal(test_proxy_request(route.test_proxy, 1), "SOCKS example.test:80");
    end_route(&route);
}

static void refuses_names_too_long_for_socks(void **state) {
    route route = make_route(*state);
    use_all(&route, "socks5h", NULL);
    char url[400] = "http://";
    memset(url + 7, 'a', 256);
    afc_request request = AFC_REQUEST_INIT;
    request.url = url;
    afc_task *task;
    check_status(afc_task_new(&task, route.fixture->session, &request, NULL, NULL), AFC_EINVAL);
    assert_int_equal(test_proxy_count(route.test_proxy), 0);
    end_route(&route);
}

static void socks_sends_credentials(void **state) {
    route route = make_route(*state);
    test_proxy_require_user(route.test_proxy, "me", "secret");
    use_all(&route, "socks5h", "me:secret");
    check_fetch_url(route.fixture, "http://example.test/", AFC_OK);
    use_all(&route, "socks5h", "me:wrong");
    check_fetch_url(route.fixture, "http://example.test/", AFC_EAUTH);
    use_all(&route, "socks5h", NULL);
    check_fetch_url(route.fixture, "http://example.test/", AFC_EAUTH);
    assert_int_equal(test_proxy_count(route.test_proxy), 1);
    end_route(&route);
}

static void each_hop_uses_the_proxy_of_its_url(void **state) {
    route route = make_route(*state);
    const char *direct = url_of(route.fixture, "/direct");
    serve(route.fixture, "/first", answer(302, text_of(route.fixture, "Location: %s", direct), ""));
    serve(route.fixture, "/direct", answer(302, "Location: http://example.test/", ""));
    use(&route, (afc_proxies){AFC_PROXIES_GIVEN,
                              test_proxy_url(route.test_proxy, "http", "me:secret"),
                              NULL,
                              NULL,
                              "127.0.0.0/8",
                              {0}});
    call *call = call_fetch_url(route.fixture, "http://example.test/first", AFC_OK);
    assert_int_equal(call->hop_count, 3);
    assert_string_equal(call->hops[0].proxy, test_proxy_url(route.test_proxy, "http", NULL));
    assert_null(call->hops[1].proxy);
    assert_string_equal(call->hops[2].proxy, test_proxy_url(route.test_proxy, "http", NULL));
    call_free(call);
    assert_int_equal(test_proxy_count(route.test_proxy), 2);
    check_contains(test_proxy_request(route.test_proxy, 0),
                   "GET http://example.test/first HTTP/1.1\r\n");
    check_contains(test_proxy_request(route.test_proxy, 1),
                   "GET http://example.test/ HTTP/1.1\r\n");
    /* The server that is reached directly sees nothing of the proxy. */
    afts_request *request = afts_copy_request(route.fixture->server, 1);
    assert_string_equal(request->target, "/direct");
    assert_null(afts_request_header(request, "Proxy-Authorization"));
    assert_null(afts_request_header(request, "Proxy-Connection"));
    assert_null(afts_request_header(request, "Authorization"));
    afts_request_free(request);
    end_route(&route);
}

static void fetch_through(route *route, const char *url, const char *proxy) {
    call *call = call_new(route->fixture, "/");
    call->request.url = url;
    call->request.proxy = proxy;
    call_perform(call);
    check_ended(call, AFC_OK);
    call_free(call);
}

static void request_can_choose_a_proxy_or_none(void **state) {
    (void)state;
    fixture *fixture = fixture_new_tls();
    route route = make_route(fixture);
    use_all(&route, "http", "me:secret");
    fetch_through(&route, tls_url(fixture), "");
    assert_int_equal(test_proxy_count(route.test_proxy), 0);
    /* No tunnel that was made with other credentials serves it, nor does its own serve others. */
    fetch_through(&route, tls_url(fixture), NULL);
    fetch_through(&route, tls_url(fixture), test_proxy_url(route.test_proxy, "http", "you:other"));
    fetch_through(&route, tls_url(fixture), test_proxy_url(route.test_proxy, "http", "they:third"));
    fetch_through(&route, tls_url(fixture), test_proxy_url(route.test_proxy, "http", NULL));
    fetch_through(&route, tls_url(fixture), test_proxy_url(route.test_proxy, "http", NULL));
    assert_int_equal(test_proxy_count(route.test_proxy), 5);
    check_contains(test_proxy_request(route.test_proxy, 0), BASIC);
    check_lacks(test_proxy_request(route.test_proxy, 1), BASIC);
    check_lacks(test_proxy_request(route.test_proxy, 3), "Proxy-Authorization");
    fetch_through(&route, tls_url(fixture), NULL);
    assert_int_equal(test_proxy_count(route.test_proxy), 5);
    end_route(&route);
    fixture_free(fixture);
}

static void environment_is_read_once_and_not_by_libcurl(void **state) {
    route route = make_route(*state);
    setenv("http_proxy", test_proxy_url(route.test_proxy, "http", NULL), 1);
    use(&route, (afc_proxies)AFC_PROXIES_INIT);
    unsetenv("http_proxy");
    check_fetch_url(route.fixture, "http://example.test/", AFC_OK);
    check_fetch_url(route.fixture, url_of(route.fixture, "/"), AFC_OK);
    assert_int_equal(test_proxy_count(route.test_proxy), 1);
    /* Neither the proxy nor the list of those without is libcurl's to find. */
    setenv("http_proxy", test_proxy_url(route.test_proxy, "http", NULL), 1);
    setenv("no_proxy", "*", 1);
    use(&route, (afc_proxies){AFC_PROXIES_NONE, NULL, NULL, NULL, NULL, {0}});
    check_fetch_url(route.fixture, url_of(route.fixture, "/"), AFC_OK);
    assert_int_equal(test_proxy_count(route.test_proxy), 1);
    use_all(&route, "http", NULL);
    check_fetch_url(route.fixture, "http://example.test/", AFC_OK);
    assert_int_equal(test_proxy_count(route.test_proxy), 2);
    unsetenv("http_proxy");
    unsetenv("no_proxy");
    end_route(&route);
}

static void unusable_proxy_never_falls_back_to_direct(void **state) {
    route route = make_route(*state);
    setenv("all_proxy", "ftp://proxy.invalid", 1);
    use(&route, (afc_proxies)AFC_PROXIES_INIT);
    unsetenv("all_proxy");
    check_fetch_url(route.fixture, "http://example.test/", AFC_EINVAL);
    check_fetch_url(route.fixture, url_of(route.fixture, "/"), AFC_OK);
    afc_session *session;
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    options.proxies = (afc_proxies){AFC_PROXIES_GIVEN, "http://:1", NULL, NULL, NULL, {0}};
    check_status(afc_session_new(&session, &options, NULL), AFC_EINVAL);
    call *call = call_new(route.fixture, "/");
    call->request.proxy = "ftp://x";
    check_status(afc_task_new(&call->task, route.fixture->session, &call->request, NULL, NULL),
                 AFC_EINVAL);
    call->request.proxy = NULL;
    call_perform(call);
    call_free(call);
    end_route(&route);
}

static void missing_proxy_fails_to_connect(void **state) {
    route route = make_route(*state);
    /* A server that has stopped holds its port, so no other server is found there. */
    fixture *gone = fixture_new(NULL, NULL);
    afts_server_stop(gone->server);
    static const char *const schemes[] = {"http", "socks5"};
    for (size_t i = 0; i < COUNT_OF(schemes); i++) {
        const char *address = url_of(gone, "") + 7;
        const char *proxy = text_of(gone, "%s://me:secret@%s", schemes[i], address);
        use(&route, (afc_proxies){AFC_PROXIES_GIVEN, NULL, NULL, proxy, NULL, {0}});
        call *call = call_fetch_url(route.fixture, "http://127.0.0.7/", AFC_ECONNECT);
        check_contains(call->failure.text, text_of(gone, "(proxy %s://%s)", schemes[i], address));
        assert_int_equal(call->failure.party, AFC_PARTY_PROXY);
        assert_int_equal(call->hop_count, 1);
        assert_string_equal(call->hops[0].proxy, text_of(gone, "%s://%s", schemes[i], address));
        check_lacks(call->failure.text, "secret");
        check_lacks(call->failure.text, "me:");
        call_free(call);
    }
    fixture_free(gone);
    use(&route,
        (afc_proxies){AFC_PROXIES_GIVEN, NULL, NULL, "socks5h://no-such-proxy.invalid", NULL, {0}});
    call *call = call_fetch_url(route.fixture, "http://example.test/", AFC_EDNS);
    assert_int_equal(call->failure.party, AFC_PARTY_PROXY);
    call_free(call);
    end_route(&route);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(forwards_plain_requests),
        cmocka_unit_test(tunnel_hides_request_fields_from_proxy),
        cmocka_unit_test(tunnel_keeps_a_field_for_the_proxy_from_the_server),
        FIXTURE_TEST(only_a_forwarding_proxy_gets_a_field_for_the_proxy),
        cmocka_unit_test(refused_tunnel_names_the_reason),
        cmocka_unit_test(only_later_lines_of_response_to_connect_may_be_folded),
        cmocka_unit_test(invalid_response_to_connect_fails_to_connect),
        FIXTURE_TEST(returns_407_for_plain_requests),
        FIXTURE_TEST(socks_resolves_locally_or_remotely),
        FIXTURE_TEST(port_that_continues_a_url_is_another_server),
        FIXTURE_TEST(refuses_names_too_long_for_socks),
        FIXTURE_TEST(socks_sends_credentials),
        FIXTURE_TEST(each_hop_uses_the_proxy_of_its_url),
        cmocka_unit_test(request_can_choose_a_proxy_or_none),
        FIXTURE_TEST(environment_is_read_once_and_not_by_libcurl),
        FIXTURE_TEST(unusable_proxy_never_falls_back_to_direct),
        FIXTURE_TEST(missing_proxy_fails_to_connect),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
