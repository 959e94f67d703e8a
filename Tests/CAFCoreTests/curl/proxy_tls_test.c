/* Proxies that are asked over https: judged by a policy of their own before they hear of anything. */
#include "support/call.h"
#include "support/test_proxy.h"

#include <stdio.h>
#include <stdlib.h>

/** A server with TLS or without, and a proxy with a certificate of another authority. */
typedef struct route {
    fixture *fixture;
    test_proxy *test_proxy;
    afts_cert *authority, *leaf; /**< The proxy's. */
} route;

static route make_route(fixture *fixture) {
    route route = {.fixture = fixture};
    route.authority = afts_cert_new(&(afts_cert_options){.authority = true}, NULL);
    route.leaf = afts_cert_new(NULL, route.authority);
    route.test_proxy = test_proxy_new_tls(fixture, route.leaf);
    serve(fixture, "/", answer(200, NULL, "here"));
    return route;
}

static void end_route(route *route) {
    fixture_close_session(route->fixture);
    test_proxy_free(route->test_proxy);
    afts_cert_free(route->leaf);
    afts_cert_free(route->authority);
}

/** A policy for this authority; NULL: the defaults. */
static afc_trust_policy *policy_of(const afts_cert *authority, bool is_lax) {
    afc_trust_options options = AFC_TRUST_OPTIONS_INIT;
    afc_trust_policy *policy;
    options.anchors = afc_slice_of(afts_cert_pem(authority));
    options.everywhere.allow_invalid_certificates = is_lax;
    check_status(afc_trust_policy_new(&policy, &options, NULL), AFC_OK);
    return policy;
}

static afc_session *session_of(route *route, afc_trust_policy *trust,
                               afc_trust_policy *proxy_trust) {
    afc_session *session;
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    options.trust = trust;
    options.proxy_trust = proxy_trust;
    options.proxies = (afc_proxies){AFC_PROXIES_GIVEN,
                                    NULL,
                                    NULL,
                                    test_proxy_url(route->test_proxy, "https", "me:secret"),
                                    NULL,
                                    {0}};
    check_status(afc_session_new(&session, &options, NULL), AFC_OK);
    afc_trust_policy_release(trust);
    afc_trust_policy_release(proxy_trust);
    return session;
}

static void use(route *route, afc_trust_policy *trust, afc_trust_policy *proxy_trust) {
    fixture_close_session(route->fixture);
    route->fixture->session = session_of(route, trust, proxy_trust);
}

/* ---- Requests ------------------------------------------------------------------------------ */

static void tunnels_through_https_proxy(void **state) {
    (void)state;
    fixture *fixture = fixture_new_tls();
    route route = make_route(fixture);
    use(&route, policy_of(fixture->authority, false), policy_of(route.authority, false));
    for (int i = 0; i < 3; i++) check_fetch_url(route.fixture, tls_url(fixture), AFC_OK);
    assert_int_equal(test_proxy_count(route.test_proxy), 1);
    const char *head = test_proxy_request(route.test_proxy, 0);
    check_contains(head, "CONNECT localhost:");
    check_contains(head, "Proxy-Authorization: Basic bWU6c2VjcmV0\r\n");
    assert_string_equal(seen_header(fixture, 0, "Proxy-Authorization"), "");
    end_route(&route);
    fixture_free(fixture);
}

static void forwards_plain_requests_over_tls(void **state) {
    route route = make_route(*state);
    use(&route, NULL, policy_of(route.authority, false));
    for (int i = 0; i < 3; i++) check_fetch_url(route.fixture, "http://example.test/", AFC_OK);
    assert_int_equal(test_proxy_count(route.test_proxy), 3);
    check_contains(test_proxy_request(route.test_proxy, 0),
                   "GET http://example.test/ HTTP/1.1\r\n");
    check_contains(test_proxy_request(route.test_proxy, 2),
                   "Proxy-Authorization: Basic bWU6c2VjcmV0\r\n");
    /*
     * libcurl 8.17.0 and later use a connection over TLS for http URLs again only where the scheme is marked for that
     * (PROTOPT_SSL_REUSE in url_match_ssl_use(), lib/url.c), which http isn't, and count the proxy's TLS.
     */
    size_t connections = libcurl_is_at_least(8, 17) ? 3 : 1;
    assert_int_equal(afts_server_stats(route.fixture->server).accepted, connections);
    end_route(&route);
}

static void sends_and_receives_large_bodies(void **state) {
    (void)state;
    fixture *fixture = fixture_new_tls();
    route route = make_route(fixture);
    use(&route, policy_of(fixture->authority, false), policy_of(route.authority, false));
    size_t size = 3 << 20;
    char *bytes = calloc(1, size);
    afts_script *script = afts_script_new();
    afts_respond(script, 200, NULL, bytes, size);
    serve(fixture, "/large", script);
    call *call = call_new(fixture, "/");
    call_send(call, "POST", (afc_slice){bytes, size});
    call->request.url = text_of(fixture, "%slarge", tls_url(fixture));
    call_perform(call);
    check_ended(call, AFC_OK);
    assert_int_equal(call->body.size, size);
    call_free(call);
    free(bytes);
    end_route(&route);
    fixture_free(fixture);
}

/* ---- Who is trusted ------------------------------------------------------------------------ */

/** Neither CONNECT nor a credential has been sent. */
static void check_refused(route *route, const char *url, afc_trust_reason reason) {
    size_t before = test_proxy_count(route->test_proxy);
    call *call = call_fetch_url(route->fixture, url, AFC_EUNTRUSTED);
    assert_string_equal(afc_trust_reason_name(call->failure.trust), afc_trust_reason_name(reason));
    check_contains(call->failure.text, "the proxy");
    assert_int_equal(call->failure.party, AFC_PARTY_PROXY);
    /* What is told of a chain is told of the server's. */
    assert_null(afc_result_get_trust(call->result));
    call_free(call);
    for (size_t i = before; i < test_proxy_count(route->test_proxy); i++) {
        assert_string_equal(test_proxy_request(route->test_proxy, i), "no handshake");
    }
    assert_int_equal(afts_server_stats(route->fixture->server).accepted, 0);
}

static void verifies_proxy_before_sending_anything(void **state) {
    (void)state;
    fixture *fixture = fixture_new_tls();
    route route = make_route(fixture);
    /* By the system's certificates; by those for servers, which are not for proxies; under another name. */
    use(&route, policy_of(fixture->authority, false), NULL);
    check_refused(&route, tls_url(fixture), AFC_TRUST_UNKNOWN_ISSUER);
    check_refused(&route, "http://example.test/", AFC_TRUST_UNKNOWN_ISSUER);
    use(&route, policy_of(route.authority, true), policy_of(fixture->authority, false));
    check_refused(&route, tls_url(fixture), AFC_TRUST_UNKNOWN_ISSUER);
    /* The policy for proxies, in turn, is not for servers. */
    use(&route, policy_of(route.authority, false), policy_of(route.authority, false));
    call *call = call_fetch_url(route.fixture, tls_url(fixture), AFC_EUNTRUSTED);
    assert_null(strstr(call->failure.text, "proxy"));
    assert_int_equal(call->failure.party, AFC_PARTY_SERVER);
    assert_non_null(afc_result_get_trust(call->result));
    call_free(call);
    end_route(&route);
    fixture_free(fixture);
}

static void checks_the_name_of_the_proxy(void **state) {
    (void)state;
    fixture *fixture = fixture_new_tls();
    route route = make_route(fixture);
    const char *address = test_proxy_url(route.test_proxy, "https", NULL);
    const uint16_t port = (uint16_t)strtoul(strrchr(address, ':') + 1, NULL, 10);
    const afc_host_override override = {"other.test", port, "127.0.0.1", {0}};
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    options.trust = policy_of(fixture->authority, false);
    options.proxy_trust = policy_of(route.authority, false);
    options.network = (afc_network_options){.overrides = &override, .override_count = 1};
    options.proxies = (afc_proxies){
        AFC_PROXIES_GIVEN, NULL, NULL, text_of(fixture, "https://other.test:%u", port), NULL, {0}};
    fixture_close_session(fixture);
    check_status(afc_session_new(&fixture->session, &options, NULL), AFC_OK);
    afc_trust_policy_release(options.trust);
    afc_trust_policy_release(options.proxy_trust);
    check_refused(&route, tls_url(fixture), AFC_TRUST_WRONG_HOST);
    end_route(&route);
    fixture_free(fixture);
}

/** S28: in a tunnel through http and https as without one. */
static void checks_pins_in_tunnels(void **state) {
    (void)state;
    fixture *fixture = fixture_new_tls();
    route route = make_route(fixture);
    test_proxy *plain = test_proxy_new(fixture);
    const afc_trust_rule rule = {.host = "localhost",
                                 .mode = AFC_PINNING_PUBLIC_KEY,
                                 .certificates = afc_slice_of(afts_cert_pem(route.authority))};
    afc_trust_options trust = AFC_TRUST_OPTIONS_INIT;
    trust.anchors = afc_slice_of(afts_cert_pem(fixture->authority));
    trust.rules = &rule;
    trust.rule_count = 1;
    afc_trust_policy *policy;
    check_status(afc_trust_policy_new(&policy, &trust, NULL), AFC_OK);
    use(&route, policy, policy_of(route.authority, false));
    const char *proxies[] = {test_proxy_url(route.test_proxy, "https", NULL),
                             test_proxy_url(plain, "http", NULL),
                             test_proxy_url(plain, "socks5h", NULL), ""};
    for (size_t i = 0; i < COUNT_OF(proxies); i++) {
        call *call = call_new(fixture, "/");
        call->request.url = tls_url(fixture);
        call->request.proxy = proxies[i];
        call_perform(call);
        check_ended(call, AFC_EUNTRUSTED);
        assert_string_equal(afc_trust_reason_name(call->failure.trust),
                            afc_trust_reason_name(AFC_TRUST_PIN));
        call_free(call);
    }
    assert_int_equal(afts_server_stats(fixture->server).requests, 0);
    end_route(&route);
    test_proxy_free(plain);
    fixture_free(fixture);
}

/** S21: a tunnel, or a TLS session, that a lax policy made serves no strict one. */
static void strict_policy_never_reuses_connection_of_lax_policy(void **state) {
    (void)state;
    fixture *fixture = fixture_new_tls();
    route route = make_route(fixture);
    afts_cert *stranger = afts_cert_new(&(afts_cert_options){.authority = true}, NULL);
    fixture_close_session(fixture);
    afc_session *lax = session_of(&route, policy_of(fixture->authority, false),
                                  policy_of(stranger, true));
    afc_session *strict = session_of(&route, policy_of(fixture->authority, false),
                                     policy_of(stranger, false));
    for (int round = 0; round < 3; round++) {
        fixture->session = lax;
        check_fetch_url(route.fixture, tls_url(fixture), AFC_OK);
        size_t accepted = afts_server_stats(fixture->server).accepted;
        fixture->session = strict;
        check_fetch_url(route.fixture, tls_url(fixture), AFC_EUNTRUSTED);
        assert_int_equal(afts_server_stats(fixture->server).accepted, accepted);
    }
    afc_session_release(strict);
    fixture->session = lax;
    end_route(&route);
    afts_cert_free(stranger);
    fixture_free(fixture);
}

/**
 * S27: one host and port, that of the proxy, is asked as a proxy and as a server, each with a policy that
 * the other's chain doesn't pass. A session with the one is not resumed with the other.
 */
static void proxies_and_servers_share_no_tls_sessions(void **state) {
    (void)state;
    for (int is_lax_proxy = 0; is_lax_proxy < 2; is_lax_proxy++) {
        fixture *fixture = fixture_new_tls();
        route route = make_route(fixture);
        afts_cert *stranger = afts_cert_new(&(afts_cert_options){.authority = true}, NULL);
        use(&route, policy_of(is_lax_proxy != 0 ? stranger : route.authority, false),
            policy_of(is_lax_proxy != 0 ? route.authority : stranger, false));
        const char *as_server = text_of(
            fixture, "https://%s/",
            strstr(test_proxy_url(route.test_proxy, "https", NULL), "//") + 2);
        for (int round = 0; round < 3; round++) {
            call *server = call_new(fixture, "/");
            server->request.url = as_server;
            server->request.proxy = "";
            call_perform(server);
            call *proxy = call_new(fixture, "/");
            proxy->request.url = tls_url(fixture);
            call_perform(proxy);
            if (is_lax_proxy != 0)
                check_ended(server, AFC_EUNTRUSTED);
            else
                check_ended(proxy, AFC_EUNTRUSTED);
            call_free(server);
            call_free(proxy);
        }
        end_route(&route);
        afts_cert_free(stranger);
        fixture_free(fixture);
    }
}

static afc_status count_question(void *context, afc_certificate_request *request) {
    (void)request;
    atomic_fetch_add((atomic_uint *)context, 1);
    return AFC_OK;
}

static void never_sends_client_certificate_to_proxy(void **state) {
    (void)state;
    fixture *fixture = fixture_new_tls();
    route route = make_route(fixture);
    afts_cert *client = afts_cert_new(&(afts_cert_options){.client = true, .hosts = ""},
                                      route.authority);
    test_proxy_request_certificate(route.test_proxy);
    const afc_client_certificate certificate = {.certificate = afc_slice_of(afts_cert_pem(client)),
                                                .key = afc_slice_of(afts_cert_key_pem(client))};
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    options.trust = policy_of(fixture->authority, false);
    options.proxy_trust = policy_of(route.authority, false);
    options.tls.client_certificates = &certificate;
    options.tls.client_certificate_count = 1;
    atomic_uint questions = 0;
    options.tls.certificate_handler = (afc_certificate_handler){&questions, count_question};
    options.proxies = (afc_proxies){
        AFC_PROXIES_GIVEN, NULL, NULL, test_proxy_url(route.test_proxy, "https", NULL), NULL, {0}};
    fixture_close_session(fixture);
    check_status(afc_session_new(&fixture->session, &options, NULL), AFC_OK);
    afc_trust_policy_release(options.trust);
    afc_trust_policy_release(options.proxy_trust);
    check_fetch_url(route.fixture, tls_url(fixture), AFC_OK);
    assert_false(test_proxy_saw_certificate(route.test_proxy));
    assert_int_equal(questions, 0);
    end_route(&route);
    afts_cert_free(client);
    fixture_free(fixture);
}

static void refused_tunnel_names_the_reason(void **state) {
    (void)state;
    fixture *fixture = fixture_new_tls();
    route route = make_route(fixture);
    use(&route, policy_of(fixture->authority, false), policy_of(route.authority, false));
    test_proxy_refuse(route.test_proxy, 403);
    check_fetch_url(route.fixture, tls_url(fixture), AFC_ECONNECT);
    test_proxy_refuse(route.test_proxy, 407);
    check_fetch_url(route.fixture, tls_url(fixture), AFC_EAUTH);
    test_proxy_refuse(route.test_proxy, 0);
    check_fetch_url(route.fixture, tls_url(fixture), AFC_OK);
    end_route(&route);
    fixture_free(fixture);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tunnels_through_https_proxy),
        FIXTURE_TEST(forwards_plain_requests_over_tls),
        cmocka_unit_test(sends_and_receives_large_bodies),
        cmocka_unit_test(verifies_proxy_before_sending_anything),
        cmocka_unit_test(checks_the_name_of_the_proxy),
        cmocka_unit_test(checks_pins_in_tunnels),
        cmocka_unit_test(strict_policy_never_reuses_connection_of_lax_policy),
        cmocka_unit_test(proxies_and_servers_share_no_tls_sessions),
        cmocka_unit_test(never_sends_client_certificate_to_proxy),
        cmocka_unit_test(refused_tunnel_names_the_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
