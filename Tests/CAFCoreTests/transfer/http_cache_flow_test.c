/* The HTTP cache when several tasks, callbacks or failures take part. */
#include "support/caching_fixture.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define FRESH "Cache-Control: max-age=3600"
#define TAG "\r\nETag: \"one\""

/** All requests at once, over as many connections. */
static int wide_setup(void **state) {
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    options.max_connections_per_host = 0;
    *state = caching_fixture_new(&options);
    return 0;
}

#define WIDE_TEST(t) cmocka_unit_test_setup_teardown(t, wide_setup, caching_fixture_teardown)

/** Fetches `path` and returns how the cache took part. */
static afc_http_cache_use fetch(caching_fixture *site, const char *path, const char *body) {
    call *call = call_fetch(site->fixture, path);
    check_ended(call, AFC_OK);
    check_slice(call->body, body);
    afc_http_cache_use use = cache_use_of(call);
    call_free(call);
    return use;
}

/* ---- A clock that jumps ------------------------------------------------------------------------ */

/** A response whose time is in the future is one from before the clock was set back. */
static void response_from_before_a_jump_of_the_clock_is_validated(void **state) {
    caching_fixture *site = *state;
    static const struct {
        const char *path;
        int64_t since;
        afc_http_cache_use use;
    } rows[] = {
        {"/steady", 0, AFC_CACHE_USE_HIT},
        {"/forward", 100000, AFC_CACHE_USE_VALIDATED},
        {"/back", -100, AFC_CACHE_USE_VALIDATED},
        {"/far-back", -1000000000, AFC_CACHE_USE_VALIDATED},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        afc_header fields[] = {{S_INIT("Cache-Control"), S_INIT("max-age=3600"), 0},
                               {S_INIT("ETag"), S_INIT("\"one\""), 0}};
        afc_http_cache_request request = AFC_HTTP_CACHE_REQUEST_INIT;
        afc_http_cache_response response = AFC_HTTP_CACHE_RESPONSE_INIT;
        request.url = url_of(site->fixture, rows[i].path);
        response.head.headers = fields;
        response.head.header_count = COUNT_OF(fields);
        response.body = afc_slice_of("stored");
        response.response_time_s = (int64_t)time(NULL) - rows[i].since;
        check_status(afc_http_cache_store(site->cache, &request, &response, NULL), AFC_OK);
        serve(site->fixture, rows[i].path, answer(304, FRESH TAG, ""));
        assert_int_equal(fetch(site, rows[i].path, "stored"), rows[i].use);
        assert_int_equal(fetch(site, rows[i].path, "stored"), AFC_CACHE_USE_HIT);
    }
    assert_int_equal(request_count(site), COUNT_OF(rows) - 1);
}

/* ---- Bodies that end with their connection ----------------------------------------------------- */

/** Serves a body at the path that is named like its coding. */
static void serve_encoded(caching_fixture *site, const char *path, afc_slice body) {
    afts_script *script = afts_script_new();
    afts_send_text(script, "HTTP/1.1 200 OK\r\n" FRESH "\r\n");
    afts_send_text(script, text_of(site->fixture, "Content-Encoding: %s\r\n\r\n", path + 1));
    if (body.size > 0) afts_send(script, body.bytes, body.size);
    afts_close(script);
    serve(site->fixture, path, script);
}

/** "hello" as one stored block. A connection that is cut ends it as well. */
static void decoded_body_is_stored_only_with_its_end(void **state) {
    caching_fixture *site = *state;
    static const struct {
        const char *path;
        afc_slice body;
    } rows[] = {
        {"/gzip",
         {"\x1F\x8B\x08\0\0\0\0\0\0\xFF\x01\x05\0\xFA\xFFhello\x86\xA6\x10\x36\x05\0\0", 28}},
        {"/deflate", {"\x78\x01\x01\x05\0\xFA\xFFhello\x06\x2C\x02\x15", 16}}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        for (size_t size = 0; size < rows[i].body.size; size++) {
            serve_encoded(site, rows[i].path, (afc_slice){rows[i].body.bytes, size});
            check_fetch(site->fixture, rows[i].path, size > 0 ? AFC_ETRUNCATED : AFC_OK);
        }
        serve_encoded(site, rows[i].path, rows[i].body);
        assert_int_equal(fetch(site, rows[i].path, "hello"), AFC_CACHE_USE_UNUSED);
        assert_int_equal(fetch(site, rows[i].path, "hello"), AFC_CACHE_USE_HIT);
    }
}

/* ---- Stale while revalidating, RFC 5861 3 ----------------------------------------------------- */

static void stale_response_is_validated_in_background(void **state) {
    caching_fixture *site = *state;
    fixture *fixture = site->fixture;
    serve(fixture, "/",
          answer(200, "Cache-Control: max-age=60, stale-while-revalidate=600\r\nAge: 100" TAG,
                 "old"));
    assert_int_equal(fetch(site, "/", "old"), AFC_CACHE_USE_UNUSED);
    serve(fixture, "/", answer(304, FRESH TAG, ""));
    assert_int_equal(fetch(site, "/", "old"), AFC_CACHE_USE_STALE);
    assert_true(afts_wait_requests(fixture->server, 2, PATIENCE_MS));
    assert_string_equal(seen_header(fixture, 1, "If-None-Match"), "\"one\"");
    /* The validation may still be running in the background. */
    while (fetch(site, "/", "old") != AFC_CACHE_USE_HIT) {}
    assert_int_equal(request_count(site), 2);
}

static void changed_response_replaces_stale_one_in_background(void **state) {
    caching_fixture *site = *state;
    serve(site->fixture, "/",
          answer(200, "Cache-Control: max-age=60, stale-while-revalidate=600\r\nAge: 100", "old"));
    assert_int_equal(fetch(site, "/", "old"), AFC_CACHE_USE_UNUSED);
    serve(site->fixture, "/", answer(200, FRESH, "new"));
    assert_int_equal(fetch(site, "/", "old"), AFC_CACHE_USE_STALE);
    for (bool is_new = false; !is_new;) {
        call *call = call_fetch(site->fixture, "/");
        is_new = cache_use_of(call) == AFC_CACHE_USE_HIT;
        if (is_new) check_slice(call->body, "new");
        call_free(call);
    }
    assert_int_equal(request_count(site), 2);
}

/** Makes the next response to "/" a stale one that may be used while it is validated in the background. */
static void store_stale(caching_fixture *site) {
    serve(site->fixture, "/",
          answer(200, "Cache-Control: max-age=60, stale-while-revalidate=600\r\nAge: 100", "old"));
    assert_int_equal(fetch(site, "/", "old"), AFC_CACHE_USE_UNUSED);
}

/** A body that doesn't end by itself, far longer than what the cache stores. */
static void serve_endless(caching_fixture *site, const char *fields) {
    static char block[64 * 1024];
    afts_script *script = afts_script_new();
    memset(block, 'x', sizeof block);
    afts_respond_chunked(script, 200, fields);
    afts_chunk_repeated(script, block, sizeof block, UINT32_MAX);
    serve(site->fixture, "/", script);
}

static void background_validation_ends_with_what_is_stored(void **state) {
    caching_fixture *site = *state;
    /* One body becomes too large for the cache, the other isn't stored from the beginning. */
    static const char *const fields[] = {FRESH, "Cache-Control: no-store"};
    afc_http_cache_set_capacity(site->cache, 4 * 1024 * 1024, 0);
    for (size_t i = 0; i < COUNT_OF(fields); i++) {
        afc_http_cache_remove_all(site->cache);
        store_stale(site);
        serve_endless(site, fields[i]);
        assert_int_equal(fetch(site, "/", "old"), AFC_CACHE_USE_STALE);
        assert_true(afts_wait_requests(site->fixture->server, 2 * (i + 1), PATIENCE_MS));
        assert_true(afts_wait_closed(site->fixture->server, i + 1, PATIENCE_MS));
    }
    /* Nothing of it is left that would keep the session's thread. */
    fixture_close_session(site->fixture);
    afc_join_closed_sessions();
}

/** A response that is held back until its gate opens. */
static void serve_behind_gate(caching_fixture *site, const char *fields) {
    afts_script *script = afts_script_new();
    afts_stall(script, "gate");
    afts_respond(script, 200, fields, "body", 4);
    serve(site->fixture, "/", script);
}

static void closed_session_waits_for_no_background_validation(void **state) {
    caching_fixture *site = *state;
    store_stale(site);
    serve_behind_gate(site, FRESH);
    assert_int_equal(fetch(site, "/", "old"), AFC_CACHE_USE_STALE);
    assert_true(afts_wait_stalled(site->fixture->server, "gate", 1, PATIENCE_MS));
    afc_session *session = site->fixture->session;
    site->fixture->session = NULL;
    check_status(afc_session_join(session, PATIENCE_MS), AFC_OK);
    afts_release(site->fixture->server, "gate", 1);
}

/* ---- Errors, RFC 5861 4 ----------------------------------------------------------------------- */

static void stale_response_replaces_lost_connection_if_allowed(void **state) {
    caching_fixture *site = *state;
    fixture *fixture = site->fixture;
    serve(fixture, "/allowed",
          answer(200, "Cache-Control: max-age=60, stale-if-error=600\r\nAge: 100", "old"));
    serve(fixture, "/forbidden", answer(200, "Cache-Control: max-age=60\r\nAge: 100" TAG, "old"));
    assert_int_equal(fetch(site, "/allowed", "old"), AFC_CACHE_USE_UNUSED);
    assert_int_equal(fetch(site, "/forbidden", "old"), AFC_CACHE_USE_UNUSED);
    serve_text(fixture, "/allowed", "");
    serve_text(fixture, "/forbidden", "");
    assert_int_equal(fetch(site, "/allowed", "old"), AFC_CACHE_USE_STALE);
    check_fetch(fixture, "/forbidden", AFC_ELOST);
}

#define ON_ERROR "Cache-Control: max-age=60, stale-if-error=600\r\nAge: 100"

static void stale_response_replaces_invalid_head_if_allowed(void **state) {
    caching_fixture *site = *state;
    static const char *const heads[] = {"HTTP/1.1 200 OK\r\nContent-",
                                        "HTTP/1.1 200 OK\r\nA: 1\r\n", "HTTP/1.1 2x0 OK\r\n\r\n",
                                        "nonsense\r\n\r\n", "HTTP/1.1 200 OK\r\nno colon\r\n\r\n"};
    for (size_t i = 0; i < COUNT_OF(heads); i++) {
        fixture *fixture = site->fixture;
        const char *path = text_of(fixture, "/%zu", i), *other = text_of(fixture, "/no%zu", i);
        serve(fixture, path, answer(200, ON_ERROR, "old"));
        serve(fixture, other, answer(200, "Cache-Control: max-age=60\r\nAge: 100" TAG, "old"));
        assert_int_equal(fetch(site, path, "old"), AFC_CACHE_USE_UNUSED);
        assert_int_equal(fetch(site, other, "old"), AFC_CACHE_USE_UNUSED);
        serve_text(site->fixture, path, heads[i]);
        serve_text(site->fixture, other, heads[i]);
        assert_int_equal(fetch(site, path, "old"), AFC_CACHE_USE_STALE);
        check_fetch(site->fixture, other, AFC_EPROTOCOL);
    }
}

static void stale_response_replaces_late_head_except_at_the_total_limit(void **state) {
    caching_fixture *site = *state;
    static const struct {
        afc_timeouts timeouts;
        afc_status status;
    } rows[] = {{{.idle_ms = 50}, AFC_OK}, {{.total_ms = 50}, AFC_ETIMEOUT}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const char *path = text_of(site->fixture, "/%zu", i);
        serve(site->fixture, path, answer(200, ON_ERROR, "old"));
        assert_int_equal(fetch(site, path, "old"), AFC_CACHE_USE_UNUSED);
        afts_script *script = afts_script_new();
        afts_stall(script, "late");
        serve(site->fixture, path, script);
        call *call = call_new(site->fixture, path);
        call->request.timeouts = rows[i].timeouts;
        call_perform(call);
        check_ended(call, rows[i].status);
        if (rows[i].status == AFC_OK) {
            check_slice(call->body, "old");
            assert_int_equal(cache_use_of(call), AFC_CACHE_USE_STALE);
        }
        call_free(call);
    }
}

/* ---- Contradictions, RFC 9111 4.3.4 ------------------------------------------------------------ */

static void not_modified_with_another_tag_confirms_nothing(void **state) {
    caching_fixture *site = *state;
    static const struct {
        const char *tag;
        bool confirms;
    } rows[] = {{"ETag: \"one\"", true},
                {"ETag: W/\"one\"", true},
                {NULL, true},
                {"ETag: \"two\"", false},
                {"ETag: W/\"two\"", false}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        afc_http_cache_remove_all(site->cache);
        serve(site->fixture, "/", answer(200, "Cache-Control: max-age=0" TAG, "old"));
        assert_int_equal(fetch(site, "/", "old"), AFC_CACHE_USE_UNUSED);
        size_t before = request_count(site);
        serve(site->fixture, "/", answer(200, FRESH, "new"));
        serve_once(site->fixture, "/", answer(304, rows[i].tag, ""));
        if (rows[i].confirms) {
            assert_int_equal(fetch(site, "/", "old"), AFC_CACHE_USE_VALIDATED);
            assert_int_equal(request_count(site) - before, 1);
        } else {
            assert_int_equal(fetch(site, "/", "new"), AFC_CACHE_USE_UNUSED);
            assert_int_equal(request_count(site) - before, 2);
            assert_string_equal(seen_header(site->fixture, before + 1, "If-None-Match"), "");
            assert_int_equal(fetch(site, "/", "new"), AFC_CACHE_USE_HIT);
        }
    }
}

/** A 304 in response to If-Modified-Since may be about a response that was never received. */
static void not_modified_with_a_tag_that_is_not_stored_confirms_nothing(void **state) {
    caching_fixture *site = *state;
    static const char dated[] = "Cache-Control: max-age=0\r\n"
                                "Last-Modified: Mon, 01 Jan 2024 00:00:00 GMT";
    serve(site->fixture, "/", answer(200, dated, "old"));
    assert_int_equal(fetch(site, "/", "old"), AFC_CACHE_USE_UNUSED);
    serve(site->fixture, "/", answer(200, FRESH TAG, "new"));
    serve_once(site->fixture, "/", answer(304, FRESH TAG, ""));
    assert_int_equal(fetch(site, "/", "new"), AFC_CACHE_USE_UNUSED);
    assert_string_equal(seen_header(site->fixture, 2, "If-Modified-Since"), "");
    assert_int_equal(fetch(site, "/", "new"), AFC_CACHE_USE_HIT);
    assert_int_equal(request_count(site), 3);
}

/** Servers compare If-Modified-Since with the time of the file, which an older file may have replaced. */
static void not_modified_with_another_date_confirms_nothing(void **state) {
    caching_fixture *site = *state;
    static const char other[] = "Last-Modified: Sun, 31 Dec 2023 00:00:00 GMT";
    serve(site->fixture, "/",
          answer(200,
                 "Cache-Control: max-age=0\r\n"
                 "Last-Modified: Mon, 01 Jan 2024 00:00:00 GMT",
                 "old"));
    assert_int_equal(fetch(site, "/", "old"), AFC_CACHE_USE_UNUSED);
    serve(site->fixture, "/", answer(200, FRESH, "new"));
    serve_once(site->fixture, "/", answer(304, other, ""));
    assert_int_equal(fetch(site, "/", "new"), AFC_CACHE_USE_UNUSED);
    assert_string_equal(seen_header(site->fixture, 2, "If-Modified-Since"), "");
    assert_int_equal(fetch(site, "/", "new"), AFC_CACHE_USE_HIT);
}

/* ---- One request for many tasks --------------------------------------------------------------- */

enum { TASKS = 20 };

static call *begin_collapsing(caching_fixture *site, const char *path) {
    call *call = call_new(site->fixture, path);
    call->request.flags = AFC_REQUEST_COLLAPSE;
    call_start(call);
    return call;
}

static void equal_requests_collapse_into_one(void **state) {
    caching_fixture *site = *state;
    call *calls[TASKS];
    serve_behind_gate(site, FRESH);
    for (size_t i = 0; i < TASKS; i++) calls[i] = begin_collapsing(site, "/");
    assert_true(afts_wait_stalled(site->fixture->server, "gate", 1, PATIENCE_MS));
    afts_release(site->fixture->server, "gate", 1000);
    for (size_t i = 0; i < TASKS; i++) {
        call_wait(calls[i]);
        check_ended(calls[i], AFC_OK);
        check_slice(calls[i]->body, "body");
        assert_int_equal(cache_use_of(calls[i]), i == 0 ? AFC_CACHE_USE_UNUSED : AFC_CACHE_USE_HIT);
        call_free(calls[i]);
    }
    assert_int_equal(request_count(site), 1);
}

/** Begins a request that collapses; `field` may be NULL. */
static call *begin_asking(caching_fixture *site, const char *path, afc_http_cache_policy policy,
                          const afc_header *field) {
    call *call = call_new(site->fixture, path);
    call->request.flags = AFC_REQUEST_COLLAPSE;
    call->request.cache_policy = policy;
    call->request.headers = field;
    call->request.header_count = field != NULL ? 1 : 0;
    call_start(call);
    return call;
}

/**
 * Waits until the tasks that were started are waiting for the one whose response is behind the gate, and lets that one
 * go.
 */
static void open_gate(caching_fixture *site) {
    assert_true(afts_wait_stalled(site->fixture->server, "gate", 1, PATIENCE_MS));
    serve(site->fixture, "/other", answer(200, NULL, "other"));
    call_free(call_fetch(site->fixture, "/other"));
    afts_release(site->fixture->server, "gate", 1);
}

static void serve_late(caching_fixture *site, const char *path, int status, const char *fields,
                       const char *body) {
    afts_script *script = afts_script_new();
    afts_stall(script, "gate");
    afts_respond(script, status, fields, body, strlen(body));
    serve_once(site->fixture, path, script);
}

/** Checks the end of a call, and frees it. */
static void check_and_free(call *call, const char *body, afc_http_cache_use use) {
    call_wait(call);
    check_ended(call, AFC_OK);
    check_slice(call->body, body);
    assert_int_equal(cache_use_of(call), use);
    call_free(call);
}

static const afc_header english = {S_INIT("X-Kind"), S_INIT("en"), 0};
static const afc_header german = {S_INIT("X-Kind"), S_INIT("de"), 0};

/** What one task has validated needs no other validation; a reload waits for a whole response. */
static void validation_collapses_if_its_result_is_what_others_want(void **state) {
    caching_fixture *site = *state;
    static const struct {
        const char *path;
        int status; /* Status of the response that is waited for. */
        const char *body;
        afc_http_cache_policy first, second;
        afc_http_cache_use first_use, second_use;
    } rows[] = {
        {"/valid", 304, "", AFC_HTTP_CACHE_REVALIDATE, AFC_HTTP_CACHE_REVALIDATE,
         AFC_CACHE_USE_VALIDATED, AFC_CACHE_USE_HIT},
        {"/changed", 200, "new", AFC_HTTP_CACHE_REVALIDATE, AFC_HTTP_CACHE_REVALIDATE,
         AFC_CACHE_USE_UNUSED, AFC_CACHE_USE_HIT},
        {"/reloaded", 200, "new", AFC_HTTP_CACHE_RELOAD, AFC_HTTP_CACHE_RELOAD,
         AFC_CACHE_USE_UNUSED, AFC_CACHE_USE_HIT},
        {"/error", 500, "down", AFC_HTTP_CACHE_REVALIDATE, AFC_HTTP_CACHE_REVALIDATE,
         AFC_CACHE_USE_UNUSED, AFC_CACHE_USE_UNUSED},
        {"/whole", 304, "", AFC_HTTP_CACHE_REVALIDATE, AFC_HTTP_CACHE_RELOAD,
         AFC_CACHE_USE_VALIDATED, AFC_CACHE_USE_UNUSED},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        print_message("%s\n", rows[i].path);
        serve(site->fixture, rows[i].path, answer(200, FRESH TAG, "old"));
        call_free(call_fetch(site->fixture, rows[i].path));
        serve(site->fixture, rows[i].path, answer(200, FRESH "\r\nETag: \"three\"", "own"));
        serve_late(site, rows[i].path, rows[i].status, rows[i].status != 500 ? FRESH : NULL,
                   rows[i].body);
        size_t before = request_count(site);
        call *first = begin_asking(site, rows[i].path, rows[i].first, NULL);
        call *second = begin_asking(site, rows[i].path, rows[i].second, NULL);
        open_gate(site);
        const char *body = rows[i].status == 304 ? "old" : rows[i].body;
        bool is_collapsed = rows[i].second_use == AFC_CACHE_USE_HIT;
        check_and_free(first, body, rows[i].first_use);
        check_and_free(second, is_collapsed ? body : "own", rows[i].second_use);
        assert_int_equal(request_count(site) - before, is_collapsed ? 2 : 3);
    }
}

static void validation_of_another_variant_validates_nothing(void **state) {
    caching_fixture *site = *state;
    static const char varying[] = FRESH "\r\nVary: X-Kind" TAG;
    serve(site->fixture, "/", answer(200, varying, "old"));
    for (size_t i = 0; i < 2; i++) {
        call *call = begin_asking(site, "/", AFC_HTTP_CACHE_PROTOCOL, i == 0 ? &english : &german);
        check_and_free(call, "old", AFC_CACHE_USE_UNUSED);
    }
    serve(site->fixture, "/", answer(200, FRESH "\r\nVary: X-Kind", "neu"));
    serve_late(site, "/", 304, varying, "");
    call *first = begin_asking(site, "/", AFC_HTTP_CACHE_REVALIDATE, &english);
    call *second = begin_asking(site, "/", AFC_HTTP_CACHE_REVALIDATE, &german);
    open_gate(site);
    check_and_free(first, "old", AFC_CACHE_USE_VALIDATED);
    check_and_free(second, "neu", AFC_CACHE_USE_UNUSED);
}

/** The first response is no response for others, but the request is repeated. */
static void requests_collapse_also_if_the_first_one_is_repeated(void **state) {
    caching_fixture *site = *state;
    static const struct {
        const char *path;
        int status;
        const char *fields;
        afc_http_cache_use use; /* Use by the requests that wait. */
        const char *body;
        size_t requests;
    } rows[] = {
        {"/challenge", 401, "WWW-Authenticate: Basic realm=\"r\"", AFC_CACHE_USE_HIT, "new", 2},
        {"/tag", 304, "ETag: \"other\"", AFC_CACHE_USE_HIT, "new", 2},
        {"/error", 503, NULL, AFC_CACHE_USE_STALE, "old", 1},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        call *calls[4];
        afc_credentials credentials = AFC_CREDENTIALS_INIT;
        credentials.user = "joe";
        credentials.password = "secret";
        bool is_challenge = rows[i].status == 401;
        print_message("%s\n", rows[i].path);
        if (!is_challenge) {
            serve(site->fixture, rows[i].path,
                  answer(200, "Cache-Control: max-age=0, stale-if-error=600" TAG, "old"));
            call_free(call_fetch(site->fixture, rows[i].path));
        }
        size_t before = request_count(site);
        serve(site->fixture, rows[i].path, answer(200, FRESH, "new"));
        serve_late(site, rows[i].path, rows[i].status, rows[i].fields, "");
        for (size_t k = 0; k < COUNT_OF(calls); k++) {
            calls[k] = call_new(site->fixture, rows[i].path);
            calls[k]->request.flags = AFC_REQUEST_COLLAPSE;
            if (is_challenge) calls[k]->request.credentials = &credentials;
            call_start(calls[k]);
        }
        open_gate(site);
        for (size_t k = 0; k < COUNT_OF(calls); k++) {
            afc_http_cache_use first = rows[i].status == 503 ? AFC_CACHE_USE_STALE
                                                             : AFC_CACHE_USE_UNUSED;
            check_and_free(calls[k], rows[i].body, k == 0 ? first : rows[i].use);
        }
        /* And the one of open_gate(). */
        assert_int_equal(request_count(site) - before, rows[i].requests + 1);
    }
}

/** What the first one stores fits none of the others. */
static void requests_that_vary_collapse_among_each_other(void **state) {
    caching_fixture *site = *state;
    call *calls[8];
    static const char varying[] = FRESH "\r\nVary: X-Kind";
    serve(site->fixture, "/", answer(200, varying, "german"));
    serve_late(site, "/", 200, varying, "english");
    for (size_t i = 0; i < COUNT_OF(calls); i++)
        calls[i] = begin_asking(site, "/", AFC_HTTP_CACHE_PROTOCOL, i == 0 ? &english : &german);
    open_gate(site);
    for (size_t i = 0; i < COUNT_OF(calls); i++) {
        check_and_free(calls[i], i == 0 ? "english" : "german",
                       i < 2 ? AFC_CACHE_USE_UNUSED : AFC_CACHE_USE_HIT);
    }
    assert_int_equal(request_count(site), 3);
}

static void collapsed_requests_ask_themselves_if_nothing_was_stored(void **state) {
    caching_fixture *site = *state;
    call *calls[3];
    serve_behind_gate(site, "Cache-Control: no-store");
    for (size_t i = 0; i < COUNT_OF(calls); i++) calls[i] = begin_collapsing(site, "/");
    assert_true(afts_wait_stalled(site->fixture->server, "gate", 1, PATIENCE_MS));
    afts_release(site->fixture->server, "gate", 1000);
    for (size_t i = 0; i < COUNT_OF(calls); i++) {
        call_wait(calls[i]);
        check_ended(calls[i], AFC_OK);
        assert_int_equal(cache_use_of(calls[i]), AFC_CACHE_USE_UNUSED);
        call_free(calls[i]);
    }
    assert_int_equal(request_count(site), COUNT_OF(calls));
}

static void cancelled_tasks_leave_the_others_alone(void **state) {
    caching_fixture *site = *state;
    call *calls[4];
    serve_behind_gate(site, FRESH);
    for (size_t i = 0; i < COUNT_OF(calls); i++) calls[i] = begin_collapsing(site, "/");
    assert_true(afts_wait_stalled(site->fixture->server, "gate", 1, PATIENCE_MS));
    /* One that waits, then the one that the others wait for. */
    afc_task_cancel(calls[1]->task);
    call_wait(calls[1]);
    check_ended(calls[1], AFC_ECANCELED);
    afc_task_cancel(calls[0]->task);
    call_wait(calls[0]);
    afts_release(site->fixture->server, "gate", 1000);
    for (size_t i = 2; i < COUNT_OF(calls); i++) {
        call_wait(calls[i]);
        check_ended(calls[i], AFC_OK);
        check_slice(calls[i]->body, "body");
    }
    for (size_t i = 0; i < COUNT_OF(calls); i++) call_free(calls[i]);
}

static void one_task_takes_the_place_of_a_cancelled_one(void **state) {
    caching_fixture *site = *state;
    /* How many tasks are cancelled, one after the other: each time the next one asks the server. */
    for (size_t cancelled = 1; cancelled < 4; cancelled++) {
        call *calls[12];
        afc_http_cache_remove_all(site->cache);
        const char *gate = text_of(site->fixture, "gate %zu", cancelled);
        afts_script *script = afts_script_new();
        afts_stall(script, gate);
        afts_respond(script, 200, FRESH, "body", 4);
        serve(site->fixture, "/", script);
        size_t before = request_count(site);
        for (size_t i = 0; i < COUNT_OF(calls); i++) calls[i] = begin_collapsing(site, "/");
        for (size_t i = 0; i < cancelled; i++) {
            assert_true(afts_wait_requests(site->fixture->server, before + i + 1, PATIENCE_MS));
            afc_task_cancel(calls[i]->task);
            call_wait(calls[i]);
            check_ended(calls[i], AFC_ECANCELED);
        }
        assert_true(afts_wait_requests(site->fixture->server, before + cancelled + 1, PATIENCE_MS));
        afts_release(site->fixture->server, gate, 1000);
        for (size_t i = cancelled; i < COUNT_OF(calls); i++) {
            call_wait(calls[i]);
            check_ended(calls[i], AFC_OK);
            check_slice(calls[i]->body, "body");
        }
        assert_int_equal(request_count(site) - before, cancelled + 1);
        for (size_t i = 0; i < COUNT_OF(calls); i++) call_free(calls[i]);
    }
}

static void requests_that_do_not_collapse_are_all_sent(void **state) {
    caching_fixture *site = *state;
    call *calls[3];
    serve_behind_gate(site, FRESH);
    for (size_t i = 0; i < COUNT_OF(calls); i++) {
        calls[i] = call_new(site->fixture, "/");
        call_start(calls[i]);
    }
    assert_true(afts_wait_stalled(site->fixture->server, "gate", COUNT_OF(calls), PATIENCE_MS));
    afts_release(site->fixture->server, "gate", 1000);
    for (size_t i = 0; i < COUNT_OF(calls); i++) {
        call_wait(calls[i]);
        call_free(calls[i]);
    }
    assert_int_equal(request_count(site), COUNT_OF(calls));
}

/* ---- The hook --------------------------------------------------------------------------------- */

static bool refuse(void *context, afc_http_cache_candidate *candidate) {
    (void)context, (void)candidate;
    return false;
}

static bool edit(void *context, afc_http_cache_candidate *candidate) {
    static const afc_header fields[] = {{{"Cache-Control", 13}, {"max-age=60", 10}, 0},
                                        {{"X-Stored", 8}, {"1", 1}, 0}};
    (void)context;
    candidate->headers = fields;
    candidate->header_count = COUNT_OF(fields);
    return true;
}

static bool split(void *context, afc_http_cache_candidate *candidate) {
    static const afc_header field = {{"A", 1}, {"1\r\nB: 2", 7}, 0};
    (void)context;
    candidate->headers = &field;
    candidate->header_count = 1;
    return true;
}

static bool forbid(void *context, afc_http_cache_candidate *candidate) {
    static const afc_header fields[] = {{{"Cache-Control", 13}, {"no-store, max-age=60", 20}, 0}};
    (void)context;
    candidate->headers = fields;
    candidate->header_count = COUNT_OF(fields);
    return true;
}

static bool vary_by_all(void *context, afc_http_cache_candidate *candidate) {
    static const afc_header fields[] = {{{"Cache-Control", 13}, {"max-age=60", 10}, 0},
                                        {{"Vary", 4}, {"*", 1}, 0}};
    (void)context;
    candidate->headers = fields;
    candidate->header_count = COUNT_OF(fields);
    return true;
}

/** Leaves nothing that makes the response of use. */
static bool remove_all(void *context, afc_http_cache_candidate *candidate) {
    (void)context;
    candidate->header_count = 0;
    return true;
}

/** Says of the body what isn't true. */
static bool misdescribe(void *context, afc_http_cache_candidate *candidate) {
    static const afc_header fields[] = {{{"Cache-Control", 13}, {"max-age=60", 10}, 0},
                                        {{"Content-Length", 14}, {"999", 3}, 0},
                                        {{"Content-Encoding", 16}, {"gzip", 4}, 0},
                                        {{"Content-Range", 13}, {"bytes 0-9/10", 12}, 0}};
    (void)context;
    candidate->headers = fields;
    candidate->header_count = COUNT_OF(fields);
    return true;
}

static void hook_does_not_change_what_describes_the_body(void **state) {
    caching_fixture *site = *state;
    serve(site->fixture, "/", answer(200, FRESH, "body"));
    call *call = call_new(site->fixture, "/");
    call->events.on_cache = misdescribe;
    call_perform(call);
    check_ended(call, AFC_OK);
    call_free(call);
    call = call_fetch(site->fixture, "/");
    check_ended(call, AFC_OK);
    check_slice(call->body, "body");
    assert_int_equal(cache_use_of(call), AFC_CACHE_USE_HIT);
    check_slice(field_of(call, "Cache-Control"), "max-age=60");
    check_slice(field_of(call, "Content-Length"), "4");
    assert_int_equal(field_of(call, "Content-Encoding").size, 0);
    assert_int_equal(field_of(call, "Content-Range").size, 0);
    call_free(call);
}

static void hook_refuses_and_edits_what_is_stored(void **state) {
    caching_fixture *site = *state;
    static const struct {
        const char *path;
        bool (*hook)(void *context, afc_http_cache_candidate *candidate);
        afc_http_cache_use use;
        const char *not_stored;
    } cases[] = {
        {"/refused", refuse, AFC_CACHE_USE_UNUSED, "on_cache refused it"},
        {"/edited", edit, AFC_CACHE_USE_HIT, ""},
        {"/split", split, AFC_CACHE_USE_UNUSED, "on_cache returned an invalid field"},
        {"/forbidden", forbid, AFC_CACHE_USE_UNUSED, "no-store"},
        {"/varied", vary_by_all, AFC_CACHE_USE_UNUSED, "Vary is *"},
        {"/bare", remove_all, AFC_CACHE_USE_UNUSED, "it has neither a lifetime nor a validator"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        serve(site->fixture, cases[i].path, answer(200, FRESH "\r\nX-Received: 1", "body"));
        call *call = call_new(site->fixture, cases[i].path);
        call->events.on_cache = cases[i].hook;
        call_perform(call);
        check_ended(call, AFC_OK);
        check_slice(field_of(call, "X-Received"), "1");
        assert_string_equal(afc_result_get_not_stored(call->result), cases[i].not_stored);
        call_free(call);
        call = call_fetch(site->fixture, cases[i].path);
        assert_int_equal(cache_use_of(call), cases[i].use);
        if (cases[i].use == AFC_CACHE_USE_HIT) {
            check_slice(field_of(call, "X-Stored"), "1");
            assert_int_equal(field_of(call, "X-Received").size, 0);
            check_slice(field_of(call, "Cache-Control"), "max-age=60");
        }
        call_free(call);
    }
}

/* ---- Memory ----------------------------------------------------------------------------------- */

/** Returns the allocations that were made. */
static size_t fetch_failing(caching_fixture *site, const char *path, size_t n) {
    call *call = call_new(site->fixture, path);
    afc_status status;
    size_t made = call_perform_failing(call, n, &status);
    if (status == AFC_OK) check_slice(call->body, "body");
    call_free(call);
    return made;
}

static void no_allocation_that_fails_makes_a_wrong_answer(void **state) {
    caching_fixture *site = *state;
    serve(site->fixture, "/stored", answer(200, FRESH "\r\nVary: Accept-Language", "body"));
    serve(site->fixture, "/stale", answer(200, "Cache-Control: max-age=0" TAG, "body"));
    for (size_t n = 1; fetch_failing(site, "/stored", n) >= n; n++) {
        afc_http_cache_remove_all(site->cache);
    }
    for (size_t n = 1; fetch_failing(site, "/stored", n) >= n; n++) {}
    for (size_t n = 1; fetch_failing(site, "/stale", n) >= n; n++) {}
}

/** Each hop takes a turn of the loop, not a piece of its stack. */
static void endless_stored_redirects_end_at_their_limit(void **state) {
    caching_fixture *site = *state;
    serve(site->fixture, "/", answer(301, FRESH "\r\nLocation: /", ""));
    call *call = call_new(site->fixture, "/");
    call->request.limits.redirects = -1;
    call_perform(call);
    check_ended(call, AFC_OK);
    call_free(call);
    call = call_new(site->fixture, "/");
    call->request.cache_policy = AFC_HTTP_CACHE_ONLY;
    call->request.limits.redirects = 40000;
    call_perform(call);
    check_ended(call, AFC_EREDIRECT);
    call_free(call);
    assert_int_equal(request_count(site), 1);
}

/** A server that redirects each client once, such as to set a cookie, doesn't lock out those that have the redirect. */
static void stored_redirect_that_leads_back_is_validated(void **state) {
    caching_fixture *site = *state;
    static const struct {
        const char *path, *to, *location, *back;
    } rows[] = {{"/self", "/self", FRESH "\r\nLocation: /self", NULL},
                {"/page", "/login", FRESH "\r\nLocation: /login", FRESH "\r\nLocation: /page"}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        serve(site->fixture, rows[i].path, answer(302, rows[i].location, ""));
        if (rows[i].back != NULL) serve(site->fixture, rows[i].to, answer(302, rows[i].back, ""));
        call *call = call_new(site->fixture, rows[i].path);
        call->request.limits.redirects = 2;
        call_perform(call);
        check_ended(call, AFC_EREDIRECT);
        call_free(call);
        /* Now the server knows the client. */
        serve(site->fixture, rows[i].to, answer(200, FRESH, "body"));
        for (size_t k = 0; k < 2; k++) {
            call = call_fetch(site->fixture, rows[i].path);
            check_ended(call, AFC_OK);
            check_slice(call->body, "body");
            assert_int_equal(cache_use_of(call), k == 0 ? AFC_CACHE_USE_UNUSED : AFC_CACHE_USE_HIT);
            call_free(call);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        CACHING_TEST(response_from_before_a_jump_of_the_clock_is_validated),
        WIDE_TEST(decoded_body_is_stored_only_with_its_end),
        WIDE_TEST(stale_response_is_validated_in_background),
        WIDE_TEST(changed_response_replaces_stale_one_in_background),
        WIDE_TEST(background_validation_ends_with_what_is_stored),
        WIDE_TEST(closed_session_waits_for_no_background_validation),
        WIDE_TEST(stale_response_replaces_lost_connection_if_allowed),
        WIDE_TEST(stale_response_replaces_invalid_head_if_allowed),
        WIDE_TEST(stale_response_replaces_late_head_except_at_the_total_limit),
        WIDE_TEST(not_modified_with_another_tag_confirms_nothing),
        WIDE_TEST(not_modified_with_a_tag_that_is_not_stored_confirms_nothing),
        WIDE_TEST(not_modified_with_another_date_confirms_nothing),
        WIDE_TEST(equal_requests_collapse_into_one),
        WIDE_TEST(validation_collapses_if_its_result_is_what_others_want),
        WIDE_TEST(validation_of_another_variant_validates_nothing),
        WIDE_TEST(requests_collapse_also_if_the_first_one_is_repeated),
        WIDE_TEST(requests_that_vary_collapse_among_each_other),
        WIDE_TEST(collapsed_requests_ask_themselves_if_nothing_was_stored),
        WIDE_TEST(cancelled_tasks_leave_the_others_alone),
        WIDE_TEST(one_task_takes_the_place_of_a_cancelled_one),
        WIDE_TEST(requests_that_do_not_collapse_are_all_sent),
        WIDE_TEST(hook_refuses_and_edits_what_is_stored),
        WIDE_TEST(hook_does_not_change_what_describes_the_body),
        WIDE_TEST(no_allocation_that_fails_makes_a_wrong_answer),
        WIDE_TEST(endless_stored_redirects_end_at_their_limit),
        WIDE_TEST(stored_redirect_that_leads_back_is_validated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
