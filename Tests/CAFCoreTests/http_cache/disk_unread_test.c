/*
 * Removals of responses that the process which removes them hasn't read of, because another one has just stored them,
 * or because the folder is being scanned.
 */
#include "base/alloc.h"
#include "http_cache/disk/disk.h"
#include "support/cache_box.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <unistd.h>

enum { SIZE = CACHE_BOX_RESPONSE, ALLOCATIONS = 8, RECORD = 40 };

typedef enum removal { KEY, HOST, SINCE, ALL, REMOVALS } removal;

static void remove_by(afc_http_cache *cache, removal removal) {
    char key[64];
    switch (removal) {
    case KEY:
        afc__http_cache_remove_key(cache, response_key(key, 0));
        break;
    case HOST:
        afc_http_cache_remove_host(cache, "h0.test");
        break;
    case SINCE:
        afc_http_cache_remove_since(cache, 1);
        break;
    default:
        afc_http_cache_remove_all(cache);
    }
}

/* ---- The thread of the disk -------------------------------------------------------------------- */

typedef struct pause_job {
    afc__disk_job job;
    sem_t begins, ends;
} pause_job;

static bool work_pause(afc__disk_job *work) {
    pause_job *own = AFC__OWNER(work, pause_job, job);
    sem_post(&own->begins);
    while (sem_wait(&own->ends) != 0) continue;
    return false;
}

static void order_pause(pause_job *pause, afc_http_cache *cache) {
    assert_int_equal(sem_init(&pause->begins, 0, 0), 0);
    assert_int_equal(sem_init(&pause->ends, 0, 0), 0);
    assert_true(afc__disk_order(cache->disk, &pause->job, work_pause));
}

static void wait_for_pause(pause_job *pause) {
    while (sem_wait(&pause->begins) != 0) continue;
}

static void begin_pause(pause_job *pause, afc_http_cache *cache) {
    order_pause(pause, cache);
    wait_for_pause(pause);
}

/** The thread doesn't use the pause any more when it has done what comes next. */
static void end_pause(pause_job *pause, afc_http_cache *cache) {
    sem_post(&pause->ends);
    afc_http_cache_flush(cache);
    sem_destroy(&pause->begins);
    sem_destroy(&pause->ends);
}

/* ---- Threads that scan ------------------------------------------------------------------------- */

enum { SCANS = 2 };

/* How many of the next files that are read by a scan stop its thread. */
static atomic_uint stop_count;
static sem_t stops, goes_on[SCANS];

/* The next record that isn't written, for want of space; the cache whose pause ends when its writer has unlocked. */
static atomic_bool is_full;
static _Thread_local bool is_lost;
static pause_job *lost_pause;
static afc_http_cache *lost_cache;

ssize_t write(int descriptor, const void *bytes, size_t size) {
    typedef ssize_t (*call)(int, const void *, size_t);
    static call real;
    if (real == NULL) *(void **)&real = dlsym(RTLD_NEXT, "write");
    if (size != RECORD || !atomic_exchange(&is_full, false)) return real(descriptor, bytes, size);
    is_lost = true;
    errno = ENOSPC;
    return -1;
}

int flock(int descriptor, int operation) {
    typedef int (*call)(int, int);
    static call real;
    if (real == NULL) *(void **)&real = dlsym(RTLD_NEXT, "flock");
    unsigned count = atomic_load(&stop_count);
    if ((operation & LOCK_SH) != 0 && count != 0) {
        atomic_store(&stop_count, count - 1);
        sem_post(&stops);
        while (sem_wait(&goes_on[count - 1]) != 0) continue;
    }
    int result = real(descriptor, operation);
    if (operation == LOCK_UN && is_lost) {
        is_lost = false;
        if (lost_cache != NULL) end_pause(lost_pause, lost_cache);
    }
    return result;
}

static int set_up(void **state) {
    assert_int_equal(sem_init(&stops, 0, 0), 0);
    for (unsigned i = 0; i < SCANS; i++) assert_int_equal(sem_init(&goes_on[i], 0, 0), 0);
    *state = cache_box_new();
    afc_http_cache_flush(((cache_box *)*state)->cache);
    return 0;
}

static int tear_down(void **state) {
    cache_box_free(*state);
    sem_destroy(&stops);
    for (unsigned i = 0; i < SCANS; i++) sem_destroy(&goes_on[i]);
    return 0;
}

static void check_removed(const cache_box *box, afc_http_cache *other) {
    afc_http_cache_flush(box->cache);
    assert_int_equal(count_responses(box->cache, 0), 0);
    assert_int_equal(count_responses(other, 0), 0);
    afc_http_cache_flush(other);
    afc_http_cache_flush(box->cache);
    assert_int_equal(count_responses(box->cache, 0), 0);
    assert_int_equal(count_responses(other, 0), 0);
    assert_int_equal(cache_box_count_files(box), 0);
    /* The next response is stored. */
    store_small(box->cache, 1);
    assert_int_equal(count_responses(box->cache, 0), 1);
    assert_int_equal(count_responses(other, 0), 1);
    afc_http_cache_remove_all(box->cache);
    afc_http_cache_flush(box->cache);
    afc_http_cache_flush(other);
}

static int lock_journal(const cache_box *box) {
    int lock = open(box->journal, O_RDWR | O_CLOEXEC);
    assert_true(lock >= 0);
    assert_int_equal(flock(lock, LOCK_EX), 0);
    return lock;
}

/* ---- Shortages --------------------------------------------------------------------------------- */

static void unread_responses_are_removed_without_memory(void **state) {
    cache_box *box = *state;
    afc_http_cache *other = cache_box_open(box, CACHE_BOX_MEMORY);
    afc_http_cache_flush(other);
    for (removal removal = 0; removal < REMOVALS; removal++) {
        for (size_t n = 1; n <= 2 * ALLOCATIONS; n++) {
            afc_http_cache_flush(box->cache);
            afc_http_cache_flush(other);
            store_small(other, 1);
            assert_int_equal(count_responses(other, 0), 1);
            if (n <= ALLOCATIONS) {
                afc__alloc_fail_at(n);
            } else {
                afc__alloc_fail_from(n - ALLOCATIONS);
            }
            remove_by(box->cache, removal);
            afc_http_cache_flush(box->cache);
            afc__alloc_fail_at(0);
            check_removed(box, other);
        }
    }
    cache_box_close(other);
}

/** A broken body, for example, is removed unless another one has taken its place. */
static void dropped_response_is_removed_without_memory(void **state) {
    cache_box *box = *state;
    afc_http_cache *other = cache_box_open(box, 0);
    afc_http_cache_flush(other);
    for (size_t n = 1; n <= ALLOCATIONS; n++) {
        afc__http_cache_found found;
        store_small(other, 1);
        response_find(other, 0, &found);
        assert_int_equal(found.count, 1);
        afc__alloc_fail_at(n);
        afc__http_cache_drop(other, found.stored[0]);
        afc_http_cache_flush(other);
        afc__alloc_fail_at(0);
        found_clear(&found);
        check_removed(box, other);
    }
    cache_box_close(other);
}

/** Neither can the journal be locked, nor another one be made. */
static void unread_responses_are_removed_while_no_journal_can_be_made(void **state) {
    cache_box *box = *state;
    struct rlimit before;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    for (removal removal = 0; removal < REMOVALS; removal++) {
        afc_http_cache *other = cache_box_open(box, CACHE_BOX_MEMORY);
        afc_http_cache_flush(other);
        store_small(other, 1);
        int lock = lock_journal(box);
        struct rlimit full = {1, before.rlim_max};
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &full), 0);
        remove_by(box->cache, removal);
        afc_http_cache_flush(box->cache);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
        close(lock);
        afc_http_cache_flush(box->cache);
        check_removed(box, other);
        cache_box_close(other);
    }
    signal(SIGXFSZ, SIG_DFL);
}

/** The table still has the time of the response that another process has replaced. */
static void replaced_response_is_removed_by_its_own_time(void **state) {
    cache_box *box = *state;
    afc_http_cache *other = cache_box_open(box, CACHE_BOX_MEMORY);
    store_small(box->cache, 1);
    afc_http_cache_flush(other);
    afc__disk_lock(box->cache->disk);
    for (size_t i = 0; i < box->cache->table.capacity; i++) {
        box->cache->table.slots[i].stored_s = 0;
    }
    afc__disk_unlock(box->cache->disk);
    store_small(other, 1);
    int lock = lock_journal(box);
    remove_by(box->cache, SINCE);
    afc_http_cache_flush(box->cache);
    close(lock);
    check_removed(box, other);
    cache_box_close(other);
}

/** The journal can't be locked, and neither can another one or the folder be opened. */
static void unread_responses_are_removed_without_descriptors(void **state) {
    cache_box *box = *state;
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    for (removal removal = 0; removal < REMOVALS; removal++) {
        afc_http_cache *other = cache_box_open(box, CACHE_BOX_MEMORY);
        afc_http_cache_flush(other);
        store_small(other, 1);
        int lock = lock_journal(box), next = dup(lock);
        assert_true(next >= 0);
        close(next);
        struct rlimit full = {(rlim_t)next, before.rlim_max};
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &full), 0);
        remove_by(box->cache, removal);
        afc_http_cache_flush(box->cache);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
        close(lock);
        check_removed(box, other);
        cache_box_close(other);
    }
}

/* ---- Scans ------------------------------------------------------------------------------------- */

static void close_and_lose_journal(cache_box *box) {
    store_small(box->cache, 1);
    cache_box_close(box->cache);
    assert_int_equal(unlink(box->journal), 0);
}

static void wait_until_stopped(void) {
    while (sem_wait(&stops) != 0) continue;
}

/**
 * Each process finds a response by itself. Either scan may be the first to end, and what it has found may have been in
 * use before the removal.
 */
static void response_that_two_scans_find_stays_removed(void **state) {
    cache_box *box = *state;
    for (unsigned round = 0; round < 2 * REMOVALS; round++) {
        unsigned is_other_first = round % 2;
        close_and_lose_journal(box);
        atomic_store(&stop_count, SCANS);
        box->cache = cache_box_open(box, CACHE_BOX_MEMORY);
        wait_until_stopped();
        afc_http_cache *other = cache_box_open(box, CACHE_BOX_MEMORY);
        wait_until_stopped();
        remove_by(box->cache, round / 2);
        /* The second thread that was stopped is that of `other`. */
        sem_post(&goes_on[is_other_first ? 0 : 1]);
        if (is_other_first) {
            afc_http_cache_flush(other);
            (void)count_responses(other, 0);
        } else {
            afc_http_cache_flush(box->cache);
        }
        sem_post(&goes_on[is_other_first ? 1 : 0]);
        check_removed(box, other);
        cache_box_close(other);
    }
}

/* ---- Responses that come in between ------------------------------------------------------------ */

/** What another process stores before it can read of the change is outdated. */
static void response_stored_before_a_change_is_recorded_is_removed(void **state) {
    cache_box *box = *state;
    afc_http_cache *other = cache_box_open(box, CACHE_BOX_MEMORY);
    afc_http_cache_flush(other);
    pause_job pause;
    begin_pause(&pause, box->cache);
    remove_by(box->cache, KEY);
    store_small(other, 1);
    assert_int_equal(count_responses(other, 0), 1);
    end_pause(&pause, box->cache);
    check_removed(box, other);
    cache_box_close(other);
}

/** It is one more variant than are read of the table at once. */
static void variant_stored_before_a_change_is_recorded_is_removed(void **state) {
    cache_box *box = *state;
    afc_http_cache *other = cache_box_open(box, CACHE_BOX_MEMORY);
    afc_http_cache_flush(other);
    pause_job pause;
    response response = {.version = 1, .size = SIZE, .time = 1000};
    begin_pause(&pause, box->cache);
    remove_by(box->cache, KEY);
    for (response.variant = 1; response.variant <= AFC__HTTP_CACHE_VARIANTS_MAX;) {
        assert_true(response_store(box->cache, &response, SIZE));
        response.variant++;
    }
    assert_true(response_store(other, &response, SIZE));
    afc_http_cache_flush(other);
    assert_int_equal(cache_box_count_files(box), 1);
    end_pause(&pause, box->cache);
    assert_int_equal(cache_box_count_files(box), AFC__HTTP_CACHE_VARIANTS_MAX);
    afc__http_cache_found found;
    response_find(other, 0, &found);
    assert_null(found_variant(&found, response.variant));
    found_clear(&found);
    cache_box_close(other);
}

static bool work_catch_up(afc__disk_job *work) {
    afc__disk_catch_up(work->disk);
    return false;
}

/** It is read of between the order of the removal and its work, which finds the journal locked. */
static void response_read_of_before_a_removal_is_removed(void **state) {
    cache_box *box = *state;
    afc_http_cache *other = cache_box_open(box, CACHE_BOX_MEMORY);
    for (removal removal = 0; removal < REMOVALS; removal++) {
        pause_job before, after;
        afc__disk_job catch_up;
        afc_http_cache_flush(other);
        begin_pause(&before, box->cache);
        assert_true(afc__disk_order(box->cache->disk, &catch_up, work_catch_up));
        order_pause(&after, box->cache);
        remove_by(box->cache, removal);
        store_small(other, 1);
        sem_post(&before.ends);
        wait_for_pause(&after);
        int lock = lock_journal(box);
        end_pause(&after, box->cache);
        close(lock);
        sem_destroy(&before.begins);
        sem_destroy(&before.ends);
        check_removed(box, other);
    }
    cache_box_close(other);
}

/** A full disk doesn't take the record of the removal. */
static void response_stored_right_after_an_unrecorded_removal_is_removed(void **state) {
    cache_box *box = *state;
    afc_http_cache *other = cache_box_open(box, CACHE_BOX_MEMORY);
    for (removal removal = 0; removal < REMOVALS; removal++) {
        pause_job pause;
        response response = small_response(0, 1);
        afc_http_cache_flush(other);
        begin_pause(&pause, other);
        assert_true(response_store(other, &response, SIZE));
        lost_pause = &pause;
        lost_cache = other;
        atomic_store(&is_full, true);
        remove_by(box->cache, removal);
        afc_http_cache_flush(box->cache);
        assert_false(atomic_load(&is_full));
        check_removed(box, other);
    }
    cache_box_close(other);
}

/** Another journal is started at once: later, that would make outdated what is requested until then. */
static void response_requested_after_an_unrecorded_removal_is_stored(void **state) {
    cache_box *box = *state;
    char bytes[SIZE];
    for (unsigned round = 0; round < 2 * REMOVALS; round++) {
        response response = small_response(1, 1);
        /* With a record of a file, and with that of the change only. */
        if (round % 2 != 0) store_small(box->cache, 1);
        afc_http_cache_flush(box->cache);
        lost_cache = NULL;
        atomic_store(&is_full, true);
        remove_by(box->cache, round / 2);
        assert_true(afc__disk_wait(box->cache->disk));
        assert_false(atomic_load(&is_full));
        afc__http_cache_writing *writing = response_begin(box->cache, &response, SIZE);
        afc_http_cache_flush(box->cache);
        response_fill(&response, 0, bytes, SIZE);
        check_status(
            afc__http_cache_append(writing, (afc_slice){bytes, SIZE}, AFC__HTTP_CACHE_DROP),
            AFC_OK);
        assert_int_equal(afc__http_cache_commit(writing, AFC__HTTP_CACHE_DROP),
                         AFC__HTTP_CACHE_COMMITTED);
        afc_http_cache_remove_all(box->cache);
        afc_http_cache_flush(box->cache);
    }
}

static void ignore_wake(void *context) {
    (void)context;
}

/** A lookup that was ordered before the removal keeps it in memory. */
static void response_found_before_a_removal_leaves_memory(void **state) {
    cache_box *box = *state;
    char key[64];
    afc_http_cache *other = cache_box_open(box, CACHE_BOX_MEMORY);
    for (removal removal = 0; removal < REMOVALS; removal++) {
        pause_job pause;
        afc__disk_job catch_up;
        afc__http_cache_find *op;
        afc__http_cache_found found;
        afc_http_cache_flush(box->cache);
        begin_pause(&pause, box->cache);
        store_small(other, 1);
        assert_true(afc__disk_order(box->cache->disk, &catch_up, work_catch_up));
        assert_int_equal(afc__http_cache_find_begin(box->cache, response_key(key, 0),
                                                    (afc__http_cache_wake){ignore_wake, NULL}, &op,
                                                    &found),
                         AFC__HTTP_CACHE_PENDING);
        remove_by(box->cache, removal);
        end_pause(&pause, box->cache);
        afc__http_cache_find_free(op);
        check_removed(box, other);
    }
    cache_box_close(other);
}

/* The lock of a cache, as one thread has it, and how many sets left memory under one lock at most. */
static _Atomic(afc_http_cache *) watched;
static _Thread_local unsigned depth;
static _Thread_local uint64_t sets_before;
static atomic_size_t largest_loss;

/* The first time that this thread releases the lock, it waits for the disk's thread. */
static _Thread_local bool waits;

static uint64_t count_sets(const afc_http_cache *cache) {
    afc_lru_statistics statistics;
    afc_lru_get_statistics(cache->memory, &statistics);
    return statistics.count;
}

int pthread_mutex_lock(pthread_mutex_t *lock) {
    typedef int (*call)(pthread_mutex_t *);
    static call real;
    if (real == NULL) *(void **)&real = dlsym(RTLD_NEXT, "pthread_mutex_lock");
    int result = real(lock);
    const afc_http_cache *cache = atomic_load(&watched);
    if (cache != NULL && lock == &cache->lock && depth++ == 0) {
        sets_before = count_sets(cache);
    }
    return result;
}

int pthread_mutex_unlock(pthread_mutex_t *lock) {
    typedef int (*call)(pthread_mutex_t *);
    static call real;
    if (real == NULL) *(void **)&real = dlsym(RTLD_NEXT, "pthread_mutex_unlock");
    const afc_http_cache *cache = atomic_load(&watched);
    bool is_free = cache != NULL && lock == &cache->lock && --depth == 0;
    if (is_free) {
        uint64_t sets = count_sets(cache);
        if (sets_before > sets + atomic_load(&largest_loss)) {
            atomic_store(&largest_loss, (size_t)(sets_before - sets));
        }
    }
    int result = real(lock);
    if (is_free && waits) {
        waits = false;
        assert_true(afc__disk_wait(cache->disk));
    }
    return result;
}

static void responses_found_before_a_removal_leave_memory_in_slices(void **state) {
    enum { MANY = 2 * AFC__DISK_SLICE + 10 };
    cache_box *box = *state;
    char key[64];
    pause_job pause;
    afc__disk_job catch_up;
    afc__http_cache_find *ops[MANY];
    afc__http_cache_found found;
    afc_http_cache *other = cache_box_open(box, 0);
    afc_http_cache_flush(other);
    begin_pause(&pause, box->cache);
    store_small(other, MANY);
    assert_true(afc__disk_order(box->cache->disk, &catch_up, work_catch_up));
    for (unsigned i = 0; i < MANY; i++) {
        assert_int_equal(afc__http_cache_find_begin(box->cache, response_key(key, i),
                                                    (afc__http_cache_wake){ignore_wake, NULL},
                                                    &ops[i], &found),
                         AFC__HTTP_CACHE_PENDING);
    }
    remove_by(box->cache, ALL);
    atomic_store(&largest_loss, 0);
    atomic_store(&watched, box->cache);
    end_pause(&pause, box->cache);
    atomic_store(&watched, NULL);
    for (unsigned i = 0; i < MANY; i++) afc__http_cache_find_free(ops[i]);
    assert_in_range(atomic_load(&largest_loss), 1, AFC__DISK_SLICE);
    check_removed(box, other);
    cache_box_close(other);
}

/** Those that the table names are left to the thread that removes all, which does so in slices. */
static void known_responses_are_removed_only_once(void **state) {
    enum { MANY = 2 * AFC__DISK_SLICE + 10 };
    cache_box *box = *state;
    store_small(box->cache, MANY);
    uint64_t before = afc__journal_count(&box->cache->disk->journal);
    atomic_store(&watched, box->cache);
    waits = true;
    remove_by(box->cache, ALL);
    atomic_store(&watched, NULL);
    assert_false(waits);
    afc_http_cache_flush(box->cache);
    assert_int_equal(cache_box_count_files(box), 0);
    /* One record for each, and one for all. */
    assert_int_equal(afc__journal_count(&box->cache->disk->journal) - before, MANY + 1);
}

/** The disk of the other process was full, for example, or the file was evicted. */
static void response_only_in_the_memory_of_others_is_removed(void **state) {
    cache_box *box = *state;
    afc_http_cache *other = cache_box_open(box, CACHE_BOX_MEMORY);
    for (removal removal = 0; removal < REMOVALS; removal++) {
        store_small(other, 1);
        afc_http_cache_set_capacity(other, CACHE_BOX_MEMORY, 0);
        afc_http_cache_flush(other);
        afc_http_cache_set_capacity(other, CACHE_BOX_MEMORY, CACHE_BOX_DISK);
        assert_int_equal(cache_box_count_files(box), 0);
        assert_int_equal(count_responses(other, 0), 1);
        afc_http_cache_flush(box->cache);
        remove_by(box->cache, removal);
        check_removed(box, other);
    }
    cache_box_close(other);
}

static void response_requested_before_others_have_removed_all_is_not_stored(void **state) {
    cache_box *box = *state;
    char bytes[SIZE];
    afc_http_cache *other = cache_box_open(box, CACHE_BOX_MEMORY);
    for (removal removal = 0; removal < REMOVALS; removal++) {
        response response = small_response(0, 1);
        afc_http_cache_flush(other);
        afc__http_cache_writing *writing = response_begin(other, &response, SIZE);
        response_fill(&response, 0, bytes, SIZE);
        check_status(
            afc__http_cache_append(writing, (afc_slice){bytes, SIZE}, AFC__HTTP_CACHE_DROP),
            AFC_OK);
        remove_by(box->cache, removal);
        afc_http_cache_flush(box->cache);
        (void)afc__http_cache_commit(writing, AFC__HTTP_CACHE_DROP);
        afc_http_cache_flush(other);
        check_removed(box, other);
    }
    cache_box_close(other);
}

/** A response is validated that another process has removed, before or while that is written. */
static void update_of_a_response_that_others_have_removed_is_ignored(void **state) {
    cache_box *box = *state;
    afc_http_cache *other = cache_box_open(box, CACHE_BOX_MEMORY);
    afc_http_cache_flush(other);
    pause_job pause;
    for (unsigned round = 0; round < 4; round++) {
        response response = {.url = 0, .variant = 1, .version = 1, .size = SIZE, .time = 1000};
        struct response updated = response;
        updated.variant += round / 2;
        assert_true(response_store(other, &response, SIZE));
        afc_http_cache_flush(other);
        afc__http_cache_found found;
        response_find(other, 0, &found);
        assert_int_equal(found.count, 1);
        begin_pause(&pause, other);
        bool is_removed_first = round % 2 == 0;
        if (!is_removed_first) {
            afc__http_cache_update(other, found.stored[0], response_meta(&updated));
        }
        remove_by(box->cache, ALL);
        afc_http_cache_flush(box->cache);
        if (is_removed_first) {
            afc__http_cache_update(other, found.stored[0], response_meta(&updated));
        }
        end_pause(&pause, other);
        found_clear(&found);
        check_removed(box, other);
    }
    cache_box_close(other);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(unread_responses_are_removed_without_memory),
        TEST(dropped_response_is_removed_without_memory),
        TEST(unread_responses_are_removed_while_no_journal_can_be_made),
        TEST(unread_responses_are_removed_without_descriptors),
        TEST(replaced_response_is_removed_by_its_own_time),
        TEST(response_that_two_scans_find_stays_removed),
        TEST(response_read_of_before_a_removal_is_removed),
        TEST(response_stored_right_after_an_unrecorded_removal_is_removed),
        TEST(response_requested_after_an_unrecorded_removal_is_stored),
        TEST(response_found_before_a_removal_leaves_memory),
        TEST(response_only_in_the_memory_of_others_is_removed),
        TEST(response_requested_before_others_have_removed_all_is_not_stored),
        TEST(update_of_a_response_that_others_have_removed_is_ignored),
        TEST(response_stored_before_a_change_is_recorded_is_removed),
        TEST(variant_stored_before_a_change_is_recorded_is_removed),
        TEST(responses_found_before_a_removal_leave_memory_in_slices),
        TEST(known_responses_are_removed_only_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
