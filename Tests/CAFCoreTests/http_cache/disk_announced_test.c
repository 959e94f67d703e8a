/*
 * Entries that are announced to the table and written to the disk later: a removal finds them, whatever becomes of the
 * file that they replace.
 */
#include "http_cache/disk/disk_state.h"
#include "support/cache_box.h"

#include <dlfcn.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

/* A body may have a twentieth of the capacity. */
enum { UNIT = 512, SIZE = UNIT / 20, OTHER = 1, AGAIN = 2 };

/* ---- The thread of the disk -------------------------------------------------------------------- */

/* It has recorded an entry and is about to give its file its name. */
static atomic_bool stops_publishing;
static sem_t publishes, goes_on;

int renameat(int old_folder, const char *old_name, int new_folder, const char *new_name) {
    typedef int (*call)(int, const char *, int, const char *);
    static call real;
    if (real == NULL) *(void **)&real = dlsym(RTLD_NEXT, "renameat");
    bool is_new_file = old_folder != new_folder && strlen(old_name) == 16;
    if (is_new_file && atomic_exchange(&stops_publishing, false)) {
        sem_post(&publishes);
        while (sem_wait(&goes_on) != 0) continue;
    }
    return real(old_folder, old_name, new_folder, new_name);
}

static void stop_at_next_file(void) {
    atomic_store(&stops_publishing, true);
}

static void wait_until_stopped(void) {
    while (sem_wait(&publishes) != 0) continue;
}

static int set_up(void **state) {
    cache_box *box = cache_box_new();
    afc_http_cache_set_capacity(box->cache, 0, CACHE_BOX_DISK);
    assert_int_equal(sem_init(&publishes, 0, 0), 0);
    assert_int_equal(sem_init(&goes_on, 0, 0), 0);
    *state = box;
    return 0;
}

static int tear_down(void **state) {
    cache_box_free(*state);
    sem_destroy(&publishes);
    sem_destroy(&goes_on);
    return 0;
}

/* ---- What is stored ---------------------------------------------------------------------------- */

static bool try_to_store(afc_http_cache *cache, unsigned url, unsigned version) {
    response response = {.url = url, .version = version, .size = SIZE, .time = 1000};
    return response_store(cache, &response, SIZE);
}

static void store(afc_http_cache *cache, unsigned url, unsigned version) {
    assert_true(try_to_store(cache, url, version));
}

/** Continues the thread, and checks that all is removed that was announced. */
static void check_none(const cache_box *box) {
    sem_post(&goes_on);
    afc_http_cache_flush(box->cache);
    afc_http_cache_statistics statistics;
    afc_http_cache_get_statistics(box->cache, &statistics);
    assert_int_equal(statistics.entries, 0);
    assert_int_equal(statistics.disk_used, 0);
    assert_int_equal(count_responses(box->cache, OTHER), 0);
    assert_int_equal(count_responses(box->cache, AGAIN), 0);
    assert_int_equal(cache_box_count_files(box), 0);
}

/** Announces another entry and a replacement, and returns when the first of them has a file. */
static void replace_behind_other(const cache_box *box) {
    stop_at_next_file();
    afc__disk_lock(box->cache->disk);
    bool are_stored = try_to_store(box->cache, OTHER, 1) && try_to_store(box->cache, AGAIN, 2);
    afc__disk_unlock(box->cache->disk);
    assert_true(are_stored);
    wait_until_stopped();
}

/* ---- Removals ---------------------------------------------------------------------------------- */

/** The capacity is so small that the newest entry is evicted. */
static void entry_evicted_before_its_replacement_is_written_is_removed(void **state) {
    cache_box *box = *state;
    store(box->cache, AGAIN, 1);
    afc_http_cache_set_capacity(box->cache, 0, UNIT);
    afc_http_cache_flush(box->cache);
    replace_behind_other(box);
    afc_http_cache_remove_all(box->cache);
    check_none(box);
}

static void entry_removed_by_others_before_its_replacement_is_written_is_removed(void **state) {
    cache_box *box = *state;
    store(box->cache, AGAIN, 1);
    afc_http_cache_flush(box->cache);
    afc_http_cache *other = cache_box_open(box, 0);
    afc_http_cache_set_capacity(other, 0, 0);
    afc_http_cache_flush(other);
    assert_int_equal(cache_box_count_files(box), 0);
    replace_behind_other(box);
    afc_http_cache_remove_all(box->cache);
    check_none(box);
    cache_box_close(other);
}

/** Otherwise the table would name a file for each entry that was ever evicted while others waited. */
static void evicted_entries_leave_the_table_while_others_wait(void **state) {
    enum { MANY = 2000 };
    cache_box *box = *state;
    afc_http_cache_set_capacity(box->cache, 0, 10 * UNIT);
    for (unsigned i = 0; i < MANY; i++) {
        store(box->cache, i, 1);
        if (i % 500 == 0) afc_http_cache_flush(box->cache);
    }
    afc_http_cache_flush(box->cache);
    afc_http_cache_statistics statistics;
    afc_http_cache_get_statistics(box->cache, &statistics);
    assert_int_equal(statistics.entries, 10);
    assert_int_equal(cache_box_count_files(box), 10);
}

/** The update finds that the body is gone, while a later response of that variant waits. */
static void update_that_comes_too_late_hides_no_later_entry(void **state) {
    cache_box *box = *state;
    response first = {.url = AGAIN, .variant = 1, .version = 1, .size = SIZE, .time = 1000};
    response updated = first, later = first;
    updated.variant = later.variant = 2;
    later.version = 2;
    char command[160];
    assert_true(response_store(box->cache, &first, SIZE));
    afc__http_cache_found found;
    response_find(box->cache, AGAIN, &found);
    assert_int_equal(found.count, 1);
    stop_at_next_file();
    store(box->cache, OTHER, 1);
    wait_until_stopped();
    snprintf(command, sizeof command, "rm -f %s/*", box->entries);
    assert_int_equal(system(command), 0);
    afc__http_cache_update(box->cache, found.stored[0], response_meta(&updated));
    found_clear(&found);
    assert_true(response_store(box->cache, &later, SIZE));
    stop_at_next_file();
    sem_post(&goes_on);
    wait_until_stopped();
    afc_http_cache_remove_all(box->cache);
    check_none(box);
}

static void replacement_is_found_after_an_eviction(void **state) {
    cache_box *box = *state;
    store(box->cache, AGAIN, 1);
    afc_http_cache_set_capacity(box->cache, 0, UNIT);
    afc_http_cache_flush(box->cache);
    replace_behind_other(box);
    sem_post(&goes_on);
    afc_http_cache_flush(box->cache);
    assert_int_equal(count_responses(box->cache, OTHER), 0);
    afc__http_cache_found found;
    response_find(box->cache, AGAIN, &found);
    assert_int_equal(found.count, 1);
    assert_int_equal(response_version(found.stored[0]), 2);
    found_clear(&found);
    afc_http_cache_statistics statistics;
    afc_http_cache_get_statistics(box->cache, &statistics);
    assert_int_equal(statistics.entries, 1);
    assert_int_equal(statistics.disk_used, UNIT);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(entry_evicted_before_its_replacement_is_written_is_removed),
        TEST(entry_removed_by_others_before_its_replacement_is_written_is_removed),
        TEST(evicted_entries_leave_the_table_while_others_wait),
        TEST(update_that_comes_too_late_hides_no_later_entry),
        TEST(replacement_is_found_after_an_eviction),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
