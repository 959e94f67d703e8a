/* Redirects over real connections: who is asked what, and who gets to see which secret. */
#include "support/call.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/** Answers `path` by a redirect. */
static void redirect(fixture *fixture, const char *path, int status, const char *location) {
    serve(fixture, path, answer(status, text_of(fixture, "Location: %s", location), "moved"));
}

/** A second server, another origin because its port differs. */
typedef struct pair {
    fixture *first, *second;
} pair;

static int pair_setup(void **state) {
    pair *pair = malloc(sizeof *pair);
    if (pair == NULL) return -1;
    pair->first = fixture_new(NULL, NULL);
    pair->second = fixture_new(NULL, NULL);
    *state = pair;
    return 0;
}

static int pair_teardown(void **state) {
    pair *pair = *state;
    fixture_free(pair->first);
    fixture_free(pair->second);
    free(pair);
    return 0;
}

static void check_seen(fixture *fixture, size_t index, const char *method, const char *target,
                       const char *body) {
    afts_request *seen = afts_copy_request(fixture->server, index);
    assert_non_null(seen);
    assert_string_equal(seen->method, method);
    assert_string_equal(seen->target, target);
    check_slice(((afc_slice){(const char *)seen->body, seen->body_size}), body);
    afts_request_free(seen);
}

/* ---- Methods and bodies -------------------------------------------------------------------- */

static void status_decides_method_and_body(void **state) {
    fixture *fixture = *state;
    static const struct {
        int status;
        const char *method, *next;
        bool keeps_body;
    } cases[] = {
        {301, "GET", "GET", true},       {301, "POST", "GET", false},
        {301, "PUT", "PUT", true},       {301, "DELETE", "DELETE", true},
        {302, "POST", "GET", false},     {302, "PATCH", "PATCH", true},
        {303, "POST", "GET", false},     {303, "PUT", "GET", false},
        {303, "DELETE", "GET", false},   {307, "POST", "POST", true},
        {307, "REPORT", "REPORT", true}, {308, "POST", "POST", true},
        {308, "PUT", "PUT", true},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        redirect(fixture, "/from", cases[i].status, "/to");
        static const afc_header type[] = {{{"Content-Type", 12}, {"a/b", 3}, 0},
                                          {{"X-Mine", 6}, {"kept", 4}, 0}};
        call *call = call_new(fixture, "/from");
        call_send(call, cases[i].method, S("content"));
        call->request.headers = type;
        call->request.header_count = COUNT_OF(type);
        call->request.progress_ms = UINT32_MAX;
        call_perform(call);
        check_ended(call, AFC_OK);
        assert_int_equal(status_of(call), 200);
        assert_string_equal(afc_result_get_url(call->result), url_of(fixture, "/to"));
        assert_int_equal(call->hop_count, 2);
        assert_int_equal(call->hops[0].status, cases[i].status);
        assert_string_equal(call->hops[0].location, url_of(fixture, "/to"));
        assert_null(call->hops[1].location);
        assert_true(call->hops[1].is_reused);
        assert_string_equal(call->log, "prhpdx");
        call_free(call);
        check_seen(fixture, 2 * i, cases[i].method, "/from", "content");
        check_seen(fixture, 2 * i + 1, cases[i].next, "/to", cases[i].keeps_body ? "content" : "");
        assert_string_equal(seen_header(fixture, 2 * i + 1, "Content-Type"),
                            cases[i].keeps_body ? "a/b" : "");
        assert_string_equal(seen_header(fixture, 2 * i + 1, "X-Mine"), "kept");
    }
}

static void redirected_head_stays_head(void **state) {
    fixture *fixture = *state;
    static const int statuses[] = {301, 302, 303, 307, 308};
    for (size_t i = 0; i < COUNT_OF(statuses); i++) {
        redirect(fixture, "/from", statuses[i], "/to");
        call *call = call_new(fixture, "/from");
        call->request.method = "HEAD";
        call_perform(call);
        check_ended(call, AFC_OK);
        assert_int_equal(call->hop_count, 2);
        call_free(call);
        check_seen(fixture, 2 * i + 1, "HEAD", "/to", "");
    }
}

static void returns_other_statuses_and_redirects_without_location(void **state) {
    fixture *fixture = *state;
    redirect(fixture, "/300", 300, "/to");
    redirect(fixture, "/304", 304, "/to");
    redirect(fixture, "/305", 305, "/to");
    redirect(fixture, "/306", 306, "/to");
    redirect(fixture, "/201", 201, "/to");
    serve(fixture, "/302", answer(302, NULL, "no target"));
    serve(fixture, "/empty", answer(302, "Location:", "no target"));
    static const char *const paths[] = {"/300", "/304", "/305", "/306", "/201", "/302", "/empty"};
    for (size_t i = 0; i < COUNT_OF(paths); i++) {
        call *call = call_fetch(fixture, paths[i]);
        check_ended(call, AFC_OK);
        assert_int_equal(call->hop_count, 1);
        assert_true(status_of(call) != 200);
        call_free(call);
    }
}

/* ---- Targets ------------------------------------------------------------------------------- */

static void resolves_targets_against_the_responding_url(void **state) {
    fixture *fixture = *state;
    static const char *const cases[][2] = {
        {"/x", "/x"},  {"x", "/a/x"},      {"../x", "/x"},           {"?x=1", "/a/b?x=1"},
        {"./", "/a/"}, {"/x y", "/x%20y"}, {"/\xC3\xA9", "/%C3%A9"}, {"/x#part", "/x"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        serve_once(fixture, "/a/b", answer(302, text_of(fixture, "Location: %s", cases[i][0]), ""));
        call *call = call_fetch(fixture, "/a/b");
        check_ended(call, AFC_OK);
        call_free(call);
        check_seen(fixture, 2 * i + 1, "GET", cases[i][1], "");
    }
}

static void follows_only_http_and_https(void **state) {
    fixture *fixture = *state;
    static const char *const targets[] = {
        "ftp://127.0.0.1/",    "file:///etc/passwd", "gopher://127.0.0.1:70/",
        "javascript:alert(1)", "data:,hello",        "HTTP+UNIX://x/",
        "mailto:a@b",          "about:blank"};
    for (size_t i = 0; i < COUNT_OF(targets); i++) {
        redirect(fixture, "/", 302, targets[i]);
        check_fetch(fixture, "/", AFC_EREDIRECT);
    }
    assert_int_equal(afts_server_stats(fixture->server).requests, COUNT_OF(targets));
}

static void refuses_invalid_targets(void **state) {
    fixture *fixture = *state;
    static const char *const targets[] = {
        "http://",      "http://[::1", "http://127.0.0.1:99999/", "http://127.0.0.1:port/",
        "http:///path", "http://a b/"};
    for (size_t i = 0; i < COUNT_OF(targets); i++) {
        redirect(fixture, "/", 302, targets[i]);
        call *call = call_fetch(fixture, "/");
        check_ended(call, AFC_EREDIRECT);
        assert_int_equal(call->hop_count, 1);
        assert_int_equal(call->hops[0].status, 302);
        /* So that the caller can see where it leads. */
        assert_non_null(call->head);
        assert_int_equal(call->head->status, 302);
        call_free(call);
    }
}

static void refuses_two_different_targets(void **state) {
    fixture *fixture = *state;
    serve(fixture, "/", answer(302, "Location: /a\r\nLocation: /b", ""));
    check_fetch(fixture, "/", AFC_EREDIRECT);
    serve(fixture, "/", answer(302, "Location: /a\r\nLocation: /a", ""));
    check_fetch(fixture, "/", AFC_OK);
}

/* ---- Limits -------------------------------------------------------------------------------- */

static void redirect_loop_ends_at_the_limit(void **state) {
    fixture *fixture = *state;
    redirect(fixture, "/a", 302, "/b");
    redirect(fixture, "/b", 302, "/a");
    call *call = call_fetch(fixture, "/a");
    check_ended(call, AFC_EREDIRECT);
    assert_int_equal(call->hop_count, 21);
    assert_int_equal(call->head->status, 302);
    call_free(call);
    assert_int_equal(afts_server_stats(fixture->server).requests, 21);
}

static void redirect_limit_is_exact(void **state) {
    fixture *fixture = *state;
    redirect(fixture, "/2", 302, "/1");
    redirect(fixture, "/1", 302, "/0");
    for (int32_t limit = 1; limit <= 2; limit++) {
        call *call = call_new(fixture, "/2");
        call->request.limits.redirects = limit;
        call_perform(call);
        check_ended(call, limit == 2 ? AFC_OK : AFC_EREDIRECT);
        call_free(call);
    }
    call *none = call_new(fixture, "/2");
    none->request.limits.redirects = -1;
    call_perform(none);
    check_ended(none, AFC_OK);
    assert_int_equal(status_of(none), 302);
    check_slice(none->body, "moved");
    check_slice(field_of(none, "Location"), "/1");
    call_free(none);
}

static void does_not_wait_for_long_redirect_body(void **state) {
    fixture *fixture = *state;
    static const char block[1024];
    afts_script *script = afts_script_new();
    afts_respond_repeated(script, 302, "Location: /to", block, sizeof block, AFTS_FOREVER);
    serve(fixture, "/endless", script);
    script = afts_script_new();
    afts_respond_repeated(script, 302, "Location: /to", block, sizeof block, 20);
    serve(fixture, "/short", script);
    call *call = call_fetch(fixture, "/short");
    check_ended(call, AFC_OK);
    assert_true(call->hops[1].is_reused);
    call_free(call);
    call = call_fetch(fixture, "/endless");
    check_ended(call, AFC_OK);
    assert_int_equal(call->hop_count, 2);
    assert_false(call->hops[1].is_reused);
    assert_true(call->hops[0].received < 4 << 20);
    call_free(call);
}

static void ignores_broken_redirect_body(void **state) {
    fixture *fixture = *state;
    serve_text(fixture, "/",
               "HTTP/1.1 302 Found\r\nLocation: /to\r\nContent-Length: 9\r\n\r\nhalf");
    check_fetch(fixture, "/", AFC_OK);
    serve_text(fixture, "/",
               "HTTP/1.1 302 Found\r\nLocation: /to\r\nContent-Encoding: gzip\r\n"
               "Content-Length: 4\r\n\r\nnope");
    check_fetch(fixture, "/", AFC_OK);
}

/* ---- Credentials --------------------------------------------------------------------------- */

static const afc_header secrets[] = {{{"Authorization", 13}, {"Bearer one", 10}, 0},
                                     {{"Cookie", 6}, {"two=2", 5}, 0},
                                     {{"X-Api-Key", 9}, {"three", 5}, 0},
                                     {{"X-Key", 5}, {"three", 5}, AFC_HEADER_SECRET},
                                     {{"Proxy-Authorization", 19}, {"four", 4}, 0},
                                     {{"Host", 4}, {"five.test", 9}, 0},
                                     {{"X-Public", 8}, {"six", 3}, 0}};

static void check_secrets(fixture *fixture, size_t index, bool are_there) {
    for (size_t i = 0; i + 2 < COUNT_OF(secrets); i++) {
        const char *name = secrets[i].name.bytes, *value = seen_header(fixture, index, name);
        /* There is no proxy that could get it. */
        bool is_sent = are_there && strcmp(name, "Proxy-Authorization") != 0;
        assert_string_equal(value, is_sent ? secrets[i].value.bytes : "");
    }
    assert_int_equal(strcmp(seen_header(fixture, index, "Host"), "five.test") == 0, are_there);
    assert_string_equal(seen_header(fixture, index, "X-Public"), "six");
}

static call *fetch_with_secrets(fixture *fixture, const char *path) {
    call *call = call_new(fixture, path);
    call->request.headers = secrets;
    call->request.header_count = COUNT_OF(secrets);
    call_perform(call);
    check_ended(call, AFC_OK);
    return call;
}

static void secrets_stay_within_their_origin(void **state) {
    pair *pair = *state;
    redirect(pair->first, "/same", 302, "/here");
    redirect(pair->first, "/other", 302, url_of(pair->second, "/there"));
    call_free(fetch_with_secrets(pair->first, "/same"));
    check_secrets(pair->first, 1, true);
    call_free(fetch_with_secrets(pair->first, "/other"));
    check_secrets(pair->second, 0, false);
}

static void dropped_secrets_stay_dropped(void **state) {
    pair *pair = *state;
    redirect(pair->first, "/out", 302, url_of(pair->second, "/back"));
    redirect(pair->second, "/back", 302, url_of(pair->first, "/home"));
    call_free(fetch_with_secrets(pair->first, "/out"));
    check_secrets(pair->first, 1, false);
}

static void another_name_of_the_server_is_another_origin(void **state) {
    fixture *fixture = *state;
    redirect(
        fixture, "/from", 307,
        text_of(fixture, "http://localhost:%u/to", (unsigned)afts_server_port(fixture->server)));
    call_free(fetch_with_secrets(fixture, "/from"));
    check_secrets(fixture, 1, false);
}

static void userinfo_of_a_url_is_dropped_as_a_secret(void **state) {
    pair *pair = *state;
    redirect(pair->first, "/same", 302, "/here");
    redirect(pair->first, "/here", 302, url_of(pair->second, "/there"));
    call *call = call_new(pair->first, "/same");
    call->request.url = text_of(pair->first, "http://user:pass@127.0.0.1:%u/same",
                                (unsigned)afts_server_port(pair->first->server));
    call_perform(call);
    check_ended(call, AFC_OK);
    call_free(call);
    assert_string_equal(seen_header(pair->first, 1, "Authorization"), "Basic dXNlcjpwYXNz");
    assert_string_equal(seen_header(pair->second, 0, "Authorization"), "");
}

static void ignores_userinfo_in_location(void **state) {
    pair *pair = *state;
    redirect(pair->first, "/", 302,
             text_of(pair->first, "http://evil:word@127.0.0.1:%u/",
                     (unsigned)afts_server_port(pair->second->server)));
    call_free(call_fetch(pair->first, "/"));
    assert_string_equal(seen_header(pair->second, 0, "Authorization"), "");
}

static void refuses_redirect_from_https_to_http_by_default(void **state) {
    (void)state;
    fixture *secure = fixture_new_tls(), *plain = fixture_new(NULL, NULL);
    redirect(secure, "/", 302, url_of(plain, "/"));
    check_fetch(secure, "/", AFC_EREDIRECT);
    assert_int_equal(afts_server_stats(plain->server).accepted, 0);
    call *call = call_new(secure, "/");
    call->request.allow_downgrade = true;
    call->request.headers = secrets;
    call->request.header_count = COUNT_OF(secrets);
    call_perform(call);
    check_ended(call, AFC_OK);
    call_free(call);
    check_secrets(plain, 0, false);
    redirect(plain, "/up", 302, url_of(secure, "/up"));
    call = call_new(secure, "/");
    call->request.url = url_of(plain, "/up");
    call_perform(call);
    check_ended(call, AFC_OK);
    call_free(call);
    fixture_free(secure);
    fixture_free(plain);
}

/* ---- The hook ------------------------------------------------------------------------------ */

static afc_redirect_decision stop(call *call, afc_redirect *redirect) {
    (void)call, (void)redirect;
    return AFC_REDIRECT_STOP;
}

static afc_redirect_decision refuse(call *call, afc_redirect *redirect) {
    (void)call, (void)redirect;
    return AFC_REDIRECT_FAIL;
}

typedef struct edition {
    const char *url, *method;
    bool was_as_expected;
} edition;

static afc_redirect_decision edit(call *call, afc_redirect *redirect) {
    static const afc_header fields[] = {{{"X-Edited", 8}, {"yes", 3}, 0}};
    edition *edition = call->payload;
    edition->was_as_expected = redirect->count == 1 && !redirect->crosses_origin &&
                               redirect->keeps_body && redirect->head->status == 307 &&
                               strcmp(redirect->method, "POST") == 0 &&
                               redirect->header_count == call->request.header_count;
    redirect->url = edition->url;
    redirect->method = edition->method;
    redirect->headers = fields;
    redirect->header_count = COUNT_OF(fields);
    return AFC_REDIRECT_FOLLOW;
}

static void callback_can_stop_and_refuse(void **state) {
    fixture *fixture = *state;
    redirect(fixture, "/", 302, "/to");
    call *call = call_new(fixture, "/");
    call->at_redirect = stop;
    call_perform(call);
    check_ended(call, AFC_OK);
    assert_int_equal(status_of(call), 302);
    check_slice(call->body, "moved");
    assert_string_equal(call->log, "rhpdx");
    call_free(call);
    call = call_new(fixture, "/");
    call->at_redirect = refuse;
    call_perform(call);
    check_ended(call, AFC_EREDIRECT);
    assert_int_equal(call->failure.reason, AFC_REASON_REDIRECT_REFUSED);
    assert_non_null(call->head);
    call_free(call);
    assert_int_equal(afts_server_stats(fixture->server).requests, 2);
}

static call *fetch_edited(fixture *fixture, edition *edition) {
    redirect(fixture, "/", 307, "/to");
    call *call = call_new(fixture, "/");
    call_send(call, "POST", S("content"));
    call->request.headers = secrets;
    call->request.header_count = 1;
    call->at_redirect = edit;
    call->payload = edition;
    call_perform(call);
    assert_true(edition->was_as_expected);
    return call;
}

static void callback_can_edit_the_next_request(void **state) {
    fixture *fixture = *state;
    edition edition = {url_of(fixture, "/edited"), "PUT", false};
    call *call = fetch_edited(fixture, &edition);
    check_ended(call, AFC_OK);
    assert_string_equal(afc_result_get_url(call->result), url_of(fixture, "/edited"));
    call_free(call);
    check_seen(fixture, 1, "PUT", "/edited", "content");
    assert_string_equal(seen_header(fixture, 1, "X-Edited"), "yes");
    assert_string_equal(seen_header(fixture, 1, "Authorization"), "");
}

static void checks_edits_of_the_callback(void **state) {
    fixture *fixture = *state;
    edition editions[] = {{"ftp://127.0.0.1/", "GET", false},
                          {"not a url", "GET", false},
                          {url_of(fixture, "/x"), "G T", false},
                          {url_of(fixture, "/x"), "CONNECT", false},
                          {url_of(fixture, "/x"), "GET\r\nX: y", false}};
    for (size_t i = 0; i < COUNT_OF(editions); i++) {
        call *call = fetch_edited(fixture, &editions[i]);
        check_ended(call, AFC_EINVAL);
        if (i < 2) check_contains(call->failure.text, "the URL set by on_redirect: ");
        call_free(call);
    }
    assert_int_equal(afts_server_stats(fixture->server).requests, COUNT_OF(editions));
}

static afc_redirect_decision forget_headers(call *call, afc_redirect *redirect) {
    (void)call;
    redirect->headers = NULL;
    redirect->header_count = 7;
    return AFC_REDIRECT_FOLLOW;
}

static void refuses_a_count_of_the_callback_without_headers(void **state) {
    fixture *fixture = *state;
    redirect(fixture, "/", 302, "/to");
    call *call = call_new(fixture, "/");
    call->at_redirect = forget_headers;
    call_perform(call);
    check_ended(call, AFC_EINVAL);
    check_contains(call->failure.text, "headers is NULL");
    call_free(call);
}

/** Leads elsewhere and passes the proposed fields on, with one credential set anew. */
static afc_redirect_decision lead_away(call *call, afc_redirect *redirect) {
    static afc_header fields[COUNT_OF(secrets) + 1];
    memcpy(fields, redirect->headers, redirect->header_count * sizeof *fields);
    fields[redirect->header_count] = (afc_header){
        {"Authorization", 13}, {"Bearer new", 10}, AFC_HEADER_SECRET};
    redirect->url = call->payload;
    redirect->headers = fields;
    redirect->header_count++;
    return AFC_REDIRECT_FOLLOW;
}

static void callback_to_another_origin_drops_secrets(void **state) {
    pair *pair = *state;
    redirect(pair->first, "/", 302, "/near");
    call *call = call_new(pair->first, "/");
    call->request.headers = secrets;
    call->request.header_count = COUNT_OF(secrets);
    call->at_redirect = lead_away;
    call->payload = (char *)(uintptr_t)url_of(pair->second, "/far");
    call_perform(call);
    check_ended(call, AFC_OK);
    call_free(call);
    assert_string_equal(seen_header(pair->second, 0, "Authorization"), "Bearer new");
    assert_string_equal(seen_header(pair->second, 0, "Cookie"), "");
    assert_string_equal(seen_header(pair->second, 0, "X-Api-Key"), "");
    assert_string_equal(seen_header(pair->second, 0, "Proxy-Authorization"), "");
    assert_string_equal(seen_header(pair->second, 0, "X-Public"), "six");
    assert_string_not_equal(seen_header(pair->second, 0, "Host"), "five.test");
}

/** Passes copies of the proposed fields on, with names in lower case and without flags, and may lead elsewhere. */
static afc_redirect_decision copy_fields(call *call, afc_redirect *redirect) {
    static afc_header fields[COUNT_OF(secrets)];
    static char names[COUNT_OF(secrets)][32];
    for (size_t i = 0; i < redirect->header_count; i++) {
        afc_slice name = redirect->headers[i].name;
        assert_true(name.size < sizeof names[i]);
        for (size_t k = 0; k < name.size; k++) names[i][k] = (char)tolower(name.bytes[k]);
        fields[i] = (afc_header){{names[i], name.size}, redirect->headers[i].value, 0};
    }
    if (call->payload != NULL) redirect->url = call->payload;
    redirect->headers = fields;
    return AFC_REDIRECT_FOLLOW;
}

static void callback_that_copies_fields_takes_no_secrets_along(void **state) {
    pair *pair = *state;
    redirect(pair->first, "/", 302, "/near");
    call *call = call_new(pair->first, "/");
    call->request.headers = secrets;
    call->request.header_count = COUNT_OF(secrets);
    call->at_redirect = copy_fields;
    call->payload = (char *)(uintptr_t)url_of(pair->second, "/far");
    call_perform(call);
    check_ended(call, AFC_OK);
    call_free(call);
    check_secrets(pair->second, 0, false);
}

static void copied_secrets_stay_secret(void **state) {
    pair *pair = *state;
    redirect(pair->first, "/", 302, "/near");
    redirect(pair->first, "/near", 302, url_of(pair->second, "/far"));
    call *call = call_new(pair->first, "/");
    call->request.headers = secrets;
    call->request.header_count = COUNT_OF(secrets);
    call->at_redirect = copy_fields;
    call_perform(call);
    check_ended(call, AFC_OK);
    call_free(call);
    check_secrets(pair->first, 1, true);
    check_secrets(pair->second, 0, false);
}

static afc_redirect_decision cancel(call *call, afc_redirect *redirect) {
    (void)redirect;
    afc_task_cancel(call->payload);
    return AFC_REDIRECT_FOLLOW;
}

static void callback_can_cancel_its_task(void **state) {
    fixture *fixture = *state;
    redirect(fixture, "/", 302, "/to");
    call *call = call_new(fixture, "/");
    call->at_redirect = cancel;
    check_status(afc_task_new(&call->task, call->session, &call->request, &call->events, NULL),
                 AFC_OK);
    call->payload = call->task;
    afc_task_start(call->task);
    call_wait(call);
    check_ended(call, AFC_ECANCELED);
    call_free(call);
    assert_int_equal(afts_server_stats(fixture->server).requests, 1);
}

#define PAIR_TEST(test) cmocka_unit_test_setup_teardown(test, pair_setup, pair_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(status_decides_method_and_body),
        FIXTURE_TEST(redirected_head_stays_head),
        FIXTURE_TEST(returns_other_statuses_and_redirects_without_location),
        FIXTURE_TEST(resolves_targets_against_the_responding_url),
        FIXTURE_TEST(follows_only_http_and_https),
        FIXTURE_TEST(refuses_invalid_targets),
        FIXTURE_TEST(refuses_two_different_targets),
        FIXTURE_TEST(redirect_loop_ends_at_the_limit),
        FIXTURE_TEST(redirect_limit_is_exact),
        FIXTURE_TEST(does_not_wait_for_long_redirect_body),
        FIXTURE_TEST(ignores_broken_redirect_body),
        PAIR_TEST(secrets_stay_within_their_origin),
        PAIR_TEST(dropped_secrets_stay_dropped),
        PAIR_TEST(callback_to_another_origin_drops_secrets),
        PAIR_TEST(callback_that_copies_fields_takes_no_secrets_along),
        PAIR_TEST(copied_secrets_stay_secret),
        FIXTURE_TEST(another_name_of_the_server_is_another_origin),
        PAIR_TEST(userinfo_of_a_url_is_dropped_as_a_secret),
        PAIR_TEST(ignores_userinfo_in_location),
        cmocka_unit_test(refuses_redirect_from_https_to_http_by_default),
        FIXTURE_TEST(callback_can_stop_and_refuse),
        FIXTURE_TEST(callback_can_edit_the_next_request),
        FIXTURE_TEST(checks_edits_of_the_callback),
        FIXTURE_TEST(refuses_a_count_of_the_callback_without_headers),
        FIXTURE_TEST(callback_can_cancel_its_task),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
