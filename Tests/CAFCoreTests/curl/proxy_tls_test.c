/* Proxies that are asked over https: judged by a policy of their own before they hear of anything. */
#include "support/call.h"
#include "support/relay.h"

#include <stdio.h>
#include <stdlib.h>

/** A server with TLS or without, and a proxy with a certificate of another authority. */
typedef struct route {
    world *world;
    relay *relay;
    afts_cert *authority, *leaf; /**< The proxy's. */
} route;

static route make_route(world *world) {
    route route = {.world = world};
    route.authority = afts_cert_new(&(afts_cert_options){.authority = true}, NULL);
    route.leaf = afts_cert_new(NULL, route.authority);
    route.relay = relay_new_tls(world, route.leaf);
    serve(world, "/", answer(200, NULL, "here"));
    return route;
}

static void end_route(route *route) {
    world_close_session(route->world);
    relay_free(route->relay);
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
    options.proxies = (afc_proxies){
        AFC_PROXIES_GIVEN, NULL, NULL, relay_url(route->relay, "https", "me:secret"), NULL, {0}};
    check_status(afc_session_new(&session, &options, NULL), AFC_OK);
    afc_trust_policy_release(trust);
    afc_trust_policy_release(proxy_trust);
    return session;
}

static void use(route *route, afc_trust_policy *trust, afc_trust_policy *proxy_trust) {
    world_close_session(route->world);
    route->world->session = session_of(route, trust, proxy_trust);
}

/* ---- Requests ------------------------------------------------------------------------------ */

static void tunnels_through_https_proxy(void **state) {
    (void)state;
    world *world = world_new_tls();
    route route = make_route(world);
    use(&route, policy_of(world->authority, false), policy_of(route.authority, false));
    for (int i = 0; i < 3; i++) check_fetch_url(route.world, tls_url(world), AFC_OK);
    assert_int_equal(relay_count(route.relay), 1);
    const char *head = relay_seen(route.relay, 0);
    check_contains(head, "CONNECT localhost:");
    check_contains(head, "Proxy-Authorization: Basic bWU6c2VjcmV0\r\n");
    assert_string_equal(seen_header(world, 0, "Proxy-Authorization"), "");
    end_route(&route);
    world_free(world);
}

static void forwards_plain_requests_over_tls(void **state) {
    route route = make_route(*state);
    use(&route, NULL, policy_of(route.authority, false));
    for (int i = 0; i < 3; i++) check_fetch_url(route.world, "http://example.test/", AFC_OK);
    assert_int_equal(relay_count(route.relay), 3);
    check_contains(relay_seen(route.relay, 0), "GET http://example.test/ HTTP/1.1\r\n");
    check_contains(relay_seen(route.relay, 2), "Proxy-Authorization: Basic bWU6c2VjcmV0\r\n");
    /*
     * libcurl 8.17.0 and later use a connection over TLS for http URLs again only where the scheme is marked for that
     * (PROTOPT_SSL_REUSE in url_match_ssl_use(), lib/url.c), which http isn't, and count the proxy's TLS.
     */
    size_t connections = libcurl_is_at_least(8, 17) ? 3 : 1;
    assert_int_equal(afts_server_stats(route.world->server).accepted, connections);
    end_route(&route);
}

static void sends_and_receives_large_bodies(void **state) {
    (void)state;
    world *world = world_new_tls();
    route route = make_route(world);
    use(&route, policy_of(world->authority, false), policy_of(route.authority, false));
    size_t size = 3 << 20;
    char *bytes = calloc(1, size);
    afts_script *script = afts_script_new();
    afts_respond(script, 200, NULL, bytes, size);
    serve(world, "/large", script);
    call *call = call_new(world, "/");
    call_send(call, "POST", (afc_slice){bytes, size});
    call->request.url = text_of(world, "%slarge", tls_url(world));
    call_perform(call);
    check_ended(call, AFC_OK);
    assert_int_equal(call->body.size, size);
    call_free(call);
    free(bytes);
    end_route(&route);
    world_free(world);
}

/* ---- Who is trusted ------------------------------------------------------------------------ */

/** Neither CONNECT nor a credential has been sent. */
static void check_refused(route *route, const char *url, afc_trust_reason reason) {
    size_t before = relay_count(route->relay);
    call *call = call_fetch_url(route->world, url, AFC_EUNTRUSTED);
    assert_string_equal(afc_trust_reason_name(call->failure.trust), afc_trust_reason_name(reason));
    check_contains(call->failure.text, "the proxy");
    assert_int_equal(call->failure.party, AFC_PARTY_PROXY);
    /* What is told of a chain is told of the server's. */
    assert_null(afc_result_get_trust(call->result));
    call_free(call);
    for (size_t i = before; i < relay_count(route->relay); i++) {
        assert_string_equal(relay_seen(route->relay, i), "no handshake");
    }
    assert_int_equal(afts_server_stats(route->world->server).accepted, 0);
}

static void verifies_proxy_before_sending_anything(void **state) {
    (void)state;
    world *world = world_new_tls();
    route route = make_route(world);
    /* By the system's certificates; by those for servers, which are not for proxies; under another name. */
    use(&route, policy_of(world->authority, false), NULL);
    check_refused(&route, tls_url(world), AFC_TRUST_UNKNOWN_ISSUER);
    check_refused(&route, "http://example.test/", AFC_TRUST_UNKNOWN_ISSUER);
    use(&route, policy_of(route.authority, true), policy_of(world->authority, false));
    check_refused(&route, tls_url(world), AFC_TRUST_UNKNOWN_ISSUER);
    /* The policy for proxies, in turn, is not for servers. */
    use(&route, policy_of(route.authority, false), policy_of(route.authority, false));
    call *call = call_fetch_url(route.world, tls_url(world), AFC_EUNTRUSTED);
    assert_null(strstr(call->failure.text, "proxy"));
    assert_int_equal(call->failure.party, AFC_PARTY_SERVER);
    assert_non_null(afc_result_get_trust(call->result));
    call_free(call);
    end_route(&route);
    world_free(world);
}

static void checks_the_name_of_the_proxy(void **state) {
    (void)state;
    world *world = world_new_tls();
    route route = make_route(world);
    const char *address = relay_url(route.relay, "https", NULL);
    const uint16_t port = (uint16_t)strtoul(strrchr(address, ':') + 1, NULL, 10);
    const afc_host_override override = {"other.test", port, "127.0.0.1", {0}};
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    options.trust = policy_of(world->authority, false);
    options.proxy_trust = policy_of(route.authority, false);
    options.network = (afc_network_options){.overrides = &override, .override_count = 1};
    options.proxies = (afc_proxies){
        AFC_PROXIES_GIVEN, NULL, NULL, text_of(world, "https://other.test:%u", port), NULL, {0}};
    world_close_session(world);
    check_status(afc_session_new(&world->session, &options, NULL), AFC_OK);
    afc_trust_policy_release(options.trust);
    afc_trust_policy_release(options.proxy_trust);
    check_refused(&route, tls_url(world), AFC_TRUST_WRONG_HOST);
    end_route(&route);
    world_free(world);
}

/** S28: in a tunnel through http and https as without one. */
static void checks_pins_in_tunnels(void **state) {
    (void)state;
    world *world = world_new_tls();
    route route = make_route(world);
    relay *plain = relay_new(world);
    const afc_trust_rule rule = {.host = "localhost",
                                 .mode = AFC_PINNING_PUBLIC_KEY,
                                 .certificates = afc_slice_of(afts_cert_pem(route.authority))};
    afc_trust_options trust = AFC_TRUST_OPTIONS_INIT;
    trust.anchors = afc_slice_of(afts_cert_pem(world->authority));
    trust.rules = &rule;
    trust.rule_count = 1;
    afc_trust_policy *policy;
    check_status(afc_trust_policy_new(&policy, &trust, NULL), AFC_OK);
    use(&route, policy, policy_of(route.authority, false));
    const char *proxies[] = {relay_url(route.relay, "https", NULL), relay_url(plain, "http", NULL),
                             relay_url(plain, "socks5h", NULL), ""};
    for (size_t i = 0; i < COUNT_OF(proxies); i++) {
        call *call = call_new(world, "/");
        call->request.url = tls_url(world);
        call->request.proxy = proxies[i];
        call_perform(call);
        check_ended(call, AFC_EUNTRUSTED);
        assert_string_equal(afc_trust_reason_name(call->failure.trust),
                            afc_trust_reason_name(AFC_TRUST_PIN));
        call_free(call);
    }
    assert_int_equal(afts_server_stats(world->server).requests, 0);
    end_route(&route);
    relay_free(plain);
    world_free(world);
}

/** S21: a tunnel, or a TLS session, that a lax policy made serves no strict one. */
static void strict_policy_never_reuses_connection_of_lax_policy(void **state) {
    (void)state;
    world *world = world_new_tls();
    route route = make_route(world);
    afts_cert *stranger = afts_cert_new(&(afts_cert_options){.authority = true}, NULL);
    world_close_session(world);
    afc_session *lax = session_of(&route, policy_of(world->authority, false),
                                  policy_of(stranger, true));
    afc_session *strict = session_of(&route, policy_of(world->authority, false),
                                     policy_of(stranger, false));
    for (int round = 0; round < 3; round++) {
        world->session = lax;
        check_fetch_url(route.world, tls_url(world), AFC_OK);
        size_t accepted = afts_server_stats(world->server).accepted;
        world->session = strict;
        check_fetch_url(route.world, tls_url(world), AFC_EUNTRUSTED);
        assert_int_equal(afts_server_stats(world->server).accepted, accepted);
    }
    afc_session_release(strict);
    world->session = lax;
    end_route(&route);
    afts_cert_free(stranger);
    world_free(world);
}

/**
 * S27: one host and port, that of the proxy, is asked as a proxy and as a server, each with a policy that
 * the other's chain doesn't pass. A session with the one is not resumed with the other.
 */
static void proxies_and_servers_share_no_tls_sessions(void **state) {
    (void)state;
    for (int is_lax_proxy = 0; is_lax_proxy < 2; is_lax_proxy++) {
        world *world = world_new_tls();
        route route = make_route(world);
        afts_cert *stranger = afts_cert_new(&(afts_cert_options){.authority = true}, NULL);
        use(&route, policy_of(is_lax_proxy != 0 ? stranger : route.authority, false),
            policy_of(is_lax_proxy != 0 ? route.authority : stranger, false));
        const char *as_server = text_of(world, "https://%s/",
                                        strstr(relay_url(route.relay, "https", NULL), "//") + 2);
        for (int round = 0; round < 3; round++) {
            call *server = call_new(world, "/");
            server->request.url = as_server;
            server->request.proxy = "";
            call_perform(server);
            call *proxy = call_new(world, "/");
            proxy->request.url = tls_url(world);
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
        world_free(world);
    }
}

static afc_status count_question(void *context, afc_certificate_request *request) {
    (void)request;
    atomic_fetch_add((atomic_uint *)context, 1);
    return AFC_OK;
}

static void never_sends_client_certificate_to_proxy(void **state) {
    (void)state;
    world *world = world_new_tls();
    route route = make_route(world);
    afts_cert *client = afts_cert_new(&(afts_cert_options){.client = true, .hosts = ""},
                                      route.authority);
    relay_ask_for_certificate(route.relay);
    const afc_client_certificate certificate = {.certificate = afc_slice_of(afts_cert_pem(client)),
                                                .key = afc_slice_of(afts_cert_key_pem(client))};
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    options.trust = policy_of(world->authority, false);
    options.proxy_trust = policy_of(route.authority, false);
    options.tls.client_certificates = &certificate;
    options.tls.client_certificate_count = 1;
    atomic_uint questions = 0;
    options.tls.certificate_handler = (afc_certificate_handler){&questions, count_question};
    options.proxies = (afc_proxies){
        AFC_PROXIES_GIVEN, NULL, NULL, relay_url(route.relay, "https", NULL), NULL, {0}};
    world_close_session(world);
    check_status(afc_session_new(&world->session, &options, NULL), AFC_OK);
    afc_trust_policy_release(options.trust);
    afc_trust_policy_release(options.proxy_trust);
    check_fetch_url(route.world, tls_url(world), AFC_OK);
    assert_false(relay_saw_certificate(route.relay));
    assert_int_equal(questions, 0);
    end_route(&route);
    afts_cert_free(client);
    world_free(world);
}

static void refused_tunnel_names_the_reason(void **state) {
    (void)state;
    world *world = world_new_tls();
    route route = make_route(world);
    use(&route, policy_of(world->authority, false), policy_of(route.authority, false));
    relay_refuse(route.relay, 403);
    check_fetch_url(route.world, tls_url(world), AFC_ECONNECT);
    relay_refuse(route.relay, 407);
    check_fetch_url(route.world, tls_url(world), AFC_EAUTH);
    relay_refuse(route.relay, 0);
    check_fetch_url(route.world, tls_url(world), AFC_OK);
    end_route(&route);
    world_free(world);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tunnels_through_https_proxy),
        WORLD_TEST(forwards_plain_requests_over_tls),
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
