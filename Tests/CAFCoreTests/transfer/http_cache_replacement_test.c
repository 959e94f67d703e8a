/* Which stored response a later one replaces, also one that isn't stored or that comes late, RFC 9111 4.3.3. */
#include "support/caching_fixture.h"
#include "support/files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define FRESH "Cache-Control: max-age=3600"
#define NO_STORE "Cache-Control: no-store"
#define TAG "\r\nETag: \"one\""

/** All requests at once, over as many connections. */
static int wide_site_setup(void **state) {
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    options.max_connections_per_host = 0;
    *state = caching_fixture_new(&options);
    return 0;
}

#define WIDE_SITE_TEST(test)                                                                       \
    cmocka_unit_test_setup_teardown(test, wide_site_setup, caching_fixture_teardown)

/** Makes a GET with a policy and at most one field, whose name is NULL without one. */
static call *prepare(fixture *fixture, const char *path, afc_http_cache_policy policy,
                     const afc_header *field) {
    call *call = call_new(fixture, path);
    call->request.cache_policy = policy;
    call->request.headers = field;
    call->request.header_count = field != NULL && field->name.bytes != NULL ? 1 : 0;
    return call;
}

static void fetch(fixture *fixture, const char *path, afc_http_cache_policy policy) {
    call *call = prepare(fixture, path, policy, NULL);
    call_perform(call);
    check_ended(call, AFC_OK);
    call_free(call);
}

/** Checks whether "old" is still used. */
static void check_kept(fixture *fixture, const char *path, bool is_kept) {
    serve(fixture, path, answer(200, NO_STORE, "later"));
    call *call = call_fetch(fixture, path);
    check_ended(call, AFC_OK);
    check_slice(call->body, is_kept ? "old" : "later");
    assert_int_equal(cache_use_of(call), is_kept ? AFC_CACHE_USE_HIT : AFC_CACHE_USE_UNUSED);
    call_free(call);
}

static void store_old(fixture *fixture, const char *path, const char *fields) {
    serve(fixture, path, answer(200, fields, "old"));
    fetch(fixture, path, AFC_HTTP_CACHE_PROTOCOL);
}

/* ---- Responses that aren't stored --------------------------------------------------------------- */

static void check_statuses(fixture *fixture) {
    static const struct {
        int status;
        bool is_kept;
        afc_header field; /* A field of the request. */
        const char *more; /* Beside no-store. */
        afc_http_cache_policy policy;
    } rows[] = {
        {200, false, {{NULL, 0}, {NULL, 0}, 0}, NULL, AFC_HTTP_CACHE_RELOAD},
        {200, false, {{NULL, 0}, {NULL, 0}, 0}, NULL, AFC_HTTP_CACHE_REVALIDATE},
        {200, false, {S_INIT("If-Match"), S_INIT("\"two\""), 0}, NULL, AFC_HTTP_CACHE_PROTOCOL},
        {204, false, {{NULL, 0}, {NULL, 0}, 0}, NULL, AFC_HTTP_CACHE_RELOAD},
        {302, false, {{NULL, 0}, {NULL, 0}, 0}, NULL, AFC_HTTP_CACHE_RELOAD},
        {403, false, {{NULL, 0}, {NULL, 0}, 0}, NULL, AFC_HTTP_CACHE_RELOAD},
        {404, false, {{NULL, 0}, {NULL, 0}, 0}, NULL, AFC_HTTP_CACHE_RELOAD},
        {410, false, {{NULL, 0}, {NULL, 0}, 0}, NULL, AFC_HTTP_CACHE_REVALIDATE},
        /* These say something about the request only. */
        {401, true, {{NULL, 0}, {NULL, 0}, 0}, NULL, AFC_HTTP_CACHE_RELOAD},
        {412, true, {S_INIT("If-Match"), S_INIT("\"two\""), 0}, NULL, AFC_HTTP_CACHE_PROTOCOL},
        {416, true, {S_INIT("Range"), S_INIT("bytes=90-"), 0}, NULL, AFC_HTTP_CACHE_RELOAD},
        {429, true, {{NULL, 0}, {NULL, 0}, 0}, NULL, AFC_HTTP_CACHE_RELOAD},
        {500, true, {{NULL, 0}, {NULL, 0}, 0}, NULL, AFC_HTTP_CACHE_REVALIDATE},
        {503, true, {{NULL, 0}, {NULL, 0}, 0}, NULL, AFC_HTTP_CACHE_RELOAD},
        /* A part leaves the whole alone. */
        {206,
         true,
         {S_INIT("Range"), S_INIT("bytes=0-1"), 0},
         "\r\nContent-Range: bytes 0-1/3",
         AFC_HTTP_CACHE_RELOAD},
        /* These requests have nothing to do with the cache. */
        {200, true, {{NULL, 0}, {NULL, 0}, 0}, NULL, AFC_HTTP_CACHE_BYPASS},
        {200,
         true,
         {S_INIT("Cache-Control"), S_INIT("no-store"), 0},
         NULL,
         AFC_HTTP_CACHE_PROTOCOL},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const char *path = text_of(fixture, "/%zu", i);
        print_message("row %zu: %d\n", i, rows[i].status);
        store_old(fixture, path, FRESH TAG);
        const char *fields = text_of(fixture, NO_STORE "%s",
                                     rows[i].more != NULL ? rows[i].more : "");
        serve(fixture, path, answer(rows[i].status, fields, rows[i].status == 204 ? "" : "ne"));
        call *call = prepare(fixture, path, rows[i].policy, &rows[i].field);
        call_perform(call);
        check_ended(call, AFC_OK);
        assert_int_equal(status_of(call), rows[i].status);
        call_free(call);
        check_kept(fixture, path, rows[i].is_kept);
    }
}

static void response_that_is_not_stored_ends_the_use_of_the_stored_one(void **state) {
    caching_fixture *site = *state;
    check_statuses(site->fixture);
}

static void response_that_is_not_stored_ends_the_use_of_that_on_disk(void **state) {
    (void)state;
    char command[160];
    folder folder;
    folder_make(&folder);
    afc_http_cache *cache;
    afc_http_cache_options options = AFC_HTTP_CACHE_OPTIONS_INIT;
    options.directory = path_in(&folder, "cache");
    options.memory_bytes = 0;
    snprintf(command, sizeof command, "rm -rf %s", options.directory);
    check_status(afc_http_cache_open(&cache, &options, NULL), AFC_OK);
    afc_session_options session = AFC_SESSION_OPTIONS_INIT;
    session.http_cache = cache;
    fixture *fixture = fixture_new(NULL, &session);
    check_statuses(fixture);
    fixture_free(fixture);
    afc_http_cache_release(cache);
    afc_join_closed_sessions();
    assert_int_equal(system(command), 0);
    folder_remove(&folder);
}

static bool refuse(void *context, afc_http_cache_candidate *candidate) {
    (void)context, (void)candidate;
    return false;
}

static void refused_response_ends_the_use_of_the_stored_one(void **state) {
    caching_fixture *site = *state;
    store_old(site->fixture, "/", FRESH TAG);
    serve(site->fixture, "/", answer(200, FRESH, "new"));
    call *call = prepare(site->fixture, "/", AFC_HTTP_CACHE_RELOAD, NULL);
    call->events.on_cache = refuse;
    call_perform(call);
    check_ended(call, AFC_OK);
    call_free(call);
    check_kept(site->fixture, "/", false);
}

/** The length of the body is announced, or isn't. */
static void too_large_response_ends_the_use_of_the_stored_one(void **state) {
    enum { CAPACITY = 1024 * 1024, SIZE = CAPACITY / 10 };
    caching_fixture *site = *state;
    static char body[SIZE + 1];
    memset(body, 'x', SIZE);
    afc_http_cache_set_capacity(site->cache, CAPACITY, 0);
    for (size_t i = 0; i < 2; i++) {
        const char *path = i == 0 ? "/announced" : "/chunked";
        store_old(site->fixture, path, FRESH TAG);
        afts_script *script = afts_script_new();
        if (i == 0) {
            afts_respond(script, 200, FRESH, body, SIZE);
        } else {
            afts_respond_chunked(script, 200, FRESH);
            afts_chunk_repeated(script, body, SIZE, 1);
            afts_last_chunk(script, NULL);
        }
        serve(site->fixture, path, script);
        fetch(site->fixture, path, AFC_HTTP_CACHE_RELOAD);
        check_kept(site->fixture, path, false);
    }
}

/** All that the request could have used are of the past, not only the one that would have been chosen. */
static void all_variants_that_fit_are_no_longer_used(void **state) {
    caching_fixture *site = *state;
    fixture *fixture = site->fixture;
    afc_header english = {S_INIT("X-Kind"), S_INIT("en"), 0};
    afc_header german = {S_INIT("X-Kind"), S_INIT("de"), 0};
    const struct {
        const afc_header *field;
        const char *fields, *body;
    } stored[] = {{&german, FRESH "\r\nVary: X-Kind", "german"},
                  {&english, FRESH "\r\nVary: X-Kind", "english"},
                  {&english, FRESH, "plain"}};
    for (size_t i = 0; i < COUNT_OF(stored); i++) {
        serve(fixture, "/", answer(200, stored[i].fields, stored[i].body));
        call *call = prepare(fixture, "/", AFC_HTTP_CACHE_RELOAD, stored[i].field);
        call_perform(call);
        check_ended(call, AFC_OK);
        call_free(call);
    }
    serve(fixture, "/", answer(404, NO_STORE, "none"));
    for (size_t i = 0; i < 2; i++) {
        call *call = prepare(fixture, "/", i == 0 ? AFC_HTTP_CACHE_RELOAD : AFC_HTTP_CACHE_PROTOCOL,
                             &english);
        call_perform(call);
        check_slice(call->body, "none");
        call_free(call);
    }
    call *call = prepare(fixture, "/", AFC_HTTP_CACHE_PROTOCOL, &german);
    call_perform(call);
    check_slice(call->body, "german");
    assert_int_equal(cache_use_of(call), AFC_CACHE_USE_HIT);
    call_free(call);
}

/** What was validated is of the past, whatever its Date says, also if the new response is stored as another variant. */
static void stored_response_replaces_the_validated_one_of_another_variant(void **state) {
    caching_fixture *site = *state;
    fixture *fixture = site->fixture;
    static const afc_header kind = {S_INIT("X-Kind"), S_INIT("en"), 0};
    static const struct {
        const char *path, *old, *later;
    } rows[] = {{"/varies", "", "\r\nVary: X-Kind"},
                {"/varied", "\r\nVary: X-Kind", ""},
                {"/public", "", ", public"}};
    char ahead[AFC_DATE_SIZE];
    assert_true(afc_date_write(ahead, (int64_t)time(NULL) + 100));
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        print_message("%s\n", rows[i].path);
        const char *fields[] = {text_of(fixture, "Date: %s\r\n" FRESH "%s", ahead, rows[i].old),
                                text_of(fixture, FRESH "%s" TAG, rows[i].later)};
        static const char *const bodies[] = {"old", "new", "new"};
        for (size_t k = 0; k < COUNT_OF(bodies); k++) {
            if (k < 2) serve(fixture, rows[i].path, answer(200, fields[k], bodies[k]));
            call *call = prepare(fixture, rows[i].path,
                                 k == 1 ? AFC_HTTP_CACHE_REVALIDATE : AFC_HTTP_CACHE_PROTOCOL,
                                 &kind);
            call_perform(call);
            check_slice(call->body, bodies[k]);
            assert_int_equal(cache_use_of(call), k == 2 ? AFC_CACHE_USE_HIT : AFC_CACHE_USE_UNUSED);
            call_free(call);
        }
    }
}

#define WHILE_VALIDATING "Cache-Control: max-age=60, stale-while-revalidate=600\r\nAge: 100" TAG

/** Otherwise each use would start another validation with the same result. */
static void validation_in_background_ends_the_use_of_the_stored_one(void **state) {
    caching_fixture *site = *state;
    fixture *fixture = site->fixture;
    for (size_t i = 0; i < 2; i++) {
        const char *path = i == 0 ? "/changed" : "/gone";
        store_old(fixture, path, WHILE_VALIDATING);
        serve(fixture, path, answer(i == 0 ? 200 : 410, NO_STORE, "new"));
        size_t before = request_count(site);
        call *call = call_fetch(fixture, path);
        check_slice(call->body, "old");
        assert_int_equal(cache_use_of(call), AFC_CACHE_USE_STALE);
        call_free(call);
        assert_true(afts_wait_requests(fixture->server, before + 1, PATIENCE_MS));
        /* The validation may still be running in the background; stale uses start no other meanwhile. */
        for (bool is_new = false; !is_new;) {
            call = call_fetch(fixture, path);
            is_new = cache_use_of(call) == AFC_CACHE_USE_UNUSED;
            check_slice(call->body, is_new ? "new" : "old");
            call_free(call);
        }
        assert_int_equal(request_count(site) - before, 2);
    }
}

static void error_does_not_bring_back_what_was_replaced(void **state) {
    caching_fixture *site = *state;
    fixture *fixture = site->fixture;
    store_old(fixture, "/", "Cache-Control: max-age=60, stale-if-error=600\r\nAge: 100" TAG);
    serve(fixture, "/", answer(200, NO_STORE "\r\nETag: \"two\"", "new"));
    fetch(fixture, "/", AFC_HTTP_CACHE_PROTOCOL);
    serve(fixture, "/", answer(503, NULL, "down"));
    call *call = call_fetch(fixture, "/");
    check_ended(call, AFC_OK);
    assert_int_equal(status_of(call), 503);
    call_free(call);
}

/* ---- Responses that are updated ----------------------------------------------------------------- */

static const char *date_of(fixture *fixture, int64_t offset) {
    char date[AFC_DATE_SIZE];
    assert_true(afc_date_write(date, (int64_t)time(NULL) + offset));
    return text_of(fixture, "%s", date);
}

/** Age and Date of the stored response say nothing about one that was validated now, RFC 9111 4.2.3. */
static void validated_response_is_as_old_as_the_validation(void **state) {
    caching_fixture *site = *state;
    fixture *fixture = site->fixture;
    const char *old = date_of(fixture, -100);
    /* Before the dates of the rows: the last ones are used seconds later if the machine is busy. */
    int64_t began = (int64_t)time(NULL);
    const struct {
        const char *path, *stored, *method, *later;
    } rows[] = {
        {"/age", "Cache-Control: max-age=60\r\nAge: 100", "GET", "Cache-Control: max-age=60"},
        {"/date", text_of(fixture, "Cache-Control: max-age=60\r\nDate: %s", old), "GET",
         "Cache-Control: max-age=60"},
        {"/expires", text_of(fixture, "Expires: %s\r\nDate: %s", old, old), "GET",
         text_of(fixture, "Expires: %s", date_of(fixture, 60))},
        {"/head", "Cache-Control: max-age=60\r\nAge: 100", "HEAD", "Cache-Control: max-age=60"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        print_message("%s\n", rows[i].path);
        bool is_head = strcmp(rows[i].method, "HEAD") == 0;
        store_old(fixture, rows[i].path, text_of(fixture, "%s" TAG, rows[i].stored));
        serve(fixture, rows[i].path,
              answer(is_head ? 200 : 304, text_of(fixture, "%s" TAG, rows[i].later),
                     is_head ? "old" : ""));
        int64_t before = (int64_t)time(NULL), received;
        call *call = call_new(fixture, rows[i].path);
        call->request.method = rows[i].method;
        call_perform(call);
        check_ended(call, AFC_OK);
        call_free(call);
        call = call_fetch(fixture, rows[i].path);
        check_slice(call->body, "old");
        assert_int_equal(cache_use_of(call), AFC_CACHE_USE_HIT);
        assert_true(afc_date_parse(field_of(call, "Date"), before, &received));
        assert_true(received >= before && received <= (int64_t)time(NULL));
        afc_slice status = field_of(call, "Cache-Status");
        long ttl = -1;
        assert_int_equal(sscanf(text_of(fixture, "%.*s", (int)status.size, status.bytes),
                                "afcore; hit; ttl=%ld", &ttl),
                         1);
        assert_true(ttl <= 60 && ttl >= 60 - ((int64_t)time(NULL) - began));
        call_free(call);
    }
}

/** RFC 9111 4.3.5: a 200 to HEAD describes what GET would return; other statuses say nothing about it. */
static void head_response_of_another_status_changes_nothing(void **state) {
    caching_fixture *site = *state;
    fixture *fixture = site->fixture;
    static const struct {
        int status, head_status;
        const char *head;
    } rows[] = {
        {200, 404, FRESH TAG},
        {200, 404, FRESH TAG "\r\nContent-Length: 4"},
        {404, 200, FRESH TAG},
        {404, 200, FRESH TAG "\r\nContent-Length: 4"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const char *path = text_of(fixture, "/%zu", i);
        serve(fixture, path,
              answer(rows[i].status, "Cache-Control: max-age=60\r\nAge: 100" TAG, "old"));
        fetch(fixture, path, AFC_HTTP_CACHE_PROTOCOL);
        serve(fixture, path, answer(rows[i].head_status, rows[i].head, "old"));
        call *call = call_new(fixture, path);
        call->request.method = "HEAD";
        call_perform(call);
        check_ended(call, AFC_OK);
        call_free(call);
        /* It is still stored, and still stale. */
        serve(fixture, path, answer(304, &TAG[2], ""));
        call = call_fetch(fixture, path);
        check_slice(call->body, "old");
        assert_int_equal(status_of(call), rows[i].status);
        assert_int_equal(cache_use_of(call), AFC_CACHE_USE_VALIDATED);
        call_free(call);
    }
}

static void statistics_count_each_use_once(void **state) {
    caching_fixture *site = *state;
    fixture *fixture = site->fixture;
    store_old(fixture, "/", FRESH TAG);
    fetch(fixture, "/", AFC_HTTP_CACHE_PROTOCOL);
    serve(fixture, "/", answer(304, &TAG[2], ""));
    fetch(fixture, "/", AFC_HTTP_CACHE_REVALIDATE);
    afc_http_cache_statistics found;
    afc_http_cache_get_statistics(site->cache, &found);
    assert_int_equal(found.misses, 1);
    assert_int_equal(found.hits, 1);
    assert_int_equal(found.revalidated, 1);
    assert_int_equal(found.stored, 1);
    assert_int_equal(found.stale, 0);
}

/** RFC 9111 5.2.2.4: they may be used with the response that has confirmed them, but not later. */
static void fields_named_by_no_cache_are_passed_on_once(void **state) {
    caching_fixture *site = *state;
    fixture *fixture = site->fixture;
    static const char named[] = "Cache-Control: max-age=60, no-cache=\"X-Token\"" TAG
                                "\r\nX-Token: ";
    store_old(fixture, "/", text_of(fixture, "%s1\r\nAge: 100", named));
    serve(fixture, "/", answer(304, text_of(fixture, "%s2", named), ""));
    for (size_t i = 0; i < 2; i++) {
        call *call = call_fetch(fixture, "/");
        check_slice(call->body, "old");
        assert_int_equal(cache_use_of(call), i == 0 ? AFC_CACHE_USE_VALIDATED : AFC_CACHE_USE_HIT);
        check_slice(field_of(call, "X-Token"), i == 0 ? "2" : "");
        call_free(call);
    }
}

/* ---- Responses that come late ------------------------------------------------------------------- */

static void slow_response_does_not_replace_a_newer_one(void **state) {
    caching_fixture *site = *state;
    fixture *fixture = site->fixture;
    afts_script *script = afts_script_new();
    afts_send_text(script, "HTTP/1.1 200 OK\r\n" FRESH TAG "\r\nContent-Length: 3\r\n\r\no");
    afts_stall(script, "gate");
    afts_send_text(script, "ld");
    serve(fixture, "/", script);
    call *slow = call_new(fixture, "/");
    call_start(slow);
    call_wait_for(slow, &slow->head_count, 1);
    assert_true(afts_wait_stalled(fixture->server, "gate", 1, PATIENCE_MS));
    serve(fixture, "/", answer(200, FRESH "\r\nETag: \"two\"", "new"));
    fetch(fixture, "/", AFC_HTTP_CACHE_PROTOCOL);
    afts_release(fixture->server, "gate", 1);
    call_wait(slow);
    check_ended(slow, AFC_OK);
    check_slice(slow->body, "old");
    assert_string_equal(afc_result_get_not_stored(slow->result),
                        "a newer response was stored meanwhile");
    call_free(slow);
    call *call = call_fetch(fixture, "/");
    check_slice(call->body, "new");
    assert_int_equal(cache_use_of(call), AFC_CACHE_USE_HIT);
    call_free(call);
}

/** The server's clock counts, as a cache between may have sent an old response (RFC 9111 4.1). */
static void newest_of_several_variants_is_that_with_the_latest_date(void **state) {
    caching_fixture *site = *state;
    fixture *fixture = site->fixture;
    char date[2][AFC_DATE_SIZE];
    int64_t now = (int64_t)time(NULL);
    assert_true(afc_date_write(date[0], now) && afc_date_write(date[1], now - 100));
    serve(fixture, "/", answer(200, text_of(fixture, FRESH "\r\nDate: %s", date[0]), "newer"));
    fetch(fixture, "/", AFC_HTTP_CACHE_PROTOCOL);
    serve(fixture, "/",
          answer(200, text_of(fixture, FRESH "\r\nVary: X-Kind\r\nDate: %s", date[1]), "older"));
    fetch(fixture, "/", AFC_HTTP_CACHE_RELOAD);
    call *call = call_fetch(fixture, "/");
    check_slice(call->body, "newer");
    assert_int_equal(cache_use_of(call), AFC_CACHE_USE_HIT);
    call_free(call);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        CACHING_TEST(response_that_is_not_stored_ends_the_use_of_the_stored_one),
        cmocka_unit_test(response_that_is_not_stored_ends_the_use_of_that_on_disk),
        CACHING_TEST(refused_response_ends_the_use_of_the_stored_one),
        CACHING_TEST(too_large_response_ends_the_use_of_the_stored_one),
        CACHING_TEST(all_variants_that_fit_are_no_longer_used),
        CACHING_TEST(stored_response_replaces_the_validated_one_of_another_variant),
        WIDE_SITE_TEST(validation_in_background_ends_the_use_of_the_stored_one),
        CACHING_TEST(validated_response_is_as_old_as_the_validation),
        CACHING_TEST(statistics_count_each_use_once),
        CACHING_TEST(head_response_of_another_status_changes_nothing),
        CACHING_TEST(fields_named_by_no_cache_are_passed_on_once),
        WIDE_SITE_TEST(slow_response_does_not_replace_a_newer_one),
        CACHING_TEST(newest_of_several_variants_is_that_with_the_latest_date),
        WIDE_SITE_TEST(error_does_not_bring_back_what_was_replaced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
