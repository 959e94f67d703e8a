/*
 * The HTTP cache in the flow, over real connections: two requests for each row, and what the server saw of the second.
 */
#include "support/caching_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/** Replaces each "@-100@" by the date of 100 seconds ago. */
static const char *with_dates(fixture *fixture, const char *text) {
    char out[512];
    size_t size = 0;
    if (text == NULL) return NULL;
    for (const char *at = text; *at != '\0';) {
        char date[AFC_DATE_SIZE];
        if (*at != '@') {
            out[size++] = *at++;
            continue;
        }
        char *end;
        long offset = strtol(at + 1, &end, 10);
        assert_true(*end == '@' && afc_date_write(date, (int64_t)time(NULL) + offset));
        size += (size_t)snprintf(out + size, sizeof out - size, "%s", date);
        at = end + 1;
    }
    out[size] = '\0';
    return text_of(fixture, "%s", out);
}

enum { MOST_FIELDS = 4 };

/** Fields of one text, a line each. */
static size_t read_fields(const char *text, afc_header out[MOST_FIELDS]) {
    size_t count = 0;
    while (text != NULL && *text != '\0') {
        const char *colon = strstr(text, ": "), *end = strstr(text, "\r\n");
        if (end == NULL) end = text + strlen(text);
        assert_true(count < MOST_FIELDS && colon != NULL && colon < end);
        out[count++] = (afc_header){
            {text, (size_t)(colon - text)}, {colon + 2, (size_t)(end - colon - 2)}, 0};
        text = *end != '\0' ? end + 2 : end;
    }
    return count;
}

static call *start(caching_fixture *site, const char *path, const char *method, const char *fields,
                   afc_http_cache_policy policy) {
    afc_header headers[MOST_FIELDS];
    call *call = call_new(site->fixture, path);
    if (method != NULL && strcmp(method, "POST") == 0) {
        call_send(call, method, S("content"));
    } else if (method != NULL) {
        call->request.method = method;
    }
    call->request.headers = headers;
    call->request.header_count = read_fields(fields, headers);
    call->request.cache_policy = policy;
    call_perform(call);
    return call;
}

static const afc_hop *last_hop(const call *call) {
    assert_true(call->hop_count > 0);
    return &call->hops[call->hop_count - 1];
}

/* ---- Two requests -------------------------------------------------------------------------- */

typedef struct row {
    const char *name;
    const char *request;  /**< Fields of the first request. */
    int status;           /**< The response to it; 0: 200. */
    const char *response; /**< Its fields. */
    const char *method;   /**< Method of the second request; NULL: GET. */
    const char *second;   /**< Its fields. */
    afc_http_cache_policy policy;
    int later_status;  /**< What the server answers then; 0: 200. */
    const char *later; /**< The fields of that. */
    int expected;      /**< The status of the second response; 0: 200. */
    const char *body;  /**< Its body: "old" of the first, "new" of the second, or another. */
    afc_http_cache_use use;
    bool is_silent;        /**< The server sees no second request. */
    const char *condition; /**< A field that the second request has, as "Name: value". */
} row;

#define FRESH "Cache-Control: max-age=3600"
#define STALE "Cache-Control: max-age=60\r\nAge: 100"
#define TAG "\r\nETag: \"one\""

static const row rows[] = {
    /* Freshness, RFC 9111 4.2. */
    {.name = "fresh",
     .response = FRESH,
     .body = "old",
     .use = AFC_CACHE_USE_HIT,
     .is_silent = true},
    {.name = "nothing said", .body = "new"},
    {.name = "stale", .response = STALE, .body = "new"},
    {.name = "expires",
     .response = "Date: @0@\r\nExpires: @1000@",
     .body = "old",
     .use = AFC_CACHE_USE_HIT,
     .is_silent = true},
    {.name = "expired", .response = "Date: @0@\r\nExpires: @-1000@", .body = "new"},
    {.name = "expires invalid",
     .response = "Expires: 0\r\nLast-Modified: @-100000@",
     .body = "new"},
    {.name = "expires in another case",
     .response = "Date: @0@\r\nExpires: THU, 18 AUG 2050 02:01:18 gmt",
     .body = "old",
     .use = AFC_CACHE_USE_HIT,
     .is_silent = true},
    {.name = "heuristic",
     .response = "Date: @0@\r\nLast-Modified: @-100000@",
     .body = "old",
     .use = AFC_CACHE_USE_HIT,
     .is_silent = true},
    {.name = "no-store", .response = FRESH ", no-store", .body = "new"},
    {.name = "no-cache", .response = FRESH ", no-cache", .body = "new"},
    {.name = "private",
     .response = FRESH ", private",
     .body = "old",
     .use = AFC_CACHE_USE_HIT,
     .is_silent = true},
    {.name = "quoted directive",
     .response = "Cache-Control: x=\"max-age=3600\", max-age=0",
     .body = "new"},
    /* Validation, RFC 9111 4.3. */
    {.name = "validated by tag",
     .response = STALE TAG,
     .later_status = 304,
     .later = FRESH TAG,
     .body = "old",
     .use = AFC_CACHE_USE_VALIDATED,
     .condition = "If-None-Match: \"one\""},
    {.name = "validated by date",
     .response = STALE "\r\nLast-Modified: Wed, 01 Jan 2020 00:00:00 GMT",
     .later_status = 304,
     .body = "old",
     .use = AFC_CACHE_USE_VALIDATED,
     .condition = "If-Modified-Since: Wed, 01 Jan 2020 00:00:00 GMT"},
    {.name = "changed",
     .response = STALE TAG,
     .later = FRESH,
     .body = "new",
     .condition = "If-None-Match: \"one\""},
    {.name = "no-cache validated",
     .response = FRESH ", no-cache" TAG,
     .later_status = 304,
     .body = "old",
     .use = AFC_CACHE_USE_VALIDATED,
     .condition = "If-None-Match: \"one\""},
    {.name = "own condition answered",
     .response = FRESH TAG,
     .second = "If-None-Match: \"one\"",
     .expected = 304,
     .body = "",
     .use = AFC_CACHE_USE_HIT,
     .is_silent = true},
    {.name = "own condition that differs",
     .response = FRESH TAG,
     .second = "If-None-Match: \"two\"",
     .body = "old",
     .use = AFC_CACHE_USE_HIT,
     .is_silent = true},
    {.name = "own condition passed",
     .response = STALE TAG,
     .second = "If-None-Match: \"one\"",
     .later_status = 304,
     .later = "ETag: \"one\"",
     .expected = 304,
     .body = ""},
    /* Directives of requests, RFC 9111 5.2.1. */
    {.name = "request no-cache",
     .response = FRESH TAG,
     .second = "Cache-Control: no-cache",
     .later_status = 304,
     .body = "old",
     .use = AFC_CACHE_USE_VALIDATED},
    {.name = "its own Location",
     .response = FRESH "\r\nLocation: #",
     .body = "old",
     .use = AFC_CACHE_USE_HIT,
     .is_silent = true},
    {.name = "request max-age",
     .response = FRESH "\r\nAge: 100",
     .second = "Cache-Control: max-age=50",
     .body = "new"},
    {.name = "request min-fresh",
     .response = FRESH,
     .second = "Cache-Control: min-fresh=4000",
     .body = "new"},
    {.name = "request max-stale",
     .response = STALE,
     .second = "Cache-Control: max-stale=100",
     .body = "old",
     .use = AFC_CACHE_USE_STALE,
     .is_silent = true},
    {.name = "max-stale and must-revalidate",
     .response = "Cache-Control: max-age=60, "
                 "must-revalidate\r\nAge: 100",
     .second = "Cache-Control: max-stale=100",
     .body = "new"},
    {.name = "request no-store",
     .response = FRESH,
     .second = "Cache-Control: no-store",
     .body = "new"},
    {.name = "pragma", .response = FRESH, .second = "Pragma: no-cache", .body = "new"},
    {.name = "only-if-cached, stored",
     .response = FRESH,
     .second = "Cache-Control: only-if-cached",
     .body = "old",
     .use = AFC_CACHE_USE_HIT,
     .is_silent = true},
    {.name = "only-if-cached, missing",
     .response = "Cache-Control: no-store",
     .second = "Cache-Control: only-if-cached",
     .expected = 504,
     .body = "",
     .use = AFC_CACHE_USE_MISSING,
     .is_silent = true},
    /* Policies. */
    {.name = "reload", .response = FRESH, .policy = AFC_HTTP_CACHE_RELOAD, .body = "new"},
    {.name = "bypass", .response = FRESH, .policy = AFC_HTTP_CACHE_BYPASS, .body = "new"},
    {.name = "else load",
     .response = STALE,
     .policy = AFC_HTTP_CACHE_ELSE_LOAD,
     .body = "old",
     .use = AFC_CACHE_USE_STALE,
     .is_silent = true},
    {.name = "else load, missing", .policy = AFC_HTTP_CACHE_ELSE_LOAD, .body = "new"},
    {.name = "only",
     .response = STALE,
     .policy = AFC_HTTP_CACHE_ONLY,
     .body = "old",
     .use = AFC_CACHE_USE_STALE,
     .is_silent = true},
    {.name = "only, missing",
     .policy = AFC_HTTP_CACHE_ONLY,
     .expected = 504,
     .body = "",
     .use = AFC_CACHE_USE_MISSING,
     .is_silent = true},
    {.name = "revalidate",
     .response = FRESH TAG,
     .policy = AFC_HTTP_CACHE_REVALIDATE,
     .later_status = 304,
     .body = "old",
     .use = AFC_CACHE_USE_VALIDATED,
     .condition = "If-None-Match: \"one\""},
    {.name = "revalidate, immutable",
     .response = FRESH ", immutable" TAG,
     .policy = AFC_HTTP_CACHE_REVALIDATE,
     .body = "old",
     .use = AFC_CACHE_USE_HIT,
     .is_silent = true},
    /* Errors, RFC 5861 4. */
    {.name = "stale-if-error",
     .response = "Cache-Control: max-age=60, stale-if-error=600\r\nAge: 100",
     .later_status = 503,
     .body = "old",
     .use = AFC_CACHE_USE_STALE},
    {.name = "error", .response = STALE, .later_status = 503, .expected = 503, .body = "new"},
    {.name = "stale-if-error, too old",
     .response = "Cache-Control: max-age=60, stale-if-error=10\r\nAge: 100",
     .later_status = 503,
     .expected = 503,
     .body = "new"},
    /* Vary, RFC 9111 4.1. */
    {.name = "vary, same",
     .request = "Foo: 1",
     .response = FRESH "\r\nVary: foo",
     .second = "Foo: 1",
     .body = "old",
     .use = AFC_CACHE_USE_HIT,
     .is_silent = true},
    {.name = "vary, other",
     .request = "Foo: 1",
     .response = FRESH "\r\nVary: Foo",
     .second = "Foo: 2",
     .body = "new"},
    {.name = "vary, missing",
     .request = "Foo: 1",
     .response = FRESH "\r\nVary: Foo",
     .body = "new"},
    {.name = "vary, any", .response = FRESH "\r\nVary: *", .body = "new"},
    {.name = "vary, normalised",
     .request = "Foo: 1,2",
     .response = FRESH "\r\nVary: Foo",
     .second = "Foo: 1\r\nFoo:  2 ",
     .body = "old",
     .use = AFC_CACHE_USE_HIT,
     .is_silent = true},
    {.name = "vary on a default",
     .response = FRESH "\r\nVary: Accept-Encoding, User-Agent",
     .body = "old",
     .use = AFC_CACHE_USE_HIT,
     .is_silent = true},
    {.name = "vary on cookies",
     .request = "Cookie: a=1",
     .response = FRESH "\r\nVary: Cookie",
     .second = "Cookie: a=2",
     .body = "new"},
    /* Languages, RFC 9110 12.5.4. */
    {.name = "the preferred language",
     .request = "Accept-Language: en, de",
     .response = FRESH "\r\nVary: Accept-Language\r\nContent-Language: de",
     .second = "Accept-Language: fr;q=0.5, de;q=1.0",
     .body = "old",
     .use = AFC_CACHE_USE_HIT,
     .is_silent = true},
    {.name = "another language",
     .request = "Accept-Language: en, de",
     .response = FRESH "\r\nVary: Accept-Language\r\nContent-Language: de",
     .second = "Accept-Language: fr, de;q=0.9",
     .body = "new"},
    /* Credentials. */
    {.name = "another user",
     .request = "Authorization: Bearer a",
     .response = FRESH,
     .second = "Authorization: Bearer b",
     .body = "new"},
    {.name = "no user", .request = "Authorization: Bearer a", .response = FRESH, .body = "new"},
    {.name = "the same user",
     .request = "Authorization: Bearer a",
     .response = FRESH,
     .second = "Authorization: Bearer a",
     .body = "old",
     .use = AFC_CACHE_USE_HIT,
     .is_silent = true},
    {.name = "public",
     .request = "Authorization: Bearer a",
     .response = FRESH ", public",
     .body = "old",
     .use = AFC_CACHE_USE_HIT,
     .is_silent = true},
    {.name = "public and private",
     .request = "Authorization: Bearer a",
     .response = FRESH ", public, private",
     .second = "Authorization: Bearer b",
     .body = "new"},
    /* What the URL doesn't name. */
    {.name = "host", .response = FRESH, .second = "Host: other.test", .body = "new"},
    {.name = "stored for another host",
     .request = "Host: other.test",
     .response = FRESH,
     .body = "new"},
    {.name = "method override",
     .request = "X-HTTP-Method-Override: HEAD",
     .response = FRESH,
     .body = "new"},
    /* Ranges, RFC 9110 14. */
    {.name = "part of a whole",
     .response = FRESH,
     .second = "Range: bytes=1-",
     .expected = 206,
     .body = "ld",
     .use = AFC_CACHE_USE_HIT,
     .is_silent = true},
    {.name = "last bytes of a whole",
     .response = FRESH,
     .second = "Range: bytes=-1",
     .expected = 206,
     .body = "d",
     .use = AFC_CACHE_USE_HIT,
     .is_silent = true},
    {.name = "several ranges", .response = FRESH, .second = "Range: bytes=0-0,2-2", .body = "new"},
    {.name = "part of a part",
     .request = "Range: bytes=4-6",
     .status = 206,
     .response = FRESH "\r\nContent-Range: bytes 4-6/10",
     .second = "Range: bytes=5-5",
     .expected = 206,
     .body = "l",
     .use = AFC_CACHE_USE_HIT,
     .is_silent = true},
    /* Its content ends before its range does, RFC 9111 3.3. */
    {.name = "part of a short part",
     .request = "Range: bytes=4-9",
     .status = 206,
     .response = FRESH "\r\nContent-Range: bytes 4-9/10",
     .second = "Range: bytes=5-6",
     .expected = 206,
     .body = "ld",
     .use = AFC_CACHE_USE_HIT,
     .is_silent = true},
    {.name = "more than a short part",
     .request = "Range: bytes=4-9",
     .status = 206,
     .response = FRESH "\r\nContent-Range: bytes 4-9/10",
     .second = "Range: bytes=5-7",
     .body = "new"},
    {.name = "part of one longer than its range",
     .request = "Range: bytes=4-5",
     .status = 206,
     .response = FRESH "\r\nContent-Range: bytes 4-5/10",
     .second = "Range: bytes=4-4",
     .body = "new"},
    {.name = "whole of a part",
     .request = "Range: bytes=4-6",
     .status = 206,
     .response = FRESH "\r\nContent-Range: bytes 4-6/10",
     .body = "new"},
    {.name = "if-range that differs",
     .response = FRESH TAG,
     .second = "Range: bytes=1-\r\nIf-Range: \"two\"",
     .body = "old",
     .use = AFC_CACHE_USE_HIT,
     .is_silent = true},
    /* HEAD. */
    {.name = "head of a stored get",
     .response = FRESH,
     .method = "HEAD",
     .body = "",
     .use = AFC_CACHE_USE_HIT,
     .is_silent = true},
    /* Statuses. */
    {.name = "not found",
     .status = 404,
     .response = FRESH,
     .expected = 404,
     .body = "old",
     .use = AFC_CACHE_USE_HIT,
     .is_silent = true},
    {.name = "error with a lifetime",
     .status = 500,
     .response = FRESH,
     .expected = 500,
     .body = "old",
     .use = AFC_CACHE_USE_HIT,
     .is_silent = true},
    {.name = "unknown status with a lifetime",
     .status = 299,
     .response = FRESH,
     .expected = 299,
     .body = "old",
     .use = AFC_CACHE_USE_HIT,
     .is_silent = true},
};

static void check_row(caching_fixture *site, const row *row, const char *path) {
    fixture *fixture = site->fixture;
    serve(fixture, path,
          answer(row->status != 0 ? row->status : 200, with_dates(fixture, row->response), "old"));
    call_free(start(site, path, NULL, row->request, AFC_HTTP_CACHE_PROTOCOL));
    size_t before = request_count(site);
    serve(fixture, path,
          answer(row->later_status != 0 ? row->later_status : 200, with_dates(fixture, row->later),
                 "new"));
    call *call = start(site, path, row->method, row->second, row->policy);
    check_ended(call, AFC_OK);
    assert_int_equal(status_of(call), row->expected != 0 ? row->expected : 200);
    check_slice(call->body, row->body);
    assert_int_equal(last_hop(call)->cache, row->use);
    assert_int_equal(request_count(site) - before, row->is_silent ? 0 : 1);
    if (row->condition != NULL) {
        const char *colon = strstr(row->condition, ": ");
        const char *name = text_of(fixture, "%.*s", (int)(colon - row->condition), row->condition);
        assert_string_equal(seen_header(fixture, before, name), colon + 2);
    }
    bool is_answer = row->use != AFC_CACHE_USE_UNUSED && row->use != AFC_CACHE_USE_MISSING;
    if (is_answer) {
        assert_true(field_of(call, "Age").size > 0);
        assert_true(field_of(call, "Cache-Status").size > 0);
    }
    call_free(call);
}

static void second_request_gets_what_its_row_says(void **state) {
    caching_fixture *site = *state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char path[16];
        snprintf(path, sizeof path, "/%zu", i);
        print_message("%s\n", rows[i].name);
        check_row(site, &rows[i], path);
    }
}

/* ---- Invalidation, RFC 9111 4.4 ------------------------------------------------------------- */

/** Is a response of `path` still stored? */
static bool is_stored(caching_fixture *site, const char *path) {
    call *call = start(site, path, NULL, NULL, AFC_HTTP_CACHE_ONLY);
    bool is_hit = last_hop(call)->cache == AFC_CACHE_USE_HIT;
    call_free(call);
    return is_hit;
}

static void store_fresh(caching_fixture *site, const char *path) {
    serve(site->fixture, path, answer(200, FRESH, "old"));
    call_free(start(site, path, NULL, NULL, AFC_HTTP_CACHE_RELOAD));
    assert_true(is_stored(site, path));
}

static void unsafe_method_removes_what_its_response_names(void **state) {
    caching_fixture *site = *state;
    static const struct {
        const char *method;
        int status;
        const char *response;
        bool keeps, keeps_other;
    } cases[] = {
        {"POST", 200, NULL, false, true},
        {"PUT", 201, NULL, false, true},
        {"DELETE", 204, NULL, false, true},
        {"M-SEARCH", 200, NULL, false, true},
        {"POST", 500, NULL, true, true},
        {"POST", 404, NULL, true, true},
        {"OPTIONS", 200, NULL, true, true},
        {"POST", 201, "Location: /other", false, false},
        {"POST", 200, "Content-Location: /other", false, false},
        {"POST", 201, "Location: http://localhost:1/other", false, true},
        {"POST", 500, "Location: /other", true, true},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        store_fresh(site, "/it");
        store_fresh(site, "/other");
        serve(site->fixture, "/it", answer(cases[i].status, cases[i].response, "done"));
        call_free(start(site, "/it", cases[i].method, NULL, AFC_HTTP_CACHE_PROTOCOL));
        print_message("%s %d\n", cases[i].method, cases[i].status);
        assert_int_equal(is_stored(site, "/it"), cases[i].keeps);
        assert_int_equal(is_stored(site, "/other"), cases[i].keeps_other);
    }
}

static void stores_post_response_that_is_content_of_its_url(void **state) {
    caching_fixture *site = *state;
    serve(site->fixture, "/it", answer(200, FRESH "\r\nContent-Location: /it", "posted"));
    call_free(start(site, "/it", "POST", NULL, AFC_HTTP_CACHE_PROTOCOL));
    call *call = start(site, "/it", NULL, NULL, AFC_HTTP_CACHE_PROTOCOL);
    check_slice(call->body, "posted");
    assert_int_equal(last_hop(call)->cache, AFC_CACHE_USE_HIT);
    call_free(call);
}

/* ---- HEAD, RFC 9111 4.3.5 -------------------------------------------------------------------- */

#define DATED "\r\nLast-Modified: Mon, 01 Jan 2024 00:00:00 GMT"
#define LATER "\r\nLast-Modified: Tue, 02 Jan 2024 00:00:00 GMT"

static void head_response_updates_or_removes_stored_one(void **state) {
    caching_fixture *site = *state;
    static const struct {
        const char *stored, *head;
        bool keeps;
    } cases[] = {
        {STALE TAG, FRESH TAG "\r\nContent-Length: 3", true},
        {STALE TAG, FRESH "\r\nETag: \"two\"\r\nContent-Length: 3", false},
        {STALE TAG, FRESH TAG "\r\nContent-Length: 4", false},
        {STALE, FRESH TAG, false},
        {STALE TAG DATED, FRESH TAG LATER, false},
        {STALE TAG DATED, FRESH TAG DATED, true},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char path[16];
        snprintf(path, sizeof path, "/%zu", i);
        serve(site->fixture, path, answer(200, cases[i].stored, "old"));
        call_free(start(site, path, NULL, NULL, AFC_HTTP_CACHE_PROTOCOL));
        serve(site->fixture, path, answer(200, cases[i].head, "old"));
        call_free(start(site, path, "HEAD", NULL, AFC_HTTP_CACHE_PROTOCOL));
        assert_int_equal(is_stored(site, path), cases[i].keeps);
    }
}

/* ---- Fields ---------------------------------------------------------------------------------- */

static void fields_are_kept_dropped_and_updated(void **state) {
    caching_fixture *site = *state;
    fixture *fixture = site->fixture;
    serve(fixture, "/",
          answer(200,
                 "Cache-Control: max-age=0, no-cache=\"hidden\"\r\nConnection: listed\r\n"
                 "Listed: 1\r\nHidden: 1\r\nKept: 1\r\nUpdated: 1\r\nSet-Cookie: a=b" TAG,
                 "old"));
    call_free(start(site, "/", NULL, NULL, AFC_HTTP_CACHE_PROTOCOL));
    serve(fixture, "/",
          answer(304,
                 FRESH "\r\nUpdated: 2\r\nContent-Length: 77\r\nConnection: gone\r\n"
                       "Gone: 1" TAG,
                 ""));
    for (int i = 0; i < 2; i++) {
        call *call = start(site, "/", NULL, NULL, AFC_HTTP_CACHE_PROTOCOL);
        check_ended(call, AFC_OK);
        check_slice(call->body, "old");
        assert_int_equal(last_hop(call)->cache,
                         i == 0 ? AFC_CACHE_USE_VALIDATED : AFC_CACHE_USE_HIT);
        check_slice(field_of(call, "Kept"), "1");
        check_slice(field_of(call, "Updated"), "2");
        check_slice(field_of(call, "Set-Cookie"), "a=b");
        check_slice(field_of(call, "Content-Length"), "3");
        check_slice(field_of(call, "Cache-Control"), "max-age=3600");
        static const char *const missing[] = {"Listed", "Hidden", "Connection", "Gone"};
        for (size_t k = 0; k < COUNT_OF(missing); k++) {
            assert_int_equal(field_of(call, missing[k]).size, 0);
        }
        call_free(call);
    }
    assert_int_equal(request_count(site), 2);
}

static void validation_is_reported_as_two_hops(void **state) {
    caching_fixture *site = *state;
    serve(site->fixture, "/", answer(200, STALE TAG, "old"));
    call_free(start(site, "/", NULL, NULL, AFC_HTTP_CACHE_PROTOCOL));
    serve(site->fixture, "/", answer(304, &TAG[2], ""));
    call *call = start(site, "/", NULL, NULL, AFC_HTTP_CACHE_PROTOCOL);
    assert_int_equal(call->hop_count, 2);
    assert_int_equal(call->hops[0].status, 304);
    assert_int_equal(call->hops[0].cache, AFC_CACHE_USE_UNUSED);
    assert_int_equal(call->hops[1].status, 200);
    assert_int_equal(call->hops[1].cache, AFC_CACHE_USE_VALIDATED);
    assert_string_equal(call->log, "hpdx");
    call_free(call);
}

static void result_says_why_response_is_not_stored(void **state) {
    caching_fixture *site = *state;
    serve(site->fixture, "/", answer(200, "Cache-Control: no-store", "old"));
    call *call = start(site, "/", NULL, NULL, AFC_HTTP_CACHE_PROTOCOL);
    assert_string_equal(afc_result_get_not_stored(call->result), "no-store");
    call_free(call);
}

/* ---- Redirects ------------------------------------------------------------------------------- */

static void redirect_is_answered_from_cache_hop_by_hop(void **state) {
    caching_fixture *site = *state;
    serve(site->fixture, "/from", answer(301, FRESH "\r\nLocation: /to", "moved"));
    serve(site->fixture, "/to", answer(200, FRESH, "target"));
    for (int i = 0; i < 2; i++) {
        call *call = start(site, "/from", NULL, NULL, AFC_HTTP_CACHE_PROTOCOL);
        check_ended(call, AFC_OK);
        check_slice(call->body, "target");
        assert_int_equal(call->hop_count, 2);
        assert_int_equal(call->hops[0].cache, i == 0 ? AFC_CACHE_USE_UNUSED : AFC_CACHE_USE_HIT);
        assert_int_equal(call->hops[1].cache, i == 0 ? AFC_CACHE_USE_UNUSED : AFC_CACHE_USE_HIT);
        assert_string_equal(call->log, "rhpdx");
        call_free(call);
    }
    assert_int_equal(request_count(site), 2);
}

/* ---- Bodies ---------------------------------------------------------------------------------- */

enum { BLOCK = 1000, BLOCKS = 700 };

static void serve_long(caching_fixture *site, const char *path) {
    char block[BLOCK];
    for (size_t i = 0; i < sizeof block; i++) block[i] = (char)('a' + i % 26);
    afts_script *script = afts_script_new();
    afts_respond_repeated(script, 200, FRESH, block, sizeof block, BLOCKS);
    serve(site->fixture, path, script);
}

static void check_long(afc_slice body) {
    assert_int_equal(body.size, BLOCK * BLOCKS);
    for (size_t i = 0; i < body.size; i++) {
        if (body.bytes[i] != (char)('a' + i % BLOCK % 26)) fail_msg("byte %zu", i);
    }
}

static void long_body_is_the_same_from_cache(void **state) {
    caching_fixture *site = *state;
    serve_long(site, "/");
    for (int i = 0; i < 2; i++) {
        call *call = start(site, "/", NULL, NULL, AFC_HTTP_CACHE_PROTOCOL);
        check_ended(call, AFC_OK);
        check_long(call->body);
        call_free(call);
    }
    assert_int_equal(request_count(site), 1);
}

static void reader_takes_cached_body_at_its_own_pace(void **state) {
    caching_fixture *site = *state;
    serve_long(site, "/");
    call_free(start(site, "/", NULL, NULL, AFC_HTTP_CACHE_PROTOCOL));
    call *call = call_new(site->fixture, "/");
    call_perform_with_refusals(call);
    check_ended(call, AFC_OK);
    check_long(call->body);
    assert_int_equal(last_hop(call)->cache, AFC_CACHE_USE_HIT);
    call_free(call);
}

static void cached_answer_ends_when_cancelled(void **state) {
    caching_fixture *site = *state;
    serve_long(site, "/");
    call_free(start(site, "/", NULL, NULL, AFC_HTTP_CACHE_PROTOCOL));
    call *call = call_new(site->fixture, "/");
    call->request.sink.kind = AFC_SINK_CALLBACK;
    call->at_body = call_hold;
    call_start(call);
    call_wait_for(call, &call->refused_count, 1);
    afc_task_cancel(call->task);
    call_wait(call);
    check_ended(call, AFC_ECANCELED);
    call_free(call);
    assert_true(is_stored(site, "/"));
}

static void cancelled_and_truncated_bodies_are_not_stored(void **state) {
    caching_fixture *site = *state;
    serve_long(site, "/cancelled");
    call *call = call_new(site->fixture, "/cancelled");
    call->request.sink.kind = AFC_SINK_CALLBACK;
    call->at_body = call_hold;
    call_start(call);
    call_wait_for(call, &call->refused_count, 1);
    afc_task_cancel(call->task);
    call_wait(call);
    call_free(call);
    assert_false(is_stored(site, "/cancelled"));
    afts_script *script = afts_script_new();
    afts_respond_truncated(script, 200, FRESH, "short", 5, 500);
    serve(site->fixture, "/truncated", script);
    call = start(site, "/truncated", NULL, NULL, AFC_HTTP_CACHE_PROTOCOL);
    check_ended(call, AFC_ETRUNCATED);
    call_free(call);
    assert_false(is_stored(site, "/truncated"));
}

static void suspended_task_gets_cached_answer_when_resumed(void **state) {
    caching_fixture *site = *state;
    serve_long(site, "/");
    call_free(start(site, "/", NULL, NULL, AFC_HTTP_CACHE_PROTOCOL));
    call *call = call_new(site->fixture, "/");
    check_status(afc_task_new(&call->task, call->session, &call->request, &call->events, NULL),
                 AFC_OK);
    afc_task_suspend(call->task);
    afc_task_start(call->task);
    afc_task_resume(call->task);
    call_wait(call);
    check_long(call->body);
    call_free(call);
}

/* ---- Sessions -------------------------------------------------------------------------------- */

static void partitions_share_no_responses(void **state) {
    caching_fixture *site = *state;
    store_fresh(site, "/");
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    options.http_cache = site->cache;
    static const struct {
        const char *partition;
        afc_http_cache_use use;
    } cases[] = {
        {NULL, AFC_CACHE_USE_HIT}, {"", AFC_CACHE_USE_HIT}, {"user", AFC_CACHE_USE_UNUSED}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        options.cache_partition = cases[i].partition;
        fixture *other = fixture_new(NULL, &options);
        call *call = call_new(other, "/");
        call->request.url = url_of(site->fixture, "/");
        call_perform(call);
        assert_int_equal(last_hop(call)->cache, cases[i].use);
        call_free(call);
        fixture_free(other);
    }
    options.cache_partition = "two\nlines";
    afc_session *session;
    check_status(afc_session_new(&session, &options, NULL), AFC_EINVAL);
}

static void request_without_cache_may_not_ask_for_it_only(void **state) {
    fixture *fixture = *state;
    call *call = call_new(fixture, "/");
    call->request.cache_policy = AFC_HTTP_CACHE_ONLY;
    call_perform(call);
    check_ended(call, AFC_EINVAL);
    call_free(call);
    afc_request request = AFC_REQUEST_INIT;
    request.url = url_of(fixture, "/");
    request.cache_policy = (afc_http_cache_policy)77;
    afc_task *task;
    check_status(afc_task_new(&task, fixture->session, &request, NULL, NULL), AFC_EINVAL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        CACHING_TEST(second_request_gets_what_its_row_says),
        CACHING_TEST(unsafe_method_removes_what_its_response_names),
        CACHING_TEST(stores_post_response_that_is_content_of_its_url),
        CACHING_TEST(head_response_updates_or_removes_stored_one),
        CACHING_TEST(fields_are_kept_dropped_and_updated),
        CACHING_TEST(validation_is_reported_as_two_hops),
        CACHING_TEST(result_says_why_response_is_not_stored),
        CACHING_TEST(redirect_is_answered_from_cache_hop_by_hop),
        CACHING_TEST(long_body_is_the_same_from_cache),
        CACHING_TEST(reader_takes_cached_body_at_its_own_pace),
        CACHING_TEST(cached_answer_ends_when_cancelled),
        CACHING_TEST(cancelled_and_truncated_bodies_are_not_stored),
        CACHING_TEST(suspended_task_gets_cached_answer_when_resumed),
        CACHING_TEST(partitions_share_no_responses),
        FIXTURE_TEST(request_without_cache_may_not_ask_for_it_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
