/*
 * Host names of a session's requests: a task that waits for a lookup can be stopped, and no other waits with it. What
 * hangs has another name in each test: a lookup that a test left behind may still be under way in the next one.
 */
#include "base/alloc.h"
#include "base/clock.h"
#include "curl/request/resolve.h"
#include "run/resolver.h"
#include "support/call.h"
#include "support/child.h"
#include "support/fake_names.h"
#include "support/test_proxy.h"
#include "support/torture.h"

#include <curl/curl.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static call *named_call(fixture *fixture, const char *host) {
    call *call = call_new(fixture, "/");
    call->request.url = named_url(fixture, host, "/");
    return call;
}

static void expect(fixture *fixture, const char *host, afc_status expected) {
    call *call = named_call(fixture, host);
    call_perform(call);
    check_ended(call, expected);
    call_free(call);
}

static void use(fixture *fixture, const afc_session_options *options) {
    fixture_close_session(fixture);
    check_status(afc_session_new(&fixture->session, options, NULL), AFC_OK);
}

/* ---- A lookup that hangs ------------------------------------------------------------------- */

static void cancel_ends_task_while_lookup_hangs(void **state) {
    fixture *fixture = *state;
    call *call = named_call(fixture, "hung.cancel.test");
    call_start(call);
    fake_names_wait_hanging(1);
    /* Other tasks of the session are not held up, before or after. */
    expect(fixture, "here.test", AFC_OK);
    afc_task_cancel(call->task);
    call_wait(call);
    check_ended(call, AFC_ECANCELED);
    assert_int_equal(call->hops[0].dns_us, -1);
    call_free(call);
    expect(fixture, "here.test", AFC_OK);
    /* The session ends, too, and so does whoever waits for that. */
    fixture_close_session(fixture);
}

static void time_limits_end_task_while_lookup_hangs(void **state) {
    fixture *fixture = *state;
    const afc_timeouts limits[] = {{.connect_ms = 20}, {.total_ms = 20}, {.idle_ms = 20}};
    const afc_timeout which[] = {AFC_TIMEOUT_CONNECT, AFC_TIMEOUT_TOTAL, AFC_TIMEOUT_IDLE};
    for (size_t i = 0; i < COUNT_OF(limits); i++) {
        call *call = named_call(fixture, "hung.limits.test");
        call->request.timeouts = limits[i];
        call_perform(call);
        check_ended(call, AFC_ETIMEOUT);
        assert_int_equal(call->failure.timeout, which[i]);
        call_free(call);
    }
}

static void session_ends_while_lookups_hang(void **state) {
    fixture *fixture = *state;
    call *calls[8];
    for (size_t i = 0; i < COUNT_OF(calls); i++) {
        calls[i] = named_call(fixture, text_of(fixture, "hung%u.session.test", (unsigned)i));
        call_start(calls[i]);
    }
    fake_names_wait_hanging(COUNT_OF(calls));
    afc_session_cancel_all(fixture->session);
    for (size_t i = 0; i < COUNT_OF(calls); i++) {
        call_wait(calls[i]);
        check_ended(calls[i], AFC_ECANCELED);
        call_free(calls[i]);
    }
    fixture_close_session(fixture);
}

static void task_continues_when_lookup_returns(void **state) {
    fixture *fixture = *state;
    call *call = named_call(fixture, "hung.returns.test");
    call_start(call);
    fake_names_wait_hanging(1);
    int64_t before = afc__now_us();
    afc_task_suspend(call->task);
    afc_task_resume(call->task);
    int64_t waited = afc__now_us() - before;
    fake_names_release();
    call_wait(call);
    check_ended(call, AFC_OK);
    const afc_hop *hop = &call->hops[0];
    /* Moments of a hop count from its start, the lookup included. */
    assert_true(hop->dns_us >= waited);
    assert_true(hop->connect_us >= hop->dns_us);
    assert_true(hop->request_sent_us >= hop->connect_us);
    assert_true(hop->first_byte_us >= hop->request_sent_us);
    assert_true(hop->total_us >= hop->first_byte_us);
    call_free(call);
}

static void process_exits_while_lookup_hangs(void **state) {
    (void)state;
    if (!CAN_FORK) return;
    pid_t child = fork();
    if (child == 0) {
        alarm(PATIENCE_MS / 1000);
        fake_names_install();
        afc_session *session;
        afc_request request = AFC_REQUEST_INIT;
        request.url = "http://hung.exit.test/";
        bool begins = afc_session_new(&session, NULL, NULL) == AFC_OK &&
                      afc_task_begin(NULL, session, &request, NULL, NULL) == AFC_OK;
        if (!begins) _exit(1);
        fake_names_wait_hanging(1);
        exit(0);
    }
    child_check(child);
}

static void child_process_looks_up_its_own_names(void **state) {
    fixture *fixture = *state;
    if (!CAN_FORK) return;
    call *hung = named_call(fixture, "hung.fork.test");
    call_start(hung);
    fake_names_wait_hanging(1);
    expect(fixture, "here.test", AFC_OK);
    call *call = named_call(fixture, "here.test");
    pid_t child = fork();
    if (child == 0) {
        alarm(PATIENCE_MS / 1000);
        bool begins = afc_session_new(&call->session, NULL, NULL) == AFC_OK;
        if (begins) {
            call_start(call);
            pthread_mutex_lock(&call->lock);
            while (atomic_load(&call->release_count) == 0) {
                pthread_cond_wait(&call->changed, &call->lock);
            }
            pthread_mutex_unlock(&call->lock);
        }
        bool is_fine = begins && call->failure.status == AFC_OK;
        child_exit(is_fine ? 0 : 1);
    }
    child_check(child);
    call_perform(call);
    check_ended(call, AFC_OK);
    call_free(call);
    fake_names_release();
    call_wait(hung);
    check_ended(hung, AFC_OK);
    call_free(hung);
}

/* ---- Many names ---------------------------------------------------------------------------- */

static void thousand_names_share_a_few_threads(void **state) {
    enum { COUNT = 1000 };
    fixture *fixture = *state;
    call **calls = calloc(COUNT, sizeof *calls);
    for (unsigned i = 0; i < COUNT; i++) {
        calls[i] = named_call(fixture, text_of(fixture, "hung%u.many.test", i));
        call_start(calls[i]);
    }
    fake_names_wait_hanging(AFC__RESOLVER_THREADS_MAX);
    /* Half of them give up: those whose turn has not come are never looked up. */
    for (unsigned i = 0; i < COUNT; i += 2) afc_task_cancel(calls[i]->task);
    for (unsigned i = 0; i < COUNT; i += 2) call_wait(calls[i]);
    fake_names_release();
    for (unsigned i = 0; i < COUNT; i++) {
        call_wait(calls[i]);
        check_ended(calls[i], i % 2 == 0 ? AFC_ECANCELED : AFC_OK);
        call_free(calls[i]);
    }
    free(calls);
    assert_int_equal(fake_names_peak(), AFC__RESOLVER_THREADS_MAX);
    assert_true(fake_names_count(NULL) <= COUNT / 2 + AFC__RESOLVER_THREADS_MAX);
}

static void equal_names_share_one_lookup(void **state) {
    enum { COUNT = 50 };
    fixture *fixture = *state;
    call *calls[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        calls[i] = named_call(fixture, "hung.one.test");
        call_start(calls[i]);
    }
    fake_names_wait_hanging(1);
    /* The first one gives up, the others don't lose their lookup. */
    afc_task_cancel(calls[0]->task);
    call_wait(calls[0]);
    fake_names_release();
    for (size_t i = 0; i < COUNT; i++) {
        call_wait(calls[i]);
        check_ended(calls[i], i == 0 ? AFC_ECANCELED : AFC_OK);
        call_free(calls[i]);
    }
    /* So does the cache, for other sessions too. */
    call *call = named_call(fixture, "hung.one.test");
    check_status(afc_session_new(&call->session, NULL, NULL), AFC_OK);
    afc_session *other = call->session;
    call_perform(call);
    check_ended(call, AFC_OK);
    call_free(call);
    afc_session_release(other);
    assert_int_equal(fake_names_count(NULL), 1);
}

/** More than libcurl's cache keeps of a session, and then the first ones again. */
static void removed_names_are_resolved_again(void **state) {
    fixture *fixture = *state;
    serve(fixture, "/", answer(200, "Connection: close", "here"));
    for (unsigned round = 0; round < 2; round++) {
        for (unsigned i = 0; i < 2 * AFC__IDLE_NAMES_MAX; i++) {
            expect(fixture, text_of(fixture, "n%u.test", i), AFC_OK);
        }
    }
    assert_int_equal(fake_names_count(NULL), 2 * AFC__IDLE_NAMES_MAX);
}

/* ---- How long addresses are good ----------------------------------------------------------- */

static void open_connection_needs_no_lookup(void **state) {
    fixture *fixture = *state;
    fake_names_live_for(1);
    expect(fixture, "here.test", AFC_OK);
    assert_int_equal(fake_names_count("here.test"), 1);
    /* Too old, but a connection is open: the lookup runs beside the task, which doesn't wait for it. */
    fake_names_release();
    expect(fixture, "hung.open.test", AFC_OK);
    fake_names_hang();
    expect(fixture, "hung.open.test", AFC_OK);
    fake_names_wait_hanging(1);
    expect(fixture, "hung.open.test", AFC_OK);
    fake_names_release();
}

/** Unlike an open one, it doesn't prove that its address is still valid. */
static void closed_connection_needs_another_lookup(void **state) {
    fixture *fixture = *state;
    fake_names_live_for(1);
    serve(fixture, "/", answer(200, "Connection: close", "here"));
    fake_names_release();
    expect(fixture, "hung.closed.test", AFC_OK);
    fake_names_hang();
    call *waiting = named_call(fixture, "hung.closed.test");
    call_start(waiting);
    fake_names_wait_hanging(1);
    for (int i = 0; i < 5; i++) expect(fixture, "here.test", AFC_OK);
    assert_int_equal(atomic_load(&waiting->done_count), 0);
    fake_names_release();
    call_wait(waiting);
    check_ended(waiting, AFC_OK);
    call_free(waiting);
}

static void old_addresses_are_looked_up_again(void **state) {
    fixture *fixture = *state;
    serve(fixture, "/", answer(200, "Connection: close", "here"));
    expect(fixture, "here.test", AFC_OK);
    expect(fixture, "here.test", AFC_OK);
    assert_int_equal(fake_names_count("here.test"), 1);
    fixture_close_session(fixture);
    fake_names_live_for(1);
    check_status(afc_session_new(&fixture->session, NULL, NULL), AFC_OK);
    for (unsigned round = 1; round <= 3; round++) {
        expect(fixture, "here.test", AFC_OK);
        assert_int_equal(fake_names_count("here.test"), 1 + round);
    }
}

/* ---- What a lookup says -------------------------------------------------------------------- */

static void failed_lookup_names_its_reason(void **state) {
    fixture *fixture = *state;
    call *call = named_call(fixture, "gone.test");
    call_perform(call);
    check_ended(call, AFC_EDNS);
    check_contains(call->failure.text, "cannot resolve host \"gone.test\"");
    check_contains(call->failure.text, gai_strerror(EAI_NONAME));
    call_free(call);
    call = named_call(fixture, "later.test");
    call_perform(call);
    check_ended(call, AFC_EDNS);
    check_contains(call->failure.text, gai_strerror(EAI_AGAIN));
    call_free(call);
    /* Failures are not kept. */
    expect(fixture, "gone.test", AFC_EDNS);
    assert_int_equal(fake_names_count("gone.test"), 2);
}

static void looks_up_the_address_family_of_the_session(void **state) {
    fixture *fixture = *state;
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    options.network.ip_version = AFC_IP_V4;
    use(fixture, &options);
    expect(fixture, "here.test", AFC_OK);
    assert_int_equal(fake_names_family(), AF_INET);
    options.network.ip_version = AFC_IP_V6;
    use(fixture, &options);
    call *call = named_call(fixture, "here.test");
    call_perform(call);
    /* Nobody listens there; on a machine without IPv6 there is no such address. */
    assert_true(call->failure.status == AFC_ECONNECT || call->failure.status == AFC_EDNS);
    call_free(call);
    assert_int_equal(fake_names_family(), AF_INET6);
}

static void checks_for_public_addresses_after_the_lookup(void **state) {
    fixture *fixture = *state;
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    options.network.require_public_addresses = true;
    use(fixture, &options);
    expect(fixture, "here.test", AFC_ECONNECT);
    assert_int_equal(afts_server_stats(fixture->server).accepted, 0);
}

static void address_override_needs_no_lookup(void **state) {
    fixture *fixture = *state;
    uint16_t port = (uint16_t)strtoul(strrchr(url_of(fixture, ""), ':') + 1, NULL, 10);
    const afc_host_override overrides[] = {{"one.test", port, "127.0.0.1", {0}},
                                           {"*", port, "127.0.0.1", {0}}};
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    for (size_t count = 1; count <= COUNT_OF(overrides); count++) {
        options.network.overrides = overrides;
        options.network.override_count = count;
        use(fixture, &options);
        /* A name that is looked up in between doesn't cost the handle its overrides. */
        for (int round = 0; round < 3; round++) {
            expect(fixture, "one.test", AFC_OK);
            expect(fixture, "two.test", AFC_OK);
            expect(fixture, "gone.test", count == 1 ? AFC_EDNS : AFC_OK);
        }
    }
    assert_int_equal(fake_names_count("one.test"), 0);
    assert_int_equal(fake_names_count("two.test"), 1);
    assert_int_equal(fake_names_count("gone.test"), 3);
}

/* ---- Names in other scripts ---------------------------------------------------------------- */

static bool can_convert_names(void) {
    const curl_version_info_data *info = curl_version_info(CURLVERSION_NOW);
    return info->version_num >= 0x075800 && (info->features & CURL_VERSION_IDN) != 0;
}

/** The test program runs in the locale "C", in which libcurl alone can't convert a name. */
static void unicode_host_is_looked_up_and_sent_as_a_labels(void **state) {
    fixture *fixture = *state;
    if (!can_convert_names()) return;
    serve(fixture, "/old",
          answer(302,
                 text_of(fixture, "Location: %s", named_url(fixture, "m\u00fcnchen.test", "/")),
                 ""));
    expect(fixture, "B\u00fccher.test", AFC_OK);
    assert_int_equal(fake_names_count("xn--bcher-kva.test"), 1);
    check_contains(seen_header(fixture, 0, "Host"), "xn--bcher-kva.test");
    call *call = call_new(fixture, "/old");
    call_perform(call);
    check_ended(call, AFC_OK);
    check_contains(afc_result_get_url(call->result), "xn--mnchen-3ya.test");
    call_free(call);
    assert_int_equal(fake_names_count("xn--mnchen-3ya.test"), 1);
}

/**
 * RFC 5890: a U-label and its A-label are one host, so a redirect between them doesn't cross origins (RFC 9110 4.3.1),
 * and the credentials of the request stay.
 */
static void redirect_to_unicode_form_of_the_host_keeps_credentials(void **state) {
    fixture *fixture = *state;
    if (!can_convert_names()) return;
    const char *const spellings[] = {"xn--bcher-kva.test", "b\u00fccher.test", "B\u00dcCHER.test",
                                     "b\u00fccher.test."};
    serve(fixture, "/new", answer(200, NULL, "here"));
    size_t seen = 0;
    for (size_t i = 0; i < COUNT_OF(spellings); i++) {
        for (size_t k = 0; k < COUNT_OF(spellings); k++) {
            serve(fixture, "/old",
                  answer(302,
                         text_of(fixture, "Location: %s", named_url(fixture, spellings[k], "/new")),
                         ""));
            call *call = call_fetch_url(fixture, named_url(fixture, spellings[i], "/old"), AFC_OK);
            call_free(call);
            assert_string_equal(seen_header(fixture, seen, "Authorization"), "Bearer token");
            assert_string_equal(seen_header(fixture, seen + 1, "Authorization"), "Bearer token");
            check_contains(seen_header(fixture, seen + 1, "Host"), "xn--bcher-kva.test");
            seen += 2;
        }
    }
    /* Another host is another origin. */
    serve(fixture, "/old",
          answer(302,
                 text_of(fixture, "Location: %s", named_url(fixture, "m\u00fcnchen.test", "/new")),
                 ""));
    call_free(call_fetch_url(fixture, named_url(fixture, spellings[1], "/old"), AFC_OK));
    assert_string_equal(seen_header(fixture, seen, "Authorization"), "Bearer token");
    assert_string_equal(seen_header(fixture, seen + 1, "Authorization"), "");
}

static afc_redirect_decision lead_to_u_label(call *call, afc_redirect *redirect) {
    redirect->url = call->payload;
    return AFC_REDIRECT_FOLLOW;
}

/** The callback's URL is compared as the server's is: what it passes on stays with the host, however it is written. */
static void callback_may_use_unicode_host(void **state) {
    fixture *fixture = *state;
    if (!can_convert_names()) return;
    serve(fixture, "/new", answer(200, NULL, "here"));
    serve(fixture, "/old", answer(302, "Location: /elsewhere", ""));
    char target[128];
    snprintf(target, sizeof target, "%s", named_url(fixture, "b\u00fccher.test", "/new"));
    const afc_header token = {S("Authorization"), S("Bearer token"), 0};
    call *call = call_new(fixture, "/old");
    call->request.url = named_url(fixture, "xn--bcher-kva.test", "/old");
    call->request.headers = &token;
    call->request.header_count = 1;
    call->at_redirect = lead_to_u_label;
    call->payload = target;
    call_perform(call);
    check_ended(call, AFC_OK);
    assert_string_equal(seen_header(fixture, 1, "Authorization"), "Bearer token");
    call_free(call);
}

/** Without IDN libcurl would send the octets as they are (RFC 9110 4.2 has no such hosts). */
static void refuses_unicode_host_without_idn(void **state) {
    fixture *fixture = *state;
    if (can_convert_names()) return;
    expect(fixture, "b\u00fccher.test", AFC_EUNSUPPORTED);
    assert_int_equal(afts_server_stats(fixture->server).accepted, 0);
}

/** What a mapping brings forth is checked like any host. */
static void refuses_host_that_maps_to_separators(void **state) {
    fixture *fixture = *state;
    if (!can_convert_names()) return;
    const char *const hosts[] = {
        "a.test\uff0fb",       /* A full-width slash, */
        "a\u2100b.test",       /* "a/c", */
        "user\uff20a.test",    /* "@", */
        "a.test\uff1f",        /* "?", */
        "a.test\uff03",        /* "#", */
        "a.test\uff1a1",       /* ":", */
        "a.test\uff3c",        /* a backslash, */
        "a\u3000b.test",       /* a space, */
        "a.test\u3002\u3002b", /* and two dots. */
    };
    for (size_t i = 0; i < COUNT_OF(hosts); i++) expect(fixture, hosts[i], AFC_EINVAL);
    assert_int_equal(fake_names_count(NULL), 0);
    assert_int_equal(afts_server_stats(fixture->server).accepted, 0);
}

static void host_that_maps_to_an_address_is_an_address(void **state) {
    fixture *fixture = *state;
    if (!can_convert_names()) return;
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    expect(fixture, "\uff11\uff12\uff17\u30020\u30020\u30021", AFC_OK);
    expect(fixture, "127\u30020\u30020\u30021", AFC_OK);
    assert_int_equal(fake_names_count(NULL), 0);
    options.network.require_public_addresses = true;
    use(fixture, &options);
    expect(fixture, "127\u30020\u30020\u30021", AFC_ECONNECT);
}

/* ---- Proxies ------------------------------------------------------------------------------- */

static void fetch_by_proxy(fixture *fixture, const char *proxy, const char *host,
                           afc_status expected) {
    call *call = named_call(fixture, host);
    call->request.proxy = proxy;
    call_perform(call);
    check_ended(call, expected);
    call_free(call);
}

static const char *proxy_named(fixture *fixture, test_proxy *test_proxy, const char *scheme,
                               const char *host) {
    const char *port = strrchr(test_proxy_url(test_proxy, scheme, NULL), ':');
    return text_of(fixture, "%s://%s%s", scheme, host, port);
}

/** Proxies see the host twice, in the request line and in Host (RFC 9112 3.2.2): both have to be what servers know. */
static void forwards_unicode_host_as_a_labels(void **state) {
    fixture *fixture = *state;
    if (!can_convert_names()) return;
    test_proxy *test_proxy = test_proxy_new(fixture);
    char port[8];
    snprintf(port, sizeof port, "%s", strrchr(url_of(fixture, ""), ':'));
    fetch_by_proxy(fixture, test_proxy_url(test_proxy, "http", NULL), "B\u00fccher.test", AFC_OK);
    const char *head = test_proxy_request(test_proxy, 0);
    check_contains(head, text_of(fixture, "GET http://xn--bcher-kva.test%s/ HTTP/1.1\r\n", port));
    check_contains(head, text_of(fixture, "Host: xn--bcher-kva.test%s\r\n", port));
    /* The next hop of a redirect, too. */
    serve(fixture, "/old",
          answer(302,
                 text_of(fixture, "Location: %s", named_url(fixture, "m\u00fcnchen.test", "/")),
                 ""));
    call *call = named_call(fixture, "here.test");
    call->request.url = named_url(fixture, "here.test", "/old");
    call->request.proxy = test_proxy_url(test_proxy, "http", NULL);
    call_perform(call);
    check_ended(call, AFC_OK);
    call_free(call);
    check_contains(test_proxy_request(test_proxy, test_proxy_count(test_proxy) - 1),
                   text_of(fixture, "GET http://xn--mnchen-3ya.test%s/ HTTP/1.1\r\n", port));
    fixture_close_session(fixture);
    test_proxy_free(test_proxy);
}

static void proxy_is_looked_up_and_its_target_only_for_socks5(void **state) {
    fixture *fixture = *state;
    test_proxy *test_proxy = test_proxy_new(fixture);
    fetch_by_proxy(fixture, proxy_named(fixture, test_proxy, "http", "proxy.test"), "gone1.test",
                   AFC_OK);
    fetch_by_proxy(fixture, proxy_named(fixture, test_proxy, "socks5h", "proxy.test"), "gone2.test",
                   AFC_OK);
    assert_int_equal(fake_names_count(NULL), 1);
    fetch_by_proxy(fixture, proxy_named(fixture, test_proxy, "socks5", "proxy.test"), "target.test",
                   AFC_OK);
    assert_int_equal(fake_names_count("target.test"), 1);
    fetch_by_proxy(fixture, proxy_named(fixture, test_proxy, "socks5", "proxy.test"), "gone3.test",
                   AFC_EDNS);
    call *call = named_call(fixture, "target.test");
    call->request.proxy = proxy_named(fixture, test_proxy, "http", "gone.proxy.test");
    call_perform(call);
    check_ended(call, AFC_EDNS);
    check_contains(call->failure.text, "cannot resolve proxy \"gone.proxy.test\"");
    call_free(call);
    fixture_close_session(fixture);
    test_proxy_free(test_proxy);
}

static void cancel_ends_task_while_two_names_hang(void **state) {
    fixture *fixture = *state;
    call *call = named_call(fixture, "hung.target.test");
    call->request.proxy = "socks5://hung.proxy.test:1";
    call_start(call);
    fake_names_wait_hanging(2);
    afc_task_cancel(call->task);
    call_wait(call);
    check_ended(call, AFC_ECANCELED);
    call_free(call);
}

static void doh_server_is_looked_up_like_any_host(void **state) {
    fixture *fixture = *state;
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    options.network.doh_url = "https://hung.doh.test/dns-query";
    use(fixture, &options);
    call *call = named_call(fixture, "target.test");
    call_start(call);
    fake_names_wait_hanging(1);
    assert_int_equal(fake_names_count("hung.doh.test"), 1);
    assert_int_equal(fake_names_count(NULL), 1);
    afc_task_cancel(call->task);
    call_wait(call);
    check_ended(call, AFC_ECANCELED);
    call_free(call);
    fixture_close_session(fixture);
}

/* ---- Out of memory ------------------------------------------------------------------------- */

static void any_allocation_may_fail(void **state) {
    fixture *fixture = *state;
    fixture_close_session(fixture);
    TORTURE(n) {
        afc_session *session;
        afc_failure failure;
        afc_status status = afc_session_new(&session, NULL, &failure);
        /* The thread of the loop is refused as a resource of the system. */
        if (status == AFC_EINTERNAL) check_contains(failure.text, "cannot start");
        assert_true(status == AFC_OK || status == AFC_ENOMEM || status == AFC_EINTERNAL);
        if (status != AFC_OK) continue;
        for (unsigned round = 0; round < 2; round++) {
            call *call = named_call(fixture, round == 0 ? "one.test" : "two.test");
            afc_task *task;
            call->session = session;
            status = afc_task_begin(&task, session, &call->request, &call->events, NULL);
            if (status == AFC_OK) {
                call->task = task;
                call_wait(call);
                status = call->failure.status;
            }
            assert_true(status == AFC_OK || status == AFC_ENOMEM);
            call_free(call);
        }
        afc_session_release(session);
        afc_join_closed_sessions();
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(process_exits_while_lookup_hangs),
        FAKE_NAMES_TEST(cancel_ends_task_while_lookup_hangs),
        FAKE_NAMES_TEST(time_limits_end_task_while_lookup_hangs),
        FAKE_NAMES_TEST(session_ends_while_lookups_hang),
        FAKE_NAMES_TEST(task_continues_when_lookup_returns),
        FAKE_NAMES_TEST(child_process_looks_up_its_own_names),
        FAKE_NAMES_TEST(thousand_names_share_a_few_threads),
        FAKE_NAMES_TEST(equal_names_share_one_lookup),
        FAKE_NAMES_TEST(removed_names_are_resolved_again),
        FAKE_NAMES_TEST(open_connection_needs_no_lookup),
        FAKE_NAMES_TEST(closed_connection_needs_another_lookup),
        FAKE_NAMES_TEST(old_addresses_are_looked_up_again),
        FAKE_NAMES_TEST(failed_lookup_names_its_reason),
        FAKE_NAMES_TEST(looks_up_the_address_family_of_the_session),
        FAKE_NAMES_TEST(checks_for_public_addresses_after_the_lookup),
        FAKE_NAMES_TEST(address_override_needs_no_lookup),
        FAKE_NAMES_TEST(unicode_host_is_looked_up_and_sent_as_a_labels),
        FAKE_NAMES_TEST(redirect_to_unicode_form_of_the_host_keeps_credentials),
        FAKE_NAMES_TEST(callback_may_use_unicode_host),
        FAKE_NAMES_TEST(refuses_unicode_host_without_idn),
        FAKE_NAMES_TEST(refuses_host_that_maps_to_separators),
        FAKE_NAMES_TEST(host_that_maps_to_an_address_is_an_address),
        FAKE_NAMES_TEST(forwards_unicode_host_as_a_labels),
        FAKE_NAMES_TEST(proxy_is_looked_up_and_its_target_only_for_socks5),
        FAKE_NAMES_TEST(cancel_ends_task_while_two_names_hang),
        FAKE_NAMES_TEST(doh_server_is_looked_up_like_any_host),
        FAKE_NAMES_TEST(any_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
