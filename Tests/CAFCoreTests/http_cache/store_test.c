/* The store of the HTTP cache in memory: variants, replacement, removal, limits, and no memory. */
#include "http_cache/disk/entry_file.h"
#include "http_cache/memory/key.h"
#include "http_cache/memory/stored.h"
#include "support/files.h"
#include "support/responses.h"
#include "support/torture.h"

#include <afcore/session.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { CAPACITY = 1 << 20, PIECE = 1000 };

static afc_http_cache *open_cache(uint64_t memory_bytes, uint64_t max_entry_bytes) {
    afc_http_cache *cache;
    afc_http_cache_options options = AFC_HTTP_CACHE_OPTIONS_INIT;
    options.memory_bytes = memory_bytes;
    options.max_entry_bytes = max_entry_bytes;
    check_status(afc_http_cache_open(&cache, &options, NULL), AFC_OK);
    return cache;
}

static afc_http_cache_statistics statistics_of(afc_http_cache *cache) {
    afc_http_cache_statistics statistics;
    afc_http_cache_get_statistics(cache, &statistics);
    return statistics;
}

/** Checks that a URL has exactly these variants. */
static void check_found(afc_http_cache *cache, unsigned url, const response *expected,
                        size_t count) {
    afc__http_cache_found found;
    response_find(cache, url, &found);
    assert_int_equal(found.count, count);
    for (size_t i = 0; i < count; i++) {
        check_response(cache, found_variant(&found, expected[i].variant), &expected[i], 0);
    }
    found_clear(&found);
}

static void stored_response_is_found_with_head_and_body(void **state) {
    (void)state;
    afc_http_cache *cache = open_cache(CAPACITY, 0);
    static const size_t sizes[] = {0, 1, PIECE, PIECE + 1, 50000};
    for (unsigned i = 0; i < COUNT_OF(sizes); i++) {
        response response = {.url = i, .version = i + 1, .size = sizes[i], .time = 1000};
        assert_true(response_store(cache, &response, PIECE));
        check_found(cache, i, &response, 1);
    }
    check_found(cache, 99, NULL, 0);
    assert_int_equal(statistics_of(cache).entries, COUNT_OF(sizes));
    assert_int_equal(statistics_of(cache).stored, COUNT_OF(sizes));
    afc_http_cache_release(cache);
}

static void body_is_read_from_an_offset(void **state) {
    (void)state;
    afc_http_cache *cache = open_cache(CAPACITY, 0);
    response response = {.url = 1, .version = 1, .size = 5000, .time = 1000};
    assert_true(response_store(cache, &response, PIECE));
    afc__http_cache_found found;
    response_find(cache, 1, &found);
    for (uint64_t offset = 0; offset <= 5001; offset += 7) {
        check_response(cache, found.stored[0], &response, offset);
    }
    found_clear(&found);
    afc_http_cache_release(cache);
}

static void variants_are_kept_beside_each_other_newest_first(void **state) {
    (void)state;
    afc_http_cache *cache = open_cache(CAPACITY, 0);
    response three[] = {{.url = 1, .variant = 1, .version = 1, .size = 10, .time = 1000},
                        {.url = 1, .variant = 2, .version = 2, .size = 20, .time = 3000},
                        {.url = 1, .variant = 3, .version = 3, .size = 30, .time = 2000}};
    for (size_t i = 0; i < 3; i++) assert_true(response_store(cache, &three[i], PIECE));
    check_found(cache, 1, three, 3);
    afc__http_cache_found found;
    response_find(cache, 1, &found);
    assert_int_equal(response_version(found.stored[0]), 2);
    assert_int_equal(response_version(found.stored[1]), 3);
    assert_int_equal(response_version(found.stored[2]), 1);
    found_clear(&found);
    three[1].version = 9;
    assert_true(response_store(cache, &three[1], PIECE));
    check_found(cache, 1, three, 3);
    afc_http_cache_release(cache);
}

static void least_recently_used_variant_leaves_when_there_are_too_many(void **state) {
    (void)state;
    afc_http_cache *cache = open_cache(CAPACITY, 0);
    response responses[AFC__HTTP_CACHE_VARIANTS_MAX + 1];
    for (unsigned i = 0; i <= AFC__HTTP_CACHE_VARIANTS_MAX; i++) {
        responses[i] = (response){.url = 1, .variant = i + 1, .version = i, .size = 9, .time = 5};
    }
    for (unsigned i = 0; i < AFC__HTTP_CACHE_VARIANTS_MAX; i++) {
        assert_true(response_store(cache, &responses[i], PIECE));
    }
    afc__http_cache_found found;
    response_find(cache, 1, &found);
    afc__http_cache_touch(cache, found_variant(&found, 1));
    found_clear(&found);
    assert_true(response_store(cache, &responses[AFC__HTTP_CACHE_VARIANTS_MAX], PIECE));
    response_find(cache, 1, &found);
    assert_int_equal(found.count, AFC__HTTP_CACHE_VARIANTS_MAX);
    assert_non_null(found_variant(&found, 1));
    assert_null(found_variant(&found, 2));
    found_clear(&found);
    afc_http_cache_release(cache);
}

/** Stores `first`, whose request is sent first, after `second`, and checks which of them stays. */
static void check_late(afc_http_cache *cache, const response *first, const response *second,
                       const response *expected) {
    afc__http_cache_writing *late = response_begin(cache, first, -1);
    assert_true(response_store(cache, second, PIECE));
    char *body = malloc(first->size);
    assert_non_null(body);
    response_fill(first, 0, body, first->size);
    check_status(afc__http_cache_append(late, (afc_slice){body, first->size}, AFC__HTTP_CACHE_WAIT),
                 AFC_OK);
    free(body);
    assert_int_equal(afc__http_cache_commit(late, AFC__HTTP_CACHE_WAIT),
                     expected == first ? AFC__HTTP_CACHE_COMMITTED : AFC__HTTP_CACHE_OLDER);
    check_found(cache, first->url, expected, 1);
}

static void late_response_replaces_no_newer_one(void **state) {
    (void)state;
    enum { LARGE = 400000 };
    folder folder;
    folder_make(&folder);
    for (unsigned i = 0; i < 3; i++) {
        afc_http_cache *cache;
        char command[128];
        size_t size = i < 2 ? 3000 : LARGE;
        afc_http_cache_options options = AFC_HTTP_CACHE_OPTIONS_INIT;
        options.max_entry_bytes = LARGE;
        if (i > 0) options.directory = path_in(&folder, "cache");
        check_status(afc_http_cache_open(&cache, &options, NULL), AFC_OK);
        response old = {.url = 1, .version = 1, .size = size, .time = 1000};
        response new = {.url = 1, .version = 2, .size = size, .time = 2000};
        response same = {.url = 1, .version = 3, .size = size, .time = 1000};
        check_late(cache, &old, &new, &new);
        check_late(cache, &new, &old, &new);
        /* Within a second the order of the heads decides. */
        check_late(cache, &old, &same, &same);
        /* What was received before the request was sent is older, whatever the servers' clocks say. */
        assert_true(response_store(cache, &new, PIECE));
        assert_true(response_store(cache, &old, PIECE));
        check_found(cache, 1, &old, 1);
        afc_http_cache_release(cache);
        afc_join_closed_sessions();
        if (i == 0) continue;
        snprintf(command, sizeof command, "rm -rf %s", options.directory);
        assert_int_equal(system(command), 0);
    }
    folder_remove(&folder);
}

static const afc__http_cache_meta *part_meta(const response *response) {
    static afc__http_cache_meta meta;
    meta = *response_meta(response);
    meta.head.status = 206;
    meta.total = 10000;
    return &meta;
}

/** Ends the writing of a part that was begun. */
static afc__http_cache_outcome end_part(afc__http_cache_writing *writing, size_t size) {
    static const char bytes[1000];
    check_status(afc__http_cache_append(writing, (afc_slice){bytes, size}, AFC__HTTP_CACHE_WAIT),
                 AFC_OK);
    return afc__http_cache_commit(writing, AFC__HTTP_CACHE_WAIT);
}

static afc__http_cache_writing *begin_part(afc_http_cache *cache, const response *response) {
    char key[64];
    afc__http_cache_writing *writing;
    check_status(afc__http_cache_begin(&writing, cache, response_key(key, response->url),
                                       part_meta(response), -1),
                 AFC_OK);
    return writing;
}

/** With a disk only, also what is no longer in memory when the part is stored. */
static void part_that_comes_late_replaces_no_more_than_a_shorter_part(void **state) {
    (void)state;
    folder folder;
    folder_make(&folder);
    for (unsigned i = 0; i < 2; i++) {
        afc_http_cache *cache;
        char command[128];
        afc_http_cache_options options = AFC_HTTP_CACHE_OPTIONS_INIT;
        if (i > 0) options.memory_bytes = 0;
        if (i > 0) options.directory = path_in(&folder, "cache");
        check_status(afc_http_cache_open(&cache, &options, NULL), AFC_OK);
        response part = {.url = 1, .version = 1, .time = 3000};
        response whole = {.url = 1, .version = 2, .size = 100, .time = 2000};
        afc__http_cache_writing *writing = begin_part(cache, &part);
        assert_true(response_store(cache, &whole, PIECE));
        assert_int_equal(end_part(writing, 1000), AFC__HTTP_CACHE_SHORTER);
        check_found(cache, 1, &whole, 1);
        part.url = 2;
        assert_int_equal(end_part(begin_part(cache, &part), 500), AFC__HTTP_CACHE_COMMITTED);
        afc__http_cache_found found;
        response_find(cache, 2, &found);
        assert_int_equal(found.count, 1);
        afc__http_cache_seen seen = afc__http_cache_see(found.stored[0]);
        found_clear(&found);
        writing = begin_part(cache, &part);
        afc__http_cache_set_seen(writing, &seen, 1);
        assert_int_equal(end_part(writing, 499), AFC__HTTP_CACHE_SHORTER);
        writing = begin_part(cache, &part);
        afc__http_cache_set_seen(writing, &seen, 1);
        assert_int_equal(end_part(writing, 500), AFC__HTTP_CACHE_COMMITTED);
        afc_http_cache_release(cache);
        afc_join_closed_sessions();
        if (i == 0) continue;
        snprintf(command, sizeof command, "rm -rf %s", options.directory);
        assert_int_equal(system(command), 0);
    }
    folder_remove(&folder);
}

static void replaced_and_removed_response_lives_on_for_its_readers(void **state) {
    (void)state;
    afc_http_cache *cache = open_cache(CAPACITY, 0);
    response old = {.url = 1, .version = 1, .size = 4000, .time = 1000}, new = old;
    new.version = 2;
    assert_true(response_store(cache, &old, PIECE));
    afc__http_cache_found found;
    response_find(cache, 1, &found);
    assert_true(response_store(cache, &new, PIECE));
    check_found(cache, 1, &new, 1);
    check_response(cache, found.stored[0], &old, 0);
    /* The old one isn't current, so it can't remove or change the new one. */
    afc__http_cache_drop(cache, found.stored[0]);
    afc__http_cache_update(cache, found.stored[0], response_meta(&old));
    check_found(cache, 1, &new, 1);
    afc_http_cache_remove_all(cache);
    check_response(cache, found.stored[0], &old, 0);
    found_clear(&found);
    afc_http_cache_release(cache);
}

static void update_gives_a_body_another_head(void **state) {
    (void)state;
    afc_http_cache *cache = open_cache(CAPACITY, 0);
    response response = {.url = 1, .variant = 1, .version = 1, .size = 4000, .time = 1000};
    assert_true(response_store(cache, &response, PIECE));
    afc__http_cache_found found, again;
    response_find(cache, 1, &found);
    afc__http_cache_meta meta = *afc__http_cache_stored_meta(found.stored[0]);
    meta.response_time = 2000;
    afc__http_cache_update(cache, found.stored[0], &meta);
    response_find(cache, 1, &again);
    assert_int_equal(again.count, 1);
    assert_int_equal(afc__http_cache_stored_meta(again.stored[0])->response_time, 2000);
    assert_true(response_read(cache, again.stored[0], &response, 0));
    found_clear(&again);
    /* With other selecting fields it is another variant, in place of this one. */
    meta.request_field_count = 0;
    afc__http_cache_update(cache, found.stored[0], &meta);
    response_find(cache, 1, &again);
    assert_int_equal(again.count, 1);
    assert_int_equal(afc__http_cache_stored_meta(again.stored[0])->request_field_count, 0);
    found_clear(&again);
    found_clear(&found);
    afc_http_cache_release(cache);
}

static void abandoned_response_is_never_seen(void **state) {
    (void)state;
    afc_http_cache *cache = open_cache(CAPACITY, 0);
    response response = {.url = 1, .version = 1, .size = 400, .time = 1000};
    afc__http_cache_writing *writing = response_begin(cache, &response, 400);
    check_status(afc__http_cache_append(writing, S("part"), AFC__HTTP_CACHE_DROP), AFC_OK);
    check_found(cache, 1, NULL, 0);
    afc__http_cache_abandon(writing);
    afc__http_cache_abandon(NULL);
    check_found(cache, 1, NULL, 0);
    afc_http_cache_release(cache);
}

static void too_large_response_is_refused(void **state) {
    (void)state;
    char key[64], *long_key = malloc(AFC__HTTP_CACHE_KEY_MAX + 1);
    assert_non_null(long_key);
    memset(long_key, 'k', AFC__HTTP_CACHE_KEY_MAX + 1);
    afc_http_cache *cache = open_cache(CAPACITY, 1000);
    response response = {.url = 1, .version = 1, .size = 1001, .time = 1000};
    assert_false(response_store(cache, &response, PIECE));
    /* Not announced: found out while it is written. */
    const afc__http_cache_meta *meta = response_meta(&response);
    afc__http_cache_writing *writing;
    check_status(afc__http_cache_begin(&writing, cache, response_key(key, 1), meta, -1), AFC_OK);
    char *bytes = calloc(1, 1001);
    assert_non_null(bytes);
    check_status(afc__http_cache_append(writing, (afc_slice){bytes, 1001}, AFC__HTTP_CACHE_DROP),
                 AFC_ETOOBIG);
    afc__http_cache_abandon(writing);
    free(bytes);
    afc_slice keys[] = {{long_key, AFC__HTTP_CACHE_KEY_MAX},
                        {long_key, AFC__HTTP_CACHE_KEY_MAX + 1}};
    check_status(afc__http_cache_begin(&writing, cache, keys[0], meta, 0), AFC_OK);
    afc__http_cache_abandon(writing);
    check_status(afc__http_cache_begin(&writing, cache, keys[1], meta, 0), AFC_ETOOBIG);
    check_status(afc__http_cache_begin(&writing, cache, S(""), meta, 0), AFC_ETOOBIG);
    assert_null(writing);
    free(long_key);
    assert_int_equal(statistics_of(cache).entries, 0);
    afc_http_cache_release(cache);
}

static void memory_stays_within_its_capacity(void **state) {
    (void)state;
    afc_http_cache *cache = open_cache(CAPACITY, 0);
    for (unsigned i = 0; i < 1000; i++) {
        response response = {.url = i, .version = i, .size = 10000, .time = 1000};
        assert_true(response_store(cache, &response, PIECE));
        assert_true(statistics_of(cache).memory_used <= CAPACITY);
        check_found(cache, i, &response, 1);
    }
    afc_http_cache_statistics statistics = statistics_of(cache);
    assert_true(statistics.entries > 50 && statistics.entries < 105);
    check_found(cache, 0, NULL, 0);
    afc_http_cache_set_capacity(cache, 100000, 0);
    assert_true(statistics_of(cache).memory_used <= 100000);
    assert_int_equal(statistics_of(cache).memory_capacity, 100000);
    afc_http_cache_set_capacity(cache, 0, 0);
    assert_int_equal(statistics_of(cache).entries, 0);
    afc_http_cache_release(cache);
}

static void responses_are_removed_by_url_host_and_time(void **state) {
    (void)state;
    afc_http_cache *cache = open_cache(CAPACITY, 0);
    for (unsigned i = 0; i < 16; i++) {
        response response = {.url = i % 8, .variant = 1 + i / 8, .size = 10, .time = 1000};
        assert_true(response_store(cache, &response, PIECE));
    }
    check_status(afc_http_cache_remove_url(cache, NULL, "HTTP://H1.test:80/1#x", NULL), AFC_OK);
    assert_int_equal(statistics_of(cache).entries, 14);
    check_found(cache, 1, NULL, 0);
    check_status(afc_http_cache_remove_url(cache, "other", "http://h2.test/2", NULL), AFC_OK);
    assert_int_equal(statistics_of(cache).entries, 14);
    afc_http_cache_remove_host(cache, "H2.TEST");
    assert_int_equal(statistics_of(cache).entries, 10);
    check_found(cache, 2, NULL, 0);
    check_found(cache, 6, NULL, 0);
    afc_http_cache_remove_since(cache, (int64_t)time(NULL) + 100);
    assert_int_equal(statistics_of(cache).entries, 10);
    afc_http_cache_remove_since(cache, (int64_t)time(NULL) - 100);
    assert_int_equal(statistics_of(cache).entries, 0);
    assert_int_equal(statistics_of(cache).memory_used, 0);
    afc_failure failure;
    check_status(afc_http_cache_remove_url(cache, NULL, "no url", &failure), AFC_EINVAL);
    check_status(afc_http_cache_remove_url(cache, "a\nb", "http://a/", &failure), AFC_EINVAL);
    check_contains(failure.text, "line feed");
    afc_http_cache_release(cache);
}

static void host_is_found_in_a_key(void **state) {
    (void)state;
    static const struct {
        afc_slice key;
        const char *host, *url;
    } rows[] = {
        {ROW_S("\nhttp://a.test/"), "a.test", "http://a.test/"},
        {ROW_S("me\nhttps://a.test:8443/x?y"), "a.test", "https://a.test:8443/x?y"},
        {ROW_S("\nhttp://[::1]:80/"), "::1", "http://[::1]:80/"},
        {ROW_S("\nhttp://a.test?q=://b.test/"), "a.test", "http://a.test?q=://b.test/"},
        {ROW_S("\nhttp://a.test"), "a.test", "http://a.test"},
        {ROW_S("\nhttp://"), "", "http://"},
        {ROW_S("\n"), "", ""},
        {ROW_S("anything"), "", "anything"},
        {ROW_S(""), "", ""},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        check_slice(afc__http_cache_key_host(rows[i].key), rows[i].host);
        check_slice(afc__http_cache_key_url(rows[i].key), rows[i].url);
    }
}

static void damaged_meta_is_refused(void **state) {
    (void)state;
    response response = {.url = 1, .variant = 7, .version = 1, .size = 400, .time = 1000};
    afc__http_cache_stored *stored = afc__http_cache_stored_new(S("\nhttp://a/"),
                                                                response_meta(&response));
    assert_non_null(stored);
    check_slice(afc__http_cache_stored_key(stored), "\nhttp://a/");
    afc_slice block = stored->block;
    bool has_memory = true;
    for (size_t size = 0; size < block.size; size++) {
        char *copy = malloc(size + 1);
        assert_non_null(copy);
        memcpy(copy, block.bytes, size);
        assert_null(afc__http_cache_stored_decode((afc_slice){copy, size}, &has_memory));
        free(copy);
    }
    /* A changed size or count never reads beyond the end; the sanitizers look. */
    for (size_t i = 0; i < block.size * 8; i++) {
        char *copy = malloc(block.size);
        assert_non_null(copy);
        memcpy(copy, block.bytes, block.size);
        copy[i / 8] ^= (char)(1 << i % 8);
        afc__http_cache_stored_release(
            afc__http_cache_stored_decode((afc_slice){copy, block.size}, &has_memory));
        free(copy);
    }
    assert_true(has_memory);
    afc__http_cache_stored_release(stored);
}

static void a_file_with_an_invalid_head_is_refused(void **state) {
    (void)state;
    static const struct {
        int status;
        afc_slice reason, name, value;
        bool is_valid;
    } rows[] = {
        {200, ROW_S(""), ROW_S("A"), ROW_S(""), true},
        {200, ROW_S("Not Found"), ROW_S("A-b"), ROW_S("a \t\xE4, \"b\""), true},
        {200, ROW_S("OK\r\nB: 1"), ROW_S("A"), ROW_S("1"), false},
        {200, ROW_S("OK "), ROW_S("A"), ROW_S("1"), false},
        {200, ROW_S("O\0K"), ROW_S("A"), ROW_S("1"), false},
        {200, ROW_S(""), ROW_S(""), ROW_S("1"), false},
        {200, ROW_S(""), ROW_S("A b"), ROW_S("1"), false},
        {200, ROW_S(""), ROW_S("A:"), ROW_S("1"), false},
        {200, ROW_S(""), ROW_S("A\r\nB"), ROW_S("1"), false},
        {200, ROW_S(""), ROW_S("A"), ROW_S("1\r\nB: 2"), false},
        {200, ROW_S(""), ROW_S("A"), ROW_S("1\0"), false},
        {200, ROW_S(""), ROW_S("A"), ROW_S(" 1"), false},
        {200, ROW_S(""), ROW_S("A"), ROW_S("1\t"), false},
        {999, ROW_S(""), ROW_S("A"), ROW_S("1"), true},
        {199, ROW_S(""), ROW_S("A"), ROW_S("1"), false},
        {101, ROW_S(""), ROW_S("A"), ROW_S("1"), false},
        {1000, ROW_S(""), ROW_S("A"), ROW_S("1"), false},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const afc_header fields[] = {{S("First"), S("1"), 0}, {rows[i].name, rows[i].value, 0}};
        const afc__http_cache_meta meta = {.head = {.status = rows[i].status,
                                                    .version = AFC_HTTP_1_1,
                                                    .reason = rows[i].reason,
                                                    .headers = fields,
                                                    .header_count = COUNT_OF(fields)},
                                           .total = -1};
        char block[1024];
        size_t size = afc__http_cache_encoded_size(S("\nhttp://a/"), &meta);
        assert_in_range(size, 1, sizeof block);
        afc__http_cache_encode(block, S("\nhttp://a/"), &meta);
        int file = memfd_create("entry", MFD_CLOEXEC);
        afc__http_cache_stored written = {.block = {block, size}};
        assert_int_equal(afc__entry_finish(file, &written), 0);
        afc__http_cache_stored *read;
        afc__entry_reading expected = rows[i].is_valid ? AFC__ENTRY_READ : AFC__ENTRY_DAMAGED;
        if (afc__entry_read(&read, file) != expected) fail_msg("row %zu", i);
        afc__http_cache_stored_release(read);
        close(file);
    }
}

static void out_of_memory_is_a_miss(void **state) {
    (void)state;
    response response = {.url = 1, .variant = 1, .version = 1, .size = 4000, .time = 1000};
    TORTURE(round) {
        afc_http_cache *cache;
        afc_http_cache_options options = AFC_HTTP_CACHE_OPTIONS_INIT;
        if (afc_http_cache_open(&cache, &options, NULL) == AFC_OK) {
            response.version = 1;
            bool is_stored = response_store(cache, &response, PIECE);
            afc__http_cache_found found;
            response_find(cache, 1, &found);
            assert_true(found.count == 0 || is_stored);
            afc__http_cache_stored *first = found.count != 0 ? found.stored[0] : NULL;
            if (first != NULL)
                afc__http_cache_update(cache, first, afc__http_cache_stored_meta(first));
            found_clear(&found);
            response.version = 2;
            if (response_store(cache, &response, PIECE)) {
                response_find(cache, 1, &found);
                for (size_t i = 0; i < found.count; i++) {
                    assert_int_equal(response_version(found.stored[i]), 2);
                }
                found_clear(&found);
            }
            afc_http_cache_remove_all(cache);
            afc_http_cache_release(cache);
        } else {
            assert_null(cache);
        }
    }
}

static void body_that_exceeds_the_capacity_is_given_up_early(void **state) {
    (void)state;
    char key[64], *bytes = calloc(1, CAPACITY);
    assert_non_null(bytes);
    afc_http_cache *cache = open_cache(CAPACITY, UINT64_MAX);
    response response = {.url = 1, .version = 1, .time = 1000};
    const afc__http_cache_meta *meta = response_meta(&response);
    afc__http_cache_writing *writing;
    check_status(afc__http_cache_begin(&writing, cache, response_key(key, 1), meta, CAPACITY + 1),
                 AFC_ETOOBIG);
    check_status(afc__http_cache_begin(&writing, cache, response_key(key, 1), meta, -1), AFC_OK);
    check_status(
        afc__http_cache_append(writing, (afc_slice){bytes, CAPACITY}, AFC__HTTP_CACHE_DROP),
        AFC_OK);
    check_status(afc__http_cache_append(writing, (afc_slice){bytes, 1}, AFC__HTTP_CACHE_DROP),
                 AFC_ETOOBIG);
    afc__http_cache_abandon(writing);
    afc_http_cache_release(cache);
    free(bytes);
}

static void response_that_finds_no_room_leaves_no_record(void **state) {
    (void)state;
    afc_http_cache *cache = open_cache(1, 0);
    for (unsigned i = 0; i < 10; i++) {
        response response = {.url = i, .version = 1, .time = 1000};
        response_store(cache, &response, PIECE);
        check_found(cache, i, NULL, 0);
    }
    assert_int_equal(statistics_of(cache).entries, 0);
    assert_int_equal(statistics_of(cache).stored, 0);
    afc_http_cache_release(cache);
    /* The head doesn't fit beside a body of the whole capacity, also while there are others in memory. */
    cache = open_cache(CAPACITY, UINT64_MAX);
    response small = {.url = 1, .version = 1, .size = 10, .time = 1000}, large = small;
    large.url = 2;
    large.size = CAPACITY;
    assert_true(response_store(cache, &small, PIECE));
    response_store(cache, &large, PIECE);
    check_found(cache, 1, &small, 1);
    check_found(cache, 2, NULL, 0);
    assert_int_equal(statistics_of(cache).entries, 1);
    assert_int_equal(statistics_of(cache).stored, 1);
    /* Nor does the response stay that it was to replace. */
    large.url = 1;
    response_store(cache, &large, PIECE);
    check_found(cache, 1, NULL, 0);
    assert_int_equal(statistics_of(cache).entries, 0);
    afc_http_cache_release(cache);
}

static void wrong_options_are_refused(void **state) {
    (void)state;
    afc_http_cache *cache;
    afc_failure failure;
    afc_http_cache_options options = {0};
    check_status(afc_http_cache_open(&cache, &options, &failure), AFC_EINVAL);
    assert_null(cache);
    check_contains(failure.text, "AFC_HTTP_CACHE_OPTIONS_INIT");
    afc_http_cache_release(NULL);
}

/* ---- Terms ------------------------------------------------------------------------------------ */

/** A response that is a tenth of 1000 s fresh if its URL has no query: "k?" has one. */
static afc__http_cache_stored *make_modified(const char *key) {
    static const afc_header fields[] = {
        {S_INIT("Date"), S_INIT("Sun, 06 Nov 1994 08:49:37 GMT"), 0},
        {S_INIT("Last-Modified"), S_INIT("Sun, 06 Nov 1994 08:32:57 GMT"), 0},
        {S_INIT("Cache-Control"), S_INIT("immutable, no-cache=\"x\""), 0},
    };
    const afc__http_cache_meta meta = {
        .head = {.status = 200, .headers = fields, .header_count = COUNT_OF(fields)},
        .request_time = 784111777,
        .response_time = 784111777,
        .total = -1,
    };
    afc__http_cache_stored *stored = afc__http_cache_stored_new(afc_slice_of(key), &meta);
    assert_non_null(stored);
    return stored;
}

static void check_terms(afc__http_cache_stored *stored, int64_t lifetime) {
    afc__http_cache_terms room;
    const afc__http_cache_terms *terms = afc__http_cache_stored_terms(stored, &room);
    assert_int_equal(terms->freshness.lifetime, lifetime);
    assert_true((terms->control.flags & AFC__CONTROL_IMMUTABLE) != 0);
    assert_int_equal(terms->control.no_cache_count, 1);
    check_slice(terms->control.no_cache_fields[0], "x");
}

static void terms_are_the_same_when_they_are_read_again(void **state) {
    (void)state;
    static const struct {
        const char *key;
        int64_t lifetime;
    } rows[] = {
        {"\nhttp://a.test/k", 100}, {"\nhttp://a.test/k?", 0}, {"p?\nhttp://a.test/k", 100}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        afc__http_cache_stored *stored = make_modified(rows[i].key);
        for (unsigned round = 0; round < 3; round++) check_terms(stored, rows[i].lifetime);
        afc__http_cache_stored_release(stored);
    }
}

static void *read_terms(void *stored) {
    for (unsigned i = 0; i < 100; i++) check_terms(stored, 100);
    return NULL;
}

static void threads_read_the_same_terms(void **state) {
    enum { THREADS = 4 };
    (void)state;
    pthread_t threads[THREADS];
    afc__http_cache_stored *stored = make_modified("\nhttp://a.test/k");
    for (size_t i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, read_terms, stored), 0);
    }
    for (size_t i = 0; i < THREADS; i++) assert_int_equal(pthread_join(threads[i], NULL), 0);
    afc__http_cache_stored_release(stored);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stored_response_is_found_with_head_and_body),
        cmocka_unit_test(body_is_read_from_an_offset),
        cmocka_unit_test(variants_are_kept_beside_each_other_newest_first),
        cmocka_unit_test(least_recently_used_variant_leaves_when_there_are_too_many),
        cmocka_unit_test(late_response_replaces_no_newer_one),
        cmocka_unit_test(part_that_comes_late_replaces_no_more_than_a_shorter_part),
        cmocka_unit_test(replaced_and_removed_response_lives_on_for_its_readers),
        cmocka_unit_test(update_gives_a_body_another_head),
        cmocka_unit_test(abandoned_response_is_never_seen),
        cmocka_unit_test(too_large_response_is_refused),
        cmocka_unit_test(body_that_exceeds_the_capacity_is_given_up_early),
        cmocka_unit_test(response_that_finds_no_room_leaves_no_record),
        cmocka_unit_test(memory_stays_within_its_capacity),
        cmocka_unit_test(responses_are_removed_by_url_host_and_time),
        cmocka_unit_test(host_is_found_in_a_key),
        cmocka_unit_test(damaged_meta_is_refused),
        cmocka_unit_test(a_file_with_an_invalid_head_is_refused),
        cmocka_unit_test(terms_are_the_same_when_they_are_read_again),
        cmocka_unit_test(threads_read_the_same_terms),
        cmocka_unit_test(out_of_memory_is_a_miss),
        cmocka_unit_test(wrong_options_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
