/* The cache under many threads, its callbacks, and memory pressure. */
#include "lru/lru_internal.h"
#include "support/check.h"
#include "support/child.h"
#include "support/files.h"
#include "support/lru_values.h"
#include "support/threads.h"
#include "support/torture.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

static afc_lru *cache_new(const afc_lru_options *options) {
    afc_lru *cache;
    check_status(afc_lru_new(&cache, options, NULL), AFC_OK);
    return cache;
}

/* ---- The lock ------------------------------------------------------------------------------ */

enum { COUNTERS = 3, COUNTS = 50000 };

typedef struct counted {
    afc__lru_lock lock;
    uint64_t count; /* Under the lock. */
} counted;

static void *count_up(void *context) {
    counted *counted = context;
    for (int i = 0; i < COUNTS; i++) {
        afc__lru_lock_take(&counted->lock);
        counted->count++;
        afc__lru_lock_give(&counted->lock);
    }
    return NULL;
}

static void lock_excludes_and_wakes_sleepers(void **state) {
    (void)state;
    counted counted = {.count = 0};
    pthread_t threads[COUNTERS];
    afc__lru_lock_take(&counted.lock);
    for (size_t i = 0; i < COUNTERS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, count_up, &counted), 0);
    }
    while (atomic_load(&counted.lock.sleepers) < COUNTERS) sched_yield();
    assert_true(counted.count == 0);
    afc__lru_lock_give(&counted.lock);
    for (size_t i = 0; i < COUNTERS; i++) pthread_join(threads[i], NULL);
    assert_int_equal(atomic_load(&counted.lock.sleepers), 0);
    assert_true(counted.count == (uint64_t)COUNTERS * COUNTS);
}

/* ---- Many threads -------------------------------------------------------------------------- */

enum { THREADS = 4, STEPS = 40000, KEYS = 500, CAPACITY = 1000 };

typedef struct worker {
    pthread_t thread;
    afc_lru *cache;
    lru_fixture *fixture;
    uint64_t random;
} worker;

static void *work(void *context) {
    worker *worker = context;
    for (int step = 0; step < STEPS; step++) {
        uint64_t draw = next_random(&worker->random) % 1000;
        uint64_t key = next_random(&worker->random) % KEYS;
        if (draw < 300) {
            afc_status status = lru_put(worker->cache, worker->fixture, key, key % 11);
            if (status != AFC_OK) abort();
        } else if (draw < 900) {
            lru_use(worker->cache, worker->fixture, key);
        } else if (draw < 950) {
            lru_remove(worker->cache, key);
        } else if (draw < 980) {
            char room[CACHED_KEY];
            lru_value *value = afc_lru_take(worker->cache, lru_key(room, key));
            if (value == NULL) continue;
            if (value->number != key) abort();
            lru_value_release(worker->fixture, value);
        } else if (draw < 998) {
            afc_lru_trim(worker->cache, CAPACITY / 2, AFC_LRU_COST);
        } else {
            afc_lru_statistics statistics;
            afc_lru_get_statistics(worker->cache, &statistics);
            if (statistics.count > KEYS) abort();
            afc_lru_remove_all(worker->cache);
        }
    }
    return NULL;
}

static void many_threads_lose_no_value(void **state) {
    (void)state;
    for (uint32_t round = 0; round < 4; round++) {
        lru_fixture fixture = {0};
        afc_lru_options options = lru_options(&fixture);
        options.capacity = CAPACITY;
        options.purge_to = CAPACITY * 3 / 5;
        options.shards = round % 2 == 0 ? 1 : 8;
        options.max_count = round < 2 ? 0 : KEYS / 3;
        worker workers[THREADS];
        afc_lru *cache = cache_new(&options);
        for (size_t i = 0; i < THREADS; i++) {
            workers[i] = (worker){
                .cache = cache, .fixture = &fixture, .random = 1 + i + 10 * round};
            assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
        }
        for (size_t i = 0; i < THREADS; i++) pthread_join(workers[i].thread, NULL);
        afc_lru_statistics statistics;
        afc_lru_get_statistics(cache, &statistics);
        assert_int_equal(statistics.cost, afc_lru_get_cost(cache));
        assert_true(statistics.cost <= CAPACITY);
        assert_int_equal(statistics.count, atomic_load(&fixture.alive));
        uint64_t cost = 0;
        for (uint64_t key = 0; key < KEYS; key++) {
            if (lru_use(cache, &fixture, key)) cost += key % 11;
        }
        assert_int_equal(cost, statistics.cost);
        afc_lru_free(cache);
        assert_int_equal(atomic_load(&fixture.alive), 0);
    }
}

/* ---- A reader that is slow to retain ------------------------------------------------------- */

typedef struct gate {
    lru_fixture fixture;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_inside, is_open;
    afc_lru *cache;
    lru_value *copied;
} gate;

static void retain_slowly(void *context, void *value) {
    gate *gate = context;
    pthread_mutex_lock(&gate->lock);
    gate->is_inside = true;
    pthread_cond_broadcast(&gate->changed);
    while (!gate->is_open) pthread_cond_wait(&gate->changed, &gate->lock);
    pthread_mutex_unlock(&gate->lock);
    lru_value_retain(&gate->fixture, value);
}

static void release_counted(void *context, void *value) {
    gate *gate = context;
    lru_value_release(&gate->fixture, value);
}

static void *copy_one(void *context) {
    gate *gate = context;
    gate->copied = afc_lru_copy(gate->cache, S("a"));
    return NULL;
}

static void open_gate(gate *gate) {
    pthread_mutex_lock(&gate->lock);
    gate->is_open = true;
    pthread_cond_broadcast(&gate->changed);
    pthread_mutex_unlock(&gate->lock);
}

/** How a value leaves while somebody is about to retain it. */
static void leave(gate *gate, int way) {
    afc_lru *cache = gate->cache;
    if (way == 0) assert_true(afc_lru_remove(cache, S("a")));
    if (way == 1) assert_int_equal(afc_lru_remove_all(cache), 1);
    if (way == 2) assert_int_equal(afc_lru_trim(cache, 0, AFC_LRU_COST), 1);
    if (way == 3) {
        lru_value *other = lru_value_new(&gate->fixture, 2);
        check_status(afc_lru_put(cache, S("a"), other, 1), AFC_OK);
    }
}

static void value_lives_until_its_reader_has_retained_it(void **state) {
    (void)state;
    for (int way = 0; way < 4; way++) {
        gate gate = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
        afc_lru_options options = AFC_LRU_OPTIONS_INIT;
        options.retain = retain_slowly;
        options.release = release_counted;
        options.context = &gate;
        gate.cache = cache_new(&options);
        check_status(afc_lru_put(gate.cache, S("a"), lru_value_new(&gate.fixture, 1), 1), AFC_OK);
        pthread_t reader;
        assert_int_equal(pthread_create(&reader, NULL, copy_one, &gate), 0);
        pthread_mutex_lock(&gate.lock);
        while (!gate.is_inside) pthread_cond_wait(&gate.changed, &gate.lock);
        pthread_mutex_unlock(&gate.lock);
        leave(&gate, way);
        assert_int_equal(atomic_load(&gate.fixture.alive), way == 3 ? 2 : 1);
        open_gate(&gate);
        pthread_join(reader, NULL);
        assert_int_equal(gate.copied->number, 1);
        assert_int_equal(atomic_load(&gate.copied->references), 1);
        lru_value_release(&gate.fixture, gate.copied);
        afc_lru_free(gate.cache);
        assert_int_equal(atomic_load(&gate.fixture.alive), 0);
    }
}

static void reader_count_may_wrap(void **state) {
    (void)state;
    lru_fixture fixture = {0};
    afc_lru_options options = lru_options(&fixture);
    options.shards = 1;
    afc_lru *cache = cache_new(&options);
    lru_put(cache, &fixture, 1, 1);
    const afc__lru_table *table = &cache->shards->table;
    afc__lru_entry *entry = afc__lru_table_entry(table, table->newest);
    entry->readers = UINT32_MAX - 3;
    atomic_store(&entry->left, UINT32_MAX - 3);
    for (int n = 0; n < 10; n++) assert_true(lru_use(cache, &fixture, 1));
    assert_true(entry->readers < 10);
    afc_lru_free(cache);
    assert_int_equal(atomic_load(&fixture.alive), 0);
}

/* ---- Callbacks that use the cache ---------------------------------------------------------- */

typedef struct eager {
    afc_lru *cache;
    int depth;
    size_t calls;
} eager;

static void use_inside(eager *eager) {
    if (eager->depth > 2) return;
    eager->depth++;
    eager->calls++;
    static char value;
    afc_lru_put(eager->cache, S("inside"), &value, 60);
    afc_lru_copy(eager->cache, S("a"));
    afc_lru_remove(eager->cache, S("b"));
    afc_lru_trim(eager->cache, 50, AFC_LRU_COST);
    eager->depth--;
}

static void retain_eagerly(void *context, void *value) {
    (void)value;
    use_inside(context);
}

static void evict_eagerly(void *context, afc_slice key, void *value, afc_lru_reason reason) {
    (void)key;
    (void)value;
    (void)reason;
    use_inside(context);
}

static void callbacks_may_use_the_cache(void **state) {
    (void)state;
    eager eager = {0};
    afc_lru_options options = AFC_LRU_OPTIONS_INIT;
    options.capacity = 100;
    options.purge_to = 50;
    options.shards = 1;
    options.retain = retain_eagerly;
    options.release = retain_eagerly;
    options.on_evict = evict_eagerly;
    options.context = &eager;
    static char value;
    eager.cache = cache_new(&options);
    for (int n = 0; n < 20; n++) {
        afc_lru_put(eager.cache, n % 2 == 0 ? S("a") : S("b"), &value, 40);
        afc_lru_copy(eager.cache, S("a"));
    }
    afc_lru_remove_all(eager.cache);
    assert_true(eager.calls > 100);
    eager.depth = 3;
    afc_lru_free(eager.cache);
}

/* ---- Memory pressure ----------------------------------------------------------------------- */

/** A descriptor polls POLLPRI while an urgent byte waits in it; on_evict takes the byte. */
typedef struct pressed {
    lru_fixture fixture;
    int ours, theirs;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    size_t evicted;
} pressed;

static void on_pressed(void *context, afc_slice key, void *value, afc_lru_reason reason) {
    (void)key;
    (void)value;
    if (reason != AFC_LRU_PRESSURE) abort();
    pressed *pressed = context;
    pthread_mutex_lock(&pressed->lock);
    char urgent;
    (void)!recv(pressed->theirs, &urgent, 1, MSG_OOB);
    pressed->evicted++;
    pthread_cond_signal(&pressed->changed);
    pthread_mutex_unlock(&pressed->lock);
}

static void wait_for_evicted(pressed *pressed, size_t count) {
    pthread_mutex_lock(&pressed->lock);
    while (pressed->evicted < count) pthread_cond_wait(&pressed->changed, &pressed->lock);
    pthread_mutex_unlock(&pressed->lock);
}

static afc_lru *cache_of(pressed *pressed) {
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    pressed->ours = pair[0];
    pressed->theirs = pair[1];
    afc_lru_options options = AFC_LRU_OPTIONS_INIT;
    options.on_evict = on_pressed;
    options.context = pressed;
    return cache_new(&options);
}

static void memory_pressure_purges(void **state) {
    (void)state;
    pressed pressed = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    afc_lru *cache = cache_of(&pressed);
    static char value;
    afc_lru_put(cache, S("a"), &value, 10);
    afc_lru_put(cache, S("b"), &value, 10);
    afc_lru_put(cache, S("c"), &value, 5);
    check_status(afc__lru_watch(cache, pressed.theirs, 5, NULL), AFC_OK);
    check_status(afc__lru_watch(cache, dup(pressed.ours), 5, NULL), AFC_EAGAIN);
    if (send(pressed.ours, "!", 1, MSG_OOB) != 1) {
        /* A kernel without urgent bytes on local sockets. */
        afc_lru_free(cache);
        close(pressed.ours);
        skip();
    }
    wait_for_evicted(&pressed, 2);
    assert_int_equal(afc_lru_get_cost(cache), 5);
    afc_lru_put(cache, S("d"), &value, 5);
    assert_int_equal(send(pressed.ours, "!", 1, MSG_OOB), 1);
    wait_for_evicted(&pressed, 3);
    assert_ptr_equal(afc_lru_copy(cache, S("d")), &value);
    /* The other end gone: nothing is left to wait for but the end. */
    close(pressed.ours);
    afc_lru_free(cache);
}

static void memory_pressure_purges_entries_without_a_cost(void **state) {
    (void)state;
    enum { MANY = 300 };
    pressed pressed = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    afc_lru *cache = cache_of(&pressed);
    static char value;
    char key[8];
    for (int i = 0; i < MANY; i++) {
        snprintf(key, sizeof key, "%d", i);
        afc_lru_put(cache, afc_slice_of(key), &value, i == 0 ? 10 : 0);
    }
    check_status(afc__lru_watch(cache, pressed.theirs, 0, NULL), AFC_OK);
    if (send(pressed.ours, "!", 1, MSG_OOB) != 1) {
        afc_lru_free(cache);
        close(pressed.ours);
        skip();
    }
    wait_for_evicted(&pressed, MANY);
    afc_lru_statistics statistics;
    afc_lru_get_statistics(cache, &statistics);
    assert_int_equal(statistics.count, 0);
    assert_int_equal(statistics.evictions, MANY);
    afc_lru_free(cache);
    close(pressed.ours);
}

static bool has_evicted(pressed *pressed) {
    pthread_mutex_lock(&pressed->lock);
    bool has_evicted = pressed->evicted > 0;
    pthread_mutex_unlock(&pressed->lock);
    return has_evicted;
}

static void child_that_frees_the_cache_leaves_its_parent_watching(void **state) {
    (void)state;
    pressed pressed = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    afc_lru *cache = cache_of(&pressed);
    check_status(afc__lru_watch(cache, pressed.theirs, 0, NULL), AFC_OK);
    static char value;
    afc_lru_put(cache, S("a"), &value, 10);
    pid_t child = fork();
    if (child == 0) {
        afc_lru_free(cache);
        /* Its descriptors are closed, not the parent's. */
        char byte;
        child_exit(recv(pressed.theirs, &byte, 1, MSG_DONTWAIT) == -1 && errno == EBADF ? 0 : 1);
    }
    child_check(child);
    if (send(pressed.ours, "!", 1, MSG_OOB) == 1) {
        while (!has_evicted(&pressed) && count_threads("af-pressure") > 0) sched_yield();
        assert_true(has_evicted(&pressed));
    }
    assert_int_equal(count_threads("af-pressure"), 1);
    afc_lru_free(cache);
    close(pressed.ours);
}

static void unavailable_pressure_file_gives_a_reason(void **state) {
    (void)state;
    afc_lru *cache = cache_new(NULL);
    afc_pressure_options options = AFC_PRESSURE_OPTIONS_INIT;
    afc_failure failure;
    options.path = "/proc/none";
    check_status(afc_lru_watch_pressure(cache, &options, &failure), AFC_EUNSUPPORTED);
    check_contains(failure.text, "/proc/none");
    assert_true(failure.system_error != 0);
    options.path = "/";
    check_status(afc_lru_watch_pressure(cache, &options, NULL), AFC_EFILE);
    struct rlimit before, none;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = (struct rlimit){0, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    /* What could be opened: valgrind counts descriptors after that. */
    options.path = "/dev/null";
    afc_status without_descriptor = afc_lru_watch_pressure(cache, &options, &failure);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    check_status(without_descriptor, AFC_EINTERNAL);
    assert_int_equal(failure.system_error, EMFILE);
    options.stall_us = 0;
    check_status(afc_lru_watch_pressure(cache, &options, &failure), AFC_EINVAL);
    options.stall_us = options.window_us + 1;
    check_status(afc_lru_watch_pressure(cache, &options, &failure), AFC_EINVAL);
    /* Whatever this machine has: it is watched, or there is a status that says why not. */
    afc_status status = afc_lru_watch_pressure(cache, NULL, &failure);
    if (status != AFC_OK && status != AFC_EUNSUPPORTED && status != AFC_EINVAL) {
        check_status(status, AFC_EFILE);
    }
    afc_lru_free(cache);
}

static void writes_only_to_files_of_the_kernel(void **state) {
    (void)state;
    folder folder;
    folder_make(&folder);
    const char *path = path_in(&folder, "mine");
    write_file(path, S("my own file"));
    afc_lru *cache = cache_new(NULL);
    afc_pressure_options options = AFC_PRESSURE_OPTIONS_INIT;
    afc_failure failure;
    /* The last one is the kernel's, but would change the name of this program. */
    const char *const paths[] = {path, "/dev/null", "/proc/self/comm"};
    char before[32] = "", after[32] = "";
    prctl(PR_GET_NAME, before);
    for (size_t i = 0; i < COUNT_OF(paths); i++) {
        options.path = paths[i];
        check_status(afc_lru_watch_pressure(cache, &options, &failure), AFC_EFILE);
        check_contains(failure.text, paths[i]);
        check_contains(failure.text, "isn't a PSI file");
    }
    prctl(PR_GET_NAME, after);
    assert_string_equal(before, after);
    check_file(path, S("my own file"));
    afc_lru_free(cache);
    folder_remove(&folder);
}

static int accept_any_file(int descriptor) {
    (void)descriptor;
    return 0;
}

/** Watches a file that stands in for one of the kernel. */
static afc_status watch_any_file(afc_lru *cache, const afc_pressure_options *options) {
    int descriptor;
    afc_status status = afc__pressure_open(&descriptor, options, accept_any_file, NULL);
    return status != AFC_OK ? status : afc__lru_watch(cache, descriptor, options->keep, NULL);
}

static void writes_the_trigger_to_the_kernel(void **state) {
    (void)state;
    folder folder;
    folder_make(&folder);
    const char *path = path_in(&folder, "memory");
    write_file(path, S(""));
    afc_lru *cache = cache_new(NULL);
    afc_pressure_options options = AFC_PRESSURE_OPTIONS_INIT;
    options.path = path;
    check_status(watch_any_file(cache, &options), AFC_OK);
    check_status(watch_any_file(cache, &options), AFC_EAGAIN);
    afc_lru_free(cache);
    check_file(path, S("some 150000 2000000\0"));
    folder_remove(&folder);
}

static void watching_survives_failed_allocations(void **state) {
    (void)state;
    folder folder;
    folder_make(&folder);
    const char *path = path_in(&folder, "memory");
    write_file(path, S(""));
    afc_pressure_options options = AFC_PRESSURE_OPTIONS_INIT;
    options.path = path;
    TORTURE(n) {
        afc_lru *cache;
        if (afc_lru_new(&cache, NULL, NULL) == AFC_OK) {
            afc_status status = watch_any_file(cache, &options);
            if (status != AFC_OK) check_status(status, AFC_ENOMEM);
        }
        afc_lru_free(cache);
    }
    folder_remove(&folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lock_excludes_and_wakes_sleepers),
        cmocka_unit_test(many_threads_lose_no_value),
        cmocka_unit_test(value_lives_until_its_reader_has_retained_it),
        cmocka_unit_test(reader_count_may_wrap),
        cmocka_unit_test(callbacks_may_use_the_cache),
        cmocka_unit_test(memory_pressure_purges),
        cmocka_unit_test(memory_pressure_purges_entries_without_a_cost),
        cmocka_unit_test(child_that_frees_the_cache_leaves_its_parent_watching),
        cmocka_unit_test(unavailable_pressure_file_gives_a_reason),
        cmocka_unit_test(writes_only_to_files_of_the_kernel),
        cmocka_unit_test(writes_the_trigger_to_the_kernel),
        cmocka_unit_test(watching_survives_failed_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
