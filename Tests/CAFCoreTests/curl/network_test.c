/* The ways to hosts, over real sockets: overrides, links, addresses, Unix-domain sockets, DoH. */
#include "support/call.h"
#include "support/test_proxy.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static afc_session *try_session(const afc_network_options *network, afc_status expected) {
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    afc_session *session;
    afc_failure failure;
    options.network = *network;
    check_status(afc_session_new(&session, &options, &failure), expected);
    assert_int_equal(session != NULL, expected == AFC_OK);
    return session;
}

/** Replace the fixture's session. */
static void use(fixture *fixture, afc_network_options network) {
    fixture_close_session(fixture);
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    options.network = network;
    if (fixture->authority != NULL)
        options.trust = policy_trusting(afts_cert_pem(fixture->authority));
    check_status(afc_session_new(&fixture->session, &options, NULL), AFC_OK);
    afc_trust_policy_release(options.trust);
}

static uint16_t port_of(fixture *fixture) {
    return (uint16_t)strtoul(strrchr(url_of(fixture, ""), ':') + 1, NULL, 10);
}

static call *fetch(fixture *fixture, const char *url, const char *socket, afc_status expected) {
    call *call = call_new(fixture, "/");
    call->request.url = url;
    call->request.unix_socket = socket;
    call_perform(call);
    check_ended(call, expected);
    return call;
}

static void expect(fixture *fixture, const char *url, const char *socket, afc_status expected) {
    call_free(fetch(fixture, url, socket, expected));
}

/* ---- Names --------------------------------------------------------------------------------- */

static void override_applies_to_its_name_and_port_only(void **state) {
    fixture *fixture = *state;
    uint16_t port = port_of(fixture);
    serve(fixture, "/", answer(200, NULL, "here"));
    const afc_host_override overrides[] = {{"Example.test.", port, "127.0.0.1", {0}},
                                           {"gone.invalid", 81, "127.0.0.1", {0}}};
    use(fixture, (afc_network_options){.overrides = overrides, .override_count = 2});
    for (int round = 0; round < 3; round++) {
        expect(fixture, text_of(fixture, "http://example.test:%u/", port), NULL, AFC_OK);
        expect(fixture, text_of(fixture, "http://EXAMPLE.test.:%u/", port), NULL, AFC_OK);
        expect(fixture, text_of(fixture, "http://gone.invalid:%u/", port), NULL, AFC_EDNS);
    }
    check_contains(seen_header(fixture, 0, "Host"), "example.test:");
    /* What was made for one session's overrides is no other's. */
    use(fixture, (afc_network_options){0});
    expect(fixture, text_of(fixture, "http://example.test:%u/", port), NULL, AFC_EDNS);
}

static void wildcard_override_applies_to_each_host(void **state) {
    fixture *fixture = *state;
    uint16_t port = port_of(fixture);
    serve(fixture, "/", answer(200, NULL, "here"));
    const afc_host_override override = {"*", port, "127.0.0.1", {0}};
    use(fixture, (afc_network_options){.overrides = &override, .override_count = 1});
    expect(fixture, text_of(fixture, "http://a.invalid:%u/", port), NULL, AFC_OK);
    expect(fixture, text_of(fixture, "http://b.invalid:%u/", port), NULL, AFC_OK);
}

static void override_applies_to_the_proxy(void **state) {
    fixture *fixture = *state;
    serve(fixture, "/", answer(200, NULL, "here"));
    test_proxy *test_proxy = test_proxy_new(fixture);
    const char *address = test_proxy_url(test_proxy, "http", NULL);
    uint16_t port = (uint16_t)strtoul(strrchr(address, ':') + 1, NULL, 10);
    const afc_host_override override = {"proxy.invalid", port, "127.0.0.1", {0}};
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    options.network = (afc_network_options){.overrides = &override, .override_count = 1};
    options.proxies = (afc_proxies){AFC_PROXIES_GIVEN,
                                    NULL,
                                    NULL,
                                    text_of(fixture, "http://proxy.invalid:%u", port),
                                    NULL,
                                    {0}};
    fixture_close_session(fixture);
    check_status(afc_session_new(&fixture->session, &options, NULL), AFC_OK);
    expect(fixture, "http://example.test/", NULL, AFC_OK);
    assert_int_equal(test_proxy_count(test_proxy), 1);
    fixture_close_session(fixture);
    test_proxy_free(test_proxy);
}

static void refuses_invalid_network_options(void **state) {
    (void)state;
    const afc_host_override bad = {"a", 80, "b", {0}};
    const afc_network_options rows[] = {
        {.overrides = &bad, .override_count = 1},
        {.override_count = 1},
        {.dns_servers = "dns.test"},
        {.doh_url = "http://dns.test/"},
        {.ip_version = (afc_ip_version)3},
        {.happy_eyeballs_ms = 60001},
        {.interface = "host!a.test"},
        {.unix_socket = "@"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) try_session(&rows[i], AFC_EINVAL);
}

static void reports_options_that_libcurl_lacks_as_unsupported(void **state) {
    (void)state;
    const afc_network_options servers = {.dns_servers = "192.0.2.1"};
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    afc_session *session;
    afc_failure failure;
    options.network = servers;
    afc_status status = afc_session_new(&session, &options, &failure);
    if (status != AFC_OK) {
        check_status(status, AFC_EUNSUPPORTED);
        check_contains(failure.text, "c-ares");
    }
    afc_session_release(session);
    options.network = (afc_network_options){.doh_url = "https://dns.test/"};
    options.max_connections = 4;
    check_status(afc_session_new(&session, &options, &failure), AFC_EUNSUPPORTED);
    options.max_connections = 0;
    options.network.interface = "host!127.0.0.1";
    check_status(afc_session_new(&session, &options, &failure), AFC_EUNSUPPORTED);
    check_contains(failure.text, "interface");
}

/* ---- Addresses and links ------------------------------------------------------------------- */

static void connects_with_one_address_family(void **state) {
    fixture *fixture = *state;
    serve(fixture, "/", answer(200, NULL, "here"));
    const afc_host_override override = {"both.test", port_of(fixture), "::1,127.0.0.1", {0}};
    const char *url = text_of(fixture, "http://both.test:%u/", port_of(fixture));
    use(fixture, (afc_network_options){
                     .overrides = &override, .override_count = 1, .happy_eyeballs_ms = 10});
    expect(fixture, url, NULL, AFC_OK);
    use(fixture, (afc_network_options){.ip_version = AFC_IP_V4});
    expect(fixture, text_of(fixture, "http://localhost:%u/", port_of(fixture)), NULL, AFC_OK);
    use(fixture, (afc_network_options){.ip_version = AFC_IP_V6});
    call *call = call_new(fixture, "/");
    call->request.url = text_of(fixture, "http://localhost:%u/", port_of(fixture));
    call_perform(call);
    /* Nobody listens there; on a machine without IPv6 there is no such address. */
    assert_true(call->failure.status == AFC_ECONNECT || call->failure.status == AFC_EDNS);
    call_free(call);
    /* An override without an address of the family: nothing is looked up, not over HTTPS either. */
    const afc_host_override v4 = {"v4.test", port_of(fixture), "127.0.0.1", {0}};
    use(fixture,
        (afc_network_options){.overrides = &v4, .override_count = 1, .ip_version = AFC_IP_V6});
    call = fetch(fixture, text_of(fixture, "http://v4.test:%u/", port_of(fixture)), NULL, AFC_EDNS);
    assert_int_equal(call->failure.reason, AFC_REASON_NONE);
    call_free(call);
}

static void connects_from_the_local_address(void **state) {
    fixture *fixture = *state;
    serve(fixture, "/", answer(200, NULL, "here"));
    use(fixture, (afc_network_options){.interface = "host!127.0.0.5"});
    call *call = fetch(fixture, url_of(fixture, "/"), NULL, AFC_OK);
    assert_string_equal(call->hops[0].local_address, "127.0.0.5");
    call_free(call);
    use(fixture, (afc_network_options){.interface = "lo"});
    expect(fixture, url_of(fixture, "/"), NULL, AFC_OK);
    use(fixture, (afc_network_options){.interface = "if!af-none0"});
    call = fetch(fixture, url_of(fixture, "/"), NULL, AFC_ECONNECT);
    assert_int_equal(call->failure.reason, AFC_REASON_INTERFACE);
    call_free(call);
    use(fixture, (afc_network_options){.interface = "host!192.0.2.1"});
    call = fetch(fixture, url_of(fixture, "/"), NULL, AFC_ECONNECT);
    assert_int_equal(call->failure.reason, AFC_REASON_INTERFACE);
    assert_int_equal(call->failure.party, AFC_PARTY_NONE);
    call_free(call);
    /* The name of the host says nothing about it. */
    use(fixture, (afc_network_options){.interface = "lo"});
    call = fetch(fixture, "http://bind.invalid/", NULL, AFC_EDNS);
    assert_int_equal(call->failure.reason, AFC_REASON_NONE);
    assert_int_equal(call->failure.party, AFC_PARTY_RESOLVER);
    call_free(call);
}

/** S50: a name that leads to this network, on the first hop or a later one, leads nowhere. */
static void refuses_private_addresses_if_asked(void **state) {
    fixture *fixture = *state;
    serve(fixture, "/", answer(200, NULL, "here"));
    const afc_host_override overrides[] = {
        {"rebound.test", port_of(fixture), "127.0.0.1", {0}},
        {"both.test", port_of(fixture), "127.0.0.1,8.8.8.8", {0}}};
    use(fixture, (afc_network_options){.overrides = overrides,
                                       .override_count = 2,
                                       .require_public_addresses = true});
    expect(fixture, url_of(fixture, "/"), NULL, AFC_ECONNECT);
    expect(fixture, text_of(fixture, "http://localhost:%u/", port_of(fixture)), NULL, AFC_ECONNECT);
    expect(fixture, text_of(fixture, "http://[::1]:%u/", port_of(fixture)), NULL, AFC_ECONNECT);
    expect(fixture, text_of(fixture, "http://2130706433:%u/", port_of(fixture)), NULL,
           AFC_ECONNECT);
    call *call = fetch(fixture, text_of(fixture, "http://rebound.test:%u/", port_of(fixture)), NULL,
                       AFC_ECONNECT);
    check_contains(call->failure.text, "isn't public");
    call_free(call);
    expect(fixture, text_of(fixture, "http://both.test:%u/", port_of(fixture)), NULL, AFC_ECONNECT);
    assert_int_equal(afts_server_stats(fixture->server).accepted, 0);
    /* A proxy judges for itself, and may well be near. */
    test_proxy *test_proxy = test_proxy_new(fixture);
    call = call_new(fixture, "/");
    call->request.proxy = test_proxy_url(test_proxy, "http", NULL);
    call_perform(call);
    check_ended(call, AFC_OK);
    call_free(call);
    /* One of the environment would end the checks without the program's knowledge. */
    assert_int_equal(setenv("http_proxy", test_proxy_url(test_proxy, "http", NULL), 1), 0);
    size_t count = test_proxy_count(test_proxy);
    use(fixture, (afc_network_options){.require_public_addresses = true});
    call = fetch(fixture, "http://any.test/", NULL, AFC_EUNSUPPORTED);
    check_contains(call->failure.text, "behind the environment's proxy");
    call_free(call);
    expect(fixture, url_of(fixture, "/"), NULL, AFC_ECONNECT);
    assert_int_equal(test_proxy_count(test_proxy), count);
    use(fixture, (afc_network_options){.require_public_addresses = false});
    expect(fixture, "http://any.test/", NULL, AFC_OK);
    assert_int_equal(test_proxy_count(test_proxy), count + 1);
    assert_int_equal(unsetenv("http_proxy"), 0);
    fixture_close_session(fixture);
    test_proxy_free(test_proxy);
}

/* ---- Unix-domain sockets ------------------------------------------------------------------- */

typedef struct path {
    char text[64];
} path;

static path path_of(const char *mark, const char *name) {
    path path;
    snprintf(path.text, sizeof path.text, "%safcore-%ld-%s", mark, (long)getpid(), name);
    return path;
}

static void session_connects_through_unix_socket(void **state) {
    fixture *fixture = *state;
    serve(fixture, "/", answer(200, NULL, "here"));
    const path paths[] = {path_of("/tmp/", "session"), path_of("@", "session")};
    for (size_t i = 0; i < COUNT_OF(paths); i++) {
        test_proxy *test_proxy = test_proxy_new_at(fixture, paths[i].text);
        use(fixture, (afc_network_options){.unix_socket = paths[i].text});
        expect(fixture, "http://any.invalid/", NULL, AFC_OK);
        assert_int_equal(test_proxy_count(test_proxy), 1);
        /* None at all, for one request. */
        expect(fixture, "http://any.invalid/", "", AFC_EDNS);
        expect(fixture, url_of(fixture, "/"), "", AFC_OK);
        assert_int_equal(test_proxy_count(test_proxy), 1);
        expect(fixture, "http://any.invalid/", NULL, AFC_OK);
        /* libcurl 7 knows connections by an address, which an abstract name is not. */
        if (i == 0) assert_int_equal(test_proxy_count(test_proxy), 1);
        fixture_close_session(fixture);
        test_proxy_free(test_proxy);
    }
}

/** S21: neither another socket's requests nor those over TCP, whatever their order. */
static void unix_socket_connections_are_not_shared(void **state) {
    fixture *fixture = *state;
    serve(fixture, "/", answer(200, NULL, "here"));
    char url[64];
    snprintf(url, sizeof url, "%s", url_of(fixture, "/"));
    const path first = path_of("/tmp/", "first"), second = path_of("/tmp/", "second");
    const path abstract = path_of("@/tmp/", "first");
    test_proxy *relays[] = {test_proxy_new_at(fixture, first.text),
                            test_proxy_new_at(fixture, second.text),
                            test_proxy_new_at(fixture, abstract.text)};
    for (int round = 0; round < 3; round++) {
        expect(fixture, url, NULL, AFC_OK);
        expect(fixture, url, first.text, AFC_OK);
        expect(fixture, url, second.text, AFC_OK);
        expect(fixture, url, abstract.text, AFC_OK);
        expect(fixture, url, second.text, AFC_OK);
        expect(fixture, url, NULL, AFC_OK);
        expect(fixture, url, first.text, AFC_OK);
    }
    for (size_t i = 0; i < 2; i++) assert_int_equal(test_proxy_count(relays[i]), 1);
    /* libcurl 7 never uses the connection of an abstract name again; 8 does. */
    unsigned abstract_count = test_proxy_count(relays[2]);
    assert_true(abstract_count == 3 || abstract_count == 1);
    assert_int_equal(afts_server_stats(fixture->server).accepted, 3 + abstract_count);
    fixture_close_session(fixture);
    for (size_t i = 0; i < COUNT_OF(relays); i++) test_proxy_free(relays[i]);
}

static void unix_socket_bypasses_the_proxy(void **state) {
    fixture *fixture = *state;
    serve(fixture, "/", answer(200, NULL, "here"));
    const path path = path_of("/tmp/", "direct");
    test_proxy *test_proxy = test_proxy_new_at(fixture, path.text);
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    options.proxies = (afc_proxies){AFC_PROXIES_GIVEN,      NULL, NULL,
                                    "http://proxy.invalid", NULL, {0}};
    fixture_close_session(fixture);
    check_status(afc_session_new(&fixture->session, &options, NULL), AFC_OK);
    expect(fixture, "http://any.invalid/", path.text, AFC_OK);
    expect(fixture, "http://any.invalid/", NULL, AFC_EDNS);
    afts_request *request = afts_copy_request(fixture->server, 0);
    assert_string_equal(request->target, "/");
    afts_request_free(request);
    fixture_close_session(fixture);
    test_proxy_free(test_proxy);
}

static void check_task(fixture *fixture, const char *proxy, const char *socket,
                       afc_status expected) {
    afc_request request = AFC_REQUEST_INIT;
    afc_task *task;
    afc_failure failure;
    request.url = url_of(fixture, "/");
    request.proxy = proxy;
    request.unix_socket = socket;
    check_status(afc_task_new(&task, fixture->session, &request, NULL, &failure), expected);
    if (expected != AFC_OK)
        check_contains(failure.text, "unix_socket can't be combined with a proxy");
    afc_task_release(task);
}

static void refuses_proxy_beside_unix_socket(void **state) {
    fixture *fixture = *state;
    check_task(fixture, "http://proxy.invalid", "/tmp/socket", AFC_EINVAL);
    check_task(fixture, "", "/tmp/socket", AFC_OK);
    check_task(fixture, "http://proxy.invalid", "", AFC_OK);
    use(fixture, (afc_network_options){.unix_socket = "/tmp/socket"});
    check_task(fixture, "http://proxy.invalid", NULL, AFC_EINVAL);
    check_task(fixture, "http://proxy.invalid", "@other", AFC_EINVAL);
    check_task(fixture, "", NULL, AFC_OK);
    check_task(fixture, "http://proxy.invalid", "", AFC_OK);
}

/** The IP version counts again for a handle that has used a socket. */
static void ip_version_has_no_effect_over_unix_socket(void **state) {
    fixture *fixture = *state;
    serve(fixture, "/", answer(200, NULL, "here"));
    const path path = path_of("/tmp/", "family");
    test_proxy *test_proxy = test_proxy_new_at(fixture, path.text);
    for (afc_ip_version version = AFC_IP_V4; version <= AFC_IP_V6; version++) {
        use(fixture, (afc_network_options){.ip_version = version, .unix_socket = path.text});
        expect(fixture, "http://any.invalid/", NULL, AFC_OK);
        use(fixture, (afc_network_options){.ip_version = version});
        for (int round = 0; round < 2; round++) {
            expect(fixture, "http://any.invalid/", path.text, AFC_OK);
            call *call = call_fetch(fixture, "/");
            assert_int_equal(call->failure.status == AFC_OK, version == AFC_IP_V4);
            call_free(call);
        }
    }
    fixture_close_session(fixture);
    test_proxy_free(test_proxy);
}

static void missing_unix_socket_fails_to_connect(void **state) {
    fixture *fixture = *state;
    call *call = fetch(fixture, "http://any.invalid/", "/tmp/afcore-no-such-socket", AFC_ECONNECT);
    assert_string_equal(call->failure.text,
                        "cannot connect to the socket "
                        "/tmp/afcore-no-such-socket: No such file or directory");
    call_free(call);
}

/* ---- Names over HTTPS ---------------------------------------------------------------------- */

typedef struct dns {
    fixture *fixture;    /**< The server that is asked. */
    atomic_bool is_mute; /**< It says that it doesn't know. */
} dns;

/** Every name of type A is 127.0.0.1; of another type there is nothing. */
static void answer_dns(afts_conn *conn, const afts_request *request, void *payload) {
    dns *dns = payload;
    unsigned char reply[512];
    size_t size = request->body_size;
    if (size < 17 || size > 400) return;
    memcpy(reply, request->body, size);
    bool has_address = reply[size - 3] == 1 && !atomic_load(&dns->is_mute);
    reply[2] = 0x81;
    reply[3] = atomic_load(&dns->is_mute) ? 0x83 : 0x80;
    reply[7] = has_address ? 1 : 0;
    if (has_address) {
        static const unsigned char record[] = {0xc0, 12, 0, 1, 0,   1, 0, 0,
                                               0,    60, 0, 4, 127, 0, 0, 1};
        memcpy(reply + size, record, sizeof record);
        size += sizeof record;
    }
    afts_conn_respond(conn, 200, "Content-Type: application/dns-message", reply, size);
}

static afc_network_options ask(dns *dns) {
    dns->fixture = fixture_new_tls();
    afts_script *script = afts_script_new();
    afts_handle(script, answer_dns, dns, NULL);
    serve(dns->fixture, "/dns-query", script);
    const char *port = strrchr(url_of(dns->fixture, ""), ':');
    return (afc_network_options){
        .doh_url = text_of(dns->fixture, "https://localhost%s/dns-query", port)};
}

static void use_doh(fixture *fixture, dns *dns, const afc_network_options *network,
                    bool is_trusted) {
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    options.network = *network;
    if (is_trusted) options.trust = policy_trusting(afts_cert_pem(dns->fixture->authority));
    fixture_close_session(fixture);
    check_status(afc_session_new(&fixture->session, &options, NULL), AFC_OK);
    afc_trust_policy_release(options.trust);
}

static void resolves_names_over_https(void **state) {
    fixture *fixture = *state;
    dns dns = {0};
    afc_network_options network = ask(&dns);
    serve(fixture, "/", answer(200, NULL, "here"));
    use_doh(fixture, &dns, &network, true);
    const char *url = text_of(fixture, "http://over-https.invalid:%u/", port_of(fixture));
    expect(fixture, url, NULL, AFC_OK);
    expect(fixture, url, NULL, AFC_OK);
    assert_in_range(afts_server_stats(dns.fixture->server).requests, 1, 2);
    afts_request *request = afts_copy_request(dns.fixture->server, 0);
    assert_string_equal(request->method, "POST");
    assert_string_equal(afts_request_header(request, "Content-Type"), "application/dns-message");
    afts_request_free(request);
    fixture_close_session(fixture);
    fixture_free(dns.fixture);
}

/** S50: neither for a name that isn't known there nor for a server that isn't trusted. */
static void failed_lookup_over_https_has_no_fallback(void **state) {
    fixture *fixture = *state;
    dns dns = {0};
    afc_network_options network = ask(&dns);
    atomic_store(&dns.is_mute, true);
    serve(fixture, "/", answer(200, NULL, "here"));
    /* The system knows the host name of this machine. */
    char name[256] = "";
    assert_int_equal(gethostname(name, sizeof name - 1), 0);
    const char *url = text_of(fixture, "http://%s:%u/", name, port_of(fixture));
    use_doh(fixture, &dns, &network, true);
    expect(fixture, url, NULL, AFC_EDNS);
    assert_true(afts_server_stats(dns.fixture->server).requests > 0);
    atomic_store(&dns.is_mute, false);
    use_doh(fixture, &dns, &network, false);
    size_t requests = afts_server_stats(dns.fixture->server).requests;
    expect(fixture, url, NULL, AFC_EDNS);
    assert_int_equal(afts_server_stats(dns.fixture->server).requests, requests);
    assert_int_equal(afts_server_stats(fixture->server).requests, 0);
    fixture_close_session(fixture);
    fixture_free(dns.fixture);
}

/** libcurl's own handles are at work for it when it goes. */
static void lookup_over_https_can_be_cancelled(void **state) {
    fixture *fixture = *state;
    dns dns = {0};
    afc_network_options network = ask(&dns);
    serve(fixture, "/", answer(200, NULL, "here"));
    afts_script *gated = afts_script_new();
    afts_stall(gated, "open");
    afts_handle(gated, answer_dns, &dns, NULL);
    serve(dns.fixture, "/dns-query", gated);
    use_doh(fixture, &dns, &network, true);
    for (unsigned round = 0; round < 4; round++) {
        call *call = call_new(fixture, "/");
        call->request.url = text_of(fixture, "http://name-%u.invalid:%u/", round, port_of(fixture));
        size_t asked = afts_server_stats(dns.fixture->server).requests;
        call_start(call);
        assert_true(afts_wait_requests(dns.fixture->server, asked + 1, PATIENCE_MS));
        afc_task_cancel(call->task);
        call_wait(call);
        check_ended(call, AFC_ECANCELED);
        call_free(call);
        /* On a connection that still has an answer to come no other lookup is sent. */
        assert_true(afts_server_stats(dns.fixture->server).accepted > asked);
    }
    afts_release(dns.fixture->server, "open", 1000);
    expect(fixture, text_of(fixture, "http://over-https.invalid:%u/", port_of(fixture)), NULL,
           AFC_OK);
    fixture_close_session(fixture);
    fixture_free(dns.fixture);
}

/**
 * libcurl's own handles for DNS over HTTPS read the variables themselves, whatever proxies the session has; so a
 * session that would send its lookups through them isn't created.
 */
static void refuses_lookups_over_https_through_foreign_proxy(void **state) {
    fixture *fixture = *state;
    dns dns = {0};
    afc_network_options network = ask(&dns);
    test_proxy *test_proxy = test_proxy_new(dns.fixture);
    serve(fixture, "/", answer(200, NULL, "here"));
    setenv("https_proxy", test_proxy_url(test_proxy, "http", NULL), 1);
    fixture_close_session(fixture);
    static const afc_proxy_source sources[] = {AFC_PROXIES_NONE, AFC_PROXIES_GIVEN,
                                               AFC_PROXIES_ENVIRONMENT};
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    options.network = network;
    options.trust = policy_trusting(afts_cert_pem(dns.fixture->authority));
    afc_failure failure;
    for (size_t i = 0; i < COUNT_OF(sources); i++) {
        /* From the environment: a loopback server is reached directly here, but not by libcurl. */
        options.proxies.source = sources[i];
        check_status(afc_session_new(&fixture->session, &options, &failure), AFC_EUNSUPPORTED);
        check_contains(failure.text, "no_proxy");
    }
    setenv("no_proxy", "localhost", 1);
    options.proxies.source = AFC_PROXIES_NONE;
    check_status(afc_session_new(&fixture->session, &options, NULL), AFC_OK);
    expect(fixture, text_of(fixture, "http://over-https.invalid:%u/", port_of(fixture)), NULL,
           AFC_OK);
    assert_int_equal(test_proxy_count(test_proxy), 0);
    unsetenv("no_proxy");
    unsetenv("https_proxy");
    afc_trust_policy_release(options.trust);
    fixture_close_session(fixture);
    test_proxy_free(test_proxy);
    fixture_free(dns.fixture);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(override_applies_to_its_name_and_port_only),
        FIXTURE_TEST(wildcard_override_applies_to_each_host),
        FIXTURE_TEST(override_applies_to_the_proxy),
        cmocka_unit_test(refuses_invalid_network_options),
        cmocka_unit_test(reports_options_that_libcurl_lacks_as_unsupported),
        FIXTURE_TEST(connects_with_one_address_family),
        FIXTURE_TEST(connects_from_the_local_address),
        FIXTURE_TEST(refuses_private_addresses_if_asked),
        FIXTURE_TEST(session_connects_through_unix_socket),
        FIXTURE_TEST(unix_socket_connections_are_not_shared),
        FIXTURE_TEST(unix_socket_bypasses_the_proxy),
        FIXTURE_TEST(refuses_proxy_beside_unix_socket),
        FIXTURE_TEST(ip_version_has_no_effect_over_unix_socket),
        FIXTURE_TEST(missing_unix_socket_fails_to_connect),
        FIXTURE_TEST(resolves_names_over_https),
        FIXTURE_TEST(failed_lookup_over_https_has_no_fallback),
        FIXTURE_TEST(lookup_over_https_can_be_cancelled),
        FIXTURE_TEST(refuses_lookups_over_https_through_foreign_proxy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
