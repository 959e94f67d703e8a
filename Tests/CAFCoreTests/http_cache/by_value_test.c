/* What a program does with a cache: it looks up, stores, lists and verifies responses. */
#include "http_cache/disk/disk_state.h"
#include "http_cache/disk/entry_file.h"
#include "support/check.h"
#include "support/files.h"
#include "support/responses.h"
#include "support/torture.h"

#include <afcore/http_cache.h>
#include <afcore/session.h>
#include <dirent.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LARGE = 700 * 1000 };

typedef struct box {
    folder folder;
    char path[96];
    bool has_folder;
    afc_http_cache *cache;
} box;

static void open_box(box *box) {
    afc_http_cache_options options = AFC_HTTP_CACHE_OPTIONS_INIT;
    options.max_entry_bytes = 4 << 20;
    if (box->has_folder) options.directory = box->path;
    check_status(afc_http_cache_open(&box->cache, &options, NULL), AFC_OK);
}

static void close_box(box *box) {
    afc_http_cache_flush(box->cache);
    afc_http_cache_release(box->cache);
    afc_join_closed_sessions();
}

static void set_up(box *box, bool has_folder) {
    folder_make(&box->folder);
    snprintf(box->path, sizeof box->path, "%s", path_in(&box->folder, "cache"));
    box->has_folder = has_folder;
    open_box(box);
}

static void tear_down(box *box) {
    char command[160];
    close_box(box);
    snprintf(command, sizeof command, "rm -rf %s", box->path);
    assert_int_equal(system(command), 0);
    folder_remove(&box->folder);
}

/** Nothing is in memory then. */
static void reopen(box *box) {
    close_box(box);
    open_box(box);
}

/** "Name: value" lines, at most four. */
static size_t read_fields(afc_header out[4], const char *text) {
    size_t count = 0;
    while (*text != '\0' && count < 4) {
        size_t name = strcspn(text, ":"), value = strcspn(text + name + 2, "\n");
        out[count++] = (afc_header){{text, name}, {text + name + 2, value}, 0};
        text += name + 2 + value;
        if (*text == '\n') text++;
    }
    return count;
}

static afc_http_cache_request request_of(const char *url, afc_header room[4], const char *fields) {
    afc_http_cache_request request = AFC_HTTP_CACHE_REQUEST_INIT;
    request.url = url;
    request.headers = room;
    request.header_count = read_fields(room, fields);
    return request;
}

static afc_status store(afc_http_cache *cache, const char *url, const char *request_fields,
                        const char *fields, const char *body, afc_failure *failure) {
    afc_header room[4], request_storage[4];
    afc_http_cache_request request = request_of(url, request_storage, request_fields);
    afc_http_cache_response response = AFC_HTTP_CACHE_RESPONSE_INIT;
    response.head.headers = room;
    response.head.header_count = read_fields(room, fields);
    response.body = afc_slice_of(body);
    return afc_http_cache_store(cache, &request, &response, failure);
}

/** Checks that the request selects this body; NULL: that it selects none. */
static void check_body(afc_http_cache *cache, const char *url, const char *request_fields,
                       const char *body) {
    afc_header room[4];
    const afc_http_cache_response *response;
    afc_http_cache_request request = request_of(url, room, request_fields);
    check_status(afc_http_cache_lookup(&response, cache, &request, NULL), AFC_OK);
    if (body == NULL) {
        assert_null(response);
    } else {
        assert_non_null(response);
        check_slice(response->body, body);
    }
    afc_http_cache_response_free(response);
}

#define URL "http://a.test/x"
#define FRESH "Cache-Control: max-age=100"

/* ---- Storing and looking up ---------------------------------------------------------------- */

static void stored_response_is_looked_up_with_head_body_and_dates(void **state) {
    (void)state;
    for (unsigned has_folder = 0; has_folder < 2; has_folder++) {
        box box;
        set_up(&box, has_folder);
        check_status(store(box.cache, "HTTP://A.test:80/x", "",
                           FRESH "\nConnection: X-Hop\nX-Hop: 1", "hello", NULL),
                     AFC_OK);
        for (unsigned round = 0; round < 2; round++) {
            const afc_http_cache_response *response;
            afc_header room[4];
            afc_http_cache_request request = request_of(URL "#part", room, "");
            check_status(afc_http_cache_lookup(&response, box.cache, &request, NULL), AFC_OK);
            assert_non_null(response);
            assert_int_equal(response->head.status, 200);
            assert_int_equal(response->head.header_count, 1);
            check_slice(response->head.headers[0].value, "max-age=100");
            check_slice(response->body, "hello");
            assert_int_equal(response->lifetime_s, 100);
            assert_true(response->age_s >= 0 && response->response_time_s > 1000);
            afc_http_cache_response_free(response);
            if (!has_folder) break;
            reopen(&box);
        }
        check_body(box.cache, "http://a.test/y", "", NULL);
        tear_down(&box);
    }
}

/** A precise clock is up to a tick ahead of time(), which counts as one second when a second begins. */
static void response_of_a_clock_that_is_a_tick_ahead_is_fresh(void **state) {
    (void)state;
    box box;
    set_up(&box, false);
    afc_header room[4], request_storage[4];
    afc_http_cache_request request = request_of(URL, request_storage, "");
    afc_http_cache_response given = AFC_HTTP_CACHE_RESPONSE_INIT;
    given.head = (afc_head){.status = 200, .version = AFC_HTTP_1_1, .headers = room};
    given.head.header_count = read_fields(room, FRESH);
    given.response_time_s = (int64_t)time(NULL) + 1;
    check_status(afc_http_cache_store(box.cache, &request, &given, NULL), AFC_OK);
    const afc_http_cache_response *found;
    check_status(afc_http_cache_lookup(&found, box.cache, &request, NULL), AFC_OK);
    assert_non_null(found);
    assert_true(found->age_s < 60);
    afc_http_cache_response_free(found);
    tear_down(&box);
}

static void large_body_is_read_from_disk(void **state) {
    box box;
    (void)state;
    char *body = malloc(LARGE + 1);
    assert_non_null(body);
    for (size_t i = 0; i < LARGE; i++) body[i] = (char)('a' + i % 23);
    body[LARGE] = '\0';
    set_up(&box, true);
    check_status(store(box.cache, URL, "", FRESH, body, NULL), AFC_OK);
    check_body(box.cache, URL, "", body);
    reopen(&box);
    check_body(box.cache, URL, "", body);
    free(body);
    tear_down(&box);
}

/** Keeps the disk's thread until no other piece may wait for it. */
static bool work_until_full(afc__disk_job *work) {
    bool is_full;
    afc_http_cache *cache = work->disk->cache;
    do {
        sched_yield();
        pthread_mutex_lock(&cache->lock);
        is_full = work->disk->queued_bytes + AFC__ENTRY_LOADED > AFC__DISK_QUEUED_MAX;
        pthread_mutex_unlock(&cache->lock);
    } while (!is_full);
    return false;
}

static void body_larger_than_what_may_wait_for_the_disk_is_stored(void **state) {
    enum { HUGE = 2 * AFC__DISK_QUEUED_MAX + 1000 };
    (void)state;
    box box;
    afc__disk_job job;
    char *body = malloc(HUGE + 1);
    assert_non_null(body);
    for (size_t i = 0; i < HUGE; i++) body[i] = (char)('a' + i % 23);
    body[HUGE] = '\0';
    set_up(&box, true);
    box.cache->max_entry_bytes = HUGE;
    assert_true(afc__disk_order(box.cache->disk, &job, work_until_full));
    check_status(store(box.cache, URL, "", FRESH, body, NULL), AFC_OK);
    check_body(box.cache, URL, "", body);
    tear_down(&box);
    free(body);
}

/** Blocks the disk's thread until it is released. */
typedef struct keeper {
    afc__disk_job job;
    atomic_bool may_go_on;
} keeper;

static bool work_keep(afc__disk_job *work) {
    const keeper *own = AFC__OWNER(work, keeper, job);
    while (!atomic_load(&own->may_go_on)) sched_yield();
    return false;
}

static void small_bodies_wait_for_a_disk_that_is_behind(void **state) {
    enum { SMALL = 200 * 1000, COUNT = 3 * AFC__DISK_QUEUED_MAX / SMALL };
    (void)state;
    box box;
    afc__disk_job job;
    char url[64], *body = malloc(SMALL + 1);
    assert_non_null(body);
    memset(body, 'a', SMALL);
    body[SMALL] = '\0';
    set_up(&box, true);
    afc_http_cache_set_capacity(box.cache, 0, 64 << 20);
    assert_true(afc__disk_order(box.cache->disk, &job, work_until_full));
    for (unsigned i = 0; i < COUNT; i++) {
        snprintf(url, sizeof url, "http://a.test/%u", i);
        check_status(store(box.cache, url, "", FRESH, body, NULL), AFC_OK);
    }
    for (unsigned i = 0; i < COUNT; i++) {
        snprintf(url, sizeof url, "http://a.test/%u", i);
        check_body(box.cache, url, "", body);
    }
    afc_http_cache_statistics statistics;
    afc_http_cache_get_statistics(box.cache, &statistics);
    assert_int_equal(statistics.entries, COUNT);
    assert_int_equal(statistics.stored, COUNT);
    assert_int_equal(statistics.refused, 0);
    tear_down(&box);
    free(body);
}

/* Transfers don't wait for the disk. */
static void response_that_finds_no_room_is_counted_as_refused(void **state) {
    enum { SMALL = 200 * 1000, COUNT = AFC__DISK_QUEUED_MAX / SMALL, MORE = 5 };
    (void)state;
    box box;
    keeper keeper = {.may_go_on = false};
    set_up(&box, true);
    afc_http_cache_set_capacity(box.cache, 0, 64 << 20);
    assert_true(afc__disk_order(box.cache->disk, &keeper.job, work_keep));
    for (unsigned i = 0; i < COUNT + MORE; i++) {
        response response = {.url = i, .version = 1, .size = SMALL, .time = 1000};
        assert_true(response_store(box.cache, &response, SMALL));
    }
    afc_http_cache_statistics statistics;
    afc_http_cache_get_statistics(box.cache, &statistics);
    assert_int_equal(statistics.stored, COUNT);
    assert_int_equal(statistics.refused, MORE);
    atomic_store(&keeper.may_go_on, true);
    tear_down(&box);
}

static void fields_and_credentials_of_the_request_select(void **state) {
    box box;
    (void)state;
    set_up(&box, false);
    const char *vary = FRESH "\nVary: Accept-Language";
    check_status(store(box.cache, URL, "Accept-Language: de", vary, "de", NULL), AFC_OK);
    check_status(store(box.cache, URL, "Accept-Language: fr", vary, "fr", NULL), AFC_OK);
    check_body(box.cache, URL, "Accept-Language: de", "de");
    check_body(box.cache, URL, "accept-language: FR", "fr");
    check_body(box.cache, URL, "", NULL);
    check_status(store(box.cache, URL, "User-Agent: A", FRESH "\nVary: User-Agent", "agent", NULL),
                 AFC_OK);
    check_body(box.cache, URL, "User-Agent: A", "agent");
    check_body(box.cache, URL, "User-Agent: B", NULL);
    check_body(box.cache, URL, "", "agent");
    check_status(store(box.cache, URL "2", "Authorization: Bearer 1", FRESH, "mine", NULL), AFC_OK);
    check_body(box.cache, URL "2", "Authorization: Bearer 1", "mine");
    check_body(box.cache, URL "2", "Authorization: Bearer 2", NULL);
    check_body(box.cache, URL "2", "", NULL);
    tear_down(&box);
}

static void newest_response_to_a_url_is_found_whatever_selects_it(void **state) {
    static const char *const given[] = {"Accept-Language: de", "Authorization: Bearer 1"};
    const char *vary = FRESH "\nVary: Accept-Language";
    for (size_t i = 0; i < COUNT_OF(given); i++) {
        box box;
        afc_header room[4];
        const afc_http_cache_response *found;
        (void)state;
        set_up(&box, true);
        afc_http_cache_request request = request_of(URL, room, "");
        request.accepts_any = true;
        check_status(afc_http_cache_lookup(&found, box.cache, &request, NULL), AFC_OK);
        assert_null(found);
        check_status(store(box.cache, URL, given[i], vary, "body", NULL), AFC_OK);
        check_body(box.cache, URL, "", NULL);
        for (int is_reopened = 0; is_reopened <= 1; is_reopened++) {
            check_status(afc_http_cache_lookup(&found, box.cache, &request, NULL), AFC_OK);
            assert_non_null(found);
            check_slice(found->body, "body");
            afc_http_cache_response_free(found);
            if (!is_reopened) reopen(&box);
        }
        tear_down(&box);
    }
}

static void partition_separates(void **state) {
    box box;
    afc_header room[4];
    const afc_http_cache_response *found;
    (void)state;
    set_up(&box, false);
    afc_http_cache_response response = AFC_HTTP_CACHE_RESPONSE_INIT;
    afc_header fresh = {{"Cache-Control", 13}, {"max-age=9", 9}, 0};
    response.head.headers = &fresh;
    response.head.header_count = 1;
    afc_http_cache_request request = request_of(URL, room, "");
    request.partition = "p";
    check_status(afc_http_cache_store(box.cache, &request, &response, NULL), AFC_OK);
    check_body(box.cache, URL, "", NULL);
    check_status(afc_http_cache_lookup(&found, box.cache, &request, NULL), AFC_OK);
    assert_non_null(found);
    afc_http_cache_response_free(found);
    tear_down(&box);
}

static void refuses_what_must_not_be_stored(void **state) {
    static const struct {
        const char *url, *fields, *body, *text;
        int status;
        afc_status expected;
    } cases[] = {
        {"ftp://a.test/", FRESH, "", "ftp", 200, AFC_EINVAL},
        {URL, "Cache-Control: no-store", "", "no-store", 200, AFC_EINVAL},
        {URL, FRESH "\nVary: *", "", "Vary", 200, AFC_EINVAL},
        {URL, "X-Nothing: 1", "", "neither a lifetime nor a validator", 200, AFC_EINVAL},
        {URL, FRESH "\nContent-Length: 4", "hello", "Content-Length", 200, AFC_EINVAL},
        {URL, FRESH "\nBad name: 4", "", "field 1", 200, AFC_EINVAL},
        {URL, FRESH "\nX: a\rb", "", "field 1", 200, AFC_EINVAL},
        {URL, FRESH, "", "status 206", 206, AFC_EINVAL},
        {URL, FRESH, "", "status 100", 100, AFC_EINVAL},
        {URL, FRESH, "body", "204", 204, AFC_EINVAL},
        {URL, FRESH, "", "304", 304, AFC_EINVAL},
    };
    box box;
    (void)state;
    set_up(&box, false);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        afc_failure failure;
        afc_header room[4], request_storage[4];
        afc_http_cache_request request = request_of(cases[i].url, request_storage, "");
        afc_http_cache_response response = AFC_HTTP_CACHE_RESPONSE_INIT;
        response.head.status = cases[i].status;
        response.head.headers = room;
        response.head.header_count = read_fields(room, cases[i].fields);
        response.body = afc_slice_of(cases[i].body);
        check_status(afc_http_cache_store(box.cache, &request, &response, &failure),
                     cases[i].expected);
        if (i != 0 && cases[i].status != 304) assert_non_null(strstr(failure.text, cases[i].text));
        check_body(box.cache, URL, "", NULL);
    }
    tear_down(&box);
}

/** As sessions don't: what the request forbids to store, and what its URL alone doesn't name. */
static void refuses_responses_to_requests_that_are_not_stored(void **state) {
    static const char *const fields[] = {"Cache-Control: no-store", "Host: other.test",
                                         "X-HTTP-Method-Override: DELETE"};
    static const char *const texts[] = {"no-store", "Host", "Host"};
    const afc_http_cache_response *found;
    box box;
    (void)state;
    set_up(&box, false);
    for (size_t i = 0; i < COUNT_OF(fields); i++) {
        afc_failure failure;
        afc_header room[4];
        afc_http_cache_request request = request_of(URL, room, fields[i]);
        afc_http_cache_response response = AFC_HTTP_CACHE_RESPONSE_INIT;
        afc_header fresh = {{"Cache-Control", 13}, {"max-age=9", 9}, 0};
        response.head.headers = &fresh;
        response.head.header_count = 1;
        check_status(afc_http_cache_store(box.cache, &request, &response, &failure), AFC_EINVAL);
        check_contains(failure.text, texts[i]);
        check_body(box.cache, URL, "", NULL);
    }
    /* Nor do they find what others have stored. */
    afc_header room[4];
    afc_http_cache_request plain = request_of(URL, room, "");
    afc_http_cache_response response = AFC_HTTP_CACHE_RESPONSE_INIT;
    afc_header fresh = {{"Cache-Control", 13}, {"max-age=9", 9}, 0};
    response.head.headers = &fresh;
    response.head.header_count = 1;
    check_status(afc_http_cache_store(box.cache, &plain, &response, NULL), AFC_OK);
    afc_http_cache_request with_host = request_of(URL, room, fields[1]);
    check_status(afc_http_cache_lookup(&found, box.cache, &with_host, NULL), AFC_OK);
    assert_null(found);
    tear_down(&box);
}

static void refuses_times_before_1970(void **state) {
    (void)state;
    static const int64_t times[] = {INT64_MIN, -1};
    afc_header field = {S_INIT("Cache-Control"), S_INIT("max-age=60"), 0};
    afc_http_cache *cache;
    check_status(afc_http_cache_open(&cache, NULL, NULL), AFC_OK);
    for (size_t i = 0; i < COUNT_OF(times); i++) {
        afc_failure failure;
        afc_http_cache_request request = AFC_HTTP_CACHE_REQUEST_INIT;
        afc_http_cache_response response = AFC_HTTP_CACHE_RESPONSE_INIT;
        request.url = URL;
        response.head.headers = &field;
        response.head.header_count = 1;
        response.response_time_s = times[i];
        check_status(afc_http_cache_store(cache, &request, &response, &failure), AFC_EINVAL);
        check_contains(failure.text, "response_time_s");
    }
    afc_http_cache_release(cache);
}

static void refuses_counts_and_sizes_without_bytes(void **state) {
    (void)state;
    box box;
    set_up(&box, false);
    afc_header room[4], request_storage[4];
    const afc_http_cache_response *found;
    for (int i = 0; i < 4; i++) {
        afc_failure failure;
        afc_http_cache_request request = request_of(URL, request_storage, "");
        afc_http_cache_response response = AFC_HTTP_CACHE_RESPONSE_INIT;
        response.head.headers = room;
        response.head.header_count = read_fields(room, FRESH);
        if (i == 0) response.head.headers = NULL;
        if (i == 1) room[0].value.bytes = NULL;
        if (i == 2) response.body = (afc_slice){NULL, 1};
        if (i == 3) request.headers = NULL, request.header_count = 1;
        check_status(afc_http_cache_store(box.cache, &request, &response, &failure), AFC_EINVAL);
        check_contains(failure.text, i == 0 || i == 3 ? "headers is NULL" : "no bytes");
        check_status(afc_http_cache_lookup(&found, box.cache, &request, &failure),
                     i == 3 ? AFC_EINVAL : AFC_OK);
        assert_null(found);
    }
    tear_down(&box);
}

static void refuses_a_response_that_is_too_large(void **state) {
    box box;
    (void)state;
    set_up(&box, false);
    size_t size = (4 << 20) + 1;
    char *body = malloc(size + 1);
    assert_non_null(body);
    memset(body, 'x', size);
    body[size] = '\0';
    check_status(store(box.cache, URL, "", FRESH, body, NULL), AFC_ETOOBIG);
    body[size - 1] = '\0';
    check_status(store(box.cache, URL, "", FRESH, body, NULL), AFC_OK);
    free(body);
    tear_down(&box);
}

static void structs_without_their_init_are_refused(void **state) {
    box box;
    (void)state;
    const afc_http_cache_response *found;
    afc_http_cache_request request = {0};
    set_up(&box, false);
    check_status(afc_http_cache_lookup(&found, box.cache, &request, NULL), AFC_EINVAL);
    check_status(afc_http_cache_lookup(&found, box.cache, NULL, NULL), AFC_EINVAL);
    assert_null(found);
    tear_down(&box);
}

/* ---- Listing ------------------------------------------------------------------------------- */

static size_t list(afc_http_cache *cache, unsigned *seen, bool is_in_memory, bool is_on_disk) {
    afc_http_cache_list *list;
    afc_http_cache_entry entry;
    size_t count = 0;
    check_status(afc_http_cache_list_begin(&list, cache, NULL), AFC_OK);
    while (afc_http_cache_list_next(list, &entry)) {
        unsigned number;
        assert_int_equal(sscanf(entry.url, "http://h.test/%u?", &number), 1);
        assert_true(number < 20);
        assert_string_equal(entry.partition, "");
        assert_int_equal(entry.head.status, 200);
        assert_int_equal(entry.body_bytes, 3);
        assert_int_equal(entry.lifetime_s, 100);
        assert_true(entry.age_s < 100);
        assert_int_equal(entry.is_in_memory, is_in_memory);
        assert_int_equal(entry.is_on_disk, is_on_disk);
        seen[number]++;
        count++;
    }
    assert_false(afc_http_cache_list_next(list, &entry));
    afc_http_cache_list_free(list);
    return count;
}

static void list_has_each_stored_response_once(void **state) {
    (void)state;
    for (unsigned has_folder = 0; has_folder < 2; has_folder++) {
        box box;
        set_up(&box, has_folder);
        for (unsigned round = 0; round < 2; round++) {
            unsigned seen[20] = {0};
            assert_int_equal(list(box.cache, seen, true, has_folder), round == 0 ? 0 : 20);
            for (unsigned i = 0; i < 20; i++) {
                char url[64];
                assert_int_equal(seen[i], round);
                snprintf(url, sizeof url, "http://h.test/%u?q", i);
                check_status(store(box.cache, url, "", FRESH, "abc", NULL), AFC_OK);
                /* While changes of its bucket wait for the disk, a response doesn't stay in memory. */
                afc_http_cache_flush(box.cache);
            }
        }
        if (has_folder) {
            unsigned seen[20] = {0};
            reopen(&box);
            assert_int_equal(list(box.cache, seen, false, true), 20);
        }
        tear_down(&box);
    }
}

static void list_has_what_another_process_has_stored(void **state) {
    box box;
    (void)state;
    set_up(&box, true);
    struct box other = box;
    open_box(&other);
    check_status(store(other.cache, "http://h.test/7?q", "", FRESH, "abc", NULL), AFC_OK);
    close_box(&other);
    unsigned seen[20] = {0};
    assert_int_equal(list(box.cache, seen, false, true), 1);
    assert_int_equal(seen[7], 1);
    tear_down(&box);
}

/* ---- Verifying ----------------------------------------------------------------------------- */

/** Flips a bit of the file of one entry, near its end or in its middle. */
static void damage_one(const box *box, bool is_at_end) {
    char path[512] = "", folder[160];
    snprintf(folder, sizeof folder, "%s/1/entries", box->path);
    DIR *names = opendir(folder);
    assert_non_null(names);
    const struct dirent *entry;
    while ((entry = readdir(names)) != NULL) {
        if (entry->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    }
    closedir(names);
    FILE *file = fopen(path, "r+");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    long at = is_at_end ? ftell(file) - 1 : ftell(file) / 2;
    assert_int_equal(fseek(file, at, SEEK_SET), 0);
    int octet = fgetc(file);
    assert_int_equal(fseek(file, at, SEEK_SET), 0);
    assert_int_equal(fputc(octet ^ 4, file), octet ^ 4);
    assert_int_equal(fclose(file), 0);
}

static void verify_counts_what_is_valid_and_removes_what_is_damaged(void **state) {
    (void)state;
    for (unsigned is_at_end = 0; is_at_end < 2; is_at_end++) {
        box box;
        afc_http_cache_verification result;
        set_up(&box, true);
        char body[200 * 1000];
        memset(body, 'b', sizeof body);
        body[sizeof body - 1] = '\0';
        for (unsigned i = 0; i < 5; i++) {
            char url[64];
            snprintf(url, sizeof url, "http://h.test/%u", i);
            check_status(store(box.cache, url, "", FRESH, body, NULL), AFC_OK);
        }
        check_status(afc_http_cache_verify(&result, box.cache, NULL), AFC_OK);
        assert_int_equal(result.entries, 5);
        assert_int_equal(result.body_bytes, 5 * (sizeof body - 1));
        assert_int_equal(result.damaged, 0);
        damage_one(&box, is_at_end);
        check_status(afc_http_cache_verify(&result, box.cache, NULL), AFC_OK);
        assert_int_equal(result.entries, 4);
        assert_int_equal(result.damaged, 1);
        check_status(afc_http_cache_verify(&result, box.cache, NULL), AFC_OK);
        assert_int_equal(result.entries, 4);
        assert_int_equal(result.damaged, 0);
        tear_down(&box);
    }
}

static void verify_of_memory_has_nothing_to_read(void **state) {
    box box;
    afc_http_cache_verification result;
    (void)state;
    set_up(&box, false);
    check_status(store(box.cache, URL, "", FRESH, "abc", NULL), AFC_OK);
    check_status(afc_http_cache_verify(&result, box.cache, NULL), AFC_OK);
    assert_int_equal(result.entries + result.damaged, 0);
    tear_down(&box);
}

/* ---- Memory -------------------------------------------------------------------------------- */

static void every_allocation_may_fail(void **state) {
    box box;
    (void)state;
    set_up(&box, false);
    TORTURE(n) {
        const afc_http_cache_response *found;
        afc_http_cache_list *list;
        afc_http_cache_entry entry;
        afc_header room[4];
        afc_http_cache_request request = request_of(URL, room, "Authorization: a");
        afc_status status = store(box.cache, URL, "Authorization: a", FRESH "\nVary: A", "abc",
                                  NULL);
        assert_true(status == AFC_OK || status == AFC_ENOMEM);
        status = afc_http_cache_lookup(&found, box.cache, &request, NULL);
        assert_true(status == AFC_OK || (status == AFC_ENOMEM && found == NULL));
        if (found != NULL) check_slice(found->body, "abc");
        afc_http_cache_response_free(found);
        if (afc_http_cache_list_begin(&list, box.cache, NULL) == AFC_OK) {
            while (afc_http_cache_list_next(list, &entry)) assert_string_equal(entry.url, URL);
            afc_http_cache_list_free(list);
        }
    }
    check_body(box.cache, URL, "Authorization: a", "abc");
    tear_down(&box);
}

/** A cache with one response, on disk only. */
static void set_up_on_disk(box *box) {
    set_up(box, true);
    afc_http_cache_set_capacity(box->cache, 0, 1 << 20);
    check_status(store(box->cache, URL, "", FRESH, "abc", NULL), AFC_OK);
    afc_http_cache_flush(box->cache);
}

/** A valid file isn't a damaged one because there is no memory for what it has. */
static void check_entry_outlasts_lack_of_memory(afc_http_cache *cache) {
    const afc_http_cache_response *found;
    afc_http_cache_verification result;
    afc_header room[4];
    afc_http_cache_request request = request_of(URL, room, "");
    afc_status status = afc_http_cache_lookup(&found, cache, &request, NULL);
    if (status != AFC_ENOMEM) check_status(status, AFC_OK);
    assert_int_equal(found != NULL, status == AFC_OK);
    afc_http_cache_response_free(found);
    status = afc_http_cache_verify(&result, cache, NULL);
    if (status != AFC_ENOMEM) check_status(status, AFC_OK);
    assert_int_equal(result.entries, status == AFC_OK);
    assert_int_equal(result.damaged, 0);
}

static void lookup_and_verify_without_memory_fail_and_remove_nothing(void **state) {
    (void)state;
    box box;
    set_up_on_disk(&box);
    TORTURE(n) check_entry_outlasts_lack_of_memory(box.cache);
    TORTURE_FROM(n) check_entry_outlasts_lack_of_memory(box.cache);
    check_body(box.cache, URL, "", "abc");
    tear_down(&box);
}

/** Opens a folder whose journal was lost, so that a scan reads the files. */
static void scan(const box *box) {
    char journal[128];
    afc_http_cache *cache;
    afc_http_cache_options options = AFC_HTTP_CACHE_OPTIONS_INIT;
    options.directory = box->path;
    snprintf(journal, sizeof journal, "%s/1/journal", box->path);
    (void)unlink(journal);
    if (afc_http_cache_open(&cache, &options, NULL) != AFC_OK) return;
    afc_http_cache_flush(cache);
    afc_http_cache_release(cache);
    afc_join_closed_sessions();
}

static void scan_without_memory_removes_nothing(void **state) {
    (void)state;
    box box;
    set_up_on_disk(&box);
    close_box(&box);
    TORTURE(n) scan(&box);
    TORTURE_FROM(n) scan(&box);
    open_box(&box);
    afc_http_cache_flush(box.cache);
    check_body(box.cache, URL, "", "abc");
    tear_down(&box);
}

/* The cache is empty there, and nothing comes into it. */
static void store_in_a_forked_process_is_a_miss(void **state) {
    (void)state;
    box box;
    int status;
    set_up(&box, true);
    pid_t child = fork();
    if (child == 0) _exit(store(box.cache, URL, "", FRESH, "abc", NULL) == AFC_OK ? 0 : 1);
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    check_body(box.cache, URL, "", NULL);
    tear_down(&box);
}

static void refuses_to_store_nothing(void **state) {
    (void)state;
    afc_http_cache_options options = AFC_HTTP_CACHE_OPTIONS_INIT;
    options.memory_bytes = 0;
    afc_http_cache *cache;
    afc_failure failure;
    check_status(afc_http_cache_open(&cache, &options, &failure), AFC_EINVAL);
    assert_null(cache);
    check_contains(failure.text, "memory_bytes is 0");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refuses_to_store_nothing),
        cmocka_unit_test(stored_response_is_looked_up_with_head_body_and_dates),
        cmocka_unit_test(response_of_a_clock_that_is_a_tick_ahead_is_fresh),
        cmocka_unit_test(large_body_is_read_from_disk),
        cmocka_unit_test(body_larger_than_what_may_wait_for_the_disk_is_stored),
        cmocka_unit_test(small_bodies_wait_for_a_disk_that_is_behind),
        cmocka_unit_test(response_that_finds_no_room_is_counted_as_refused),
        cmocka_unit_test(fields_and_credentials_of_the_request_select),
        cmocka_unit_test(newest_response_to_a_url_is_found_whatever_selects_it),
        cmocka_unit_test(partition_separates),
        cmocka_unit_test(refuses_what_must_not_be_stored),
        cmocka_unit_test(refuses_responses_to_requests_that_are_not_stored),
        cmocka_unit_test(refuses_times_before_1970),
        cmocka_unit_test(refuses_counts_and_sizes_without_bytes),
        cmocka_unit_test(refuses_a_response_that_is_too_large),
        cmocka_unit_test(structs_without_their_init_are_refused),
        cmocka_unit_test(list_has_each_stored_response_once),
        cmocka_unit_test(list_has_what_another_process_has_stored),
        cmocka_unit_test(verify_counts_what_is_valid_and_removes_what_is_damaged),
        cmocka_unit_test(verify_of_memory_has_nothing_to_read),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(lookup_and_verify_without_memory_fail_and_remove_nothing),
        cmocka_unit_test(scan_without_memory_removes_nothing),
        cmocka_unit_test(store_in_a_forked_process_is_a_miss),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
