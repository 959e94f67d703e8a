/*
 * Threads that share a cache, and processes that share its folder and are killed at any moment. What is found
 * afterwards is whole and as it was stored, the limit of the disk holds, and the folder still works.
 *
 * AF_CACHE_KILLS is the number of kills.
 */
#include "support/files.h"
#include "support/responses.h"

#include <afcore/session.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum { KILLS = 60, URLS = 40, DISK = 6 << 20, MOST_CHILDREN = 8, PATIENCE_S = 120 };

static const char *program;

/** What a response with this version consists of; the version is in its head. */
static response response_of(unsigned url, unsigned version) {
    static const size_t sizes[] = {0, 100, 5000, 70000, 262144, 300000, 700000, 2000};
    return (response){.url = url,
                      .version = version,
                      .size = sizes[version % COUNT_OF(sizes)],
                      .time = 1000 + version % 7};
}

static afc_http_cache *open_cache(const char *path, uint64_t memory) {
    afc_http_cache *cache;
    afc_http_cache_options options = AFC_HTTP_CACHE_OPTIONS_INIT;
    options.memory_bytes = memory;
    options.disk_bytes = DISK;
    options.max_entry_bytes = 1 << 20;
    options.directory = path;
    check_status(afc_http_cache_open(&cache, &options, NULL), AFC_OK);
    return cache;
}

/** Checks what is stored for a URL; returns whether there is something. */
static bool check_url(afc_http_cache *cache, unsigned url, bool *is_broken) {
    afc__http_cache_found found;
    response_find(cache, url, &found);
    assert_true(found.count <= 1);
    if (found.count == 0) return false;
    afc__http_cache_stored *stored = found.stored[0];
    response expected = response_of(url, response_version(stored));
    expected.time = afc__http_cache_stored_meta(stored)->response_time;
    assert_int_equal(afc__http_cache_stored_body_size(stored), expected.size);
    /* It may have been evicted since: then it says so, and gives no wrong byte. */
    *is_broken = !response_read(cache, stored, &expected, 0);
    found_clear(&found);
    return true;
}

/* ---- A child --------------------------------------------------------------------------------- */

static void work(afc_http_cache *cache, uint64_t *random, unsigned *version) {
    char key[64];
    bool is_broken;
    unsigned url = (unsigned)(next_random(random) % URLS);
    unsigned action = (unsigned)(next_random(random) % 20);
    if (action < 9) {
        response response = response_of(url, *version += 8 + (unsigned)next_random(random) % 8);
        response_store(cache, &response, 50000);
    } else if (action < 17) {
        check_url(cache, url, &is_broken);
    } else if (action < 18) {
        afc__http_cache_remove_key(cache, response_key(key, url));
    } else {
        afc__http_cache_found found;
        response_find(cache, url, &found);
        if (found.count != 0) {
            afc__http_cache_meta meta = *afc__http_cache_stored_meta(found.stored[0]);
            meta.response_time++;
            afc__http_cache_touch(cache, found.stored[0]);
            if (action == 18) afc__http_cache_update(cache, found.stored[0], &meta);
        }
        found_clear(&found);
    }
}

/** Works until it is killed, and counts in memory that is shared with the test. */
static int be_child(const char *path, const char *shared, uint64_t random) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    int descriptor = (int)strtol(shared, NULL, 10);
    atomic_uint *count = mmap(NULL, sizeof *count, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor,
                              0);
    if (count == MAP_FAILED) return 2;
    unsigned version = (unsigned)(random % 100000) * 1000;
    afc_http_cache *cache = open_cache(path, random % 2 == 0 ? 0 : 1 << 20);
    for (;;) {
        work(cache, &random, &version);
        atomic_fetch_add(count, 1);
    }
}

/* ---- The parent ------------------------------------------------------------------------------ */

typedef struct children {
    char path[96];
    int descriptor;
    atomic_uint *count;
    uint64_t random;
    pid_t pids[MOST_CHILDREN];
    unsigned running;
} children;

static void start(children *children) {
    char shared[16], seed[32];
    snprintf(shared, sizeof shared, "%d", children->descriptor);
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)(next_random(&children->random) | 1));
    char *arguments[] = {(char *)(uintptr_t)program, children->path, shared, seed, NULL};
    pid_t *pid = &children->pids[children->running++];
    assert_int_equal(posix_spawn(pid, program, NULL, NULL, arguments, environ), 0);
}

static void wait_for_count(const children *children, unsigned count) {
    time_t deadline = time(NULL) + PATIENCE_S;
    while (atomic_load(children->count) < count) {
        assert_true(time(NULL) < deadline);
        sched_yield();
    }
}

static void kill_one(children *children) {
    int status;
    unsigned index = (unsigned)(next_random(&children->random) % children->running);
    pid_t pid = children->pids[index];
    children->pids[index] = children->pids[--children->running];
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    /* Not ended by a check of its own. */
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static size_t count_names(const char *path, const char *folder) {
    char command[200];
    unsigned long count;
    snprintf(command, sizeof command, "ls -A %s/1/%s | wc -l", path, folder);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    assert_int_equal(fscanf(pipe, "%lu", &count), 1);
    pclose(pipe);
    return count;
}

/** Opens what was left, and checks all of it; then it must work as any other. */
static void check_folder(const children *children) {
    bool is_broken;
    unsigned found = 0;
    afc_http_cache *cache = open_cache(children->path, 0);
    for (unsigned url = 0; url < URLS; url++) {
        bool is_stored = check_url(cache, url, &is_broken);
        if (is_stored && children->running == 0) assert_false(is_broken);
        found += is_stored;
    }
    afc_http_cache_statistics statistics;
    afc_http_cache_get_statistics(cache, &statistics);
    assert_true(statistics.disk_used <= DISK);
    response response = response_of(1, 17);
    if (children->running == 0) {
        assert_true(response_store(cache, &response, 50000));
        assert_true(check_url(cache, 1, &is_broken) && !is_broken);
        afc_http_cache_flush(cache);
        assert_true(found > 0);
        /* Nothing is there that the journal doesn't know, so nothing grows. */
        afc_http_cache_get_statistics(cache, &statistics);
        assert_true(count_names(children->path, "entries") <= statistics.entries);
    }
    afc_http_cache_flush(cache);
    afc_http_cache_release(cache);
    afc_join_closed_sessions();
}

static unsigned kills_wanted(void) {
    const char *text = getenv("AF_CACHE_KILLS");
    return text != NULL ? (unsigned)strtoul(text, NULL, 10) : KILLS;
}

static void run_children(unsigned count) {
    folder folder;
    char command[128];
    children children = {.random = 4711 + count};
    folder_make(&folder);
    snprintf(children.path, sizeof children.path, "%s", path_in(&folder, "cache"));
    /* Passed on to the children. */
    children.descriptor = memfd_create("count", 0);
    assert_true(children.descriptor >= 0);
    assert_int_equal(ftruncate(children.descriptor, sizeof *children.count), 0);
    children.count = mmap(NULL, sizeof *children.count, PROT_READ | PROT_WRITE, MAP_SHARED,
                          children.descriptor, 0);
    assert_true(children.count != MAP_FAILED);
    unsigned kills = (kills_wanted() + count) / (count + 1), target = 0;
    for (unsigned killed = 0; killed < kills; killed++) {
        while (children.running < count) start(&children);
        target = atomic_load(children.count) + 1 + (unsigned)(next_random(&children.random) % 60);
        wait_for_count(&children, target);
        kill_one(&children);
        if (killed % 4 == 0) check_folder(&children);
    }
    while (children.running > 0) kill_one(&children);
    check_folder(&children);
    munmap(children.count, sizeof *children.count);
    close(children.descriptor);
    snprintf(command, sizeof command, "rm -rf %s", children.path);
    assert_int_equal(system(command), 0);
    folder_remove(&folder);
}

/* ---- Threads --------------------------------------------------------------------------------- */

enum { THREADS = 4, OPERATIONS = 300 };

typedef struct worker {
    pthread_t thread;
    afc_http_cache *cache;
    uint64_t random;
} worker;

static void *run_worker(void *context) {
    worker *worker = context;
    unsigned version = (unsigned)worker->random * 100000;
    for (unsigned i = 0; i < OPERATIONS; i++) work(worker->cache, &worker->random, &version);
    return NULL;
}

static void share_among_threads(uint64_t memory) {
    folder folder;
    char path[96], command[128];
    worker workers[THREADS];
    folder_make(&folder);
    snprintf(path, sizeof path, "%s", path_in(&folder, "cache"));
    afc_http_cache *cache = open_cache(path, memory);
    for (unsigned i = 0; i < THREADS; i++) {
        workers[i] = (worker){.cache = cache, .random = i + 1};
        assert_int_equal(pthread_create(&workers[i].thread, NULL, run_worker, &workers[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
    }
    bool is_broken = false;
    afc_http_cache_flush(cache);
    for (unsigned url = 0; url < URLS; url++) {
        check_url(cache, url, &is_broken);
        assert_false(is_broken);
    }
    afc_http_cache_release(cache);
    afc_join_closed_sessions();
    snprintf(command, sizeof command, "rm -rf %s", path);
    assert_int_equal(system(command), 0);
    folder_remove(&folder);
}

static void threads_share_a_cache(void **state) {
    (void)state;
    share_among_threads(0);
    share_among_threads(1 << 20);
}

static void killed_process_leaves_no_wrong_byte(void **state) {
    (void)state;
    run_children(1);
}

static void two_processes_share_a_folder(void **state) {
    (void)state;
    run_children(2);
}

static void eight_processes_share_a_folder(void **state) {
    (void)state;
    run_children(8);
}

int main(int count, char **arguments) {
    if (count == 4) {
        return be_child(arguments[1], arguments[2], strtoull(arguments[3], NULL, 10));
    }
    program = arguments[0];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_share_a_cache),
        cmocka_unit_test(killed_process_leaves_no_wrong_byte),
        cmocka_unit_test(two_processes_share_a_folder),
        cmocka_unit_test(eight_processes_share_a_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
