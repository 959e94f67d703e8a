/*
 * Processes and threads that store, find and remove the responses of one folder, while some are stopped or killed, and
 * the journal is discarded. Nothing is served after its removal has returned, and the folder doesn't outgrow its capacity.
 *
 * AF_CACHE_SECONDS is how long that lasts at least, AF_CACHE_SEED the first random number. Each folder is used for some
 * seconds.
 */
#include "support/files.h"
#include "support/responses.h"

#include <afcore/session.h>
#include <dirent.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum {
    ROUNDS = 15,
    URLS = 24,
    HOSTS = 4,
    DISK = 2 << 20,
    PROCESSES = 3,
    THREADS = 2,
    /* Operations for which a process is stopped. */
    STOP_MIN = 20,
    STOP_MAX = 80,
    PATIENCE_S = 120,
    LOOK_NS = 10 * 1000 * 1000,
    SECOND_NS = 1000 * 1000 * 1000
};

static const char *program;

/** What all processes know of a URL. Versions grow; each is stored once. */
typedef struct url_state {
    atomic_uint drawn;   /* The last version that was requested. */
    atomic_uint removed; /* Versions up to this one must not be found any more. */
} url_state;

typedef struct shared {
    pid_t parent;
    atomic_uint count;  /* Operations. */
    atomic_uint target; /* The number of operations for which the parent waits. */
    sem_t reached;
    url_state urls[URLS];
} shared;

static shared *map_shared(int descriptor) {
    void *map = mmap(NULL, sizeof(shared), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    return map != MAP_FAILED ? map : NULL;
}

static response response_of(unsigned url, unsigned version) {
    static const size_t sizes[] = {0, 100, 5000, 70000, 90000, 2000};
    return (response){.url = url,
                      .version = version,
                      .size = sizes[version % COUNT_OF(sizes)],
                      .time = 1000 + version};
}

static afc_http_cache *open_cache(const char *path, uint64_t memory) {
    afc_http_cache *cache = NULL;
    afc_http_cache_options options = AFC_HTTP_CACHE_OPTIONS_INIT;
    options.memory_bytes = memory;
    options.disk_bytes = DISK;
    options.directory = path;
    (void)afc_http_cache_open(&cache, &options, NULL);
    return cache;
}

static void close_cache(afc_http_cache *cache) {
    afc_http_cache_flush(cache);
    afc_http_cache_release(cache);
    afc_join_closed_sessions();
}

/* ---- A child ----------------------------------------------------------------------------------- */

typedef struct worker {
    pthread_t thread;
    shared *shared;
    afc_http_cache *cache;
    uint64_t random;
} worker;

static void count_operations(shared *shared, unsigned count) {
    unsigned now = atomic_fetch_add(&shared->count, count) + count;
    if (now == atomic_load(&shared->target)) sem_post(&shared->reached);
}

/** Ends the process with a signal that isn't that of the parent. */
static void require(bool holds, const char *what, unsigned url, unsigned a, unsigned b) {
    if (holds) return;
    fprintf(stderr, "%d: %s: URL %u, %u and %u\n", (int)getpid(), what, url, a, b);
    abort();
}

static void raise_to(atomic_uint *value, unsigned to) {
    unsigned now = atomic_load(value);
    while (now < to && !atomic_compare_exchange_weak(value, &now, to)) continue;
}

static void store(const worker *worker, unsigned url) {
    url_state *state = &worker->shared->urls[url];
    char key[64], bytes[90000];
    /* A removal that comes after the mark may be of this version. */
    afc__http_cache_mark mark = afc__http_cache_take_mark(worker->cache, response_key(key, url));
    response response = response_of(url, atomic_fetch_add(&state->drawn, 1) + 1);
    afc__http_cache_writing *writing;
    if (afc__http_cache_begin(&writing, worker->cache, response_key(key, url),
                              response_meta(&response), -1) == AFC_OK) {
        afc__http_cache_set_mark(writing, mark);
        response_fill(&response, 0, bytes, response.size);
        if (afc__http_cache_append(writing, (afc_slice){bytes, response.size},
                                   AFC__HTTP_CACHE_WAIT) == AFC_OK) {
            afc__http_cache_commit(writing, AFC__HTTP_CACHE_WAIT);
        } else {
            afc__http_cache_abandon(writing);
        }
    }
}

static void find(const worker *worker, unsigned url, bool updates) {
    unsigned removed = atomic_load(&worker->shared->urls[url].removed);
    afc__http_cache_found found;
    response_find(worker->cache, url, &found);
    require(found.count <= 1, "more than one response", url, (unsigned)found.count, 1);
    if (found.count == 1) {
        unsigned version = response_version(found.stored[0]);
        require(version > removed, "served after its removal", url, version, removed);
        response expected = response_of(url, version);
        (void)response_read(worker->cache, found.stored[0], &expected, 0);
        if (updates) {
            afc__http_cache_meta meta = *afc__http_cache_stored_meta(found.stored[0]);
            meta.response_time++;
            afc__http_cache_update(worker->cache, found.stored[0], &meta);
        } else {
            afc__http_cache_touch(worker->cache, found.stored[0]);
        }
    }
    found_clear(&found);
}

/** An unsafe request: all that was requested before is outdated. */
static void remove_key(const worker *worker, unsigned url) {
    url_state *state = &worker->shared->urls[url];
    char key[64];
    unsigned drawn = atomic_load(&state->drawn);
    afc__http_cache_remove_key(worker->cache, response_key(key, url));
    afc_http_cache_flush(worker->cache);
    raise_to(&state->removed, drawn);
}

/** Removes the responses of a host, or of all. */
static void remove_stored(const worker *worker, unsigned host) {
    unsigned drawn[URLS];
    char name[16];
    for (unsigned i = 0; i < URLS; i++) {
        drawn[i] = atomic_load(&worker->shared->urls[i].drawn);
    }
    snprintf(name, sizeof name, "h%u.test", host);
    if (host < HOSTS) {
        afc_http_cache_remove_host(worker->cache, name);
    } else {
        afc_http_cache_remove_all(worker->cache);
    }
    afc_http_cache_flush(worker->cache);
    for (unsigned i = 0; i < URLS; i++) {
        if (host >= HOSTS || i % HOSTS == host) {
            raise_to(&worker->shared->urls[i].removed, drawn[i]);
        }
    }
}

static void check_capacity(const worker *worker) {
    afc_http_cache_statistics statistics;
    afc_http_cache_set_capacity(worker->cache, 1 << 18, DISK / 4);
    afc_http_cache_flush(worker->cache);
    afc_http_cache_set_capacity(worker->cache, 1 << 18, DISK);
    afc_http_cache_flush(worker->cache);
    afc_http_cache_get_statistics(worker->cache, &statistics);
    require(statistics.disk_used <= DISK, "too much is stored", 0, (unsigned)statistics.disk_used,
            DISK);
}

static void work(worker *worker) {
    unsigned url = (unsigned)(next_random(&worker->random) % URLS);
    unsigned action = (unsigned)(next_random(&worker->random) % 200);
    if (action < 90) {
        store(worker, url);
    } else if (action < 176) {
        find(worker, url, action < 96);
    } else if (action < 190) {
        remove_key(worker, url);
    } else if (action < 197) {
        remove_stored(worker, action - 190);
    } else {
        check_capacity(worker);
    }
    count_operations(worker->shared, 1);
}

static void *run_worker(void *context) {
    worker *worker = context;
    for (unsigned i = 0; i < 400; i++) work(worker);
    return NULL;
}

/** Works until it is killed. */
static int be_child(const char *path, const char *descriptor, uint64_t random) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    shared *shared = map_shared((int)strtol(descriptor, NULL, 10));
    if (shared == NULL) return 2;
    /* It may have ended before prctl(). */
    if (getppid() != shared->parent) return 0;
    for (;;) {
        worker workers[THREADS];
        afc_http_cache *cache = open_cache(path, random % 2 == 0 ? 0 : 1 << 18);
        if (cache == NULL) {
            /* A process that was stopped keeps the journal locked for too long: the parent must continue it. */
            count_operations(shared, STOP_MAX);
            continue;
        }
        for (unsigned i = 0; i < THREADS; i++) {
            workers[i] = (worker){.shared = shared, .cache = cache, .random = random += 77};
            if (pthread_create(&workers[i].thread, NULL, run_worker, &workers[i]) != 0) return 3;
        }
        for (unsigned i = 0; i < THREADS; i++) pthread_join(workers[i].thread, NULL);
        close_cache(cache);
    }
}

/* ---- The parent -------------------------------------------------------------------------------- */

typedef struct parent {
    folder folder;
    char path[96], journal[112], entries[112];
    int descriptor;
    shared *shared;
    pid_t children[PROCESSES];
    uint64_t random;
} parent;

static void start(parent *parent, unsigned index) {
    char path[96], descriptor[16], seed[24], name[256];
    snprintf(name, sizeof name, "%s", program);
    snprintf(path, sizeof path, "%s", parent->path);
    snprintf(descriptor, sizeof descriptor, "%d", parent->descriptor);
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)(next_random(&parent->random) >> 1));
    char *arguments[] = {name, path, descriptor, seed, NULL};
    assert_int_equal(posix_spawn(&parent->children[index], program, NULL, NULL, arguments, environ),
                     0);
}

/** Waits for so many operations, unless the processes that could do them have ended. */
static void wait_for_operations(const parent *parent, unsigned count) {
    shared *shared = parent->shared;
    unsigned target = atomic_load(&shared->count) + count;
    time_t deadline = time(NULL) + PATIENCE_S;
    atomic_store(&shared->target, target);
    while ((int)(target - atomic_load(&shared->count)) > 0) {
        siginfo_t ended = {0};
        struct timespec soon;
        assert_true(time(NULL) < deadline);
        assert_int_equal(waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT), 0);
        assert_int_equal(ended.si_pid, 0);
        /* A process may be killed before it says that it has reached the target. */
        clock_gettime(CLOCK_REALTIME, &soon);
        soon.tv_nsec += LOOK_NS;
        soon.tv_sec += soon.tv_nsec / SECOND_NS;
        soon.tv_nsec %= SECOND_NS;
        (void)sem_timedwait(&shared->reached, &soon);
    }
}

static void end_child(parent *parent, unsigned index) {
    int status;
    pid_t pid = parent->children[index];
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    /* Not ended by a check of its own. */
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static uint64_t size_of_entries(const parent *parent) {
    struct stat facts;
    char path[400];
    uint64_t sum = 0;
    DIR *names = opendir(parent->entries);
    for (const struct dirent *entry; names != NULL && (entry = readdir(names)) != NULL;) {
        snprintf(path, sizeof path, "%s/%s", parent->entries, entry->d_name);
        if (stat(path, &facts) == 0 && S_ISREG(facts.st_mode)) {
            sum += ((uint64_t)facts.st_size + 511) / 512 * 512;
        }
    }
    if (names != NULL) closedir(names);
    return sum;
}

static unsigned number_from(const char *name, unsigned otherwise) {
    const char *text = getenv(name);
    return text != NULL ? (unsigned)strtoul(text, NULL, 10) : otherwise;
}

/** Something happens to a process or to the journal. */
static void disturb(parent *parent) {
    unsigned index = (unsigned)(next_random(&parent->random) % PROCESSES);
    unsigned action = (unsigned)(next_random(&parent->random) % 10);
    if (action < 4) {
        end_child(parent, index);
        start(parent, index);
    } else if (action < 9) {
        /* Perhaps while it has the journal locked. */
        assert_int_equal(kill(parent->children[index], SIGSTOP), 0);
        unsigned random = (unsigned)next_random(&parent->random);
        wait_for_operations(parent, STOP_MIN + random % (STOP_MAX - STOP_MIN));
        assert_int_equal(kill(parent->children[index], SIGCONT), 0);
    } else {
        /* As a process that can't record a removal does. */
        (void)unlink(parent->journal);
    }
}

static void use_one_folder(uint64_t seed) {
    char command[160];
    parent parent = {.random = seed};
    folder_make(&parent.folder);
    snprintf(parent.path, sizeof parent.path, "%s", path_in(&parent.folder, "cache"));
    snprintf(parent.journal, sizeof parent.journal, "%s/1/journal", parent.path);
    snprintf(parent.entries, sizeof parent.entries, "%s/1/entries", parent.path);
    parent.descriptor = memfd_create("shared", 0);
    assert_true(parent.descriptor >= 0);
    assert_int_equal(ftruncate(parent.descriptor, sizeof(shared)), 0);
    parent.shared = map_shared(parent.descriptor);
    assert_non_null(parent.shared);
    parent.shared->parent = getpid();
    assert_int_equal(sem_init(&parent.shared->reached, 1, 0), 0);
    for (unsigned i = 0; i < PROCESSES; i++) start(&parent, i);
    for (unsigned round = 0; round < ROUNDS; round++) {
        wait_for_operations(&parent, 1 + (unsigned)(next_random(&parent.random) % 60));
        disturb(&parent);
    }
    for (unsigned i = 0; i < PROCESSES; i++) end_child(&parent, i);
    worker last = {.shared = parent.shared, .cache = open_cache(parent.path, 0)};
    assert_non_null(last.cache);
    afc_http_cache_flush(last.cache);
    for (unsigned url = 0; url < URLS; url++) find(&last, url, false);
    check_capacity(&last);
    assert_true(size_of_entries(&parent) <= DISK);
    close_cache(last.cache);
    munmap(parent.shared, sizeof(shared));
    close(parent.descriptor);
    snprintf(command, sizeof command, "rm -rf %s", parent.path);
    assert_int_equal(system(command), 0);
    folder_remove(&parent.folder);
}

static void removed_responses_are_never_served_by_any_process(void **state) {
    (void)state;
    unsigned seed = number_from("AF_CACHE_SEED", 1);
    time_t end = time(NULL) + number_from("AF_CACHE_SECONDS", 60);
    do {
        printf("AF_CACHE_SEED=%u\n", seed);
        use_one_folder(seed++);
    } while (time(NULL) < end);
}

int main(int count, char **arguments) {
    if (count == 4) {
        return be_child(arguments[1], arguments[2], strtoull(arguments[3], NULL, 10));
    }
    program = arguments[0];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(removed_responses_are_never_served_by_any_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
