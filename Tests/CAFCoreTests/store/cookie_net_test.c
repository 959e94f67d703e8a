/* Cookies over the wire: kept from every answer, sent with every hop, as its own URL says. */
#include "base/alloc.h"
#include "support/auth_server.h"
#include "support/call.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>

/** A server under three names, and a session with a jar. */
typedef struct site {
    fixture *fixture;
    afc_cookie_jar *jar;
    unsigned port;
} site;

static void use(site *site, afc_cookie_policy policy) {
    const uint16_t port = (uint16_t)site->port;
    const afc_host_override overrides[] = {{"example.test", port, "127.0.0.1", {0}},
                                           {"www.example.test", port, "127.0.0.1", {0}},
                                           {"other.test", port, "127.0.0.1", {0}},
                                           {"xn--bcher-kva.test", port, "127.0.0.1", {0}}};
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    options.network = (afc_network_options){.overrides = overrides, .override_count = 4};
    options.cookies = site->jar;
    options.cookie_policy = policy;
    fixture_close_session(site->fixture);
    check_status(afc_session_new(&site->fixture->session, &options, NULL), AFC_OK);
}

static site make_site(fixture *fixture) {
    site site = {.fixture = fixture};
    site.port = (unsigned)strtoul(strrchr(url_of(fixture, ""), ':') + 1, NULL, 10);
    check_status(afc_cookie_jar_new(&site.jar, NULL, NULL), AFC_OK);
    use(&site, AFC_COOKIES_ALWAYS);
    serve(fixture, "/", answer(200, NULL, "here"));
    return site;
}

static void end_site(site *site) {
    fixture_close_session(site->fixture);
    afc_cookie_jar_release(site->jar);
}

static const char *at(site *site, const char *host, const char *path) {
    return text_of(site->fixture, "http://%s:%u%s", host, site->port, path);
}

static void fetch(site *site, const char *url, const afc_header *header, afc_status expected) {
    call *call = call_new(site->fixture, "/");
    call->request.url = url;
    call->request.headers = header;
    call->request.header_count = header != NULL ? 1 : 0;
    call_perform(call);
    check_ended(call, expected);
    call_free(call);
}

/** The Cookie of the request that came last; NULL if it had none. */
static const char *last_cookie(site *site) {
    size_t count = afts_server_stats(site->fixture->server).requests;
    afts_request *request = afts_copy_request(site->fixture->server, count - 1);
    const char *value = afts_request_header(request, "Cookie");
    const char *text = value != NULL ? text_of(site->fixture, "%s", value) : NULL;
    afts_request_free(request);
    return text;
}

static void check_cookie(site *site, const char *url, const char *expected) {
    fetch(site, url, NULL, AFC_OK);
    const char *sent = last_cookie(site);
    if (expected == NULL) assert_null(sent);
    if (expected != NULL) assert_string_equal(sent != NULL ? sent : "none", expected);
}

static size_t count_in(afc_cookie_jar *jar) {
    afc_cookie_list *list;
    check_status(afc_cookie_jar_copy(&list, jar, NULL, NULL), AFC_OK);
    size_t count = list->count;
    afc_cookie_list_free(list);
    return count;
}

static void requests_send_cookies_that_responses_set(void **state) {
    site site = make_site(*state);
    serve(site.fixture, "/set",
          answer(200, "Set-Cookie: a=1\r\nSet-Cookie: b=2; Path=/deep\r\nSet-Cookie: c=\1", ""));
    check_cookie(&site, at(&site, "example.test", "/set"), NULL);
    check_cookie(&site, at(&site, "example.test", "/"), "a=1");
    serve(site.fixture, "/deep/x", answer(200, NULL, ""));
    check_cookie(&site, at(&site, "example.test", "/deep/x?q=/"), "b=2; a=1");
    check_cookie(&site, at(&site, "www.example.test", "/"), NULL);
    check_cookie(&site, at(&site, "EXAMPLE.test.", "/"), "a=1");
    assert_int_equal(count_in(site.jar), 2);
    /* Another session with the same jar. */
    use(&site, AFC_COOKIES_ALWAYS);
    check_cookie(&site, at(&site, "example.test", "/"), "a=1");
    end_site(&site);
}

static void each_hop_sends_the_cookies_of_its_url(void **state) {
    site site = make_site(*state);
    char location[128];
    snprintf(location, sizeof location,
             "Set-Cookie: first=1\r\nSet-Cookie: all=1; Domain=example.test\r\nLocation: %s",
             at(&site, "www.example.test", "/second"));
    serve(site.fixture, "/first", answer(302, location, ""));
    snprintf(location, sizeof location, "Set-Cookie: second=1\r\nLocation: %s",
             at(&site, "other.test", "/"));
    serve(site.fixture, "/second", answer(302, location, ""));
    check_cookie(&site, at(&site, "example.test", "/first"), NULL);
    afts_request *second = afts_copy_request(site.fixture->server, 1);
    assert_string_equal(afts_request_header(second, "Cookie"), "all=1");
    afts_request_free(second);
    check_cookie(&site, at(&site, "www.example.test", "/"), "all=1; second=1");
    check_cookie(&site, at(&site, "example.test", "/"), "first=1; all=1");
    end_site(&site);
}

/** S1, S20. */
static void own_cookie_and_host_fields_take_precedence(void **state) {
    site site = make_site(*state);
    serve(site.fixture, "/set", answer(200, "Set-Cookie: jar=1", ""));
    fetch(&site, at(&site, "example.test", "/set"), NULL, AFC_OK);
    /* His Cookie is sent, and nothing else; it does not cross to another origin, where the jar's does. */
    const afc_header own = {S_INIT("Cookie"), S_INIT("own=1"), 0};
    fetch(&site, at(&site, "example.test", "/"), &own, AFC_OK);
    assert_string_equal(last_cookie(&site), "own=1");
    serve(site.fixture, "/away",
          answer(302, text_of(site.fixture, "Location: %s", at(&site, "example.test", "/")), ""));
    fetch(&site, at(&site, "other.test", "/away"), &own, AFC_OK);
    assert_string_equal(last_cookie(&site), "jar=1");
    const afc_header none = {S_INIT("Cookie"), S_INIT(""), AFC_HEADER_REMOVE};
    fetch(&site, at(&site, "example.test", "/"), &none, AFC_OK);
    assert_null(last_cookie(&site));
    /* A Host of his chooses no cookies, neither to send nor to keep. */
    const afc_header host = {S_INIT("Host"), S_INIT("example.test"), 0};
    fetch(&site, at(&site, "other.test", "/"), &host, AFC_OK);
    assert_null(last_cookie(&site));
    serve(site.fixture, "/host", answer(200, "Set-Cookie: host=1", ""));
    fetch(&site, at(&site, "other.test", "/host"), &host, AFC_OK);
    check_cookie(&site, at(&site, "example.test", "/"), "jar=1");
    check_cookie(&site, at(&site, "other.test", "/"), "host=1");
    end_site(&site);
}

static void fetch_merged(site *site, const char *url, const afc_header *headers, size_t count) {
    call *call = call_new(site->fixture, "/");
    call->request.url = url;
    call->request.headers = headers;
    call->request.header_count = count;
    call->request.flags = AFC_REQUEST_MERGE_COOKIES;
    call->request.credentials = &valid_credentials;
    call_perform(call);
    check_ended(call, AFC_OK);
    call_free(call);
}

static void request_can_merge_its_cookies_with_those_of_the_jar(void **state) {
    site site = make_site(*state);
    serve(site.fixture, "/set",
          answer(200, "Set-Cookie: jar=1\r\nSet-Cookie: own=2\r\nSet-Cookie: ow=3", ""));
    fetch(&site, at(&site, "example.test", "/set"), NULL, AFC_OK);
    static const struct {
        const char *values[2];
        const char *expected;
    } rows[] = {
        {{"own=1"}, "own=1; jar=1; ow=3"},
        {{"a=b;own=1; ", "c; jar"}, "a=b;own=1; c; jar; ow=3"},
        {{"\xe9=\xff"}, "\xe9=\xff; jar=1; own=2; ow=3"},
        {{""}, "jar=1; own=2; ow=3"},
        {{" ; "}, "jar=1; own=2; ow=3"},
        {{"jar=;own=;ow="}, "jar=;own=;ow="},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        afc_header fields[2];
        size_t count = 0;
        for (; count < 2 && rows[i].values[count] != NULL; count++) {
            fields[count] = (afc_header){S("Cookie"), afc_slice_of(rows[i].values[count]), 0};
        }
        fetch_merged(&site, at(&site, "example.test", "/"), fields, count);
        assert_string_equal(last_cookie(&site), rows[i].expected);
    }
    /* Without a field, and where it isn't to be sent, the flag changes nothing. */
    fetch_merged(&site, at(&site, "example.test", "/"), NULL, 0);
    assert_string_equal(last_cookie(&site), "jar=1; own=2; ow=3");
    const afc_header none = {S_INIT("Cookie"), S_INIT(""), AFC_HEADER_REMOVE};
    fetch_merged(&site, at(&site, "example.test", "/"), &none, 1);
    assert_null(last_cookie(&site));
    const afc_header own = {S_INIT("cookie"), S_INIT("own=1"), 0};
    fetch_merged(&site, at(&site, "other.test", "/"), &own, 1);
    assert_string_equal(last_cookie(&site), "own=1");
    end_site(&site);
}

static void merged_cookies_are_chosen_for_each_hop(void **state) {
    site site = make_site(*state);
    const afc_header own = {S_INIT("Cookie"), S_INIT("own=1"), 0};
    serve(site.fixture, "/set", answer(200, "Set-Cookie: jar=1", ""));
    fetch(&site, at(&site, "example.test", "/set"), NULL, AFC_OK);
    /* The answer to a challenge, which may set a cookie. */
    serve_once(site.fixture, "/in",
               answer(401,
                      "WWW-Authenticate: Basic realm=\"x\"\r\nSet-Cookie: ticket=1; Path=/\r\n"
                      "Set-Cookie: jar=; Path=/; Max-Age=0",
                      ""));
    serve(site.fixture, "/in", answer(200, NULL, "in"));
    fetch_merged(&site, at(&site, "example.test", "/in"), &own, 1);
    assert_string_equal(last_cookie(&site), "own=1; ticket=1");
    /* A redirect, first to the same origin, and then to another one, which gets only what is its own. */
    serve(site.fixture, "/far",
          answer(302,
                 text_of(site.fixture, "Set-Cookie: far=1; Path=/\r\nLocation: %s",
                         at(&site, "other.test", "/")),
                 ""));
    serve(site.fixture, "/near", answer(302, "Set-Cookie: near=1; Path=/\r\nLocation: /far", ""));
    fetch(&site, at(&site, "other.test", "/set"), NULL, AFC_OK);
    fetch_merged(&site, at(&site, "example.test", "/near"), &own, 1);
    assert_string_equal(last_cookie(&site), "jar=1");
    fetch_merged(&site, at(&site, "example.test", "/"), &own, 1);
    assert_string_equal(last_cookie(&site), "own=1; ticket=1; near=1; far=1");
    end_site(&site);
}

static void request_can_disable_cookies(void **state) {
    site site = make_site(*state);
    serve(site.fixture, "/set", answer(200, "Set-Cookie: a=1", ""));
    fetch(&site, at(&site, "example.test", "/set"), NULL, AFC_OK);
    call *call = call_new(site.fixture, "/");
    serve(site.fixture, "/again", answer(200, "Set-Cookie: b=1", ""));
    call->request.url = at(&site, "example.test", "/again");
    call->request.ignore_cookies = true;
    call_perform(call);
    check_ended(call, AFC_OK);
    call_free(call);
    assert_null(last_cookie(&site));
    check_cookie(&site, at(&site, "example.test", "/"), "a=1");
    end_site(&site);
}

static void fetch_for(site *site, const char *host, const char *document, const char *cookie) {
    serve(site->fixture, "/set", answer(200, text_of(site->fixture, "Set-Cookie: %s", cookie), ""));
    call *call = call_new(site->fixture, "/");
    call->request.url = at(site, host, "/set");
    call->request.main_document_url = document;
    call_perform(call);
    check_ended(call, AFC_OK);
    call_free(call);
}

static void policy_decides_which_cookies_are_kept(void **state) {
    site site = make_site(*state);
    use(&site, AFC_COOKIES_NEVER);
    fetch_for(&site, "example.test", NULL, "a=1");
    assert_int_equal(count_in(site.jar), 0);
    use(&site, AFC_COOKIES_MAIN_DOCUMENT);
    fetch_for(&site, "example.test", NULL, "b=1");
    fetch_for(&site, "www.example.test", "https://example.test/page", "c=1");
    assert_int_equal(count_in(site.jar), 2);
    fetch_for(&site, "other.test", "https://example.test/page", "d=1");
    assert_int_equal(count_in(site.jar), 2);
    /* What is there is sent whatever the policy. */
    use(&site, AFC_COOKIES_NEVER);
    check_cookie(&site, at(&site, "example.test", "/"), "b=1");
    afc_session *session;
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    options.cookie_policy = (afc_cookie_policy)3;
    check_status(afc_session_new(&session, &options, NULL), AFC_EINVAL);
    call *call = call_new(site.fixture, "/");
    call->request.main_document_url = "nowhere";
    check_status(afc_task_new(&call->task, site.fixture->session, &call->request, NULL, NULL),
                 AFC_EINVAL);
    call->request.main_document_url = NULL;
    call_perform(call);
    call_free(call);
    end_site(&site);
}

/** S14: the name that the server hears is the one that cookies are for. */
static void unicode_hosts_share_cookies_with_their_a_labels(void **state) {
    site site = make_site(*state);
    serve(site.fixture, "/set", answer(200, "Set-Cookie: a=1", ""));
    call *call = call_new(site.fixture, "/");
    call->request.url = at(&site,
                           "b\xc3\xbc"
                           "cher.test",
                           "/set");
    call_perform(call);
    /* Only in a locale that can write it; others refuse the name. */
    bool is_known = call->failure.status == AFC_OK;
    call_free(call);
    if (is_known) check_cookie(&site, at(&site, "xn--bcher-kva.test", "/"), "a=1");
    end_site(&site);
}

static void limits_cookies_of_one_response(void **state) {
    site site = make_site(*state);
    char fields[4096] = "X: 1";
    size_t size = strlen(fields);
    for (int i = 0; i < 80; i++) {
        size += (size_t)snprintf(fields + size, sizeof fields - size, "\r\nSet-Cookie: a%d=1", i);
    }
    serve(site.fixture, "/set", answer(200, fields, ""));
    fetch(&site, at(&site, "example.test", "/set"), NULL, AFC_OK);
    assert_int_equal(count_in(site.jar), 50);
    end_site(&site);
}

/** With all that a session can remember, and ways to its hosts of its own. */
static void any_allocation_may_fail(void **state) {
    site site = make_site(*state);
    fixture_close_session(site.fixture);
    serve(site.fixture, "/set", answer(302, "Set-Cookie: a=1\r\nLocation: /", ""));
    const afc_host_override override = {"example.test", (uint16_t)site.port, "127.0.0.1", {0}};
    const afc_header own = {S_INIT("Cookie"), S_INIT("own=1"), 0};
    const char *url = at(&site, "example.test", "/set");
    size_t made = 0;
    for (size_t n = 1; made + 1 >= n; n++) {
        afc_session_options options = AFC_SESSION_OPTIONS_INIT;
        options.network = (afc_network_options){.overrides = &override,
                                                .override_count = 1,
                                                .ip_version = AFC_IP_V4,
                                                .interface = "host!127.0.0.1"};
        options.cookies = site.jar;
        options.cookie_policy = AFC_COOKIES_MAIN_DOCUMENT;
        check_status(afc_hsts_new(&options.hsts, NULL, NULL), AFC_OK);
        afc__alloc_fail_at(n);
        afc_status status = afc_session_new(&site.fixture->session, &options, NULL);
        if (status == AFC_OK) {
            afc_request request = AFC_REQUEST_INIT;
            request.url = url;
            request.main_document_url = "http://example.test/";
            request.flags = AFC_REQUEST_MERGE_COOKIES;
            request.headers = &own;
            request.header_count = 1;
            afc_task *task;
            status = afc_task_new(&task, site.fixture->session, &request, NULL, NULL);
            if (status == AFC_OK) afc_task_start(task);
            if (status == AFC_OK) afc_task_release(task);
        }
        /* Without memory there may be no thread, either. */
        assert_true(status == AFC_OK || status == AFC_ENOMEM || status == AFC_EINTERNAL);
        fixture_close_session(site.fixture);
        made = afc__alloc_fail_at(0);
        afc_hsts_release(options.hsts);
    }
    assert_int_equal(count_in(site.jar), 1);
    end_site(&site);
}

int main(void) {
    setlocale(LC_ALL, "C.UTF-8");
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(requests_send_cookies_that_responses_set),
        FIXTURE_TEST(each_hop_sends_the_cookies_of_its_url),
        FIXTURE_TEST(own_cookie_and_host_fields_take_precedence),
        FIXTURE_TEST(request_can_merge_its_cookies_with_those_of_the_jar),
        FIXTURE_TEST(merged_cookies_are_chosen_for_each_hop),
        FIXTURE_TEST(request_can_disable_cookies),
        FIXTURE_TEST(policy_decides_which_cookies_are_kept),
        FIXTURE_TEST(unicode_hosts_share_cookies_with_their_a_labels),
        FIXTURE_TEST(limits_cookies_of_one_response),
        FIXTURE_TEST(any_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
