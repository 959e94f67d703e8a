/* A stored part that is completed: the server is asked for the rest only, RFC 9111 3.3 and 3.4. */
#include "support/caching_fixture.h"

#include <stdlib.h>
#include <string.h>

#define FRESH "Cache-Control: max-age=3600"
#define STALE "Cache-Control: max-age=60\r\nAge: 100"
#define TAG "\r\nETag: \"one\""
#define FIRST "\r\nContent-Range: bytes 0-3/10"
#define REST "\r\nContent-Range: bytes 4-9/10"

/** Gets the first four bytes, which are stored. */
static void store_part(caching_fixture *site, const char *path, const char *fields) {
    static const afc_header range = {S_INIT("Range"), S_INIT("bytes=0-3"), 0};
    serve(site->fixture, path, answer(206, fields, "0123"));
    call *call = call_new(site->fixture, path);
    call->request.headers = &range;
    call->request.header_count = 1;
    call_perform(call);
    check_ended(call, AFC_OK);
    call_free(call);
}

static void rest_is_asked_for_and_the_whole_stored(void **state) {
    caching_fixture *site = *state;
    static const char *const stored[] = {FRESH TAG FIRST "\r\nX-Old: 1\r\nX-Both: 1",
                                         STALE TAG FIRST "\r\nX-Old: 1\r\nX-Both: 1"};
    for (size_t i = 0; i < COUNT_OF(stored); i++) {
        const char *path = i == 0 ? "/fresh" : "/stale";
        store_part(site, path, stored[i]);
        size_t before = request_count(site);
        serve(site->fixture, path, answer(206, FRESH TAG REST "\r\nX-Both: 2", "456789"));
        call *call = call_fetch(site->fixture, path);
        check_ended(call, AFC_OK);
        assert_int_equal(status_of(call), 200);
        check_slice(call->body, "0123456789");
        assert_string_equal(seen_header(site->fixture, before, "Range"), "bytes=4-");
        assert_string_equal(seen_header(site->fixture, before, "If-Range"), "\"one\"");
        check_slice(field_of(call, "X-Old"), "1");
        check_slice(field_of(call, "X-Both"), "2");
        check_slice(field_of(call, "Content-Length"), "10");
        check_slice(field_of(call, "Cache-Status"), "afcore; fwd=partial; fwd-status=206");
        assert_int_equal(field_of(call, "Content-Range").size, 0);
        assert_int_equal(call->hop_count, 1);
        assert_int_equal(cache_use_of(call), AFC_CACHE_USE_UNUSED);
        assert_string_equal(afc_result_get_not_stored(call->result), "");
        call_free(call);
        call = call_fetch(site->fixture, path);
        check_slice(call->body, "0123456789");
        assert_int_equal(cache_use_of(call), AFC_CACHE_USE_HIT);
        call_free(call);
        assert_int_equal(request_count(site), before + 1);
    }
}

static void completed_response_is_as_old_as_the_rest(void **state) {
    caching_fixture *site = *state;
    store_part(site, "/", STALE TAG FIRST);
    serve(site->fixture, "/", answer(206, "Cache-Control: max-age=60" TAG REST, "456789"));
    for (size_t i = 0; i < 2; i++) {
        call *call = call_fetch(site->fixture, "/");
        check_slice(call->body, "0123456789");
        assert_int_equal(cache_use_of(call), i == 0 ? AFC_CACHE_USE_UNUSED : AFC_CACHE_USE_HIT);
        call_free(call);
    }
}

/** Bytes of two versions are never mixed. */
static void response_that_is_not_the_rest_is_as_its_row_says(void **state) {
    caching_fixture *site = *state;
    static const struct {
        const char *path, *stored;
        int status;
        const char *response, *body;
        int expected;
        size_t requests;
    } rows[] = {
        {"/whole", FRESH TAG FIRST, 200, FRESH "\r\nETag: \"two\"", "new", 200, 1},
        {"/other", FRESH TAG FIRST, 206, FRESH "\r\nETag: \"two\"" REST, "456789", 206, 2},
        {"/untagged", FRESH TAG FIRST, 206, FRESH REST, "456789", 206, 2},
        {"/without", FRESH FIRST, 206, FRESH REST, "456789", 206, 2},
        {"/size", FRESH TAG FIRST, 206, FRESH TAG "\r\nContent-Range: bytes 4-9/11", "456789", 206,
         2},
        {"/several", FRESH TAG FIRST, 206,
         FRESH TAG REST "\r\nContent-Type: Multipart/ByteRanges; boundary=x", "456789", 206, 2},
        {"/beyond", FRESH TAG FIRST, 416, "Content-Range: bytes */3", "", 416, 2},
        {"/unchanged", FRESH TAG FIRST, 304, &TAG[2], "", 304, 2},
        {"/gone", FRESH TAG FIRST, 404, NULL, "gone", 404, 1},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        store_part(site, rows[i].path, rows[i].stored);
        size_t before = request_count(site);
        serve(site->fixture, rows[i].path, answer(rows[i].status, rows[i].response, rows[i].body));
        call *call = call_fetch(site->fixture, rows[i].path);
        print_message("%s\n", rows[i].path);
        check_ended(call, AFC_OK);
        assert_int_equal(status_of(call), rows[i].expected);
        check_slice(call->body, rows[i].body);
        assert_int_equal(request_count(site) - before, rows[i].requests);
        assert_string_equal(seen_header(site->fixture, before, "Range"), "bytes=4-");
        if (rows[i].requests == 2) {
            assert_string_equal(seen_header(site->fixture, before + 1, "Range"), "");
        }
        call_free(call);
    }
}

static void request_that_may_not_be_completed_asks_for_the_whole(void **state) {
    caching_fixture *site = *state;
    static const struct {
        const char *path, *stored;
        afc_header field;
        afc_http_cache_policy policy;
    } rows[] = {
        {"/stale", STALE FIRST, {{NULL, 0}, {NULL, 0}, 0}, AFC_HTTP_CACHE_PROTOCOL},
        {"/end",
         FRESH TAG "\r\nContent-Range: bytes 6-9/10",
         {{NULL, 0}, {NULL, 0}, 0},
         AFC_HTTP_CACHE_PROTOCOL},
        {"/no-store",
         FRESH TAG FIRST,
         {S_INIT("Cache-Control"), S_INIT("no-store"), 0},
         AFC_HTTP_CACHE_PROTOCOL},
        {"/condition",
         FRESH TAG FIRST,
         {S_INIT("If-None-Match"), S_INIT("\"x\""), 0},
         AFC_HTTP_CACHE_PROTOCOL},
        {"/reload", FRESH TAG FIRST, {{NULL, 0}, {NULL, 0}, 0}, AFC_HTTP_CACHE_RELOAD},
        {"/bypass", FRESH TAG FIRST, {{NULL, 0}, {NULL, 0}, 0}, AFC_HTTP_CACHE_BYPASS},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        store_part(site, rows[i].path, rows[i].stored);
        size_t before = request_count(site);
        serve(site->fixture, rows[i].path, answer(200, FRESH, "whole"));
        call *call = call_new(site->fixture, rows[i].path);
        call->request.headers = &rows[i].field;
        call->request.header_count = rows[i].field.name.size > 0 ? 1 : 0;
        call->request.cache_policy = rows[i].policy;
        call_perform(call);
        check_ended(call, AFC_OK);
        check_slice(call->body, "whole");
        assert_int_equal(request_count(site) - before, 1);
        assert_string_equal(seen_header(site->fixture, before, "Range"), "");
        call_free(call);
    }
}

static void part_is_no_answer_if_the_server_may_not_be_asked(void **state) {
    caching_fixture *site = *state;
    store_part(site, "/", FRESH TAG FIRST);
    call *call = call_new(site->fixture, "/");
    call->request.cache_policy = AFC_HTTP_CACHE_ONLY;
    call_perform(call);
    assert_int_equal(status_of(call), 504);
    call_free(call);
    assert_int_equal(request_count(site), 1);
}

/* ---- Bodies that end early -------------------------------------------------------------------- */

/** Fetches a body that ends after `size` of `total` bytes. */
static void fetch_cut(caching_fixture *site, const char *path, int status, const char *fields,
                      const char *bytes, size_t total) {
    afts_script *script = afts_script_new();
    afts_respond_truncated(script, status, fields, bytes, strlen(bytes), total);
    serve(site->fixture, path, script);
    call *call = call_fetch(site->fixture, path);
    check_ended(call, AFC_ETRUNCATED);
    call_free(call);
}

static void check_completed(caching_fixture *site, const char *path, const char *range,
                            const char *fields, const char *rest) {
    size_t before = request_count(site);
    serve(site->fixture, path, answer(206, fields, rest));
    call *call = call_fetch(site->fixture, path);
    check_ended(call, AFC_OK);
    assert_int_equal(status_of(call), 200);
    check_slice(call->body, "0123456789");
    assert_string_equal(seen_header(site->fixture, before, "Range"), range);
    assert_string_equal(seen_header(site->fixture, before, "If-Range"), "\"one\"");
    call_free(call);
    call = call_fetch(site->fixture, path);
    check_slice(call->body, "0123456789");
    assert_int_equal(cache_use_of(call), AFC_CACHE_USE_HIT);
    call_free(call);
    assert_int_equal(request_count(site), before + 1);
}

static void body_that_is_cut_short_is_completed_later(void **state) {
    caching_fixture *site = *state;
    fetch_cut(site, "/", 200, FRESH TAG, "012", 10);
    check_completed(site, "/", "bytes=3-", FRESH TAG "\r\nContent-Range: bytes 3-9/10", "3456789");
}

static void rest_that_is_cut_short_makes_the_part_longer(void **state) {
    caching_fixture *site = *state;
    store_part(site, "/", FRESH TAG FIRST);
    fetch_cut(site, "/", 206, FRESH TAG REST, "45", 6);
    fetch_cut(site, "/", 206, FRESH TAG "\r\nContent-Range: bytes 6-9/10", "678", 4);
    check_completed(site, "/", "bytes=9-", FRESH TAG "\r\nContent-Range: bytes 9-9/10", "9");
}

static void part_stays_if_nothing_of_the_rest_comes(void **state) {
    caching_fixture *site = *state;
    store_part(site, "/", FRESH TAG FIRST);
    fetch_cut(site, "/", 206, FRESH TAG REST, "", 6);
    check_completed(site, "/", "bytes=4-", FRESH TAG REST, "456789");
}

static void stored_response_stays_if_a_new_one_is_cut_short(void **state) {
    caching_fixture *site = *state;
    serve(site->fixture, "/",
          answer(200, "Cache-Control: max-age=0, stale-if-error=1000" TAG, "old"));
    call_free(call_fetch(site->fixture, "/"));
    fetch_cut(site, "/", 200, FRESH "\r\nETag: \"two\"", "012", 10);
    serve(site->fixture, "/", answer(503, NULL, "down"));
    call *call = call_fetch(site->fixture, "/");
    check_slice(call->body, "old");
    assert_int_equal(cache_use_of(call), AFC_CACHE_USE_STALE);
    call_free(call);
}

static void reload(caching_fixture *site, const char *path, const afc_header *range,
                   afc_status status) {
    call *call = call_new(site->fixture, path);
    call->request.cache_policy = AFC_HTTP_CACHE_RELOAD;
    call->request.headers = range;
    call->request.header_count = range != NULL ? 1 : 0;
    call_perform(call);
    check_ended(call, status);
    assert_string_equal(afc_result_get_not_stored(call->result), "more of it is stored");
    call_free(call);
}

/** Also of a reload, which uses nothing that is stored. */
static void part_replaces_nothing_that_is_longer(void **state) {
    caching_fixture *site = *state;
    static const afc_header range = {S_INIT("Range"), S_INIT("bytes=0-3"), 0};
    for (size_t i = 0; i < 2; i++) {
        const char *path = i == 0 ? "/part" : "/cut";
        serve(site->fixture, path, answer(200, FRESH TAG, "0123456789"));
        call_free(call_fetch(site->fixture, path));
        if (i == 0) {
            serve(site->fixture, path, answer(206, FRESH TAG FIRST, "0123"));
            reload(site, path, &range, AFC_OK);
        } else {
            afts_script *script = afts_script_new();
            afts_respond_truncated(script, 200, FRESH TAG, "012", 3, 10);
            serve(site->fixture, path, script);
            reload(site, path, NULL, AFC_ETRUNCATED);
        }
        call *call = call_fetch(site->fixture, path);
        check_slice(call->body, "0123456789");
        assert_int_equal(cache_use_of(call), AFC_CACHE_USE_HIT);
        call_free(call);
    }
    /* The other way round, it is replaced. */
    store_part(site, "/longer", FRESH TAG "\r\nContent-Range: bytes 0-3/10");
    afts_script *script = afts_script_new();
    afts_respond_truncated(script, 200, FRESH TAG, "01234", 5, 10);
    serve(site->fixture, "/longer", script);
    call *call = call_new(site->fixture, "/longer");
    call->request.cache_policy = AFC_HTTP_CACHE_RELOAD;
    call_perform(call);
    check_ended(call, AFC_ETRUNCATED);
    call_free(call);
    check_completed(site, "/longer", "bytes=5-", FRESH TAG "\r\nContent-Range: bytes 5-9/10",
                    "56789");
}

/** What is stored is of the past if the server sends a part of another version. */
static void part_of_another_version_replaces_what_was_validated(void **state) {
    caching_fixture *site = *state;
    static const afc_header range = {S_INIT("Range"), S_INIT("bytes=0-3"), 0};
    serve(site->fixture, "/", answer(200, STALE TAG, "0123456789"));
    call_free(call_fetch(site->fixture, "/"));
    serve(site->fixture, "/", answer(206, FRESH "\r\nETag: \"two\"" FIRST, "abcd"));
    for (size_t i = 0; i < 2; i++) {
        call *call = call_new(site->fixture, "/");
        call->request.headers = &range;
        call->request.header_count = 1;
        call_perform(call);
        check_slice(call->body, "abcd");
        assert_int_equal(cache_use_of(call), i == 0 ? AFC_CACHE_USE_UNUSED : AFC_CACHE_USE_HIT);
        call_free(call);
    }
}

/** Without tags, the dates say that it is another version. */
static void part_of_another_date_ends_the_use_of_the_stored_whole(void **state) {
    caching_fixture *site = *state;
    static const afc_header range = {S_INIT("Range"), S_INIT("bytes=0-3"), 0};
    serve(site->fixture, "/",
          answer(200, FRESH "\r\nLast-Modified: Mon, 01 Jan 2024 00:00:00 GMT", "0123456789"));
    call_free(call_fetch(site->fixture, "/"));
    serve(site->fixture, "/",
          answer(206, FRESH "\r\nLast-Modified: Tue, 02 Jan 2024 00:00:00 GMT" FIRST, "abcd"));
    call *call = call_new(site->fixture, "/");
    call->request.headers = &range;
    call->request.header_count = 1;
    call->request.cache_policy = AFC_HTTP_CACHE_REVALIDATE;
    call_perform(call);
    check_slice(call->body, "abcd");
    call_free(call);
    serve(site->fixture, "/", answer(200, FRESH, "new"));
    call = call_fetch(site->fixture, "/");
    check_slice(call->body, "new");
    call_free(call);
}

/** A condition counts only where the response without it would be a 2xx, RFC 9110 13.2.1. */
static void condition_of_the_request_does_not_hide_a_stored_error(void **state) {
    caching_fixture *site = *state;
    static const afc_header field = {S_INIT("If-None-Match"), S_INIT("\"one\""), 0};
    serve(site->fixture, "/", answer(404, FRESH TAG, "gone"));
    call_free(call_fetch(site->fixture, "/"));
    call *call = call_new(site->fixture, "/");
    call->request.headers = &field;
    call->request.header_count = 1;
    call_perform(call);
    check_ended(call, AFC_OK);
    assert_int_equal(status_of(call), 404);
    check_slice(call->body, "gone");
    assert_int_equal(cache_use_of(call), AFC_CACHE_USE_HIT);
    call_free(call);
}

/** Range is only evaluated after the conditions, RFC 9110 13.2.2. */
static void not_modified_response_to_a_range_describes_no_part(void **state) {
    caching_fixture *site = *state;
    static const afc_header fields[] = {{S_INIT("Range"), S_INIT("bytes=0-3"), 0},
                                        {S_INIT("If-None-Match"), S_INIT("\"one\""), 0}};
    serve(site->fixture, "/", answer(200, FRESH TAG, "0123456789"));
    call_free(call_fetch(site->fixture, "/"));
    call *call = call_new(site->fixture, "/");
    call->request.headers = fields;
    call->request.header_count = COUNT_OF(fields);
    call_perform(call);
    check_ended(call, AFC_OK);
    assert_int_equal(status_of(call), 304);
    assert_int_equal(cache_use_of(call), AFC_CACHE_USE_HIT);
    assert_int_equal(field_of(call, "Content-Range").size, 0);
    assert_int_equal(field_of(call, "Content-Length").size, 0);
    call_free(call);
}

static void beginning_of_a_changed_resource_is_not_mixed(void **state) {
    caching_fixture *site = *state;
    fetch_cut(site, "/", 200, FRESH TAG, "012", 10);
    serve(site->fixture, "/", answer(200, FRESH "\r\nETag: \"two\"", "new"));
    call *call = call_fetch(site->fixture, "/");
    check_ended(call, AFC_OK);
    check_slice(call->body, "new");
    call_free(call);
}

static afc_status take_and_cancel(call *call, afc_slice chunk) {
    (void)chunk;
    afc_task_cancel(call->task);
    return AFC_OK;
}

static void body_that_its_reader_gives_up_is_completed_later(void **state) {
    caching_fixture *site = *state;
    afts_script *script = afts_script_new();
    afts_send_text(script, "HTTP/1.1 200 OK\r\n" FRESH TAG "\r\nContent-Length: 10\r\n\r\n012");
    afts_wait_peer_close(script);
    serve(site->fixture, "/", script);
    call *call = call_new(site->fixture, "/");
    call->request.sink.kind = AFC_SINK_CALLBACK;
    call->at_body = take_and_cancel;
    call_perform(call);
    check_ended(call, AFC_ECANCELED);
    call_free(call);
    check_completed(site, "/", "bytes=3-", FRESH TAG "\r\nContent-Range: bytes 3-9/10", "3456789");
}

/** What is kept is limited, as it is in memory while the rest is asked for. */
static void beginning_that_is_too_long_is_not_stored(void **state) {
    enum { LIMIT = 1024 * 1024 };
    caching_fixture *site = *state;
    char *bytes = malloc(LIMIT + 2);
    assert_non_null(bytes);
    memset(bytes, 'x', LIMIT + 1);
    bytes[LIMIT + 1] = 0;
    /* So that the whole would be stored. */
    afc_http_cache_set_capacity(site->cache, 64 * LIMIT, 0);
    for (size_t extra = 0; extra <= 1; extra++) {
        const char *path = extra == 0 ? "/within" : "/beyond";
        fetch_cut(site, path, 200, FRESH TAG, bytes + 1 - extra, LIMIT + 2);
        size_t before = request_count(site);
        serve(site->fixture, path, answer(404, NULL, "gone"));
        call_free(call_fetch(site->fixture, path));
        assert_string_equal(seen_header(site->fixture, before, "Range"),
                            extra == 0 ? "bytes=1048576-" : "");
    }
    free(bytes);
}

/* ---- Readers ---------------------------------------------------------------------------------- */

static void reader_takes_part_and_rest_at_its_own_pace(void **state) {
    caching_fixture *site = *state;
    store_part(site, "/", FRESH TAG FIRST);
    serve(site->fixture, "/", answer(206, FRESH TAG REST, "456789"));
    call *call = call_new(site->fixture, "/");
    call_perform_with_refusals(call);
    check_ended(call, AFC_OK);
    check_slice(call->body, "0123456789");
    call_free(call);
}

static void reader_of_a_part_may_be_cancelled(void **state) {
    caching_fixture *site = *state;
    store_part(site, "/", FRESH TAG FIRST);
    serve(site->fixture, "/", answer(206, FRESH TAG REST, "456789"));
    call *call = call_new(site->fixture, "/");
    call->request.sink.kind = AFC_SINK_CALLBACK;
    call->at_body = call_hold;
    call_start(call);
    call_wait_for(call, &call->refused_count, 1);
    afc_task_cancel(call->task);
    call_wait(call);
    check_ended(call, AFC_ECANCELED);
    call_free(call);
}

/* ---- Memory ----------------------------------------------------------------------------------- */

static size_t complete_failing(caching_fixture *site, size_t n) {
    afc_http_cache_remove_all(site->cache);
    store_part(site, "/", FRESH TAG FIRST);
    serve(site->fixture, "/", answer(206, FRESH TAG REST, "456789"));
    call *call = call_new(site->fixture, "/");
    afc_status status;
    size_t made = call_perform_failing(call, n, &status);
    /* A request without the part gets what the server sends. */
    if (status == AFC_OK && status_of(call) == 200) check_slice(call->body, "0123456789");
    if (status == AFC_OK && status_of(call) == 206) check_slice(call->body, "456789");
    call_free(call);
    return made;
}

static void no_allocation_that_fails_mixes_bytes(void **state) {
    caching_fixture *site = *state;
    for (size_t n = 1; complete_failing(site, n) >= n; n++) {}
}

int main(void) {
    const struct CMUnitTest tests[] = {
        CACHING_TEST(rest_is_asked_for_and_the_whole_stored),
        CACHING_TEST(completed_response_is_as_old_as_the_rest),
        CACHING_TEST(response_that_is_not_the_rest_is_as_its_row_says),
        CACHING_TEST(request_that_may_not_be_completed_asks_for_the_whole),
        CACHING_TEST(part_is_no_answer_if_the_server_may_not_be_asked),
        CACHING_TEST(body_that_is_cut_short_is_completed_later),
        CACHING_TEST(rest_that_is_cut_short_makes_the_part_longer),
        CACHING_TEST(part_stays_if_nothing_of_the_rest_comes),
        CACHING_TEST(stored_response_stays_if_a_new_one_is_cut_short),
        CACHING_TEST(part_replaces_nothing_that_is_longer),
        CACHING_TEST(part_of_another_version_replaces_what_was_validated),
        CACHING_TEST(part_of_another_date_ends_the_use_of_the_stored_whole),
        CACHING_TEST(condition_of_the_request_does_not_hide_a_stored_error),
        CACHING_TEST(not_modified_response_to_a_range_describes_no_part),
        CACHING_TEST(beginning_of_a_changed_resource_is_not_mixed),
        CACHING_TEST(body_that_its_reader_gives_up_is_completed_later),
        CACHING_TEST(beginning_that_is_too_long_is_not_stored),
        CACHING_TEST(reader_takes_part_and_rest_at_its_own_pace),
        CACHING_TEST(reader_of_a_part_may_be_cancelled),
        CACHING_TEST(no_allocation_that_fails_mixes_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
