/*
 * Thousands of random requests from six threads over four sessions, to servers that do everything a
 * server may and may not do, with random cancels, suspends, resumes and releases. Each task has to
 * complete exactly once and with the right bytes, and nothing may be left at the end: no descriptor, no
 * thread, no file, no memory.
 *
 *   afcore_soak [--seed NUMBER] [--tasks NUMBER] [--seconds NUMBER] [--keep-going 1]
 *
 * It ends after so many tasks or seconds, whatever is first, or at the first error. The seed decides
 * every random choice (not the order in which threads run) and is printed. The run is cut into epochs,
 * with servers and sessions of their own, so that what an epoch leaves behind is seen.
 */
#include "job.h"

#include "support/check.h"
#include "support/files.h"
#include "support/fixture.h"
#include "support/heap.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 6, SESSIONS = 4, ROUND = 16, EPOCH_TASKS = 3000, WARM_UP_TASKS = 600 };
enum { PATIENCE_S = 180 };

typedef struct settings {
    uint64_t seed;
    long tasks, seconds;
    bool keeps_going; /**< After an error. */
} settings;

typedef struct epoch {
    servers servers;
    session_slot slots[SESSIONS];
    afc_cookie_jar *cookies;
    afc_trust_policy *policy;
    folder folder;
} epoch;

typedef struct worker {
    pthread_t thread;
    epoch *epoch;
    uint64_t random;
    long tasks;
    uint32_t next_id;
    char folder[96];
    job jobs[ROUND];
    pthread_mutex_t lock;
    pthread_cond_t changed;
    size_t dropped;
    /* For the watchdog. */
    size_t in_flight;
    bool is_over;
} worker;

static worker workers[THREADS];
static atomic_ulong completed, succeeded;
static atomic_bool is_wrong, must_stop;
static bool keeps_going;
static time_t deadline;

static void note_error(void) {
    atomic_store(&is_wrong, true);
    if (!keeps_going) atomic_store(&must_stop, true);
}

static time_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec;
}

/* ---- Sessions ------------------------------------------------------------------------------ */

static afc_session *make_session(const epoch *epoch, int index) {
    static const uint32_t per_host[SESSIONS] = {6, 2, 0, 12};
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    afc_session *session;
    options.max_connections_per_host = per_host[index];
    options.max_connections = index == 3 ? 8 : 0;
    options.max_idle_connections = index == 2 ? 3 : 64;
    options.gather_results = index == 1;
    options.trust = epoch->policy;
    options.cookies = index % 2 == 0 ? epoch->cookies : NULL;
    if (afc_session_new(&session, &options, NULL) != AFC_OK) give_up("no session");
    return session;
}

static void begin_epoch(epoch *epoch) {
    servers_start(&epoch->servers);
    folder_make(&epoch->folder);
    epoch->policy = servers_policy(&epoch->servers);
    if (afc_cookie_jar_new(&epoch->cookies, NULL, NULL) != AFC_OK) give_up("no cookie jar");
    for (int i = 0; i < SESSIONS; i++) {
        session_slot *slot = &epoch->slots[i];
        pthread_mutex_init(&slot->lock, NULL);
        atomic_init(&slot->cancellations, 0);
        slot->session = make_session(epoch, i);
    }
}

static void end_epoch(epoch *epoch) {
    for (int i = 0; i < SESSIONS; i++) {
        afc_session_release(epoch->slots[i].session);
        pthread_mutex_destroy(&epoch->slots[i].lock);
    }
    afc_join_closed_sessions();
    servers_stop(&epoch->servers);
    afc_cookie_jar_release(epoch->cookies);
    afc_trust_policy_release(epoch->policy);
    folder_remove(&epoch->folder);
}

/** Now and then everything of a session is cancelled, or the session is replaced while tasks use it. */
static void disturb_sessions(worker *worker) {
    int index = (int)(next_random(&worker->random) % SESSIONS);
    session_slot *slot = &worker->epoch->slots[index];
    switch (next_random(&worker->random) % 40) {
    case 0:
        pthread_mutex_lock(&slot->lock);
        atomic_fetch_add(&slot->cancellations, 1);
        afc_session_cancel_all(slot->session);
        atomic_fetch_add(&slot->cancellations, 1);
        pthread_mutex_unlock(&slot->lock);
        break;
    case 1:
        pthread_mutex_lock(&slot->lock);
        afc_session_release(slot->session);
        slot->session = make_session(worker->epoch, index);
        pthread_mutex_unlock(&slot->lock);
        break;
    default:
        break;
    }
}

/* ---- Threads ------------------------------------------------------------------------------- */

static void on_drop(void *context) {
    worker *worker = context;
    pthread_mutex_lock(&worker->lock);
    worker->dropped++;
    pthread_cond_signal(&worker->changed);
    pthread_mutex_unlock(&worker->lock);
}

static void begin_jobs(worker *worker, size_t count) {
    pthread_mutex_lock(&worker->lock);
    worker->dropped = 0;
    worker->in_flight = count;
    for (size_t i = 0; i < count; i++) {
        job *job = &worker->jobs[i];
        session_slot *slot = &worker->epoch->slots[next_random(&worker->random) % SESSIONS];
        job_init(job, next_random(&worker->random) | 1, worker->next_id++, worker->folder,
                 &worker->epoch->servers, slot);
        job->on_drop = on_drop;
        job->context = worker;
    }
    pthread_mutex_unlock(&worker->lock);
    for (size_t i = 0; i < count; i++) job_begin(&worker->jobs[i]);
}

static void wait_for_drops(worker *worker, size_t count) {
    pthread_mutex_lock(&worker->lock);
    while (worker->dropped < count) pthread_cond_wait(&worker->changed, &worker->lock);
    worker->in_flight = 0;
    pthread_mutex_unlock(&worker->lock);
}

static void end_jobs(worker *worker, size_t count) {
    for (size_t i = 0; i < count; i++) job_end(&worker->jobs[i]);
    wait_for_drops(worker, count);
    for (size_t i = 0; i < count; i++) {
        job *job = &worker->jobs[i];
        if (!job_check(job)) note_error();
        if (job->result != NULL && afc_result_get_failure(job->result)->status == AFC_OK) {
            atomic_fetch_add(&succeeded, 1);
        }
        job_clear(job);
        atomic_fetch_add(&completed, 1);
    }
}

static void run_round(worker *worker, size_t count) {
    begin_jobs(worker, count);
    for (size_t i = next_random(&worker->random) % (4 * ROUND); i > 0; i--) {
        job_disturb(&worker->jobs[next_random(&worker->random) % count], &worker->random);
        sched_yield();
    }
    disturb_sessions(worker);
    end_jobs(worker, count);
}

static bool is_empty(const char *path) {
    DIR *directory = opendir(path);
    if (directory == NULL) give_up("a folder is gone");
    size_t count = 0;
    while (readdir(directory) != NULL) count++;
    closedir(directory);
    return count == 2;
}

static void *work(void *context) {
    worker *worker = context;
    snprintf(worker->folder, sizeof worker->folder, "%s/%td", worker->epoch->folder.path,
             worker - workers);
    if (mkdir(worker->folder, 0700) != 0) give_up("no folder");
    while (worker->tasks > 0 && now() < deadline && !atomic_load(&must_stop)) {
        size_t count = worker->tasks < ROUND ? (size_t)worker->tasks : ROUND;
        run_round(worker, count);
        worker->tasks -= (long)count;
        if (!is_empty(worker->folder)) {
            fprintf(stderr, "soak: wrong: files are left in %s\n", worker->folder);
            note_error();
            break;
        }
    }
    rmdir(worker->folder);
    pthread_mutex_lock(&worker->lock);
    worker->is_over = true;
    pthread_mutex_unlock(&worker->lock);
    return NULL;
}

/* ---- The watchdog: a task that never completes is an error, not a hang ---------------------- */

static atomic_bool is_finished;

static void print_in_flight(void) {
    for (int i = 0; i < THREADS; i++) {
        pthread_mutex_lock(&workers[i].lock);
        for (size_t j = 0; j < workers[i].in_flight; j++) {
            if (atomic_load(&workers[i].jobs[j].dropped) == 0) job_print(&workers[i].jobs[j]);
        }
        pthread_mutex_unlock(&workers[i].lock);
    }
}

static pthread_mutex_t watch_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t watch_changed;

static void *watch(void *context) {
    (void)context;
    unsigned long last = 0;
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += PATIENCE_S;
    pthread_mutex_lock(&watch_lock);
    while (!atomic_load(&is_finished)) {
        if (pthread_cond_timedwait(&watch_changed, &watch_lock, &until) == 0) continue;
        if (atomic_load(&completed) == last) {
            fprintf(stderr, "soak: wrong: no task completed for %d s; these are in flight:\n",
                    PATIENCE_S);
            print_in_flight();
            abort();
        }
        last = atomic_load(&completed);
        until.tv_sec += PATIENCE_S;
    }
    pthread_mutex_unlock(&watch_lock);
    return NULL;
}

static pthread_t start_watch(void) {
    pthread_condattr_t attributes;
    pthread_t thread;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&watch_changed, &attributes);
    pthread_condattr_destroy(&attributes);
    if (pthread_create(&thread, NULL, watch, NULL) != 0) give_up("no thread");
    return thread;
}

static void stop_watch(pthread_t thread) {
    pthread_mutex_lock(&watch_lock);
    atomic_store(&is_finished, true);
    pthread_cond_signal(&watch_changed);
    pthread_mutex_unlock(&watch_lock);
    pthread_join(thread, NULL);
}

/* ---- What an epoch leaves behind ----------------------------------------------------------- */

typedef struct remains {
    size_t descriptors, threads, heap;
} remains;

static size_t count_threads(void) {
    DIR *directory = opendir("/proc/self/task");
    size_t count = 0;
    while (directory != NULL && readdir(directory) != NULL) count++;
    if (directory != NULL) closedir(directory);
    return count;
}

static remains look_around(void) {
    /* AddressSanitizer, without numbers of the heap, looks for leaks itself. */
    remains remains = {count_descriptors(), count_threads(), heap_in_use()};
    return remains;
}

/** Compared with the first epoch's, which has loaded what is kept for the life of the process. */
static void check_remains(const remains *first, const remains *now) {
    enum { HEAP_TOLERANCE = 512 * 1024 };
    if (now->descriptors > first->descriptors || now->threads > first->threads ||
        now->heap > first->heap + HEAP_TOLERANCE) {
        fprintf(stderr, "soak: wrong: an epoch left something behind\n");
        note_error();
    }
}

/* ---- The run ------------------------------------------------------------------------------- */

static void run_epoch(uint64_t *random, long tasks, uint32_t *next_id) {
    epoch epoch;
    begin_epoch(&epoch);
    for (int i = 0; i < THREADS; i++) {
        worker *worker = &workers[i];
        worker->epoch = &epoch;
        worker->random = next_random(random) | 1;
        worker->tasks = tasks / THREADS;
        worker->next_id = *next_id;
        *next_id += (uint32_t)worker->tasks;
        if (pthread_create(&worker->thread, NULL, work, worker) != 0) give_up("no thread");
    }
    for (int i = 0; i < THREADS; i++) pthread_join(workers[i].thread, NULL);
    end_epoch(&epoch);
}

static void run(const settings *settings) {
    uint64_t random = settings->seed * 2 + 1;
    keeps_going = settings->keeps_going;
    uint32_t next_id = 1;
    remains first = {0, 0, 0};
    /* The first epoch is always a whole one, with an hour at most: the others are compared with it. */
    deadline = now() + 3600;
    long left = settings->tasks;
    int epochs = 0;
    for (; left > 0 && now() < deadline && !atomic_load(&must_stop); epochs++) {
        bool is_first = epochs == 0;
        long tasks = is_first ? WARM_UP_TASKS : EPOCH_TASKS;
        run_epoch(&random, left < tasks ? left : tasks, &next_id);
        left -= tasks;
        remains remains = look_around();
        if (is_first) {
            first = remains;
            deadline = now() + settings->seconds;
        } else
            check_remains(&first, &remains);
        printf("%lu tasks, %lu succeeded; left: %zu descriptors, %zu threads, %zu KiB of heap\n",
               atomic_load(&completed), atomic_load(&succeeded), remains.descriptors,
               remains.threads, remains.heap / 1024);
        fflush(stdout);
    }
    /* The first epoch alone is compared with nothing. */
    if (atomic_load(&succeeded) == 0 || (epochs < 2 && !atomic_load(&must_stop))) {
        fprintf(stderr, "soak: wrong: %d epochs, %lu tasks succeeded\n", epochs,
                atomic_load(&succeeded));
        atomic_store(&is_wrong, true);
    }
}

static bool read_settings(settings *settings, int count, char **arguments) {
    for (int i = 1; i + 1 < count; i += 2) {
        char *end;
        unsigned long long number = strtoull(arguments[i + 1], &end, 10);
        if (*end != '\0') return false;
        if (strcmp(arguments[i], "--seed") == 0)
            settings->seed = number;
        else if (strcmp(arguments[i], "--tasks") == 0)
            settings->tasks = (long)number;
        else if (strcmp(arguments[i], "--seconds") == 0)
            settings->seconds = (long)number;
        else if (strcmp(arguments[i], "--keep-going") == 0)
            settings->keeps_going = number != 0;
        else
            return false;
    }
    return count % 2 == 1;
}

int main(int count, char **arguments) {
    settings settings = {(uint64_t)time(NULL), 20000, 60, false};
    if (!read_settings(&settings, count, arguments)) {
        fprintf(stderr, "usage: afcore_soak [--seed NUMBER] [--tasks NUMBER] [--seconds NUMBER] "
                        "[--keep-going 1]\n");
        return 2;
    }
    printf("seed %llu\n", (unsigned long long)settings.seed);
    fflush(stdout);
    for (int i = 0; i < THREADS; i++) {
        pthread_mutex_init(&workers[i].lock, NULL);
        pthread_cond_init(&workers[i].changed, NULL);
    }
    pthread_t watchdog = start_watch();
    run(&settings);
    stop_watch(watchdog);
    if (atomic_load(&is_wrong)) {
        fprintf(stderr, "soak: failed, seed %llu\n", (unsigned long long)settings.seed);
        return 1;
    }
    return 0;
}
