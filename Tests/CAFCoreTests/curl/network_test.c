/* The ways to hosts, over real sockets: overrides, links, addresses, Unix-domain sockets, DoH. */
#include "support/call.h"
#include "support/relay.h"

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

/** Replace the world's session. */
static void use(world *world, afc_network_options network) {
    world_close_session(world);
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    options.network = network;
    if (world->authority != NULL) options.trust = policy_trusting(afts_cert_pem(world->authority));
    check_status(afc_session_new(&world->session, &options, NULL), AFC_OK);
    afc_trust_policy_release(options.trust);
}

static uint16_t port_of(world *world) {
    return (uint16_t)strtoul(strrchr(url_of(world, ""), ':') + 1, NULL, 10);
}

static call *fetch(world *world, const char *url, const char *socket, afc_status expected) {
    call *call = call_new(world, "/");
    call->request.url = url;
    call->request.unix_socket = socket;
    call_perform(call);
    check_ended(call, expected);
    return call;
}

static void expect(world *world, const char *url, const char *socket, afc_status expected) {
    call_free(fetch(world, url, socket, expected));
}

/* ---- Names --------------------------------------------------------------------------------- */

static void override_applies_to_its_name_and_port_only(void **state) {
    world *world = *state;
    uint16_t port = port_of(world);
    serve(world, "/", answer(200, NULL, "here"));
    const afc_host_override overrides[] = {{"Example.test.", port, "127.0.0.1", {0}},
                                           {"gone.invalid", 81, "127.0.0.1", {0}}};
    use(world, (afc_network_options){.overrides = overrides, .override_count = 2});
    for (int round = 0; round < 3; round++) {
        expect(world, text_of(world, "http://example.test:%u/", port), NULL, AFC_OK);
        expect(world, text_of(world, "http://EXAMPLE.test.:%u/", port), NULL, AFC_OK);
        expect(world, text_of(world, "http://gone.invalid:%u/", port), NULL, AFC_EDNS);
    }
    check_contains(seen_header(world, 0, "Host"), "example.test:");
    /* What was made for one session's overrides is no other's. */
    use(world, (afc_network_options){0});
    expect(world, text_of(world, "http://example.test:%u/", port), NULL, AFC_EDNS);
}

static void wildcard_override_applies_to_each_host(void **state) {
    world *world = *state;
    uint16_t port = port_of(world);
    serve(world, "/", answer(200, NULL, "here"));
    const afc_host_override override = {"*", port, "127.0.0.1", {0}};
    use(world, (afc_network_options){.overrides = &override, .override_count = 1});
    expect(world, text_of(world, "http://a.invalid:%u/", port), NULL, AFC_OK);
    expect(world, text_of(world, "http://b.invalid:%u/", port), NULL, AFC_OK);
}

static void override_applies_to_the_proxy(void **state) {
    world *world = *state;
    serve(world, "/", answer(200, NULL, "here"));
    relay *relay = relay_new(world);
    const char *address = relay_url(relay, "http", NULL);
    uint16_t port = (uint16_t)strtoul(strrchr(address, ':') + 1, NULL, 10);
    const afc_host_override override = {"proxy.invalid", port, "127.0.0.1", {0}};
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    options.network = (afc_network_options){.overrides = &override, .override_count = 1};
    options.proxies = (afc_proxies){
        AFC_PROXIES_GIVEN, NULL, NULL, text_of(world, "http://proxy.invalid:%u", port), NULL, {0}};
    world_close_session(world);
    check_status(afc_session_new(&world->session, &options, NULL), AFC_OK);
    expect(world, "http://example.test/", NULL, AFC_OK);
    assert_int_equal(relay_count(relay), 1);
    world_close_session(world);
    relay_free(relay);
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
    world *world = *state;
    serve(world, "/", answer(200, NULL, "here"));
    const afc_host_override override = {"both.test", port_of(world), "::1,127.0.0.1", {0}};
    const char *url = text_of(world, "http://both.test:%u/", port_of(world));
    use(world, (afc_network_options){
                   .overrides = &override, .override_count = 1, .happy_eyeballs_ms = 10});
    expect(world, url, NULL, AFC_OK);
    use(world, (afc_network_options){.ip_version = AFC_IP_V4});
    expect(world, text_of(world, "http://localhost:%u/", port_of(world)), NULL, AFC_OK);
    use(world, (afc_network_options){.ip_version = AFC_IP_V6});
    call *call = call_new(world, "/");
    call->request.url = text_of(world, "http://localhost:%u/", port_of(world));
    call_perform(call);
    /* Nobody listens there; on a machine without IPv6 there is no such address. */
    assert_true(call->failure.status == AFC_ECONNECT || call->failure.status == AFC_EDNS);
    call_free(call);
    /* An override without an address of the family: nothing is looked up, not over HTTPS either. */
    const afc_host_override v4 = {"v4.test", port_of(world), "127.0.0.1", {0}};
    use(world,
        (afc_network_options){.overrides = &v4, .override_count = 1, .ip_version = AFC_IP_V6});
    call = fetch(world, text_of(world, "http://v4.test:%u/", port_of(world)), NULL, AFC_EDNS);
    assert_int_equal(call->failure.reason, AFC_REASON_NONE);
    call_free(call);
}

static void connects_from_the_local_address(void **state) {
    world *world = *state;
    serve(world, "/", answer(200, NULL, "here"));
    use(world, (afc_network_options){.interface = "host!127.0.0.5"});
    call *call = fetch(world, url_of(world, "/"), NULL, AFC_OK);
    assert_string_equal(call->hops[0].local_address, "127.0.0.5");
    call_free(call);
    use(world, (afc_network_options){.interface = "lo"});
    expect(world, url_of(world, "/"), NULL, AFC_OK);
    use(world, (afc_network_options){.interface = "if!af-none0"});
    call = fetch(world, url_of(world, "/"), NULL, AFC_ECONNECT);
    assert_int_equal(call->failure.reason, AFC_REASON_INTERFACE);
    call_free(call);
    use(world, (afc_network_options){.interface = "host!192.0.2.1"});
    call = fetch(world, url_of(world, "/"), NULL, AFC_ECONNECT);
    assert_int_equal(call->failure.reason, AFC_REASON_INTERFACE);
    assert_int_equal(call->failure.party, AFC_PARTY_NONE);
    call_free(call);
    /* The name of the host says nothing about it. */
    use(world, (afc_network_options){.interface = "lo"});
    call = fetch(world, "http://bind.invalid/", NULL, AFC_EDNS);
    assert_int_equal(call->failure.reason, AFC_REASON_NONE);
    assert_int_equal(call->failure.party, AFC_PARTY_RESOLVER);
    call_free(call);
}

/** S50: a name that leads to this network, on the first hop or a later one, leads nowhere. */
static void refuses_private_addresses_if_asked(void **state) {
    world *world = *state;
    serve(world, "/", answer(200, NULL, "here"));
    const afc_host_override overrides[] = {{"rebound.test", port_of(world), "127.0.0.1", {0}},
                                           {"both.test", port_of(world), "127.0.0.1,8.8.8.8", {0}}};
    use(world, (afc_network_options){
                   .overrides = overrides, .override_count = 2, .require_public_addresses = true});
    expect(world, url_of(world, "/"), NULL, AFC_ECONNECT);
    expect(world, text_of(world, "http://localhost:%u/", port_of(world)), NULL, AFC_ECONNECT);
    expect(world, text_of(world, "http://[::1]:%u/", port_of(world)), NULL, AFC_ECONNECT);
    expect(world, text_of(world, "http://2130706433:%u/", port_of(world)), NULL, AFC_ECONNECT);
    call *call = fetch(world, text_of(world, "http://rebound.test:%u/", port_of(world)), NULL,
                       AFC_ECONNECT);
    check_contains(call->failure.text, "isn't public");
    call_free(call);
    expect(world, text_of(world, "http://both.test:%u/", port_of(world)), NULL, AFC_ECONNECT);
    assert_int_equal(afts_server_stats(world->server).accepted, 0);
    /* A proxy judges for itself, and may well be near. */
    relay *relay = relay_new(world);
    call = call_new(world, "/");
    call->request.proxy = relay_url(relay, "http", NULL);
    call_perform(call);
    check_ended(call, AFC_OK);
    call_free(call);
    /* One of the environment would end the checks without the program's knowledge. */
    assert_int_equal(setenv("http_proxy", relay_url(relay, "http", NULL), 1), 0);
    size_t count = relay_count(relay);
    use(world, (afc_network_options){.require_public_addresses = true});
    call = fetch(world, "http://any.test/", NULL, AFC_EUNSUPPORTED);
    check_contains(call->failure.text, "behind the environment's proxy");
    call_free(call);
    expect(world, url_of(world, "/"), NULL, AFC_ECONNECT);
    assert_int_equal(relay_count(relay), count);
    use(world, (afc_network_options){.require_public_addresses = false});
    expect(world, "http://any.test/", NULL, AFC_OK);
    assert_int_equal(relay_count(relay), count + 1);
    assert_int_equal(unsetenv("http_proxy"), 0);
    world_close_session(world);
    relay_free(relay);
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
    world *world = *state;
    serve(world, "/", answer(200, NULL, "here"));
    const path paths[] = {path_of("/tmp/", "session"), path_of("@", "session")};
    for (size_t i = 0; i < COUNT_OF(paths); i++) {
        relay *relay = relay_new_at(world, paths[i].text);
        use(world, (afc_network_options){.unix_socket = paths[i].text});
        expect(world, "http://any.invalid/", NULL, AFC_OK);
        assert_int_equal(relay_count(relay), 1);
        /* None at all, for one request. */
        expect(world, "http://any.invalid/", "", AFC_EDNS);
        expect(world, url_of(world, "/"), "", AFC_OK);
        assert_int_equal(relay_count(relay), 1);
        expect(world, "http://any.invalid/", NULL, AFC_OK);
        /* libcurl 7 knows connections by an address, which an abstract name is not. */
        if (i == 0) assert_int_equal(relay_count(relay), 1);
        world_close_session(world);
        relay_free(relay);
    }
}

/** S21: neither another socket's requests nor those over TCP, whatever their order. */
static void unix_socket_connections_are_not_shared(void **state) {
    world *world = *state;
    serve(world, "/", answer(200, NULL, "here"));
    char url[64];
    snprintf(url, sizeof url, "%s", url_of(world, "/"));
    const path first = path_of("/tmp/", "first"), second = path_of("/tmp/", "second");
    const path abstract = path_of("@/tmp/", "first");
    relay *relays[] = {relay_new_at(world, first.text), relay_new_at(world, second.text),
                       relay_new_at(world, abstract.text)};
    for (int round = 0; round < 3; round++) {
        expect(world, url, NULL, AFC_OK);
        expect(world, url, first.text, AFC_OK);
        expect(world, url, second.text, AFC_OK);
        expect(world, url, abstract.text, AFC_OK);
        expect(world, url, second.text, AFC_OK);
        expect(world, url, NULL, AFC_OK);
        expect(world, url, first.text, AFC_OK);
    }
    for (size_t i = 0; i < 2; i++) assert_int_equal(relay_count(relays[i]), 1);
    /* libcurl 7 never uses the connection of an abstract name again; 8 does. */
    unsigned abstract_count = relay_count(relays[2]);
    assert_true(abstract_count == 3 || abstract_count == 1);
    assert_int_equal(afts_server_stats(world->server).accepted, 3 + abstract_count);
    world_close_session(world);
    for (size_t i = 0; i < COUNT_OF(relays); i++) relay_free(relays[i]);
}

static void unix_socket_bypasses_the_proxy(void **state) {
    world *world = *state;
    serve(world, "/", answer(200, NULL, "here"));
    const path path = path_of("/tmp/", "direct");
    relay *relay = relay_new_at(world, path.text);
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    options.proxies = (afc_proxies){AFC_PROXIES_GIVEN,      NULL, NULL,
                                    "http://proxy.invalid", NULL, {0}};
    world_close_session(world);
    check_status(afc_session_new(&world->session, &options, NULL), AFC_OK);
    expect(world, "http://any.invalid/", path.text, AFC_OK);
    expect(world, "http://any.invalid/", NULL, AFC_EDNS);
    afts_request *request = afts_copy_request(world->server, 0);
    assert_string_equal(request->target, "/");
    afts_request_free(request);
    call *call = call_new(world, "/");
    call->request.proxy = "http://proxy.invalid";
    call->request.unix_socket = path.text;
    check_status(afc_task_new(&call->task, world->session, &call->request, NULL, NULL), AFC_EINVAL);
    call->request.unix_socket = call->request.proxy = NULL;
    call_perform(call);
    call_free(call);
    world_close_session(world);
    relay_free(relay);
}

static void missing_unix_socket_fails_to_connect(void **state) {
    world *world = *state;
    call *call = fetch(world, "http://any.invalid/", "/tmp/afcore-no-such-socket", AFC_ECONNECT);
    assert_string_equal(call->failure.text,
                        "cannot connect to the socket "
                        "/tmp/afcore-no-such-socket: No such file or directory");
    call_free(call);
}

/* ---- Names over HTTPS ---------------------------------------------------------------------- */

typedef struct dns {
    world *world;        /**< The server that is asked. */
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
    dns->world = world_new_tls();
    afts_script *script = afts_script_new();
    afts_handle(script, answer_dns, dns, NULL);
    serve(dns->world, "/dns-query", script);
    const char *port = strrchr(url_of(dns->world, ""), ':');
    return (afc_network_options){
        .doh_url = text_of(dns->world, "https://localhost%s/dns-query", port)};
}

static void use_doh(world *world, dns *dns, const afc_network_options *network, bool is_trusted) {
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    options.network = *network;
    if (is_trusted) options.trust = policy_trusting(afts_cert_pem(dns->world->authority));
    world_close_session(world);
    check_status(afc_session_new(&world->session, &options, NULL), AFC_OK);
    afc_trust_policy_release(options.trust);
}

static void resolves_names_over_https(void **state) {
    world *world = *state;
    dns dns = {0};
    afc_network_options network = ask(&dns);
    serve(world, "/", answer(200, NULL, "here"));
    use_doh(world, &dns, &network, true);
    const char *url = text_of(world, "http://over-https.invalid:%u/", port_of(world));
    expect(world, url, NULL, AFC_OK);
    expect(world, url, NULL, AFC_OK);
    assert_in_range(afts_server_stats(dns.world->server).requests, 1, 2);
    afts_request *request = afts_copy_request(dns.world->server, 0);
    assert_string_equal(request->method, "POST");
    assert_string_equal(afts_request_header(request, "Content-Type"), "application/dns-message");
    afts_request_free(request);
    world_close_session(world);
    world_free(dns.world);
}

/** S50: neither for a name that isn't known there nor for a server that isn't trusted. */
static void failed_lookup_over_https_has_no_fallback(void **state) {
    world *world = *state;
    dns dns = {0};
    afc_network_options network = ask(&dns);
    atomic_store(&dns.is_mute, true);
    serve(world, "/", answer(200, NULL, "here"));
    /* The system knows the host name of this machine. */
    char name[256] = "";
    assert_int_equal(gethostname(name, sizeof name - 1), 0);
    const char *url = text_of(world, "http://%s:%u/", name, port_of(world));
    use_doh(world, &dns, &network, true);
    expect(world, url, NULL, AFC_EDNS);
    assert_true(afts_server_stats(dns.world->server).requests > 0);
    atomic_store(&dns.is_mute, false);
    use_doh(world, &dns, &network, false);
    size_t requests = afts_server_stats(dns.world->server).requests;
    expect(world, url, NULL, AFC_EDNS);
    assert_int_equal(afts_server_stats(dns.world->server).requests, requests);
    assert_int_equal(afts_server_stats(world->server).requests, 0);
    world_close_session(world);
    world_free(dns.world);
}

/** libcurl's own handles are at work for it when it goes. */
static void lookup_over_https_can_be_cancelled(void **state) {
    world *world = *state;
    dns dns = {0};
    afc_network_options network = ask(&dns);
    serve(world, "/", answer(200, NULL, "here"));
    afts_script *gated = afts_script_new();
    afts_stall(gated, "open");
    afts_handle(gated, answer_dns, &dns, NULL);
    serve(dns.world, "/dns-query", gated);
    use_doh(world, &dns, &network, true);
    for (unsigned round = 0; round < 4; round++) {
        call *call = call_new(world, "/");
        call->request.url = text_of(world, "http://name-%u.invalid:%u/", round, port_of(world));
        size_t asked = afts_server_stats(dns.world->server).requests;
        call_start(call);
        assert_true(afts_wait_requests(dns.world->server, asked + 1, PATIENCE_MS));
        afc_task_cancel(call->task);
        call_wait(call);
        check_ended(call, AFC_ECANCELED);
        call_free(call);
        /* On a connection that still has an answer to come nobody else asks. */
        assert_true(afts_server_stats(dns.world->server).accepted > asked);
    }
    afts_release(dns.world->server, "open", 1000);
    expect(world, text_of(world, "http://over-https.invalid:%u/", port_of(world)), NULL, AFC_OK);
    world_close_session(world);
    world_free(dns.world);
}

/**
 * libcurl's own handles for DNS over HTTPS read the variables themselves, whatever proxies the session has; so a session
 * that would send its lookups through them isn't created.
 */
static void refuses_lookups_over_https_through_foreign_proxy(void **state) {
    world *world = *state;
    dns dns = {0};
    afc_network_options network = ask(&dns);
    relay *relay = relay_new(dns.world);
    serve(world, "/", answer(200, NULL, "here"));
    setenv("https_proxy", relay_url(relay, "http", NULL), 1);
    world_close_session(world);
    static const afc_proxy_source sources[] = {AFC_PROXIES_NONE, AFC_PROXIES_GIVEN,
                                               AFC_PROXIES_ENVIRONMENT};
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    options.network = network;
    options.trust = policy_trusting(afts_cert_pem(dns.world->authority));
    afc_failure failure;
    for (size_t i = 0; i < COUNT_OF(sources); i++) {
        /* From the environment: a loopback server is reached directly here, but not by libcurl. */
        options.proxies.source = sources[i];
        check_status(afc_session_new(&world->session, &options, &failure), AFC_EUNSUPPORTED);
        check_contains(failure.text, "no_proxy");
    }
    setenv("no_proxy", "localhost", 1);
    options.proxies.source = AFC_PROXIES_NONE;
    check_status(afc_session_new(&world->session, &options, NULL), AFC_OK);
    expect(world, text_of(world, "http://over-https.invalid:%u/", port_of(world)), NULL, AFC_OK);
    assert_int_equal(relay_count(relay), 0);
    unsetenv("no_proxy");
    unsetenv("https_proxy");
    afc_trust_policy_release(options.trust);
    world_close_session(world);
    relay_free(relay);
    world_free(dns.world);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        WORLD_TEST(override_applies_to_its_name_and_port_only),
        WORLD_TEST(wildcard_override_applies_to_each_host),
        WORLD_TEST(override_applies_to_the_proxy),
        cmocka_unit_test(refuses_invalid_network_options),
        cmocka_unit_test(reports_options_that_libcurl_lacks_as_unsupported),
        WORLD_TEST(connects_with_one_address_family),
        WORLD_TEST(connects_from_the_local_address),
        WORLD_TEST(refuses_private_addresses_if_asked),
        WORLD_TEST(session_connects_through_unix_socket),
        WORLD_TEST(unix_socket_connections_are_not_shared),
        WORLD_TEST(unix_socket_bypasses_the_proxy),
        WORLD_TEST(missing_unix_socket_fails_to_connect),
        WORLD_TEST(resolves_names_over_https),
        WORLD_TEST(failed_lookup_over_https_has_no_fallback),
        WORLD_TEST(lookup_over_https_can_be_cancelled),
        WORLD_TEST(refuses_lookups_over_https_through_foreign_proxy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
