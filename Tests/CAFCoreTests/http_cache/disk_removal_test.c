/*
 * Removing responses from the disk: what is recorded, how much is done under one lock, and what other work that comes
 * between sees.
 */
#include "base/alloc.h"
#include "http_cache/disk/disk_state.h"
#include "support/cache_box.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SIZE = CACHE_BOX_RESPONSE, SHARED = 3 };

/* See stop_at(). */
static sem_t removes, removes_more, publishes, goes_on, has_looked;
static sem_t *const semaphores[] = {&removes, &removes_more, &publishes, &goes_on, &has_looked};

static int set_up(void **state) {
    for (size_t i = 0; i < COUNT_OF(semaphores); i++) {
        assert_int_equal(sem_init(semaphores[i], 0, 0), 0);
    }
    *state = cache_box_new();
    return 0;
}

static int tear_down(void **state) {
    cache_box_free(*state);
    for (size_t i = 0; i < COUNT_OF(semaphores); i++) sem_destroy(semaphores[i]);
    return 0;
}

static off_t size_of(int file) {
    struct stat facts;
    assert_int_equal(fstat(file, &facts), 0);
    return facts.st_size;
}

/* ---- Locks of other processes ------------------------------------------------------------------ */

/** As another process does. */
static int lock_journal(const cache_box *box) {
    int lock = open(box->journal, O_RDWR | O_CLOEXEC);
    assert_true(lock >= 0);
    assert_int_equal(flock(lock, LOCK_EX), 0);
    return lock;
}

static void removals_are_not_recorded_while_the_journal_is_locked(void **state) {
    enum { COUNT = 200 };
    cache_box *box = *state;
    store_small(box->cache, COUNT);
    int lock = lock_journal(box);
    off_t before = size_of(lock);
    afc_http_cache_remove_all(box->cache);
    afc_http_cache_flush(box->cache);
    /* What was appended without the lock could overwrite, or be cut off by, what the owner of the lock appends. */
    assert_int_equal(size_of(lock), before);
    assert_int_equal(cache_box_count_files(box), 0);
    close(lock);
    store_small(box->cache, COUNT);
    assert_int_equal(cache_box_count_files(box), COUNT);
    afc_http_cache *other = cache_box_open(box, 0);
    for (unsigned i = 0; i < COUNT; i++) {
        afc__http_cache_found found;
        response_find(other, i, &found);
        assert_int_equal(found.count, 1);
        found_clear(&found);
    }
    cache_box_close(other);
}

static void response_requested_after_an_unrecorded_removal_is_stored(void **state) {
    cache_box *box = *state;
    store_small(box->cache, 1);
    int lock = lock_journal(box);
    afc_http_cache_remove_all(box->cache);
    afc_http_cache_flush(box->cache);
    close(lock);
    response requested = small_response(1, 1);
    char bytes[SIZE];
    response_fill(&requested, 0, bytes, SIZE);
    afc__http_cache_writing *writing = response_begin(box->cache, &requested, SIZE);
    /* The journal is in use again before that response is complete. */
    store_small(box->cache, 1);
    check_status(afc__http_cache_append(writing, (afc_slice){bytes, SIZE}, AFC__HTTP_CACHE_DROP),
                 AFC_OK);
    assert_int_equal(afc__http_cache_commit(writing, AFC__HTTP_CACHE_DROP),
                     AFC__HTTP_CACHE_COMMITTED);
    afc_http_cache_flush(box->cache);
    assert_int_equal(cache_box_count_files(box), 2);
}

/* ---- Slices ------------------------------------------------------------------------------------ */

/* The address of a function as a pointer to data, as dlsym() has it. */
#define REAL(name, type)                                                                           \
    static type real;                                                                              \
    if (real == NULL) *(void **)&real = dlsym(RTLD_NEXT, name)

static atomic_uint removed, most_removed; /* Files, since the journal was locked, and at most. */

/* A thread that has removed the first file. */
static atomic_bool stops_removing;

static void stop_at(atomic_bool *stops, sem_t *has_come, sem_t *may_continue) {
    if (!atomic_exchange(stops, false)) return;
    sem_post(has_come);
    while (sem_wait(may_continue) != 0) continue;
}

int unlinkat(int folder, const char *name, int flags) {
    typedef int (*call)(int, const char *, int);
    REAL("unlinkat", call);
    unsigned count = atomic_fetch_add(&removed, 1) + 1;
    if (count > atomic_load(&most_removed)) atomic_store(&most_removed, count);
    int result = real(folder, name, flags);
    bool is_entry = strlen(name) == 32;
    if (is_entry) stop_at(&stops_removing, &removes, &removes_more);
    return result;
}

int flock(int descriptor, int operation) {
    typedef int (*call)(int, int);
    REAL("flock", call);
    int result = real(descriptor, operation);
    if (result == 0 && (operation & LOCK_EX) != 0) atomic_store(&removed, 0);
    return result;
}

/* A thread that has recorded an entry and is about to give its file its name. */
static atomic_bool stops_publishing;

int renameat(int old_folder, const char *old_name, int new_folder, const char *new_name) {
    typedef int (*call)(int, const char *, int, const char *);
    REAL("renameat", call);
    bool is_new_file = strlen(old_name) == 16;
    if (old_folder != new_folder && is_new_file) stop_at(&stops_publishing, &publishes, &goes_on);
    return real(old_folder, old_name, new_folder, new_name);
}

/* The lock of a cache, as one thread has it. */
static _Atomic(afc_http_cache *) watched;
static _Thread_local unsigned depth;
static _Thread_local size_t entries_before;
static atomic_size_t most_forgotten; /* Entries that left the table under one lock. */

int pthread_mutex_lock(pthread_mutex_t *lock) {
    typedef int (*call)(pthread_mutex_t *);
    REAL("pthread_mutex_lock", call);
    int result = real(lock);
    const afc_http_cache *cache = atomic_load(&watched);
    if (cache != NULL && lock == &cache->lock && depth++ == 0) entries_before = cache->table.count;
    return result;
}

int pthread_mutex_unlock(pthread_mutex_t *lock) {
    typedef int (*call)(pthread_mutex_t *);
    REAL("pthread_mutex_unlock", call);
    const afc_http_cache *cache = atomic_load(&watched);
    if (cache != NULL && lock == &cache->lock && --depth == 0 &&
        entries_before > cache->table.count + atomic_load(&most_forgotten)) {
        atomic_store(&most_forgotten, entries_before - cache->table.count);
    }
    return real(lock);
}

enum { MANY = 2 * AFC__DISK_SLICE + 10 };

static void check_none_found(afc_http_cache *cache) {
    for (unsigned i = 0; i < MANY; i++) {
        afc__http_cache_found found;
        response_find(cache, i, &found);
        assert_int_equal(found.count, 0);
    }
}

static void check_none(const cache_box *box, afc_http_cache *cache) {
    check_none_found(cache);
    assert_int_equal(cache_box_count_files(box), 0);
}

static void one_lock_is_held_for_one_slice(void **state) {
    cache_box *box = *state;
    store_small(box->cache, MANY);
    atomic_store(&most_removed, 0);
    atomic_store(&watched, box->cache);
    afc_http_cache_remove_all(box->cache);
    atomic_store(&watched, NULL);
    afc_http_cache_flush(box->cache);
    assert_in_range(atomic_load(&most_forgotten), 1, AFC__DISK_SLICE);
    assert_in_range(atomic_load(&most_removed), 1, AFC__DISK_SLICE);
    check_none(box, box->cache);
}

/** What the disk's thread finds when it has its turn behind a removal. */
typedef struct look {
    afc__disk_job job;
    const cache_box *box;
    afc_http_cache *other; /* Whose journal is written anew; NULL: none. */
    size_t files;
} look;

static bool work_look(afc__disk_job *work) {
    look *own = AFC__OWNER(work, look, job);
    own->files = cache_box_count_files(own->box);
    if (own->other != NULL) {
        /* It has what isn't recorded yet, so what the first one has removed comes back into its table. */
        afc__disk *disk = own->other->disk;
        assert_true(afc__journal_lock(&disk->journal));
        assert_true(afc__disk_rewrite_journal(disk));
        afc__journal_unlock(&disk->journal);
    }
    return false;
}

static void check_found(afc_http_cache *cache, unsigned url, unsigned version) {
    afc__http_cache_found found;
    response_find(cache, url, &found);
    assert_int_equal(found.count, 1);
    assert_int_equal(response_version(found.stored[0]), version);
    found_clear(&found);
}

/** Removes all and orders `look` and `late` behind it, before the disk's thread begins with any of them. */
static void remove_and_store(const cache_box *box, look *look, const response *late) {
    afc__disk_lock(box->cache->disk);
    afc_http_cache_remove_all(box->cache);
    assert_true(afc__disk_order(box->cache->disk, &look->job, work_look));
    assert_true(response_store(box->cache, late, SIZE));
    afc__disk_unlock(box->cache->disk);
}

static void other_work_between_slices_sees_all_removed(void **state) {
    cache_box *box = *state;
    for (unsigned has_other = 0; has_other < 2; has_other++) {
        store_small(box->cache, MANY);
        look look = {.box = box, .other = has_other ? cache_box_open(box, 0) : NULL};
        /* One that the removal reaches last, and one that it reaches first: they are in no order. */
        response late = small_response(7 + has_other, 2);
        remove_and_store(box, &look, &late);
        check_found(box->cache, late.url, 2);
        for (unsigned i = 0; i < MANY; i++) {
            afc__http_cache_found found;
            if (i == late.url) continue;
            response_find(box->cache, i, &found);
            assert_int_equal(found.count, 0);
        }
        afc_http_cache_flush(box->cache);
        assert_int_equal(look.files, MANY - AFC__DISK_SLICE);
        assert_int_equal(cache_box_count_files(box), 1);
        check_found(box->cache, late.url, 2);
        if (look.other != NULL) {
            check_found(look.other, late.url, 2);
            cache_box_close(look.other);
        }
        afc_http_cache *reopened = cache_box_open(box, 0);
        check_found(reopened, late.url, 2);
        afc_http_cache_statistics statistics;
        afc_http_cache_get_statistics(reopened, &statistics);
        assert_int_equal(statistics.entries, 1);
        cache_box_close(reopened);
    }
}

static void responses_of_other_processes_are_removed_in_slices_too(void **state) {
    cache_box *box = *state;
    afc_http_cache *other = cache_box_open(box, 0);
    /* Each knows the half of it. */
    store_small(box->cache, MANY / 2);
    for (unsigned i = MANY / 2; i < MANY; i++) {
        response response = small_response(i, 1);
        assert_true(response_store(other, &response, SIZE));
    }
    afc_http_cache_flush(other);
    look look = {.box = box};
    response late = small_response(MANY - 1, 2);
    atomic_store(&most_removed, 0);
    remove_and_store(box, &look, &late);
    check_found(box->cache, MANY - 1, 2);
    afc_http_cache_flush(box->cache);
    assert_in_range(atomic_load(&most_removed), 1, AFC__DISK_SLICE);
    assert_in_range(look.files, 10, MANY - 1);
    assert_int_equal(cache_box_count_files(box), 1);
    check_found(box->cache, MANY - 1, 2);
    for (unsigned i = 0; i < MANY - 1; i++) {
        afc__http_cache_found found;
        response_find(other, i, &found);
        assert_int_equal(found.count, 0);
    }
    cache_box_close(other);
}

/* A scan adds files to the table that aren't there. */
static void scan_between_slices_brings_nothing_back(void **state) {
    cache_box *box = *state;
    store_small(box->cache, MANY);
    cache_box_close(box->cache);
    assert_int_equal(unlink(box->journal), 0);
    box->cache = cache_box_open(box, CACHE_BOX_MEMORY);
    afc_http_cache_flush(box->cache);
    afc_http_cache_statistics statistics;
    afc_http_cache_get_statistics(box->cache, &statistics);
    assert_int_equal(statistics.entries, MANY);
    afc__disk_lock(box->cache->disk);
    afc_http_cache_remove_all(box->cache);
    afc__disk_unlock(box->cache->disk);
    /* Another process damages the journal meanwhile. */
    assert_int_equal(truncate(box->journal, 10), 0);
    check_none_found(box->cache);
    afc_http_cache_flush(box->cache);
    check_none(box, box->cache);
}

/* The removal would look for it under its old name. */
static void update_during_a_removal_keeps_nothing_under_another_name(void **state) {
    cache_box *box = *state;
    response response = {.url = 1, .variant = 1, .version = 1, .size = SIZE, .time = 1000};
    struct response other = response;
    other.variant = 2;
    for (unsigned is_removing = 0; is_removing < 2; is_removing++) {
        afc__http_cache_found found;
        char key[64];
        assert_true(response_store(box->cache, &response, SIZE));
        response_find(box->cache, 1, &found);
        assert_int_equal(found.count, 1);
        box->cache->removing = is_removing;
        afc__http_cache_update(box->cache, found.stored[0], response_meta(&other));
        box->cache->removing = 0;
        found_clear(&found);
        response_find(box->cache, 1, &found);
        assert_int_equal(found.count, is_removing ? 0 : 1);
        found_clear(&found);
        afc__http_cache_remove_key(box->cache, response_key(key, 1));
    }
}

typedef struct worker {
    pthread_t thread;
    afc_http_cache *cache;
    uint64_t random;
} worker;

static void *store_and_find(void *context) {
    worker *worker = context;
    for (unsigned i = 0; i < MANY; i++) {
        afc__http_cache_found found;
        response response = small_response((unsigned)(next_random(&worker->random) % MANY), i);
        assert_true(response_store(worker->cache, &response, SIZE));
        response_find(worker->cache, (unsigned)(next_random(&worker->random) % MANY), &found);
        found_clear(&found);
    }
    return NULL;
}

static void *remove_and_shrink(void *context) {
    const worker *worker = context;
    for (unsigned i = 0; i < 10; i++) {
        afc_http_cache_remove_host(worker->cache, i % 2 == 0 ? "h1.test" : "h2.test");
        afc_http_cache_set_capacity(worker->cache, CACHE_BOX_MEMORY,
                                    i % 3 == 0 ? CACHE_BOX_DISK : MANY / 2 * 512);
        afc_http_cache_remove_all(worker->cache);
        afc_http_cache_flush(worker->cache);
    }
    return NULL;
}

/** For ThreadSanitizer, too. */
static void threads_store_while_others_remove(void **state) {
    enum { THREADS = 3 };
    cache_box *box = *state;
    worker workers[THREADS];
    store_small(box->cache, MANY);
    for (unsigned i = 0; i < THREADS; i++) {
        workers[i] = (worker){.cache = box->cache, .random = i + 1};
        assert_int_equal(pthread_create(&workers[i].thread, NULL,
                                        i == 0 ? remove_and_shrink : store_and_find, &workers[i]),
                         0);
    }
    for (unsigned i = 0; i < THREADS; i++) pthread_join(workers[i].thread, NULL);
    afc_http_cache_remove_all(box->cache);
    check_none_found(box->cache);
    afc_http_cache_flush(box->cache);
    assert_int_equal(cache_box_count_files(box), 0);
    afc_http_cache_statistics statistics;
    afc_http_cache_get_statistics(box->cache, &statistics);
    assert_int_equal(statistics.entries, 0);
    assert_int_equal(statistics.disk_used, 0);
}

static void nothing_is_left_when_memory_is_out(void **state) {
    cache_box *box = *state;
    for (size_t n = 1; n <= 4; n++) {
        store_small(box->cache, MANY);
        afc__alloc_fail_at(n);
        afc_http_cache_remove_all(box->cache);
        afc__alloc_fail_at(0);
        afc_http_cache_flush(box->cache);
        check_none(box, box->cache);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

/* ---- Other processes ---------------------------------------------------------------------------- */

static void append_all(afc__http_cache_writing *writing, const response *response) {
    char *body = malloc(response->size);
    assert_non_null(body);
    response_fill(response, 0, body, response->size);
    check_status(
        afc__http_cache_append(writing, (afc_slice){body, response->size}, AFC__HTTP_CACHE_WAIT),
        AFC_OK);
    free(body);
}

/** Another cache of the same folder is as one of another process. */
static void response_requested_before_a_change_by_another_process_is_not_stored(void **state) {
    cache_box *box = *state;
    char key[64];
    afc_http_cache *other = cache_box_open(box, CACHE_BOX_MEMORY);
    for (unsigned i = 0; i < 4; i++) {
        response response = {.url = i, .version = 1, .size = i < 2 ? SIZE : 400000, .time = 1000};
        afc__http_cache_writing *writing = response_begin(box->cache, &response, -1);
        append_all(writing, &response);
        /* Neither process has anything of this key. */
        if (i % 2 == 0) afc__http_cache_remove_key(other, response_key(key, i));
        afc_http_cache_flush(other);
        (void)afc__http_cache_commit(writing, AFC__HTTP_CACHE_WAIT);
        assert_int_equal(count_responses(box->cache, i), i % 2);
        afc_http_cache_flush(box->cache);
        assert_int_equal(count_responses(box->cache, i), i % 2);
        assert_int_equal(count_responses(other, i), i % 2);
        /* What is requested after the change is stored. */
        assert_true(response_store(box->cache, &response, SIZE));
        assert_int_equal(count_responses(box->cache, i), 1);
        afc_http_cache_flush(box->cache);
        assert_int_equal(count_responses(other, i), 1);
    }
    cache_box_close(other);
}

/** Stores some responses that two caches have in memory. */
static afc_http_cache *share(cache_box *box) {
    store_small(box->cache, SHARED);
    afc_http_cache *other = cache_box_open(box, CACHE_BOX_MEMORY);
    for (unsigned i = 0; i < SHARED; i++) {
        assert_int_equal(count_responses(other, i), 1);
        assert_int_equal(count_responses(box->cache, i), 1);
    }
    return other;
}

/** Removes one response, for example as its server has changed it, and then all. */
static void remove_some(afc_http_cache *cache, unsigned step) {
    char key[64];
    if (step == 0) {
        afc__http_cache_remove_key(cache, response_key(key, 0));
    } else {
        afc_http_cache_remove_all(cache);
    }
}

static void check_removed(afc_http_cache *cache, afc_http_cache *other, unsigned step) {
    for (unsigned i = 0; i < SHARED; i++) {
        size_t expected = step == 0 && i != 0 ? 1 : 0;
        assert_int_equal(count_responses(other, i), expected);
        afc_http_cache_flush(other);
        assert_int_equal(count_responses(other, i), expected);
        assert_int_equal(count_responses(cache, i), expected);
    }
}

/** RFC 9111 4.4: what isn't valid any more isn't served, whatever keeps a process from saying so. */
static void others_forget_what_was_removed_while_the_journal_was_locked(void **state) {
    cache_box *box = *state;
    for (unsigned step = 0; step < 2; step++) {
        afc_http_cache *other = share(box);
        int lock = lock_journal(box);
        remove_some(box->cache, step);
        afc_http_cache_flush(box->cache);
        close(lock);
        check_removed(box->cache, other, step);
        cache_box_close(other);
    }
}

static void remove_files(const cache_box *box) {
    char command[192];
    snprintf(command, sizeof command, "rm -f %s/*", box->entries);
    assert_int_equal(system(command), 0);
}

/** Responses that the process which removes them hasn't read of in the journal. */
static void unread_responses_are_removed_while_the_journal_is_locked(void **state) {
    cache_box *box = *state;
    for (unsigned step = 0; step < 2; step++) {
        afc_http_cache *other = cache_box_open(box, 0);
        store_small(other, 1);
        int lock = lock_journal(box);
        remove_some(box->cache, step);
        afc_http_cache_flush(box->cache);
        close(lock);
        assert_int_equal(count_responses(box->cache, 0), 0);
        assert_int_equal(count_responses(other, 0), 0);
        assert_int_equal(cache_box_count_files(box), 0);
        cache_box_close(other);
    }
}

static size_t bucket_of(afc_http_cache *cache, unsigned url) {
    char key[64];
    return afc__disk_bucket(afc__http_cache_hash_key(cache, response_key(key, url)));
}

/** A key's bucket has other keys, too. */
static void unread_responses_of_other_keys_stay(void **state) {
    cache_box *box = *state;
    unsigned neighbour = 1;
    while (bucket_of(box->cache, neighbour) != bucket_of(box->cache, 0)) neighbour++;
    afc_http_cache *other = cache_box_open(box, 0);
    response beside = small_response(neighbour, 1);
    store_small(other, 1);
    assert_true(response_store(other, &beside, SIZE));
    afc_http_cache_flush(other);
    int lock = lock_journal(box);
    remove_some(box->cache, 0);
    afc_http_cache_flush(box->cache);
    close(lock);
    assert_int_equal(count_responses(box->cache, 0), 0);
    assert_int_equal(count_responses(box->cache, neighbour), 1);
    assert_int_equal(count_responses(other, neighbour), 1);
    cache_box_close(other);
}

/** Its size may be what was known of the one before. */
static void journal_that_was_locked_when_it_was_opened_is_read_later(void **state) {
    cache_box *box = *state;
    store_small(box->cache, 1);
    assert_int_equal(unlink(box->journal), 0);
    remove_files(box);
    afc_http_cache *other = cache_box_open(box, 0);
    response response = small_response(1, 1);
    assert_true(response_store(other, &response, SIZE));
    afc_http_cache_flush(other);
    int lock = lock_journal(box);
    assert_int_equal(count_responses(box->cache, 1), 0);
    close(lock);
    assert_int_equal(count_responses(box->cache, 1), 1);
    cache_box_close(other);
}

/** The journal is discarded before the first file is removed, so that the other process finds it gone. */
static void entry_is_not_published_between_a_removal_and_its_end(void **state) {
    cache_box *box = *state;
    store_small(box->cache, 1);
    afc_http_cache *other = cache_box_open(box, 0);
    response newer = small_response(0, 2);
    atomic_store(&stops_publishing, true);
    assert_true(response_store(box->cache, &newer, SIZE));
    while (sem_wait(&publishes) != 0) continue;
    atomic_store(&stops_removing, true);
    afc_http_cache_remove_all(other);
    while (sem_wait(&removes) != 0) continue;
    sem_post(&goes_on);
    afc_http_cache_flush(box->cache);
    sem_post(&removes_more);
    afc_http_cache_flush(other);
    assert_int_equal(cache_box_count_files(box), 0);
    assert_int_equal(count_responses(other, 0), 0);
    assert_int_equal(count_responses(box->cache, 0), 0);
    cache_box_close(other);
}

static void post(void *semaphore) {
    sem_post(semaphore);
}

/** Looking an entry up, whose file is about to be written, doesn't hide it from a removal. */
static void entry_looked_up_before_it_is_written_is_removed(void **state) {
    cache_box *box = *state;
    char key[64];
    store_small(box->cache, 2);
    response other = small_response(2, 1), again = small_response(1, 2);
    atomic_store(&stops_publishing, true);
    assert_true(response_store(box->cache, &other, SIZE));
    while (sem_wait(&publishes) != 0) continue;
    afc__http_cache_remove_key(box->cache, response_key(key, 1));
    afc__http_cache_find *op;
    afc__http_cache_found found;
    assert_int_equal(afc__http_cache_find_begin(box->cache, response_key(key, 1),
                                                (afc__http_cache_wake){post, &has_looked}, &op,
                                                &found),
                     AFC__HTTP_CACHE_PENDING);
    assert_true(response_store(box->cache, &again, SIZE));
    atomic_store(&stops_publishing, true);
    sem_post(&goes_on);
    while (sem_wait(&has_looked) != 0) continue;
    afc__http_cache_find_free(op);
    while (sem_wait(&publishes) != 0) continue;
    afc_http_cache_remove_all(box->cache);
    sem_post(&goes_on);
    afc_http_cache_flush(box->cache);
    assert_int_equal(count_responses(box->cache, 1), 0);
    assert_int_equal(cache_box_count_files(box), 0);
}

/** What is stored while a lookup forgets an entry without a file isn't hidden from a removal. */
static void entry_stored_during_a_lookup_is_removed(void **state) {
    cache_box *box = *state;
    char key[64];
    afc_http_cache *cache = cache_box_open(box, 0);
    store_small(cache, 1);
    remove_files(box);
    atomic_store(&stops_removing, true);
    afc__http_cache_find *op;
    afc__http_cache_found found;
    assert_int_equal(afc__http_cache_find_begin(cache, response_key(key, 0),
                                                (afc__http_cache_wake){post, &has_looked}, &op,
                                                &found),
                     AFC__HTTP_CACHE_PENDING);
    while (sem_wait(&removes) != 0) continue;
    response again = small_response(0, 2);
    assert_true(response_store(cache, &again, SIZE));
    atomic_store(&stops_publishing, true);
    sem_post(&removes_more);
    while (sem_wait(&publishes) != 0) continue;
    afc_http_cache_remove_all(cache);
    sem_post(&goes_on);
    while (sem_wait(&has_looked) != 0) continue;
    afc__http_cache_find_free(op);
    afc_http_cache_flush(cache);
    assert_int_equal(count_responses(cache, 0), 0);
    assert_int_equal(cache_box_count_files(box), 0);
    cache_box_close(cache);
}

/** A process may be stopped while it has the journal locked, and continue at any time. */
static void entry_of_a_discarded_journal_is_not_published(void **state) {
    cache_box *box = *state;
    for (unsigned step = 0; step < 2; step++) {
        afc_http_cache *other = cache_box_open(box, 0);
        response response = small_response(0, 1);
        atomic_store(&stops_publishing, true);
        assert_true(response_store(box->cache, &response, SIZE));
        while (sem_wait(&publishes) != 0) continue;
        remove_some(other, step);
        afc_http_cache_flush(other);
        sem_post(&goes_on);
        afc_http_cache_flush(box->cache);
        /* The new journal doesn't name it: the file would stay, and come back with the next scan. */
        assert_int_equal(cache_box_count_files(box), 0);
        assert_int_equal(count_responses(other, 0), 0);
        assert_int_equal(count_responses(box->cache, 0), 0);
        store_small(box->cache, 1);
        assert_int_equal(count_responses(other, 0), 1);
        cache_box_close(other);
    }
}

static void others_forget_what_was_removed_on_a_full_disk(void **state) {
    cache_box *box = *state;
    struct rlimit before;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    for (unsigned step = 0; step < 2; step++) {
        afc_http_cache *other = share(box);
        int journal = open(box->journal, O_RDONLY | O_CLOEXEC);
        assert_true(journal >= 0);
        struct rlimit full = {(rlim_t)size_of(journal), before.rlim_max};
        close(journal);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &full), 0);
        remove_some(box->cache, step);
        afc_http_cache_flush(box->cache);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
        check_removed(box->cache, other, step);
        cache_box_close(other);
    }
    signal(SIGXFSZ, SIG_DFL);
}

static void others_forget_what_was_removed_without_memory(void **state) {
    cache_box *box = *state;
    for (size_t n = 1; n <= 6; n++) {
        for (unsigned step = 0; step < 2; step++) {
            afc_http_cache *other = share(box);
            afc__alloc_fail_at(n);
            remove_some(box->cache, step);
            afc__alloc_fail_at(0);
            afc_http_cache_flush(box->cache);
            check_removed(box->cache, other, step);
            cache_box_close(other);
        }
    }
}

static void remove_folder(const char *path) {
    char command[160];
    snprintf(command, sizeof command, "rm -rf %s", path);
    assert_int_equal(system(command), 0);
}

/** Caches may be removed at any time. */
static void removed_folder_is_made_again(void **state) {
    cache_box *box = *state;
    char version[128];
    snprintf(version, sizeof version, "%s/1", box->path);
    const char *const removed_paths[] = {box->path, version, box->entries};
    for (size_t i = 0; i < COUNT_OF(removed_paths); i++) {
        store_small(box->cache, SHARED);
        remove_folder(removed_paths[i]);
        if (removed_paths[i] == box->entries) assert_int_equal(unlink(box->journal), 0);
        /* Makes the folder and another journal. A response that is being received at that moment isn't stored. */
        store_small(box->cache, 1);
        store_small(box->cache, SHARED);
        afc_http_cache *other = cache_box_open(box, CACHE_BOX_MEMORY);
        for (unsigned url = 0; url < SHARED; url++) {
            assert_int_equal(count_responses(box->cache, url), 1);
            assert_int_equal(count_responses(other, url), 1);
        }
        cache_box_close(other);
    }
}

static void folder_that_another_process_made_again_is_its_own(void **state) {
    cache_box *box = *state;
    store_small(box->cache, SHARED);
    remove_folder(box->path);
    afc_http_cache *other = cache_box_open(box, CACHE_BOX_MEMORY);
    store_small(other, SHARED);
    /* Its files would have names that only this cache finds, because they depend on the key. */
    response response = small_response(SHARED, 1);
    (void)response_store(box->cache, &response, SIZE);
    afc_http_cache_flush(box->cache);
    assert_int_equal(cache_box_count_files(box), SHARED);
    for (unsigned url = 0; url < SHARED; url++) assert_int_equal(count_responses(other, url), 1);
    cache_box_close(other);
}

/** Evictions say nothing about what is requested. */
static void eviction_by_another_process_changes_nothing_in_flight(void **state) {
    cache_box *box = *state;
    response response = small_response(1, 1), newer = small_response(1, 2);
    assert_true(response_store(box->cache, &response, SIZE));
    afc_http_cache_flush(box->cache);
    afc__http_cache_writing *writing = response_begin(box->cache, &newer, -1);
    append_all(writing, &newer);
    afc_http_cache *other = cache_box_open(box, CACHE_BOX_MEMORY);
    afc_http_cache_set_capacity(other, CACHE_BOX_MEMORY, 1);
    afc_http_cache_flush(other);
    assert_int_equal(count_responses(other, 1), 0);
    assert_int_equal(afc__http_cache_commit(writing, AFC__HTTP_CACHE_WAIT),
                     AFC__HTTP_CACHE_COMMITTED);
    afc_http_cache_flush(box->cache);
    assert_int_equal(count_responses(box->cache, 1), 1);
    cache_box_close(other);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(removals_are_not_recorded_while_the_journal_is_locked),
        TEST(response_requested_after_an_unrecorded_removal_is_stored),
        TEST(one_lock_is_held_for_one_slice),
        TEST(response_requested_before_a_change_by_another_process_is_not_stored),
        TEST(eviction_by_another_process_changes_nothing_in_flight),
        TEST(removed_folder_is_made_again),
        TEST(folder_that_another_process_made_again_is_its_own),
        TEST(others_forget_what_was_removed_while_the_journal_was_locked),
        TEST(unread_responses_are_removed_while_the_journal_is_locked),
        TEST(unread_responses_of_other_keys_stay),
        TEST(journal_that_was_locked_when_it_was_opened_is_read_later),
        TEST(entry_looked_up_before_it_is_written_is_removed),
        TEST(entry_stored_during_a_lookup_is_removed),
        TEST(entry_of_a_discarded_journal_is_not_published),
        TEST(entry_is_not_published_between_a_removal_and_its_end),
        TEST(others_forget_what_was_removed_on_a_full_disk),
        TEST(others_forget_what_was_removed_without_memory),
        TEST(other_work_between_slices_sees_all_removed),
        TEST(responses_of_other_processes_are_removed_in_slices_too),
        TEST(scan_between_slices_brings_nothing_back),
        TEST(update_during_a_removal_keeps_nothing_under_another_name),
        TEST(threads_store_while_others_remove),
        TEST(nothing_is_left_when_memory_is_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
