/* Answers from the HTTP cache that the disk, a decoder, a rate or the fields' size have a part in. */
#include "support/call.h"
#include "support/files.h"

#include <afcore/http_cache.h>
#include <dirent.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FRESH "Cache-Control: max-age=3600"
#define STALE "Cache-Control: max-age=60\r\nAge: 100"
#define TAG "\r\nETag: \"one\""

enum { BLOCK = 1000, BLOCKS = 2500, LARGE = BLOCK * BLOCKS };

typedef struct disk_site {
    folder folder;
    char path[96];
    fixture *fixture;
    afc_http_cache *cache;
} disk_site;

static afc_http_cache *open_cache(const disk_site *site) {
    afc_http_cache *cache;
    afc_http_cache_options options = AFC_HTTP_CACHE_OPTIONS_INIT;
    options.directory = site->path;
    check_status(afc_http_cache_open(&cache, &options, NULL), AFC_OK);
    return cache;
}

static int site_setup(void **state) {
    disk_site *site = calloc(1, sizeof *site);
    assert_non_null(site);
    folder_make(&site->folder);
    snprintf(site->path, sizeof site->path, "%s", path_in(&site->folder, "cache"));
    site->cache = open_cache(site);
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    options.http_cache = site->cache;
    site->fixture = fixture_new(NULL, &options);
    *state = site;
    return 0;
}

static int site_teardown(void **state) {
    char command[160];
    disk_site *site = *state;
    if (site->fixture->session != NULL) afc_session_cancel_all(site->fixture->session);
    fixture_free(site->fixture);
    afc_http_cache_release(site->cache);
    afc_join_closed_sessions();
    snprintf(command, sizeof command, "rm -rf %s", site->path);
    assert_int_equal(system(command), 0);
    folder_remove(&site->folder);
    free(site);
    return 0;
}

#define CACHING_TEST(test) cmocka_unit_test_setup_teardown(test, site_setup, site_teardown)

static size_t seen(const disk_site *site) {
    return afts_server_stats(site->fixture->server).requests;
}

static afc_http_cache_use use_of(const call *call) {
    assert_true(call->hop_count > 0);
    return call->hops[call->hop_count - 1].cache;
}

/* ---- Large bodies ------------------------------------------------------------------------------ */

static void check_large(afc_slice body) {
    assert_int_equal(body.size, LARGE);
    for (size_t i = 0; i < body.size; i++) {
        if (body.bytes[i] != (char)('a' + i % BLOCK % 26)) fail_msg("byte %zu", i);
    }
}

/** Stores a body at "/" that stays on disk. */
static void store_large(disk_site *site) {
    char block[BLOCK];
    for (size_t i = 0; i < sizeof block; i++) block[i] = (char)('a' + i % 26);
    afts_script *script = afts_script_new();
    afts_respond_repeated(script, 200, FRESH, block, sizeof block, BLOCKS);
    serve(site->fixture, "/", script);
    call *call = call_fetch(site->fixture, "/");
    check_ended(call, AFC_OK);
    call_free(call);
    afc_http_cache_flush(site->cache);
}

static void check_hit(call *call) {
    check_ended(call, AFC_OK);
    assert_int_equal(use_of(call), AFC_CACHE_USE_HIT);
}

/** The store is opened anew, so that all is read from the file. */
static void body_that_is_cut_short_is_completed_from_its_file(void **state) {
    enum { PART = 900 * BLOCK };
    disk_site *site = *state;
    char *bytes = malloc(LARGE);
    assert_non_null(bytes);
    for (size_t i = 0; i < LARGE; i++) bytes[i] = (char)('a' + i % BLOCK % 26);
    afts_script *script = afts_script_new();
    afts_respond_truncated(script, 200, FRESH TAG, bytes, PART, LARGE);
    serve(site->fixture, "/", script);
    call *call = call_fetch(site->fixture, "/");
    check_ended(call, AFC_ETRUNCATED);
    call_free(call);
    fixture_close_session(site->fixture);
    afc_http_cache_release(site->cache);
    afc_join_closed_sessions();
    site->cache = open_cache(site);
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    options.http_cache = site->cache;
    check_status(afc_session_new(&site->fixture->session, &options, NULL), AFC_OK);
    script = afts_script_new();
    afts_respond(script, 206, FRESH TAG "\r\nContent-Range: bytes 900000-2499999/2500000",
                 bytes + PART, LARGE - PART);
    serve(site->fixture, "/", script);
    call = call_fetch(site->fixture, "/");
    check_ended(call, AFC_OK);
    check_large(call->body);
    assert_string_equal(seen_header(site->fixture, 1, "Range"), "bytes=900000-");
    call_free(call);
    free(bytes);
}

/** A part that is read from disk, and the rest from the server. */
static void part_on_disk_is_completed_in_a_file(void **state) {
    enum { PART = 900 * BLOCK };
    static const afc_header range = {S_INIT("Range"), S_INIT("bytes=0-899999"), 0};
    disk_site *site = *state;
    char block[BLOCK];
    for (size_t i = 0; i < sizeof block; i++) block[i] = (char)('a' + i % 26);
    afts_script *script = afts_script_new();
    afts_respond_repeated(script, 206, FRESH TAG "\r\nContent-Range: bytes 0-899999/2500000", block,
                          sizeof block, PART / BLOCK);
    serve(site->fixture, "/", script);
    call *call = call_new(site->fixture, "/");
    call->request.headers = &range;
    call->request.header_count = 1;
    call_perform(call);
    check_ended(call, AFC_OK);
    call_free(call);
    afc_http_cache_flush(site->cache);
    script = afts_script_new();
    afts_respond_repeated(script, 206, FRESH TAG "\r\nContent-Range: bytes 900000-2499999/2500000",
                          block, sizeof block, BLOCKS - PART / BLOCK);
    serve(site->fixture, "/", script);
    call = call_new(site->fixture, "/");
    call->request.sink.kind = AFC_SINK_FILE;
    call->request.sink.path = path_in(&site->folder, "file");
    call_perform(call);
    check_ended(call, AFC_OK);
    assert_string_equal(seen_header(site->fixture, 1, "Range"), "bytes=900000-");
    assert_int_equal(afc_result_get_body_size(call->result), LARGE);
    call_free(call);
    call = call_fetch(site->fixture, "/");
    check_hit(call);
    check_large(call->body);
    call_free(call);
}

static void wakes_while_the_disk_is_read_change_nothing(void **state) {
    disk_site *site = *state;
    store_large(site);
    for (unsigned round = 0; round < 20; round++) {
        call *call = call_new(site->fixture, "/");
        call_start(call);
        while (atomic_load(&call->release_count) == 0) afc_task_wake(call->task);
        call_wait(call);
        check_hit(call);
        check_large(call->body);
        call_free(call);
    }
    assert_int_equal(seen(site), 1);
}

static void suspended_reader_of_the_disk_goes_on(void **state) {
    disk_site *site = *state;
    store_large(site);
    for (unsigned round = 0; round < 20; round++) {
        call *call = call_new(site->fixture, "/");
        call_start(call);
        while (atomic_load(&call->release_count) == 0) {
            afc_task_suspend(call->task);
            afc_task_resume(call->task);
        }
        call_wait(call);
        check_hit(call);
        check_large(call->body);
        call_free(call);
    }
}

static void reader_of_the_disk_may_be_cancelled_at_any_time(void **state) {
    disk_site *site = *state;
    store_large(site);
    for (unsigned round = 0; round < 60; round++) {
        call *call = call_new(site->fixture, "/");
        call->request.sink.kind = AFC_SINK_CALLBACK;
        call_start(call);
        for (unsigned spins = 0; spins < round * 500; spins++) {
            if (atomic_load(&call->release_count) != 0) break;
        }
        afc_task_cancel(call->task);
        call_wait(call);
        assert_true(call->failure.status == AFC_OK || call->failure.status == AFC_ECANCELED);
        call_free(call);
    }
    call *call = call_fetch(site->fixture, "/");
    check_hit(call);
    check_large(call->body);
    call_free(call);
}

/** Changes a byte near the beginning of the only stored body. */
static void damage_body(const disk_site *site) {
    char path[512] = "", folder[160];
    snprintf(folder, sizeof folder, "%s/1/entries", site->path);
    DIR *names = opendir(folder);
    assert_non_null(names);
    for (const struct dirent *entry; (entry = readdir(names)) != NULL;) {
        if (entry->d_name[0] != '.') snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    }
    closedir(names);
    FILE *file = fopen(path, "r+");
    assert_non_null(file);
    assert_int_equal(fseek(file, BLOCK, SEEK_SET), 0);
    assert_int_equal(fputc('#', file), '#');
    assert_int_equal(fclose(file), 0);
}

/** No byte of it was passed on yet, so the request is sent as if nothing had been stored. */
static void body_that_is_damaged_at_its_beginning_is_a_miss(void **state) {
    disk_site *site = *state;
    store_large(site);
    damage_body(site);
    for (unsigned i = 0; i < 2; i++) {
        call *call = call_fetch(site->fixture, "/");
        check_ended(call, AFC_OK);
        check_large(call->body);
        assert_int_equal(call->hop_count, 1);
        assert_int_equal(use_of(call), i == 0 ? AFC_CACHE_USE_UNUSED : AFC_CACHE_USE_HIT);
        call_free(call);
        afc_http_cache_flush(site->cache);
    }
    assert_int_equal(seen(site), 2);
}

static void cached_body_is_written_to_a_file(void **state) {
    disk_site *site = *state;
    store_large(site);
    call *call = call_new(site->fixture, "/");
    call->request.sink.kind = AFC_SINK_FILE;
    call->request.sink.path = path_in(&site->folder, "file");
    call_perform(call);
    check_hit(call);
    FILE *file = fopen(path_in(&site->folder, "file"), "rb");
    char *bytes = malloc(LARGE + 1);
    assert_true(file != NULL && bytes != NULL);
    check_large((afc_slice){bytes, fread(bytes, 1, LARGE + 1, file)});
    fclose(file);
    free(bytes);
    call_free(call);
}

/** Each further download would get the same bytes. */
static void response_with_another_digest_is_removed(void **state) {
    disk_site *site = *state;
    store_large(site);
    for (unsigned i = 0; i < 2; i++) {
        call *call = call_new(site->fixture, "/");
        call->request.sink.kind = AFC_SINK_FILE;
        call->request.sink.path = path_in(&site->folder, "file");
        call->request.sink.digest = "sha-256=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
        call_perform(call);
        check_ended(call, AFC_EPROTOCOL);
        assert_int_equal(call->failure.reason, AFC_REASON_DIGEST);
        call_free(call);
        /* The one that was stored, and then the one that was received. */
        assert_int_equal(seen(site), 1 + i);
        afc_http_cache_statistics statistics;
        afc_http_cache_get_statistics(site->cache, &statistics);
        assert_int_equal(statistics.entries, 0);
    }
    afc_http_cache_flush(site->cache);
    call *call = call_fetch(site->fixture, "/");
    check_ended(call, AFC_OK);
    assert_int_equal(use_of(call), AFC_CACHE_USE_UNUSED);
    assert_int_equal(seen(site), 3);
    call_free(call);
}

static void cached_body_obeys_the_receive_rate(void **state) {
    disk_site *site = *state;
    store_large(site);
    call *call = call_new(site->fixture, "/");
    call->request.max_receive_bytes_per_s = UINT64_C(20) << 20;
    call_perform(call);
    check_hit(call);
    check_large(call->body);
    call_free(call);
}

/** Gives the cache to the same folder's next user; the session stays closed meanwhile. */
static void cache_closed_under_a_session_still_answers(void **state) {
    disk_site *site = *state;
    store_large(site);
    call *call = call_new(site->fixture, "/");
    call_start(call);
    afc_http_cache_release(site->cache);
    site->cache = NULL;
    call_wait(call);
    check_hit(call);
    check_large(call->body);
    call_free(call);
}

static void session_of_a_program_s_loop_reads_the_disk(void **state) {
    disk_site *site = *state;
    afc_session *session;
    store_large(site);
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    options.loop = AFC_LOOP_EXTERNAL;
    options.http_cache = site->cache;
    check_status(afc_session_new(&session, &options, NULL), AFC_OK);
    call *call = call_new(site->fixture, "/");
    call->session = session;
    call_start(call);
    while (atomic_load(&call->release_count) == 0) {
        struct pollfd polled = {.fd = afc_session_get_fd(session), .events = POLLIN};
        int timeout = afc_session_get_timeout_ms(session);
        assert_true(poll(&polled, 1, timeout < 0 ? PATIENCE_MS : timeout) > 0 || timeout >= 0);
        check_status(afc_session_dispatch(session), AFC_OK);
    }
    check_hit(call);
    check_large(call->body);
    call_free(call);
    afc_session_release(session);
    while (afc_session_dispatch(session) == AFC_OK) {}
}

/* ---- Encoded bodies ---------------------------------------------------------------------------- */

static const char gzip[] =
    "\x1F\x8B\x08\0\0\0\0\0\0\xFF\x01\x05\0\xFA\xFFhello\x86\xA6\x10\x36\x05\0\0\0";

static void check_encoded(disk_site *site, bool is_kept, afc_http_cache_use use) {
    call *call = call_new(site->fixture, "/");
    call->request.keep_encoding = is_kept;
    call_perform(call);
    check_ended(call, AFC_OK);
    assert_int_equal(use_of(call), use);
    if (is_kept) {
        assert_int_equal(call->body.size, sizeof gzip - 1);
        assert_memory_equal(call->body.bytes, gzip, sizeof gzip - 1);
    } else {
        check_slice(call->body, "hello");
    }
    call_free(call);
}

static void encoded_body_is_used_in_the_form_that_was_stored(void **state) {
    disk_site *site = *state;
    static const char *const fields[] = {
        FRESH "\r\nContent-Encoding: gzip",
        FRESH "\r\nContent-Encoding: identity\r\nContent-Encoding: gzip",
        FRESH "\r\nContent-Encoding: identity, gzip",
    };
    for (size_t i = 0; i < COUNT_OF(fields); i++) {
        afts_script *script = afts_script_new();
        afts_respond(script, 200, fields[i], gzip, sizeof gzip - 1);
        serve(site->fixture, "/", script);
        afc_http_cache_remove_all(site->cache);
        check_encoded(site, false, AFC_CACHE_USE_UNUSED);
        check_encoded(site, false, AFC_CACHE_USE_HIT);
        check_encoded(site, true, AFC_CACHE_USE_UNUSED);
        check_encoded(site, true, AFC_CACHE_USE_HIT);
        check_encoded(site, false, AFC_CACHE_USE_UNUSED);
    }
}

static void body_limit_holds_for_cached_bodies(void **state) {
    disk_site *site = *state;
    store_large(site);
    call *call = call_new(site->fixture, "/");
    call->request.limits.body_bytes = LARGE - 1;
    call_perform(call);
    check_ended(call, AFC_ETOOBIG);
    call_free(call);
}

/* ---- Large heads ------------------------------------------------------------------------------- */

/** Serves a response with `count` fields of `size` bytes each beside a few others. */
static void serve_fields(disk_site *site, int status, const char *fields, const char *name,
                         size_t count, size_t size) {
    size_t room = strlen(fields) + count * (size + 40) + 1, used;
    char *text = malloc(room);
    assert_non_null(text);
    used = (size_t)snprintf(text, room, "%s", fields);
    for (size_t i = 0; i < count; i++) {
        used += (size_t)snprintf(text + used, room - used, "\r\n%s-%zu: ", name, i);
        memset(text + used, 'x', size);
        used += size;
    }
    text[used] = '\0';
    serve(site->fixture, "/", answer(status, text, status == 304 ? "" : "body"));
    free(text);
}

static void check_answer(disk_site *site, afc_http_cache_use use) {
    call *call = call_fetch(site->fixture, "/");
    check_ended(call, AFC_OK);
    check_slice(call->body, "body");
    assert_int_equal(use_of(call), use);
    call_free(call);
}

static void update_with_too_many_fields_fails_no_request(void **state) {
    disk_site *site = *state;
    serve_fields(site, 200, STALE TAG, "Old", 10, 4000);
    check_answer(site, AFC_CACHE_USE_UNUSED);
    serve_fields(site, 304, FRESH TAG, "New", 10, 4000);
    check_answer(site, AFC_CACHE_USE_VALIDATED);
    serve(site->fixture, "/", answer(200, FRESH, "body"));
    check_answer(site, AFC_CACHE_USE_UNUSED);
}

static void fields_of_the_cache_count_for_no_limit(void **state) {
    disk_site *site = *state;
    /* With Content-Length and Cache-Control as many as may be received. */
    serve_fields(site, 200, FRESH, "Field", 510, 10);
    check_answer(site, AFC_CACHE_USE_UNUSED);
    check_answer(site, AFC_CACHE_USE_HIT);
}

static void long_reason_phrase_fails_no_request(void **state) {
    disk_site *site = *state;
    enum { REASON = 90000, FIELD = 60000, ROOM = REASON + FIELD + 200 };
    char *text = malloc(ROOM);
    assert_non_null(text);
    size_t used = (size_t)snprintf(text, ROOM, "HTTP/1.1 200 ");
    memset(text + used, 'r', REASON);
    used += REASON;
    used += (size_t)snprintf(text + used, ROOM - used,
                             "\r\n" FRESH "\r\nContent-Length: 4\r\nLong: ");
    memset(text + used, 'x', FIELD);
    used += FIELD;
    used += (size_t)snprintf(text + used, ROOM - used, "\r\n\r\nbody");
    serve_bytes(site->fixture, "/", (afc_slice){text, used});
    free(text);
    check_answer(site, AFC_CACHE_USE_UNUSED);
    check_answer(site, AFC_CACHE_USE_HIT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        CACHING_TEST(body_that_is_cut_short_is_completed_from_its_file),
        CACHING_TEST(part_on_disk_is_completed_in_a_file),
        CACHING_TEST(wakes_while_the_disk_is_read_change_nothing),
        CACHING_TEST(suspended_reader_of_the_disk_goes_on),
        CACHING_TEST(reader_of_the_disk_may_be_cancelled_at_any_time),
        CACHING_TEST(body_that_is_damaged_at_its_beginning_is_a_miss),
        CACHING_TEST(cached_body_is_written_to_a_file),
        CACHING_TEST(response_with_another_digest_is_removed),
        CACHING_TEST(cached_body_obeys_the_receive_rate),
        CACHING_TEST(cache_closed_under_a_session_still_answers),
        CACHING_TEST(session_of_a_program_s_loop_reads_the_disk),
        CACHING_TEST(encoded_body_is_used_in_the_form_that_was_stored),
        CACHING_TEST(body_limit_holds_for_cached_bodies),
        CACHING_TEST(update_with_too_many_fields_fails_no_request),
        CACHING_TEST(fields_of_the_cache_count_for_no_limit),
        CACHING_TEST(long_reason_phrase_fails_no_request),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
