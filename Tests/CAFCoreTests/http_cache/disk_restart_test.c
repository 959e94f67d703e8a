/*
 * A journal that is replaced or discarded while responses are received and written: what is outdated isn't stored, and
 * the rest is.
 */
#include "base/alloc.h"
#include "http_cache/disk/disk.h"
#include "support/cache_box.h"

#include <dlfcn.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

enum { SIZE = CACHE_BOX_RESPONSE, LARGE = 400000, URL = 1, OTHER = 2, HEAD = 64 };

/* ---- The thread of the disk -------------------------------------------------------------------- */

/* It is about to read an entry's file or a journal's head, or to give a new file or a new journal its name. */
static atomic_bool stops_reading, stops_loading, stops_publishing, stops_replacing;
static sem_t stops, goes_on;

static void stop_at(atomic_bool *is_wanted) {
    if (!atomic_exchange(is_wanted, false)) return;
    sem_post(&stops);
    while (sem_wait(&goes_on) != 0) continue;
}

int flock(int descriptor, int operation) {
    typedef int (*call)(int, int);
    static call real;
    if (real == NULL) *(void **)&real = dlsym(RTLD_NEXT, "flock");
    if ((operation & LOCK_SH) != 0) stop_at(&stops_reading);
    return real(descriptor, operation);
}

int renameat(int old_folder, const char *old_name, int new_folder, const char *new_name) {
    typedef int (*call)(int, const char *, int, const char *);
    static call real;
    if (real == NULL) *(void **)&real = dlsym(RTLD_NEXT, "renameat");
    if (old_folder != new_folder && strlen(old_name) == 16) stop_at(&stops_publishing);
    if (strcmp(old_name, "journal.new") == 0) stop_at(&stops_replacing);
    return real(old_folder, old_name, new_folder, new_name);
}

ssize_t pread(int descriptor, void *bytes, size_t size, off_t offset) {
    typedef ssize_t (*call)(int, void *, size_t, off_t);
    static call real;
    if (real == NULL) *(void **)&real = dlsym(RTLD_NEXT, "pread");
    if (size == HEAD && offset == 0) stop_at(&stops_loading);
    return real(descriptor, bytes, size, offset);
}

static void wait_until_stopped(void) {
    while (sem_wait(&stops) != 0) continue;
}

static int set_up(void **state) {
    assert_int_equal(sem_init(&stops, 0, 0), 0);
    assert_int_equal(sem_init(&goes_on, 0, 0), 0);
    *state = cache_box_new();
    return 0;
}

static int tear_down(void **state) {
    cache_box_free(*state);
    sem_destroy(&stops);
    sem_destroy(&goes_on);
    return 0;
}

/* ---- Responses in flight ----------------------------------------------------------------------- */

static response response_of(size_t size) {
    return (response){.url = URL, .version = 2, .size = size, .time = 1000};
}

static afc__http_cache_writing *receive(afc_http_cache *cache, const response *response) {
    afc__http_cache_writing *writing = response_begin(cache, response, -1);
    char *body = malloc(response->size);
    assert_non_null(body);
    response_fill(response, 0, body, response->size);
    check_status(
        afc__http_cache_append(writing, (afc_slice){body, response->size}, AFC__HTTP_CACHE_WAIT),
        AFC_OK);
    free(body);
    return writing;
}

/** Completes the response, and checks whether it is stored. */
static void commit(afc_http_cache *cache, afc__http_cache_writing *writing, bool is_stored) {
    assert_int_equal(afc__http_cache_commit(writing, AFC__HTTP_CACHE_WAIT),
                     is_stored ? AFC__HTTP_CACHE_COMMITTED : AFC__HTTP_CACHE_OUTDATED);
    afc_http_cache_flush(cache);
    assert_int_equal(count_responses(cache, URL), is_stored);
}

/** Writes the journal anew, as when it has become too long. */
static void rewrite_journal(afc_http_cache *cache) {
    afc__disk *disk = cache->disk;
    assert_true(afc__journal_lock(&disk->journal));
    assert_true(afc__disk_rewrite_journal(disk));
    afc__journal_unlock(&disk->journal);
}

/** A busy process writes the journal anew all the time. */
static void response_in_flight_outlives_a_shorter_journal(void **state) {
    cache_box *box = *state;
    afc_http_cache_flush(box->cache);
    afc_http_cache *other = cache_box_open(box, CACHE_BOX_MEMORY);
    afc_http_cache_flush(other);
    for (unsigned i = 0; i < 2; i++) {
        response response = response_of(i == 0 ? SIZE : LARGE);
        afc__http_cache_writing *writing = receive(other, &response);
        rewrite_journal(box->cache);
        afc_http_cache_flush(other);
        commit(other, writing, true);
        assert_int_equal(count_responses(box->cache, URL), 1);
        afc_http_cache_remove_all(other);
        afc_http_cache_flush(other);
    }
    cache_box_close(other);
}

/** When a machine has started, several processes scan the folder. */
static void response_in_flight_outlives_the_scan_of_another_process(void **state) {
    cache_box *box = *state;
    store_small(box->cache, 1);
    cache_box_close(box->cache);
    assert_int_equal(unlink(box->journal), 0);
    atomic_store(&stops_reading, true);
    box->cache = cache_box_open(box, CACHE_BOX_MEMORY);
    wait_until_stopped();
    afc_http_cache *other = cache_box_open(box, CACHE_BOX_MEMORY);
    afc_http_cache_flush(other);
    response response = response_of(SIZE);
    afc__http_cache_writing *writing = receive(other, &response);
    sem_post(&goes_on);
    afc_http_cache_flush(box->cache);
    afc_http_cache_flush(other);
    commit(other, writing, true);
    cache_box_close(other);
}

/** What is dropped is what the old journal says. */
static void change_in_a_replaced_journal_is_known(void **state) {
    cache_box *box = *state;
    char key[64];
    afc_http_cache_flush(box->cache);
    afc_http_cache *other = cache_box_open(box, CACHE_BOX_MEMORY);
    for (unsigned i = 0; i < 2; i++) {
        response response = response_of(i == 0 ? SIZE : LARGE);
        afc_http_cache_flush(other);
        afc__http_cache_writing *writing = receive(other, &response);
        afc__http_cache_remove_key(box->cache, response_key(key, URL));
        afc_http_cache_flush(box->cache);
        rewrite_journal(box->cache);
        afc_http_cache_flush(other);
        commit(other, writing, false);
        assert_int_equal(count_responses(box->cache, URL), 0);
    }
    cache_box_close(other);
}

static bool work_rewrite(afc__disk_job *work) {
    if (!afc__journal_lock(&work->disk->journal)) return false;
    (void)afc__disk_rewrite_journal(work->disk);
    afc__journal_unlock(&work->disk->journal);
    return false;
}

/** A process that was stopped while it replaced the journal must not put its own in place of a later one. */
static void change_made_while_the_journal_is_replaced_is_known(void **state) {
    cache_box *box = *state;
    char key[64];
    afc_http_cache_flush(box->cache);
    afc_http_cache *other = cache_box_open(box, CACHE_BOX_MEMORY);
    afc_http_cache_flush(other);
    afc_http_cache *third = cache_box_open(box, CACHE_BOX_MEMORY);
    afc_http_cache_flush(third);
    response response = response_of(SIZE);
    afc__http_cache_writing *writing = receive(third, &response);
    afc__disk_job job;
    atomic_store(&stops_replacing, true);
    assert_true(afc__disk_order(box->cache->disk, &job, work_rewrite));
    wait_until_stopped();
    afc__http_cache_remove_key(other, response_key(key, URL));
    afc_http_cache_flush(other);
    sem_post(&goes_on);
    afc_http_cache_flush(box->cache);
    afc_http_cache_flush(third);
    commit(third, writing, false);
    cache_box_close(third);
    cache_box_close(other);
}

/** The journal is discarded while another process has checked that it is in place. */
static void change_lost_while_the_journal_is_replaced_is_known(void **state) {
    cache_box *box = *state;
    char key[64];
    afc_http_cache_flush(box->cache);
    afc_http_cache *other = cache_box_open(box, CACHE_BOX_MEMORY);
    afc_http_cache_flush(other);
    afc_http_cache *third = cache_box_open(box, CACHE_BOX_MEMORY);
    afc_http_cache_flush(third);
    response response = response_of(SIZE);
    afc__http_cache_writing *writing = receive(third, &response);
    afc__disk_job job;
    atomic_store(&stops_replacing, true);
    assert_true(afc__disk_order(box->cache->disk, &job, work_rewrite));
    wait_until_stopped();
    afc__alloc_fail_at(1);
    afc__http_cache_remove_key(other, response_key(key, URL));
    afc__alloc_fail_at(0);
    sem_post(&goes_on);
    afc_http_cache_flush(box->cache);
    afc_http_cache_flush(third);
    commit(third, writing, false);
    cache_box_close(third);
    cache_box_close(other);
}

static bool work_catch_up(afc__disk_job *work) {
    afc__disk_catch_up(work->disk);
    return false;
}

/** It is outdated, as the new journal doesn't say what was changed. */
static void response_committed_while_a_journal_is_loaded_leaves_memory(void **state) {
    cache_box *box = *state;
    char key[64];
    afc_http_cache_flush(box->cache);
    afc_http_cache *other = cache_box_open(box, CACHE_BOX_MEMORY);
    afc_http_cache_flush(other);
    response response = response_of(SIZE);
    afc__http_cache_writing *writing = receive(other, &response);
    afc__alloc_fail_at(1);
    afc__http_cache_remove_key(box->cache, response_key(key, URL));
    afc__alloc_fail_at(0);
    afc_http_cache_flush(box->cache);
    afc__disk_job job;
    atomic_store(&stops_loading, true);
    assert_true(afc__disk_order(other->disk, &job, work_catch_up));
    wait_until_stopped();
    afc__disk_lock(other->disk);
    sem_post(&goes_on);
    while (afc__journal_has_changed(&other->disk->journal)) sched_yield();
    (void)afc__http_cache_commit(writing, AFC__HTTP_CACHE_DROP);
    afc__disk_unlock(other->disk);
    afc_http_cache_flush(other);
    assert_int_equal(count_responses(other, URL), 0);
    assert_int_equal(cache_box_count_files(box), 0);
    cache_box_close(other);
}

/** The new journal doesn't say what was changed. */
static void entry_that_waits_while_a_change_is_lost_is_dropped(void **state) {
    cache_box *box = *state;
    char key[64];
    afc_http_cache_flush(box->cache);
    afc_http_cache *other = cache_box_open(box, CACHE_BOX_MEMORY);
    afc_http_cache_flush(other);
    for (unsigned i = 0; i < 2; i++) {
        response first = small_response(OTHER, 1 + i), second = response_of(i == 0 ? SIZE : LARGE);
        atomic_store(&stops_publishing, true);
        assert_true(response_store(box->cache, &first, SIZE));
        wait_until_stopped();
        assert_true(response_store(box->cache, &second, second.size));
        afc__alloc_fail_at(1);
        afc__http_cache_remove_key(other, response_key(key, URL));
        afc__alloc_fail_at(0);
        afc_http_cache_flush(other);
        sem_post(&goes_on);
        afc_http_cache_flush(box->cache);
        assert_int_equal(count_responses(box->cache, URL), 0);
        assert_int_equal(count_responses(other, URL), 0);
        assert_int_equal(cache_box_count_files(box), 0);
    }
    cache_box_close(other);
}

static void unlink_in(const cache_box *box, const char *name) {
    char path[160];
    snprintf(path, sizeof path, "%s/1/%s", box->path, name);
    assert_int_equal(unlink(path), 0);
}

/** A removal of the folder may have come as far as that. */
static void lost_key_is_written_again(void **state) {
    cache_box *box = *state;
    unlink_in(box, "key");
    unlink_in(box, "journal");
    store_small(box->cache, 1);
    store_small(box->cache, 1);
    afc_http_cache *other = cache_box_open(box, CACHE_BOX_MEMORY);
    afc_http_cache_flush(other);
    assert_int_equal(count_responses(box->cache, 0), 1);
    assert_int_equal(count_responses(other, 0), 1);
    cache_box_close(other);
}

/** Its names of files mean other keys: what one process removes, the other one doesn't find. */
static void folder_that_has_got_another_key_is_not_used(void **state) {
    cache_box *box = *state;
    char key[64];
    store_small(box->cache, 1);
    assert_int_equal(count_responses(box->cache, 0), 1);
    unlink_in(box, "key");
    unlink_in(box, "journal");
    afc_http_cache *other = cache_box_open(box, CACHE_BOX_MEMORY);
    afc__http_cache_remove_key(other, response_key(key, 0));
    afc_http_cache_flush(other);
    assert_int_equal(count_responses(box->cache, 0), 0);
    store_small(other, 1);
    response response = small_response(OTHER, 1);
    (void)response_store(box->cache, &response, SIZE);
    afc_http_cache_flush(box->cache);
    assert_int_equal(cache_box_count_files(box), 1);
    assert_int_equal(count_responses(box->cache, 0), 0);
    assert_int_equal(count_responses(other, 0), 1);
    cache_box_close(other);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(response_in_flight_outlives_a_shorter_journal),
        TEST(response_in_flight_outlives_the_scan_of_another_process),
        TEST(change_in_a_replaced_journal_is_known),
        TEST(change_made_while_the_journal_is_replaced_is_known),
        TEST(change_lost_while_the_journal_is_replaced_is_known),
        TEST(response_committed_while_a_journal_is_loaded_leaves_memory),
        TEST(lost_key_is_written_again),
        TEST(folder_that_has_got_another_key_is_not_used),
        TEST(entry_that_waits_while_a_change_is_lost_is_dropped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
