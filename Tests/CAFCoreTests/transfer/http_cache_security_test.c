/* What a request or a session demands holds with the HTTP cache, too: where it goes, and whose response it is. */
#include "support/caching_fixture.h"
#include "support/files.h"
#include "support/jar.h"
#include "support/recorded_socket.h"

#include <afcore/cookie.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FRESH "Cache-Control: max-age=3600"
#define STALE "Cache-Control: max-age=60\r\nAge: 100"
#define TAG "\r\nETag: \"one\""
#define USABLE_STALE "Cache-Control: max-age=60, stale-while-revalidate=600\r\nAge: 100"

static afc_http_cache_use fetch(caching_fixture *site, const char *path) {
    call *call = call_fetch(site->fixture, path);
    check_ended(call, AFC_OK);
    afc_http_cache_use use = cache_use_of(call);
    call_free(call);
    return use;
}

/** Performs a call, checks how it ended, and frees it. */
static void check_end(call *call, afc_status expected) {
    call_perform(call);
    check_ended(call, expected);
    call_free(call);
}

static afc_header field(const char *name, const char *value) {
    return (afc_header){afc_slice_of(name), afc_slice_of(value), 0};
}

/* ---- Only from the cache ----------------------------------------------------------------------- */

static void check_missing(call *call) {
    call->request.cache_policy = AFC_HTTP_CACHE_ONLY;
    call_perform(call);
    check_ended(call, AFC_OK);
    assert_int_equal(status_of(call), 504);
    assert_int_equal(cache_use_of(call), AFC_CACHE_USE_MISSING);
    call_free(call);
}

static void request_for_the_cache_only_never_reaches_the_server(void **state) {
    caching_fixture *site = *state;
    folder folder;
    serve(site->fixture, "/", answer(200, FRESH, "body"));
    call *posted = call_new(site->fixture, "/");
    call_send(posted, "POST", S("content"));
    check_missing(posted);
    call *deleted = call_new(site->fixture, "/");
    deleted->request.method = "DELETE";
    check_missing(deleted);
    afc_header host = field("Host", "other.test");
    call *addressed = call_new(site->fixture, "/");
    addressed->request.headers = &host;
    addressed->request.header_count = 1;
    check_missing(addressed);
    folder_make(&folder);
    call *resumed = call_new(site->fixture, "/");
    resumed->request.sink.kind = AFC_SINK_FILE;
    resumed->request.sink.flags = AFC_FILE_RESUME;
    resumed->request.sink.path = path_in(&folder, "file");
    check_missing(resumed);
    folder_remove(&folder);
    assert_int_equal(request_count(site), 0);
}

/** Its connection is what is wanted, not its response. */
static void connecting_only_uses_no_stored_response(void **state) {
    caching_fixture *site = *state;
    serve(site->fixture, "/", answer(200, FRESH, "body"));
    assert_int_equal(fetch(site, "/"), AFC_CACHE_USE_UNUSED);
    assert_int_equal(fetch(site, "/"), AFC_CACHE_USE_HIT);
    call *call = call_new(site->fixture, "/");
    call->request.flags = AFC_REQUEST_CONNECT_ONLY;
    call_perform(call);
    check_ended(call, AFC_OK);
    assert_null(call->head);
    assert_int_equal(call->hop_count, 1);
    assert_int_equal(call->hops[0].cache, AFC_CACHE_USE_UNUSED);
    call_free(call);
    assert_int_equal(request_count(site), 1);
}

/** A GET of the same URL was answered before, but an answer from the cache opens no socket. */
static void handshake_of_websocket_uses_no_stored_response(void **state) {
    caching_fixture *site = *state;
    serve(site->fixture, "/", answer(200, FRESH, "body"));
    assert_int_equal(fetch(site, "/"), AFC_CACHE_USE_UNUSED);
    static const afc_http_cache_policy policies[] = {AFC_HTTP_CACHE_PROTOCOL,
                                                     AFC_HTTP_CACHE_ELSE_LOAD, AFC_HTTP_CACHE_ONLY};
    for (size_t i = 0; i < COUNT_OF(policies); i++) {
        recorded_socket *socket = socket_new(site->fixture, "/");
        socket->request.cache_policy = policies[i];
        socket_open(socket, site->fixture);
        socket_wait(socket);
        assert_int_equal(socket->status, 200);
        socket_free(socket);
        assert_int_equal(request_count(site), i + 2);
    }
}

/* ---- Where a request goes ---------------------------------------------------------------------- */

static void request_over_a_unix_socket_shares_no_responses(void **state) {
    caching_fixture *site = *state;
    serve(site->fixture, "/", answer(200, FRESH, "body"));
    assert_int_equal(fetch(site, "/"), AFC_CACHE_USE_UNUSED);
    assert_int_equal(fetch(site, "/"), AFC_CACHE_USE_HIT);
    call *call = call_new(site->fixture, "/");
    call->request.unix_socket = "@afcore-nobody-listens-here";
    check_end(call, AFC_ECONNECT);
}

/** Stores a stale response of "/" that may be used while it is validated. */
static void store_usable(caching_fixture *site) {
    serve(site->fixture, "/", answer(200, USABLE_STALE TAG, "old"));
    assert_int_equal(fetch(site, "/"), AFC_CACHE_USE_UNUSED);
}

static void validation_in_background_does_not_leave_the_proxy(void **state) {
    caching_fixture *site = *state;
    store_usable(site);
    call *call = call_new(site->fixture, "/");
    call->request.proxy = "http://127.0.0.1:1";
    check_end(call, AFC_ECONNECT);
    fixture_close_session(site->fixture);
    assert_int_equal(request_count(site), 1);
}

static void validation_in_background_follows_no_redirect(void **state) {
    caching_fixture *site = *state;
    store_usable(site);
    serve(site->fixture, "/", answer(302, "Location: /elsewhere", ""));
    serve(site->fixture, "/elsewhere", answer(200, FRESH, "body"));
    assert_int_equal(fetch(site, "/"), AFC_CACHE_USE_STALE);
    /* What was stored is of the past when the redirect has come. */
    for (afc_http_cache_use use = AFC_CACHE_USE_STALE; use != AFC_CACHE_USE_MISSING;) {
        call *call = call_new(site->fixture, "/");
        call->request.cache_policy = AFC_HTTP_CACHE_ONLY;
        call_perform(call);
        use = cache_use_of(call);
        call_free(call);
    }
    fixture_close_session(site->fixture);
    assert_int_equal(request_count(site), 2);
}

static void validation_in_background_has_the_limits_of_the_request(void **state) {
    caching_fixture *site = *state;
    store_usable(site);
    serve(site->fixture, "/", answer(200, FRESH, "a longer body"));
    call *call = call_new(site->fixture, "/");
    call->request.limits.body_bytes = 5;
    check_end(call, AFC_OK);
    assert_true(afts_wait_closed(site->fixture->server, 1, PATIENCE_MS));
    fixture_close_session(site->fixture);
    afc_http_cache_statistics statistics;
    afc_http_cache_get_statistics(site->cache, &statistics);
    assert_int_equal(statistics.stored, 1);
}

static bool refuse(void *context, afc_http_cache_candidate *candidate) {
    (void)context, (void)candidate;
    return false;
}

static void validation_asks_the_hook_of_the_request(void **state) {
    caching_fixture *site = *state;
    store_usable(site);
    serve(site->fixture, "/", answer(200, FRESH, "new"));
    call *call = call_new(site->fixture, "/");
    call->events.on_cache = refuse;
    call_perform(call);
    check_slice(call->body, "new");
    call_free(call);
    fixture_close_session(site->fixture);
    assert_int_equal(request_count(site), 2);
    afc_http_cache_statistics statistics;
    afc_http_cache_get_statistics(site->cache, &statistics);
    assert_int_equal(statistics.stored, 1);
}

static caching_fixture *caching_fixture_with_cookies(afc_cookie_jar **jar,
                                                     afc_cookie_policy policy) {
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    check_status(afc_cookie_jar_new(jar, NULL, NULL), AFC_OK);
    options.cookies = *jar;
    options.cookie_policy = policy;
    return caching_fixture_new(&options);
}

/** Closes the session first, so that nothing adds cookies any more. */
static void check_no_cookies(caching_fixture *site, afc_cookie_jar *jar) {
    afc_cookie_list *cookies;
    fixture_close_session(site->fixture);
    check_status(afc_cookie_jar_copy(&cookies, jar, NULL, NULL), AFC_OK);
    assert_int_equal(cookies->count, 0);
    afc_cookie_list_free(cookies);
    afc_cookie_jar_release(jar);
    void *state = site;
    caching_fixture_teardown(&state);
}

static void validation_in_background_keeps_to_the_main_document(void **state) {
    (void)state;
    afc_cookie_jar *jar;
    caching_fixture *site = caching_fixture_with_cookies(&jar, AFC_COOKIES_MAIN_DOCUMENT);
    store_usable(site);
    serve(site->fixture, "/", answer(200, FRESH "\r\nSet-Cookie: tracks=1", "new"));
    call *call = call_new(site->fixture, "/");
    call->request.main_document_url = "http://document.test/";
    check_end(call, AFC_OK);
    while (fetch(site, "/") != AFC_CACHE_USE_HIT) {}
    check_no_cookies(site, jar);
}

static void first_url_is_the_main_document_also_from_the_cache(void **state) {
    (void)state;
    afc_cookie_jar *jar;
    caching_fixture *site = caching_fixture_with_cookies(&jar, AFC_COOKIES_MAIN_DOCUMENT);
    const char *other = strrchr(url_of(site->fixture, "/other"), ':');
    other = text_of(site->fixture, FRESH "\r\nLocation: http://localhost%s", other);
    serve(site->fixture, "/", answer(301, other, ""));
    serve(site->fixture, "/other", answer(200, "Set-Cookie: tracks=1", "body"));
    for (int i = 0; i < 2; i++) {
        call *call = call_fetch(site->fixture, "/");
        check_ended(call, AFC_OK);
        assert_int_equal(call->hops[0].cache, i == 0 ? AFC_CACHE_USE_UNUSED : AFC_CACHE_USE_HIT);
        call_free(call);
    }
    check_no_cookies(site, jar);
}

/** S47: also after a logout, which removes them. */
static void cookies_of_a_stored_response_are_saved_once(void **state) {
    (void)state;
    static const struct {
        const char *fields;
        afc_http_cache_use use;
    } rows[] = {
        {FRESH, AFC_CACHE_USE_HIT},
        {STALE TAG, AFC_CACHE_USE_VALIDATED},
        {"Cache-Control: max-age=60, stale-if-error=600\r\nAge: 100" TAG, AFC_CACHE_USE_STALE},
        {USABLE_STALE TAG, AFC_CACHE_USE_STALE}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        afc_cookie_jar *jar;
        caching_fixture *site = caching_fixture_with_cookies(&jar, AFC_COOKIES_ALWAYS);
        serve(
            site->fixture, "/",
            answer(200, text_of(site->fixture, "%s\r\nSet-Cookie: id=1", rows[i].fields), "body"));
        assert_int_equal(fetch(site, "/"), AFC_CACHE_USE_UNUSED);
        assert_int_equal(afc_cookie_jar_remove(jar, NULL, NULL, NULL), 1);
        /* The server says nothing about cookies this time. */
        bool fails = strstr(rows[i].fields, "stale-if-error") != NULL;
        serve(site->fixture, "/", answer(fails ? 503 : 304, NULL, ""));
        call *call = call_fetch(site->fixture, "/");
        check_ended(call, AFC_OK);
        assert_int_equal(cache_use_of(call), rows[i].use);
        check_slice(field_of(call, "Set-Cookie"), "id=1");
        call_free(call);
        check_no_cookies(site, jar);
    }
}

/* ---- Heads at their limits --------------------------------------------------------------------- */

/** Otherwise the network thread, which all transfers share, would compare each field with each name. */
static void head_that_names_too_many_fields_updates_nothing(void **state) {
    caching_fixture *site = *state;
    static const char *const fields[] = {"Connection: keep-alive", "Cache-Control: no-cache=\"b",
                                         "Vary: b"};
    static const char *const ends[] = {"", "\"", ""};
    enum { MANY = 20000 };
    static char more[2 * MANY + 1];
    for (size_t i = 0; i < MANY; i++) memcpy(more + 2 * i, ",a", 3);
    for (size_t i = 0; i < COUNT_OF(fields); i++) {
        static char head[sizeof more + 64];
        afc_http_cache_remove_all(site->cache);
        snprintf(head, sizeof head, "%s%s%s\r\n" FRESH, fields[i], more, ends[i]);
        /* Neither stored … */
        serve(site->fixture, "/", answer(200, head, "new"));
        assert_int_equal(fetch(site, "/"), AFC_CACHE_USE_UNUSED);
        assert_int_equal(fetch(site, "/"), AFC_CACHE_USE_UNUSED);
        /* … nor an update of what is: that is used once more, as it was, and removed. */
        serve(site->fixture, "/", answer(200, STALE TAG "\r\nA: old", "old"));
        assert_int_equal(fetch(site, "/"), AFC_CACHE_USE_UNUSED);
        serve(site->fixture, "/", answer(304, head, ""));
        assert_int_equal(fetch(site, "/"), AFC_CACHE_USE_VALIDATED);
        serve(site->fixture, "/", answer(200, "Cache-Control: no-store", "last"));
        assert_int_equal(fetch(site, "/"), AFC_CACHE_USE_UNUSED);
        assert_string_equal(seen_header(site->fixture, request_count(site) - 1, "If-None-Match"),
                            "");
    }
}

/* ---- Whose response it is ---------------------------------------------------------------------- */

/** Performs and frees a call; returns the body's first octet. */
static char first_octet_of(call *call) {
    call_perform(call);
    check_ended(call, AFC_OK);
    char first = call->body.size > 0 ? call->body.bytes[0] : '\0';
    call_free(call);
    return first;
}

/** Fetches "/" with a field; returns the body's first octet. */
static char fetch_with(caching_fixture *site, const char *name, const char *value) {
    afc_header header = field(name, value);
    call *call = call_new(site->fixture, "/");
    call->request.headers = &header;
    call->request.header_count = 1;
    return first_octet_of(call);
}

static void update_decides_anew_which_requests_a_response_fits(void **state) {
    caching_fixture *site = *state;
    static const struct {
        const char *first;  /**< Fields of the stored response. */
        const char *update; /**< Fields of the 304. */
        const char *name;   /**< The field that tells requests apart. */
        bool is_shared;     /**< The updated response fits another value. */
    } rows[] = {
        {"Cache-Control: max-age=60, public\r\nAge: 100" TAG, FRESH ", public" TAG, "Authorization",
         true},
        {"Cache-Control: max-age=60, public\r\nAge: 100" TAG, FRESH TAG, "Authorization", false},
        {"Cache-Control: max-age=60, public\r\nAge: 100" TAG, FRESH ", private, public" TAG,
         "Authorization", false},
        {STALE TAG, FRESH "\r\nVary: Foo" TAG, "Foo", false},
        {STALE TAG, FRESH "\r\nVary: *" TAG, "Foo", false},
        {STALE TAG, FRESH TAG, "Foo", true},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        print_message("%s\n", rows[i].update);
        afc_http_cache_remove_all(site->cache);
        serve(site->fixture, "/", answer(200, rows[i].first, "old"));
        assert_int_equal(fetch_with(site, rows[i].name, "a"), 'o');
        serve(site->fixture, "/", answer(304, rows[i].update, ""));
        assert_int_equal(fetch_with(site, rows[i].name, "a"), 'o');
        serve(site->fixture, "/", answer(200, FRESH, "new"));
        assert_int_equal(fetch_with(site, rows[i].name, "b"), rows[i].is_shared ? 'o' : 'n');
    }
}

/** Leaves out the first field, which the test's server lets be Vary. */
static bool leave_out_vary(void *context, afc_http_cache_candidate *candidate) {
    (void)context;
    check_slice(candidate->headers[0].name, "Vary");
    candidate->headers++;
    candidate->header_count--;
    return true;
}

static int octet_for(caching_fixture *site, const char *value) {
    afc_header header = field("Foo", value);
    call *call = call_new(site->fixture, "/");
    call->request.headers = &header;
    call->request.header_count = 1;
    call->events.on_cache = leave_out_vary;
    return first_octet_of(call);
}

/**
 * If on_cache removes Vary, and a later head has none, the response still fits only the requests that it was stored
 * for.
 */
static void update_never_forgets_which_requests_a_response_fits(void **state) {
    caching_fixture *site = *state;
    serve(site->fixture, "/", answer(200, "Vary: Foo\r\n" STALE TAG, "old"));
    assert_int_equal(octet_for(site, "a"), 'o');
    serve(site->fixture, "/", answer(304, FRESH TAG, ""));
    assert_int_equal(octet_for(site, "a"), 'o');
    serve(site->fixture, "/", answer(200, "Vary: Foo\r\n" FRESH, "new"));
    assert_int_equal(octet_for(site, "b"), 'n');
    assert_int_equal(octet_for(site, "a"), 'o');
}

static void head_response_decides_anew_which_requests_a_response_fits(void **state) {
    caching_fixture *site = *state;
    serve(site->fixture, "/", answer(200, STALE TAG "\r\nContent-Length: 3", "old"));
    assert_int_equal(fetch_with(site, "Foo", "a"), 'o');
    serve(site->fixture, "/",
          answer(200, FRESH "\r\nVary: Foo" TAG "\r\nContent-Length: 3", "old"));
    afc_header header = field("Foo", "a");
    call *call = call_new(site->fixture, "/");
    call->request.method = "HEAD";
    call->request.headers = &header;
    call->request.header_count = 1;
    check_end(call, AFC_OK);
    serve(site->fixture, "/", answer(200, FRESH, "new"));
    assert_int_equal(fetch_with(site, "Foo", "a"), 'o');
    assert_int_equal(fetch_with(site, "Foo", "b"), 'n');
}

static afc_challenge_decision answer_as(const char *user, afc_credentials *credentials) {
    *credentials = (afc_credentials)AFC_CREDENTIALS_INIT;
    credentials->user = user;
    credentials->password = "secret";
    return AFC_CHALLENGE_USE;
}

static afc_challenge_decision answer_as_bob(void *context, const afc_challenge *challenge,
                                            afc_credentials *credentials) {
    (void)context, (void)challenge;
    return answer_as("bob", credentials);
}

static call *call_as(caching_fixture *site, const char *user) {
    static afc_credentials credentials = AFC_CREDENTIALS_INIT;
    call *call = call_new(site->fixture, "/");
    credentials.user = user;
    credentials.password = "secret";
    if (user != NULL) call->request.credentials = &credentials;
    return call;
}

static void serve_after_challenge(caching_fixture *site, afts_script *script) {
    serve(site->fixture, "/", script);
    serve_once(site->fixture, "/", answer(401, "WWW-Authenticate: Basic realm=\"it\"", ""));
}

static void response_for_credentials_of_a_challenge_is_for_them_only(void **state) {
    caching_fixture *site = *state;
    /* Alice's request is made as Bob in the end. */
    serve_after_challenge(site, answer(200, FRESH, "bob's"));
    call *call = call_as(site, "alice");
    call->events.on_challenge = answer_as_bob;
    call_perform(call);
    check_slice(call->body, "bob's");
    call_free(call);
    serve_after_challenge(site, answer(200, FRESH, "alice's"));
    call = call_as(site, "alice");
    call_perform(call);
    check_ended(call, AFC_OK);
    check_slice(call->body, "alice's");
    call_free(call);
}

/** Fetches "/" with credentials that are sent at once; returns the body's first octet. */
static char fetch_as(caching_fixture *site, const char *user) {
    afc_credentials credentials = AFC_CREDENTIALS_INIT;
    credentials.user = user;
    credentials.password = "secret";
    credentials.send_preemptively = true;
    call *call = call_new(site->fixture, "/");
    if (user != NULL) call->request.credentials = &credentials;
    return first_octet_of(call);
}

/** The session sends the field, so the request itself doesn't have it. */
static void public_response_that_varies_by_authorization_is_for_one_user(void **state) {
    caching_fixture *site = *state;
    static const char *const others[] = {"bob", NULL};
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        afc_http_cache_remove_all(site->cache);
        serve(site->fixture, "/", answer(200, FRESH ", public\r\nVary: Authorization", "a"));
        assert_int_equal(fetch_as(site, "alice"), 'a');
        serve(site->fixture, "/", answer(200, FRESH ", public\r\nVary: Authorization", "b"));
        assert_int_equal(fetch_as(site, others[i]), 'b');
        assert_int_equal(fetch_as(site, "alice"), 'a');
    }
    afc_http_cache_remove_all(site->cache);
    serve(site->fixture, "/", answer(200, FRESH ", public", "a"));
    assert_int_equal(fetch_as(site, "alice"), 'a');
    serve(site->fixture, "/", answer(200, FRESH ", public", "b"));
    assert_int_equal(fetch_as(site, "bob"), 'a');
}

static char fetch_with_secret(caching_fixture *site, const char *name, unsigned flags,
                              const char *value) {
    afc_header header = field(name, value);
    header.flags = flags;
    call *call = call_new(site->fixture, "/");
    call->request.headers = &header;
    call->request.header_count = 1;
    return first_octet_of(call);
}

static void secret_fields_keep_responses_apart_unless_they_are_public(void **state) {
    caching_fixture *site = *state;
    static const struct {
        const char *fields, *name;
        unsigned flags;
        char second; /**< What another value gets. */
    } rows[] = {
        {FRESH, "X-Key", AFC_HEADER_SECRET, 'b'},
        {FRESH ", public", "X-Key", AFC_HEADER_SECRET, 'a'},
        {FRESH, "X-Key", 0, 'a'},
        {FRESH, "X-Api-Key", AFC_HEADER_SECRET, 'b'},
        {FRESH, "X-Api-Key", 0, 'b'},
        {FRESH, "x-auth-token", 0, 'b'},
        {FRESH ", public", "X-Api-Key", 0, 'a'},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        afc_http_cache_remove_all(site->cache);
        serve(site->fixture, "/", answer(200, rows[i].fields, "a"));
        assert_int_equal(fetch_with_secret(site, rows[i].name, rows[i].flags, "one"), 'a');
        serve(site->fixture, "/", answer(200, rows[i].fields, "b"));
        assert_int_equal(fetch_with_secret(site, rows[i].name, rows[i].flags, "one"), 'a');
        assert_int_equal(fetch_with_secret(site, rows[i].name, rows[i].flags, "two"),
                         rows[i].second);
    }
}

static void update_for_credentials_of_a_challenge_is_not_stored(void **state) {
    caching_fixture *site = *state;
    serve(site->fixture, "/", answer(200, STALE TAG, "old"));
    assert_int_equal(fetch(site, "/"), AFC_CACHE_USE_UNUSED);
    serve_after_challenge(site, answer(304, FRESH "\r\nSet-Cookie: user=bob" TAG, ""));
    call *call = call_as(site, NULL);
    call->events.on_challenge = answer_as_bob;
    call_perform(call);
    check_slice(call->body, "old");
    call_free(call);
    serve(site->fixture, "/", answer(304, FRESH TAG, ""));
    call = call_fetch(site->fixture, "/");
    check_slice(call->body, "old");
    assert_int_equal(cache_use_of(call), AFC_CACHE_USE_VALIDATED);
    assert_int_equal(field_of(call, "Set-Cookie").size, 0);
    call_free(call);
}

/** What is done while a response is under way. */
typedef enum change {
    CHANGE,
    CHANGE_IN_OTHER_SESSION,
    REMOVE_ALL,
    REMOVE_URL,
    REMOVE_HOST,
    REMOVE_SINCE,
    CHANGES
} change;

static void delete_by(caching_fixture *site, afc_session *session) {
    serve(site->fixture, "/", answer(204, NULL, ""));
    call *call = call_new(site->fixture, "/");
    call->session = session;
    call->request.method = "DELETE";
    check_end(call, AFC_OK);
}

static void make(caching_fixture *site, change change) {
    afc_session *other;
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    switch (change) {
    case CHANGE:
        delete_by(site, site->fixture->session);
        break;
    case CHANGE_IN_OTHER_SESSION:
        options.http_cache = site->cache;
        check_status(afc_session_new(&other, &options, NULL), AFC_OK);
        delete_by(site, other);
        afc_session_release(other);
        break;
    case REMOVE_ALL:
        afc_http_cache_remove_all(site->cache);
        break;
    case REMOVE_URL:
        check_status(afc_http_cache_remove_url(site->cache, NULL, url_of(site->fixture, "/"), NULL),
                     AFC_OK);
        break;
    case REMOVE_HOST:
        afc_http_cache_remove_host(site->cache, "127.0.0.1");
        break;
    case REMOVE_SINCE:
        afc_http_cache_remove_since(site->cache, 1);
        break;
    case CHANGES:
        break;
    }
}

static void check_requested_before(caching_fixture *site, bool has_head_first, change change) {
    afts_script *script = afts_script_new();
    if (!has_head_first) afts_stall(script, "gate");
    afts_respond_chunked(script, 200, FRESH);
    afts_chunk(script, "o", 1);
    if (has_head_first) afts_stall(script, "gate");
    afts_chunk(script, "ld", 2);
    afts_last_chunk(script, NULL);
    serve(site->fixture, "/", script);
    call *early = call_new(site->fixture, "/");
    call_start(early);
    assert_true(afts_wait_stalled(site->fixture->server, "gate", 1, PATIENCE_MS));
    if (has_head_first) call_wait_for(early, &early->head_count, 1);
    make(site, change);
    afts_release(site->fixture->server, "gate", 1);
    call_wait(early);
    check_slice(early->body, "old");
    assert_string_equal(afc_result_get_not_stored(early->result),
                        "it was removed meanwhile, or an unsafe request has changed it");
    call_free(early);
    serve(site->fixture, "/", answer(200, "Cache-Control: no-store", "new"));
    assert_int_equal(fetch(site, "/"), AFC_CACHE_USE_UNUSED);
}

static void response_requested_before_a_change_is_not_stored(void **state) {
    for (change change = CHANGE; change < CHANGES; change++) {
        check_requested_before(*state, false, change);
        check_requested_before(*state, true, change);
    }
}

/* ---- https ------------------------------------------------------------------------------------- */

/** Waits until the loop has taken what was posted before. */
static void wait_for_loop(fixture *fixture) {
    call *call = call_new(fixture, "/absent");
    call->request.cache_policy = AFC_HTTP_CACHE_ONLY;
    check_end(call, AFC_OK);
}

static void response_of_http_is_not_validated_over_https(void **state) {
    (void)state;
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    check_status(afc_http_cache_open(&options.http_cache, NULL, NULL), AFC_OK);
    check_status(afc_hsts_new(&options.hsts, NULL, NULL), AFC_OK);
    options.max_connections = 1;
    fixture *fixture = fixture_new_alpn(NULL, &options);
    const char *http = text_of(fixture, "http%s", tls_url(fixture) + strlen("https"));
    afc_http_cache_request request = AFC_HTTP_CACHE_REQUEST_INIT;
    afc_http_cache_response response = AFC_HTTP_CACHE_RESPONSE_INIT;
    const afc_header fields[] = {field("Cache-Control", "no-cache"), field("ETag", "\"one\"")};
    request.url = http;
    response.head.headers = fields;
    response.head.header_count = COUNT_OF(fields);
    response.body = S("forged");
    check_status(afc_http_cache_store(options.http_cache, &request, &response, NULL), AFC_OK);
    afts_script *script = afts_script_new();
    afts_stall(script, "gate");
    afts_respond(script, 200, NULL, "first", 5);
    serve_once(fixture, "/", script);
    call *first = call_new(fixture, "/");
    first->request.url = tls_url(fixture);
    call_start(first);
    assert_true(afts_wait_stalled(fixture->server, "gate", 1, PATIENCE_MS));
    /* It is looked up and waits for the connection; meanwhile the host turns out to require https. */
    serve(fixture, "/", answer(304, "ETag: \"one\"", ""));
    call *second = call_new(fixture, "/");
    second->request.url = http;
    call_start(second);
    wait_for_loop(fixture);
    check_status(afc_hsts_add(options.hsts, "localhost", INT64_MAX, false, NULL), AFC_OK);
    afts_release(fixture->server, "gate", 1);
    call_wait(first);
    call_wait(second);
    check_ended(second, AFC_OK);
    assert_int_equal(status_of(second), 304);
    assert_int_equal(cache_use_of(second), AFC_CACHE_USE_UNUSED);
    assert_string_equal(seen_header(fixture, 1, "If-None-Match"), "");
    call_free(first);
    call_free(second);
    fixture_free(fixture);
    afc_hsts_release(options.hsts);
    afc_http_cache_release(options.http_cache);
}

/** A validation in the background sends the cookies that the request would send. */
static void background_validation_merges_cookies_as_its_request(void **state) {
    (void)state;
    static const struct {
        uint32_t flags;
        const char *expected;
    } rows[] = {{0, "own=1"}, {AFC_REQUEST_MERGE_COOKIES, "own=1; stored=2"}};
    const afc_header own = field("Cookie", "own=1");
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        afc_session_options options = AFC_SESSION_OPTIONS_INIT;
        options.cookies = jar_new();
        caching_fixture *site = caching_fixture_new(&options);
        serve(site->fixture, "/", answer(200, USABLE_STALE, "body"));
        const char *url = url_of(site->fixture, "/");
        check_status(afc_cookie_jar_receive(options.cookies, url, S("stored=2"), NULL), AFC_OK);
        assert_int_equal(fetch(site, "/"), AFC_CACHE_USE_UNUSED);
        call *call = call_new(site->fixture, "/");
        call->request.headers = &own;
        call->request.header_count = 1;
        call->request.flags = rows[i].flags;
        call_perform(call);
        check_ended(call, AFC_OK);
        assert_int_equal(cache_use_of(call), AFC_CACHE_USE_STALE);
        call_free(call);
        assert_true(afts_wait_requests(site->fixture->server, 2, PATIENCE_MS));
        assert_string_equal(seen_header(site->fixture, 1, "Cookie"), rows[i].expected);
        void *made = site;
        caching_fixture_teardown(&made);
        afc_cookie_jar_release(options.cookies);
    }
}

/** The stored response has no Content-Encoding, and so must have the next one. */
static void background_validation_keeps_encoding_as_its_request(void **state) {
    caching_fixture *site = *state;
    serve(site->fixture, "/", answer(200, USABLE_STALE, "body"));
    for (int i = 0; i < 2; i++) {
        call *call = call_new(site->fixture, "/");
        call->request.keep_encoding = true;
        call_perform(call);
        check_ended(call, AFC_OK);
        assert_int_equal(cache_use_of(call), i == 0 ? AFC_CACHE_USE_UNUSED : AFC_CACHE_USE_STALE);
        call_free(call);
    }
    assert_true(afts_wait_requests(site->fixture->server, 2, PATIENCE_MS));
    assert_string_equal(seen_header(site->fixture, 1, "Accept-Encoding"), "identity");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        CACHING_TEST(request_for_the_cache_only_never_reaches_the_server),
        CACHING_TEST(request_over_a_unix_socket_shares_no_responses),
        CACHING_TEST(validation_in_background_does_not_leave_the_proxy),
        CACHING_TEST(validation_in_background_follows_no_redirect),
        CACHING_TEST(validation_in_background_has_the_limits_of_the_request),
        CACHING_TEST(validation_asks_the_hook_of_the_request),
        cmocka_unit_test(validation_in_background_keeps_to_the_main_document),
        cmocka_unit_test(first_url_is_the_main_document_also_from_the_cache),
        cmocka_unit_test(cookies_of_a_stored_response_are_saved_once),
        CACHING_TEST(head_that_names_too_many_fields_updates_nothing),
        CACHING_TEST(update_decides_anew_which_requests_a_response_fits),
        CACHING_TEST(update_never_forgets_which_requests_a_response_fits),
        CACHING_TEST(head_response_decides_anew_which_requests_a_response_fits),
        CACHING_TEST(response_for_credentials_of_a_challenge_is_for_them_only),
        CACHING_TEST(public_response_that_varies_by_authorization_is_for_one_user),
        CACHING_TEST(secret_fields_keep_responses_apart_unless_they_are_public),
        CACHING_TEST(update_for_credentials_of_a_challenge_is_not_stored),
        CACHING_TEST(response_requested_before_a_change_is_not_stored),
        cmocka_unit_test(response_of_http_is_not_validated_over_https),
        CACHING_TEST(handshake_of_websocket_uses_no_stored_response),
        CACHING_TEST(connecting_only_uses_no_stored_response),
        cmocka_unit_test(background_validation_merges_cookies_as_its_request),
        CACHING_TEST(background_validation_keeps_encoding_as_its_request),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
