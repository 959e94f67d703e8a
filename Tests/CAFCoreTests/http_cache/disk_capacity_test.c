/* The capacity of a cache on disk, which any thread may change while the cache's own thread evicts. */
#include "http_cache/disk/disk_state.h"
#include "support/cache_box.h"

#include <afcore/session.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { LEAST = 1 << 20, COUNT = 4000, SIZE = 200, AT_ONCE = 100, CHANGES = 100 };

typedef struct changer {
    pthread_t thread;
    afc_http_cache *cache;
    atomic_uint rounds; /* That may begin. */
} changer;

/** While entries are stored, so that the cache's thread evicts meanwhile. */
static void *change_capacity(void *context) {
    changer *changer = context;
    for (unsigned round = 0; round < COUNT / AT_ONCE; round++) {
        while (atomic_load(&changer->rounds) <= round) sched_yield();
        for (uint64_t i = 0; i < CHANGES; i++) {
            afc_http_cache_set_capacity(changer->cache, 0, LEAST + i % 2 * 4096);
        }
    }
    return NULL;
}

/** For ThreadSanitizer, too. */
static void capacity_changes_while_entries_are_evicted(void **state) {
    (void)state;
    folder folder;
    folder_make(&folder);
    changer changer = {.rounds = 0};
    afc_http_cache_options options = AFC_HTTP_CACHE_OPTIONS_INIT;
    options.memory_bytes = 0;
    options.directory = path_in(&folder, "cache");
    options.disk_bytes = LEAST;
    check_status(afc_http_cache_open(&changer.cache, &options, NULL), AFC_OK);
    assert_int_equal(pthread_create(&changer.thread, NULL, change_capacity, &changer), 0);
    for (unsigned i = 0; i < COUNT; i++) {
        response response = {.url = i, .version = 1, .size = SIZE, .time = 1000};
        /* More than what waits for the disk is refused. */
        (void)response_store(changer.cache, &response, SIZE);
        if (i % AT_ONCE != 0) continue;
        atomic_fetch_add(&changer.rounds, 1);
        afc_http_cache_flush(changer.cache);
    }
    pthread_join(changer.thread, NULL);
    afc_http_cache_set_capacity(changer.cache, 0, LEAST);
    afc_http_cache_flush(changer.cache);
    afc_http_cache_statistics statistics;
    afc_http_cache_get_statistics(changer.cache, &statistics);
    assert_in_range(statistics.disk_used, 1, LEAST);
    afc_http_cache_release(changer.cache);
    afc_join_closed_sessions();
    char command[160];
    snprintf(command, sizeof command, "rm -rf %s", options.directory);
    assert_int_equal(system(command), 0);
    folder_remove(&folder);
}

static afc_http_cache *open_cache(const char *path, uint64_t disk_bytes) {
    afc_http_cache *cache;
    afc_http_cache_options options = AFC_HTTP_CACHE_OPTIONS_INIT;
    options.memory_bytes = 0;
    options.directory = path;
    options.disk_bytes = disk_bytes;
    check_status(afc_http_cache_open(&cache, &options, NULL), AFC_OK);
    return cache;
}

static void close_cache(afc_http_cache *cache, const char *path) {
    char command[160];
    afc_http_cache_release(cache);
    afc_join_closed_sessions();
    snprintf(command, sizeof command, "rm -rf %s", path);
    assert_int_equal(system(command), 0);
}

static void store_many(afc_http_cache *cache, unsigned count) {
    for (unsigned i = 0; i < count; i++) {
        response response = {.url = i, .version = 1, .size = SIZE, .time = 1000};
        assert_true(response_store(cache, &response, SIZE));
        if (i % AT_ONCE == 0) afc_http_cache_flush(cache);
    }
    afc_http_cache_flush(cache);
}

static afc_http_cache_statistics statistics_of(afc_http_cache *cache) {
    afc_http_cache_statistics statistics;
    afc_http_cache_get_statistics(cache, &statistics);
    return statistics;
}

/** Each selection copies and sorts the whole table. */
static void smaller_capacity_is_reached_with_one_selection(void **state) {
    (void)state;
    enum { MANY = 500, DISK = 16 << 20, FEW = 100 };
    static const uint64_t capacities[] = {0, 512, FEW * 512};
    for (size_t i = 0; i < COUNT_OF(capacities); i++) {
        folder folder;
        folder_make(&folder);
        char path[96];
        snprintf(path, sizeof path, "%s", path_in(&folder, "cache"));
        afc_http_cache *cache = open_cache(path, DISK);
        store_many(cache, MANY);
        assert_int_equal(statistics_of(cache).disk_used, MANY * 512);
        uint64_t before = cache->disk->selections;
        afc_http_cache_set_capacity(cache, 0, capacities[i]);
        afc_http_cache_flush(cache);
        assert_int_equal(cache->disk->selections, before + 1);
        assert_int_equal(statistics_of(cache).disk_used, capacities[i]);
        close_cache(cache, path);
        folder_remove(&folder);
    }
}

/** What the disk's thread finds when it has its turn behind a trim. */
typedef struct look {
    afc__disk_job job;
    uint64_t units;
} look;

static bool work_look(afc__disk_job *work) {
    look *own = AFC__OWNER(work, look, job);
    afc__disk_lock(work->disk);
    own->units = work->disk->cache->table.units;
    afc__disk_unlock(work->disk);
    return false;
}

static void other_work_has_its_turn_while_much_is_evicted(void **state) {
    (void)state;
    enum { MANY = 300, DISK = 16 << 20 };
    folder folder;
    folder_make(&folder);
    char path[96];
    snprintf(path, sizeof path, "%s", path_in(&folder, "cache"));
    afc_http_cache *cache = open_cache(path, DISK);
    store_many(cache, MANY);
    look look = {.units = 0};
    /* Both under the lock, so that the thread begins with neither before the other is ordered. */
    afc__disk_lock(cache->disk);
    afc_http_cache_set_capacity(cache, 0, 10 * 512);
    assert_true(afc__disk_order(cache->disk, &look.job, work_look));
    response late = {.url = MANY, .version = 1, .size = SIZE, .time = 1000};
    assert_true(response_store(cache, &late, SIZE));
    afc__disk_unlock(cache->disk);
    afc_http_cache_flush(cache);
    assert_int_equal(look.units, MANY - AFC__DISK_SLICE);
    /* It was stored meanwhile: not with the whole excess evicted for it, and not beyond the capacity. */
    assert_true(statistics_of(cache).disk_used <= 10 * 512);
    afc__http_cache_found found;
    response_find(cache, MANY, &found);
    assert_int_equal(found.count, 1);
    found_clear(&found);
    close_cache(cache, path);
    folder_remove(&folder);
}

/** What can't be read is forgotten as soon as it is looked up. */
static void missing_and_damaged_entries_take_no_capacity(void **state) {
    (void)state;
    static const char *const commands[] = {"rm -f %s/*", "truncate -s 10 %s/*"};
    for (size_t i = 0; i < COUNT_OF(commands); i++) {
        cache_box *box = cache_box_new();
        afc_http_cache *cache = cache_box_open(box, 0);
        afc_http_cache_statistics statistics;
        char command[160];
        store_small(cache, 1);
        afc_http_cache_get_statistics(cache, &statistics);
        assert_int_equal(statistics.entries, 1);
        snprintf(command, sizeof command, commands[i], box->entries);
        assert_int_equal(system(command), 0);
        assert_int_equal(count_responses(cache, 0), 0);
        afc_http_cache_get_statistics(cache, &statistics);
        assert_int_equal(statistics.entries, 0);
        assert_int_equal(statistics.disk_used, 0);
        assert_int_equal(cache_box_count_files(box), 0);
        cache_box_close(cache);
        cache_box_free(box);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(smaller_capacity_is_reached_with_one_selection),
        cmocka_unit_test(other_work_has_its_turn_while_much_is_evicted),
        cmocka_unit_test(missing_and_damaged_entries_take_no_capacity),
        cmocka_unit_test(capacity_changes_while_entries_are_evicted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
