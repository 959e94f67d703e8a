/* The capacity of a cache on disk, which any thread may change while the cache's own thread evicts. */
#include "support/files.h"
#include "support/responses.h"

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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(capacity_changes_while_entries_are_evicted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
