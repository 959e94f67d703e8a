/*
 * The store of the HTTP cache on disk: what it keeps from one opening to the next, its limits, and files and folders
 * that are damaged, foreign or gone. Whatever happens to them, a response is served whole and right, or not at all.
 */
#include "base/checksum.h"
#include "http_cache/disk/entry_file.h"
#include "support/cache_box.h"
#include "support/threads.h"
#include "support/torture.h"

#include <afcore/session.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { MEMORY = 1 << 20, DISK = 16 << 20, PIECE = 10000, LARGE = 1000 * 1000, SMALL = 5000 };

static void open_with(cache_box *box, uint64_t memory, uint64_t disk) {
    afc_http_cache_options options = AFC_HTTP_CACHE_OPTIONS_INIT;
    options.memory_bytes = memory;
    options.directory = box->path;
    options.disk_bytes = disk;
    options.max_entry_bytes = 4 << 20;
    check_status(afc_http_cache_open(&box->cache, &options, NULL), AFC_OK);
}

static void close_box(cache_box *box) {
    cache_box_close(box->cache);
    box->cache = NULL;
}

/** Closes and opens, so that nothing is in memory. */
static void reopen(cache_box *box) {
    close_box(box);
    open_with(box, MEMORY, DISK);
}

static int set_up(void **state) {
    cache_box *box = cache_box_make();
    open_with(box, MEMORY, DISK);
    *state = box;
    return 0;
}

static int tear_down(void **state) {
    cache_box_free(*state);
    return 0;
}

static afc_http_cache_statistics statistics_of(const cache_box *box) {
    afc_http_cache_statistics statistics;
    afc_http_cache_get_statistics(box->cache, &statistics);
    return statistics;
}

static void check_found(const cache_box *box, unsigned url, const response *expected,
                        size_t count) {
    afc__http_cache_found found;
    response_find(box->cache, url, &found);
    assert_int_equal(found.count, count);
    for (size_t i = 0; i < count; i++) {
        check_response(box->cache, found_variant(&found, expected[i].variant), &expected[i], 0);
    }
    found_clear(&found);
}

/** Calls `act` for each file of a folder; returns their number. */
static size_t for_each_in(const char *folder, void (*act)(const char *path, void *context),
                          void *context) {
    char path[512];
    size_t count = 0;
    DIR *names = opendir(folder);
    assert_non_null(names);
    const struct dirent *entry;
    while ((entry = readdir(names)) != NULL) {
        if (entry->d_name[0] == '.') continue;
        count++;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (act != NULL) act(path, context);
    }
    closedir(names);
    return count;
}

/** Calls `act` for each entry's file. */
static size_t for_each_file(const cache_box *box, void (*act)(const char *path, void *context),
                            void *context) {
    return for_each_in(box->entries, act, context);
}

/** Calls `act` for each file that is being written. */
static size_t for_each_new(const cache_box *box, void (*act)(const char *path, void *context),
                           void *context) {
    char path[160];
    snprintf(path, sizeof path, "%s/1/new", box->path);
    return for_each_in(path, act, context);
}

static size_t count_new(const cache_box *box) {
    return for_each_new(box, NULL, NULL);
}

/* ---- What is kept ---------------------------------------------------------------------------- */

static void checksum_is_that_of_the_specification(void **state) {
    (void)state;
    static const struct {
        const char *text;
        uint64_t seed, sum;
    } rows[] = {
        {"", 0, UINT64_C(0xef46db3751d8e999)},
        {"a", 0, UINT64_C(0xd24ec4f1a98c6e5b)},
        {"abc", 0, UINT64_C(0x44bc2cf5ad770999)},
        {"Nobody inspects the spammish repetition", 0, UINT64_C(0xfbcea83c8a378bf1)},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        assert_int_equal(afc__checksum(rows[i].seed, rows[i].text, strlen(rows[i].text)),
                         rows[i].sum);
    }
}

static void stored_responses_are_found_after_reopening(void **state) {
    cache_box *box = *state;
    static const size_t sizes[] = {0,
                                   1,
                                   SMALL,
                                   AFC__ENTRY_BLOCK - 1,
                                   AFC__ENTRY_BLOCK,
                                   AFC__ENTRY_BLOCK + 1,
                                   AFC__ENTRY_LOADED,
                                   AFC__ENTRY_LOADED + 1,
                                   4 * AFC__ENTRY_BLOCK + 1,
                                   2 * AFC__ENTRY_LOADED,
                                   LARGE};
    response responses[COUNT_OF(sizes)];
    for (unsigned i = 0; i < COUNT_OF(sizes); i++) {
        responses[i] = (response){.url = i, .version = i, .size = sizes[i], .time = 1000};
        assert_true(response_store(box->cache, &responses[i], PIECE));
        /* At once, whether the disk has it already or not. */
        check_found(box, i, &responses[i], 1);
    }
    for (unsigned round = 0; round < 3; round++) {
        for (unsigned i = 0; i < COUNT_OF(sizes); i++) check_found(box, i, &responses[i], 1);
        check_found(box, 77, NULL, 0);
        reopen(box);
        assert_int_equal(statistics_of(box).entries, COUNT_OF(sizes));
    }
    assert_int_equal(for_each_file(box, NULL, NULL), COUNT_OF(sizes));
    assert_int_equal(count_new(box), 0);
}

static void small_responses_come_into_memory_when_they_are_read(void **state) {
    cache_box *box = *state;
    response response = {.url = 1, .version = 1, .size = SMALL, .time = 1000};
    assert_true(response_store(box->cache, &response, PIECE));
    reopen(box);
    assert_int_equal(statistics_of(box).memory_used, 0);
    check_found(box, 1, &response, 1);
    assert_true(statistics_of(box).memory_used > SMALL);
}

static void large_body_is_read_from_an_offset(void **state) {
    cache_box *box = *state;
    response response = {.url = 1, .version = 1, .size = LARGE, .time = 1000};
    assert_true(response_store(box->cache, &response, PIECE));
    afc__http_cache_found found;
    response_find(box->cache, 1, &found);
    for (uint64_t offset = 0; offset <= LARGE; offset += 32767) {
        check_response(box->cache, found.stored[0], &response, offset);
    }
    check_response(box->cache, found.stored[0], &response, LARGE);
    check_response(box->cache, found.stored[0], &response, LARGE + 5);
    found_clear(&found);
}

static void variants_survive_reopening(void **state) {
    cache_box *box = *state;
    response three[] = {{.url = 1, .variant = 1, .version = 1, .size = SMALL, .time = 1000},
                        {.url = 1, .variant = 2, .version = 2, .size = LARGE, .time = 3000},
                        {.url = 1, .variant = 3, .version = 3, .size = 30, .time = 2000}};
    for (size_t i = 0; i < 3; i++) assert_true(response_store(box->cache, &three[i], PIECE));
    check_found(box, 1, three, 3);
    reopen(box);
    check_found(box, 1, three, 3);
    three[1].version = 7;
    three[1].size = 10;
    assert_true(response_store(box->cache, &three[1], PIECE));
    check_found(box, 1, three, 3);
    reopen(box);
    check_found(box, 1, three, 3);
    assert_int_equal(for_each_file(box, NULL, NULL), 3);
}

static void update_changes_only_the_head_on_disk(void **state) {
    cache_box *box = *state;
    static const size_t sizes[] = {SMALL, LARGE};
    for (unsigned i = 0; i < 2; i++) {
        response response = {.url = i, .version = 1, .size = sizes[i], .time = 1000};
        assert_true(response_store(box->cache, &response, PIECE));
        /* Found on disk, or in memory, by turns. */
        for (unsigned round = 0; round < 8; round++) {
            if (round % 2 == 0) reopen(box);
            afc__http_cache_found found;
            response_find(box->cache, i, &found);
            assert_int_equal(found.count, 1);
            assert_true(response_read(box->cache, found.stored[0], &response, 0));
            afc__http_cache_meta meta = *afc__http_cache_stored_meta(found.stored[0]);
            assert_int_equal(meta.response_time, response.time);
            meta.response_time = response.time = 2000 + round;
            meta.request_time = response.time - 1;
            afc__http_cache_update(box->cache, found.stored[0], &meta);
            found_clear(&found);
            check_found(box, i, &response, 1);
        }
        reopen(box);
        check_found(box, i, &response, 1);
    }
    assert_int_equal(for_each_file(box, NULL, NULL), 2);
}

/** Checks that the only variant is `variant`, with the body of `response`. */
static void check_variant(const cache_box *box, const response *response, unsigned variant) {
    afc__http_cache_found found;
    response_find(box->cache, response->url, &found);
    assert_int_equal(found.count, 1);
    assert_non_null(found_variant(&found, variant));
    assert_true(response_read(box->cache, found.stored[0], response, 0));
    found_clear(&found);
}

static void update_may_select_other_requests(void **state) {
    cache_box *box = *state;
    static const size_t sizes[] = {SMALL, LARGE};
    for (unsigned i = 0; i < 4; i++) {
        response response = {.url = i, .variant = 1, .size = sizes[i % 2], .time = 1000};
        struct response other = response;
        other.variant = 2;
        assert_true(response_store(box->cache, &response, PIECE));
        if (i / 2 == 0) reopen(box);
        afc__http_cache_found found;
        response_find(box->cache, i, &found);
        assert_int_equal(found.count, 1);
        afc__http_cache_update(box->cache, found.stored[0], response_meta(&other));
        found_clear(&found);
        check_variant(box, &response, 2);
        reopen(box);
        check_variant(box, &response, 2);
        assert_int_equal(for_each_file(box, NULL, NULL), i + 1);
        assert_int_equal(statistics_of(box).entries, i + 1);
    }
}

static void update_of_a_replaced_response_is_ignored(void **state) {
    cache_box *box = *state;
    response old = {.url = 1, .version = 1, .size = LARGE, .time = 1000}, new = old;
    new.version = 2;
    assert_true(response_store(box->cache, &old, PIECE));
    afc__http_cache_found found;
    response_find(box->cache, 1, &found);
    assert_true(response_store(box->cache, &new, PIECE));
    afc__http_cache_update(box->cache, found.stored[0], response_meta(&old));
    check_found(box, 1, &new, 1);
    afc__http_cache_drop(box->cache, found.stored[0]);
    check_found(box, 1, &new, 1);
    /* Replaced, and still whole for its reader. */
    check_response(box->cache, found.stored[0], &old, 0);
    found_clear(&found);
    response_find(box->cache, 1, &found);
    afc__http_cache_drop(box->cache, found.stored[0]);
    check_found(box, 1, NULL, 0);
    found_clear(&found);
    reopen(box);
    check_found(box, 1, NULL, 0);
}

static void overwritten_file_never_reaches_a_reader_of_the_old_one(void **state) {
    cache_box *box = *state;
    close_box(box);
    open_with(box, 0, 4 << 20);
    response first = {.url = 0, .version = 1, .size = LARGE, .time = 1000};
    assert_true(response_store(box->cache, &first, PIECE));
    afc__http_cache_found found;
    response_find(box->cache, 0, &found);
    assert_int_equal(found.count, 1);
    for (unsigned i = 1; i < 20; i++) {
        response other = {.url = i, .version = 1, .size = LARGE, .time = 1000};
        assert_true(response_store(box->cache, &other, PIECE));
        check_found(box, i, &other, 1);
    }
    check_found(box, 0, NULL, 0);
    check_response(box->cache, found.stored[0], &first, 0);
    found_clear(&found);
}

static void abandoned_body_leaves_no_file(void **state) {
    cache_box *box = *state;
    char *bytes = calloc(1, LARGE);
    assert_non_null(bytes);
    response response = {.url = 1, .version = 1, .size = LARGE, .time = 1000};
    afc__http_cache_writing *writing = response_begin(box->cache, &response, -1);
    check_status(afc__http_cache_append(writing, (afc_slice){bytes, LARGE}, AFC__HTTP_CACHE_DROP),
                 AFC_OK);
    afc__http_cache_abandon(writing);
    free(bytes);
    afc_http_cache_flush(box->cache);
    check_found(box, 1, NULL, 0);
    assert_int_equal(count_new(box), 0);
    assert_int_equal(for_each_file(box, NULL, NULL), 0);
}

static void removed_responses_stay_removed(void **state) {
    cache_box *box = *state;
    for (unsigned i = 0; i < 8; i++) {
        response response = {.url = i, .size = i == 7 ? LARGE : SMALL, .time = 1000};
        assert_true(response_store(box->cache, &response, PIECE));
    }
    check_status(afc_http_cache_remove_url(box->cache, NULL, "http://h3.test/3", NULL), AFC_OK);
    afc_http_cache_remove_host(box->cache, "h2.test");
    for (unsigned round = 0; round < 2; round++) {
        for (unsigned i = 0; i < 8; i++) {
            response response = {.url = i, .size = i == 7 ? LARGE : SMALL, .time = 1000};
            check_found(box, i, &response, i != 3 && i != 2 && i != 6 ? 1 : 0);
        }
        reopen(box);
    }
    assert_int_equal(for_each_file(box, NULL, NULL), 5);
    afc_http_cache_remove_since(box->cache, (int64_t)time(NULL) + 100);
    assert_int_equal(statistics_of(box).entries, 5);
    afc_http_cache_remove_since(box->cache, (int64_t)time(NULL) - 100);
    assert_int_equal(statistics_of(box).entries, 0);
    afc_http_cache_flush(box->cache);
    assert_int_equal(for_each_file(box, NULL, NULL), 0);
    assert_int_equal(statistics_of(box).disk_used, 0);
}

static void key_is_removed_with_the_variants_of_all_processes(void **state) {
    cache_box *box = *state, other = *box;
    char key[64];
    open_with(&other, MEMORY, DISK);
    /* Neither knows yet what the other one stores. */
    for (unsigned i = 0; i < 2 * AFC__HTTP_CACHE_VARIANTS_MAX; i++) {
        cache_box *owner = i < AFC__HTTP_CACHE_VARIANTS_MAX ? &other : box;
        response response = {.url = 1, .variant = i + 1, .size = SMALL, .time = 1000};
        assert_true(response_store(owner->cache, &response, PIECE));
        if (i + 1 == AFC__HTTP_CACHE_VARIANTS_MAX) afc_http_cache_flush(other.cache);
    }
    afc_http_cache_flush(box->cache);
    afc__http_cache_remove_key(box->cache, response_key(key, 1));
    check_found(box, 1, NULL, 0);
    afc_http_cache_flush(box->cache);
    check_found(&other, 1, NULL, 0);
    assert_int_equal(for_each_file(box, NULL, NULL), 0);
    close_box(&other);
}

/* ---- Limits ---------------------------------------------------------------------------------- */

static void add_size(const char *path, void *context) {
    struct stat facts;
    uint64_t *sum = context;
    assert_int_equal(stat(path, &facts), 0);
    *sum += ((uint64_t)facts.st_size + 511) / 512 * 512;
}

static void unfinished_bodies_take_no_more_than_half_of_the_disk(void **state) {
    cache_box *box = *state;
    enum { WRITINGS = 12 };
    char *bytes = calloc(1, LARGE);
    afc__http_cache_writing *writings[WRITINGS];
    uint64_t sum = 0;
    assert_non_null(bytes);
    close_box(box);
    open_with(box, MEMORY, 4 << 20);
    for (unsigned i = 0; i < WRITINGS; i++) {
        response response = {.url = i, .version = 1, .size = LARGE, .time = 1000};
        writings[i] = response_begin(box->cache, &response, LARGE);
        afc_status status = afc__http_cache_append(writings[i], (afc_slice){bytes, LARGE},
                                                   AFC__HTTP_CACHE_DROP);
        if (i == 0 || i == WRITINGS - 1) check_status(status, i == 0 ? AFC_OK : AFC_EFILE);
        afc_http_cache_flush(box->cache);
    }
    for_each_new(box, add_size, &sum);
    assert_in_range(sum, 1 << 20, (2 << 20) + (64 << 10));
    for (unsigned i = 0; i < WRITINGS; i++) afc__http_cache_abandon(writings[i]);
    /* Their room is free again. */
    response response = {.url = 1, .version = 1, .size = LARGE, .time = 1000};
    afc_http_cache_flush(box->cache);
    assert_true(response_store(box->cache, &response, PIECE));
    check_found(box, 1, &response, 1);
    free(bytes);
}

static void least_recently_used_entries_leave_the_disk(void **state) {
    cache_box *box = *state;
    enum { CAPACITY = 1 << 20, COUNT = 400 };
    close_box(box);
    open_with(box, 0, CAPACITY);
    uint64_t random = 42;
    response kept = {.url = 0, .version = 1, .size = SMALL, .time = 1000};
    for (unsigned i = 0; i < COUNT; i++) {
        size_t size = i == 0 ? SMALL : 1000 + next_random(&random) % 20000;
        response response = {.url = i, .version = 1, .size = size, .time = 1000};
        assert_true(response_store(box->cache, &response, PIECE));
        afc__http_cache_found found;
        response_find(box->cache, 0, &found);
        assert_int_equal(found.count, 1);
        afc__http_cache_touch(box->cache, found.stored[0]);
        found_clear(&found);
        assert_true(statistics_of(box).disk_used <= CAPACITY);
    }
    uint64_t sum = 0;
    afc_http_cache_flush(box->cache);
    size_t count = for_each_file(box, add_size, &sum);
    assert_int_equal(count, statistics_of(box).entries);
    assert_int_equal(sum, statistics_of(box).disk_used);
    assert_true(count < COUNT && sum > CAPACITY * 3 / 4);
    check_found(box, 0, &kept, 1);
    check_found(box, 1, NULL, 0);
    afc_http_cache_set_capacity(box->cache, 0, CAPACITY / 4);
    afc_http_cache_flush(box->cache);
    assert_true(statistics_of(box).disk_used <= CAPACITY / 4);
    check_found(box, 0, &kept, 1);
    close_box(box);
    open_with(box, 0, CAPACITY / 4);
    check_found(box, 0, &kept, 1);
}

static void folders_and_files_are_private(void **state) {
    cache_box *box = *state;
    struct stat facts;
    char path[160];
    response response = {.url = 1, .version = 1, .size = SMALL, .time = 1000};
    assert_true(response_store(box->cache, &response, PIECE));
    afc_http_cache_flush(box->cache);
    static const char *const names[] = {"", "/1", "/1/entries", "/1/new", "/1/key", "/1/journal"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        snprintf(path, sizeof path, "%s%s", box->path, names[i]);
        assert_int_equal(stat(path, &facts), 0);
        assert_int_equal(facts.st_mode & 0777, S_ISDIR(facts.st_mode) ? 0700 : 0600);
    }
    close_box(box);
    snprintf(path, sizeof path, "%s/1", box->path);
    assert_int_equal(chmod(path, 0755), 0);
    afc_http_cache_options options = AFC_HTTP_CACHE_OPTIONS_INIT;
    options.directory = box->path;
    afc_failure failure;
    check_status(afc_http_cache_open(&box->cache, &options, &failure), AFC_EFILE);
    assert_null(box->cache);
    check_contains(failure.text, box->path);
    assert_int_equal(chmod(path, 0700), 0);
    options.directory = "/dev/null/cache";
    check_status(afc_http_cache_open(&box->cache, &options, &failure), AFC_EFILE);
}

/* ---- Damage ---------------------------------------------------------------------------------- */

static void store_three(const cache_box *box, response out[3]) {
    static const size_t sizes[] = {SMALL, LARGE, 100};
    for (unsigned i = 0; i < 3; i++) {
        out[i] = (response){.url = i, .version = 5 + i, .size = sizes[i], .time = 1000};
        assert_true(response_store(box->cache, &out[i], PIECE));
    }
    afc_http_cache_flush(box->cache);
}

/** Checks that each is served right, or not at all; returns how many are served. */
static unsigned count_right(const cache_box *box, const response *expected, unsigned count) {
    unsigned right = 0;
    for (unsigned i = 0; i < count; i++) {
        afc__http_cache_found found;
        response_find(box->cache, expected[i].url, &found);
        assert_true(found.count <= 1);
        if (found.count == 1) {
            assert_int_equal(response_version(found.stored[0]), expected[i].version);
            right += response_read(box->cache, found.stored[0], &expected[i], 0);
        }
        found_clear(&found);
    }
    return right;
}

typedef struct damage {
    uint64_t *random;
    enum { FLIP, CUT, EMPTY, GROW, GARBAGE, FOLDER, REMOVE, DAMAGES } kind;
} damage;

static void damage_file(const char *path, void *context) {
    const damage *damage = context;
    struct stat facts;
    assert_int_equal(stat(path, &facts), 0);
    if (damage->kind == REMOVE || damage->kind == FOLDER) {
        assert_int_equal(unlink(path), 0);
        if (damage->kind == FOLDER) assert_int_equal(mkdir(path, 0700), 0);
        return;
    }
    int file = open(path, O_RDWR | O_CLOEXEC);
    assert_true(file >= 0);
    off_t at = (off_t)(next_random(damage->random) % (uint64_t)facts.st_size);
    char octet, garbage[100];
    switch (damage->kind) {
    case FLIP:
        assert_int_equal(pread(file, &octet, 1, at), 1);
        octet ^= (char)(1 << next_random(damage->random) % 8);
        assert_int_equal(pwrite(file, &octet, 1, at), 1);
        break;
    case CUT:
        assert_int_equal(ftruncate(file, at), 0);
        break;
    case EMPTY:
        assert_int_equal(ftruncate(file, 0), 0);
        break;
    case GROW:
        assert_int_equal(ftruncate(file, facts.st_size + 100000), 0);
        break;
    default:
        for (size_t i = 0; i < sizeof garbage; i++) garbage[i] = (char)next_random(damage->random);
        assert_int_equal(pwrite(file, garbage, sizeof garbage, at), (ssize_t)sizeof garbage);
    }
    close(file);
}

static void damaged_files_are_never_served(void **state) {
    cache_box *box = *state;
    uint64_t random = 7;
    for (unsigned round = 0; round < test_amount_brief(40, 5) * DAMAGES; round++) {
        response responses[3];
        damage damage = {&random, round % DAMAGES};
        store_three(box, responses);
        close_box(box);
        assert_int_equal(for_each_file(box, damage_file, &damage), 3);
        open_with(box, round % 2 == 0 ? MEMORY : 0, DISK);
        /* What was only made longer is still whole; a flipped bit may be in a part that isn't used. */
        unsigned right = count_right(box, responses, 3);
        assert_true(damage.kind == GROW ? right == 3 : damage.kind == FLIP || right == 0);
        /* Twice: what was damaged is gone now. */
        assert_true(count_right(box, responses, 3) <= right);
        if (damage.kind == FOLDER) {
            char command[200];
            snprintf(command, sizeof command, "rmdir %s/* 2>/dev/null || true", box->entries);
            assert_int_equal(system(command), 0);
        }
    }
}

static void swapped_and_foreign_files_are_never_served(void **state) {
    cache_box *box = *state;
    response responses[3];
    char paths[3][512], other[600];
    store_three(box, responses);
    close_box(box);
    size_t count = 0;
    DIR *names = opendir(box->entries);
    assert_non_null(names);
    const struct dirent *entry;
    while ((entry = readdir(names)) != NULL) {
        if (entry->d_name[0] == '.') continue;
        assert_true(count < 3);
        snprintf(paths[count++], sizeof paths[0], "%s/%s", box->entries, entry->d_name);
    }
    closedir(names);
    snprintf(other, sizeof other, "%s/other", box->entries);
    assert_int_equal(rename(paths[0], other), 0);
    assert_int_equal(rename(paths[1], paths[0]), 0);
    assert_int_equal(rename(paths[2], paths[1]), 0);
    assert_int_equal(rename(other, paths[2]), 0);
    write_file(other, S("not ours"));
    snprintf(other, sizeof other, "%s/0123456789abcdef0123456789abcdef", box->entries);
    write_file(other, S("not ours"));
    snprintf(other, sizeof other, "%s/link", box->entries);
    assert_int_equal(symlink("/etc/passwd", other), 0);
    open_with(box, MEMORY, DISK);
    assert_int_equal(count_right(box, responses, 3), 0);
}

static void journal_is_made_again_from_the_files(void **state) {
    cache_box *box = *state;
    uint64_t random = 3;
    for (unsigned round = 0; round < test_amount_brief(4, 1) * DAMAGES; round++) {
        response responses[3];
        damage damage = {&random, round % DAMAGES};
        store_three(box, responses);
        close_box(box);
        /* A folder in its place can't be mended. */
        if (damage.kind != FOLDER) damage_file(box->journal, &damage);
        open_with(box, MEMORY, DISK);
        afc_http_cache_flush(box->cache);
        assert_int_equal(count_right(box, responses, 3), 3);
        reopen(box);
        assert_int_equal(count_right(box, responses, 3), 3);
        assert_int_equal(statistics_of(box).entries, 3);
    }
}

static void entries_removed_during_a_scan_stay_removed(void **state) {
    cache_box *box = *state;
    response responses[3];
    for (unsigned round = 0; round < 20; round++) {
        store_three(box, responses);
        close_box(box);
        assert_int_equal(unlink(box->journal), 0);
        open_with(box, MEMORY, DISK);
        if (round % 2 == 0) {
            char key[64];
            afc__http_cache_remove_key(box->cache, response_key(key, 0));
        } else {
            afc_http_cache_remove_all(box->cache);
        }
        check_found(box, 0, NULL, 0);
        afc_http_cache_flush(box->cache);
        check_found(box, 0, NULL, 0);
        reopen(box);
        check_found(box, 0, NULL, 0);
    }
}

static void lost_key_means_an_empty_cache(void **state) {
    cache_box *box = *state;
    response responses[3];
    char key[160];
    snprintf(key, sizeof key, "%s/1/key", box->path);
    store_three(box, responses);
    close_box(box);
    write_file(key, S("something else"));
    open_with(box, MEMORY, DISK);
    assert_int_equal(count_right(box, responses, 3), 0);
    afc_http_cache_flush(box->cache);
    assert_int_equal(count_right(box, responses, 3), 0);
    assert_int_equal(for_each_file(box, NULL, NULL), 0);
    store_three(box, responses);
    reopen(box);
    assert_int_equal(count_right(box, responses, 3), 3);
}

static void removed_folder_is_an_empty_cache(void **state) {
    cache_box *box = *state;
    response responses[3], later[3];
    char command[160];
    store_three(box, responses);
    snprintf(command, sizeof command, "rm -rf %s", box->path);
    assert_int_equal(system(command), 0);
    reopen(box);
    assert_int_equal(count_right(box, responses, 3), 0);
    assert_int_equal(system(command), 0);
    /*
     * It is made again. A response that was ordered before the loss was noticed isn't stored, as the journal that was
     * lost may have made it outdated.
     */
    store_three(box, later);
    reopen(box);
    assert_true(count_right(box, later, 3) >= 2);
    store_three(box, later);
    reopen(box);
    assert_int_equal(count_right(box, later, 3), 3);
}

static void leftover_of_a_killed_writer_is_removed(void **state) {
    cache_box *box = *state;
    char path[200];
    response response = {.url = 1, .version = 1, .size = SMALL, .time = 1000};
    assert_true(response_store(box->cache, &response, PIECE));
    close_box(box);
    snprintf(path, sizeof path, "%s/1/new/0123456789abcdef", box->path);
    write_file(path, S("half of a response"));
    open_with(box, MEMORY, DISK);
    assert_int_equal(count_new(box), 0);
    check_found(box, 1, &response, 1);
}

static void journal_stays_short(void **state) {
    cache_box *box = *state;
    struct stat facts;
    response response = {.url = 1, .version = 1, .size = 10, .time = 1000};
    for (unsigned i = 0; i < test_amount_brief(12000, 6000); i++) {
        response.version = i;
        assert_true(response_store(box->cache, &response, PIECE));
        if (i % 10 != 0) continue;
        afc__http_cache_found found;
        response_find(box->cache, 1, &found);
        if (found.count != 0) afc__http_cache_touch(box->cache, found.stored[0]);
        found_clear(&found);
    }
    reopen(box);
    assert_int_equal(stat(box->journal, &facts), 0);
    assert_true(facts.st_size < 5000 * 40);
    check_found(box, 1, &response, 1);
}

static void out_of_memory_is_a_miss_on_disk_too(void **state) {
    cache_box *box = *state;
    close_box(box);
    response small = {.url = 1, .version = 1, .size = SMALL, .time = 1000};
    response large = {.url = 2, .version = 1, .size = 300000, .time = 1000};
    TORTURE(round) {
        afc_http_cache_options options = AFC_HTTP_CACHE_OPTIONS_INIT;
        options.directory = box->path;
        small.version = large.version = (unsigned)round;
        if (afc_http_cache_open(&box->cache, &options, NULL) == AFC_OK) {
            response_store(box->cache, &small, PIECE);
            response_store(box->cache, &large, PIECE);
            afc__http_cache_found found;
            response_find(box->cache, 1, &found);
            found_clear(&found);
            afc_http_cache_flush(box->cache);
            afc_http_cache_release(box->cache);
            box->cache = NULL;
        }
    }
    open_with(box, MEMORY, DISK);
    check_found(box, 1, &small, 1);
    check_found(box, 2, &large, 1);
}

/** The thread still has work when the last reference goes: what was ordered is done, and the thread can be joined. */
static void release_with_waiting_work_ends_the_thread(void **state) {
    cache_box *box = *state;
    for (unsigned round = 0; round < test_amount_brief(50, 10); round++) {
        response last = {.url = 1, .version = round + 1, .size = SMALL, .time = 1000 + round};
        for (unsigned url = 2; url < 10; url++) {
            response other = {.url = url, .version = round + 1, .size = SMALL, .time = 1000};
            assert_true(response_store(box->cache, &other, PIECE));
        }
        assert_true(response_store(box->cache, &last, PIECE));
        afc_http_cache_release(box->cache);
        afc_join_closed_sessions();
        assert_int_equal(count_threads("af-writer"), 0);
        open_with(box, MEMORY, DISK);
        check_found(box, 1, &last, 1);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(checksum_is_that_of_the_specification),
        TEST(stored_responses_are_found_after_reopening),
        TEST(small_responses_come_into_memory_when_they_are_read),
        TEST(large_body_is_read_from_an_offset),
        TEST(variants_survive_reopening),
        TEST(update_changes_only_the_head_on_disk),
        TEST(update_may_select_other_requests),
        TEST(update_of_a_replaced_response_is_ignored),
        TEST(overwritten_file_never_reaches_a_reader_of_the_old_one),
        TEST(abandoned_body_leaves_no_file),
        TEST(removed_responses_stay_removed),
        TEST(key_is_removed_with_the_variants_of_all_processes),
        TEST(unfinished_bodies_take_no_more_than_half_of_the_disk),
        TEST(least_recently_used_entries_leave_the_disk),
        TEST(folders_and_files_are_private),
        TEST(damaged_files_are_never_served),
        TEST(swapped_and_foreign_files_are_never_served),
        TEST(journal_is_made_again_from_the_files),
        TEST(entries_removed_during_a_scan_stay_removed),
        TEST(lost_key_means_an_empty_cache),
        TEST(removed_folder_is_an_empty_cache),
        TEST(leftover_of_a_killed_writer_is_removed),
        TEST(journal_stays_short),
        TEST(out_of_memory_is_a_miss_on_disk_too),
        TEST(release_with_waiting_work_ends_the_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
