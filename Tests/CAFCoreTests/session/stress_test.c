/*
 * Many tasks from many threads, with every operation at every time: each completes exactly once.
 * AF_TEST_TASKS sets the number of tasks, for tools under which everything is slow.
 */
#include "support/call.h"

#include <stdlib.h>
#include <sys/resource.h>

enum { THREADS = 8, ROUND = 64, ALL_TASKS = 100000 };

static size_t number_of_tasks(void) {
    const char *text = getenv("AF_TEST_TASKS");
    long number = text != NULL ? strtol(text, NULL, 10) : 0;
    return number > 0 ? (size_t)number : ALL_TASKS;
}

typedef struct item {
    atomic_uint done, dropped;
    atomic_uint status_after_release; /**< on_done after release, which must never be. */
    afc_status status;
    struct worker *worker;
} item;

typedef struct worker {
    pthread_t thread;
    fixture *fixture;
    uint64_t random;
    size_t tasks, refused;
    size_t completed, cancelled, failed, wrong;
    char url[128], slow[128];
    item items[ROUND];
    pthread_mutex_t lock;
    pthread_cond_t changed;
    size_t dropped;
} worker;

static void on_done(void *context, afc_result *result) {
    item *item = context;
    item->status = afc_result_get_failure(result)->status;
    if (atomic_load(&item->dropped) != 0) atomic_fetch_add(&item->status_after_release, 1);
    atomic_fetch_add(&item->done, 1);
    afc_result_free(result);
}

static void on_release(void *context) {
    item *item = context;
    worker *worker = item->worker;
    atomic_fetch_add(&item->dropped, 1);
    pthread_mutex_lock(&worker->lock);
    worker->dropped++;
    pthread_cond_signal(&worker->changed);
    pthread_mutex_unlock(&worker->lock);
}

/** Any operation, in any state of the task. */
static void disturb(worker *worker, afc_task *task) {
    switch (next_random(&worker->random) % 8) {
    case 0:
    case 1:
        afc_task_cancel(task);
        break;
    case 2:
        afc_task_suspend(task);
        afc_task_resume(task);
        break;
    case 3:
        afc_task_wake(task);
        break;
    case 4:
        afc_task_release(afc_task_retain(task));
        break;
    default:
        break;
    }
}

static void count_end(worker *worker, const item *item, bool was_started) {
    bool is_right = atomic_load(&item->done) == (was_started ? 1u : 0u) &&
                    atomic_load(&item->dropped) == 1 &&
                    atomic_load(&item->status_after_release) == 0;
    if (!is_right) worker->wrong++;
    if (!was_started) return;
    if (item->status == AFC_OK)
        worker->completed++;
    else if (item->status == AFC_ECANCELED)
        worker->cancelled++;
    else
        worker->failed++;
}

static void wait_for_drops(worker *worker, size_t count) {
    pthread_mutex_lock(&worker->lock);
    while (worker->dropped < count) pthread_cond_wait(&worker->changed, &worker->lock);
    pthread_mutex_unlock(&worker->lock);
}

static void run_round(worker *worker, size_t count) {
    afc_task *tasks[ROUND];
    bool is_started[ROUND];
    worker->dropped = 0;
    for (size_t i = 0; i < count; i++) {
        worker->items[i] = (item){.worker = worker};
        afc_task_events events = AFC_TASK_EVENTS_INIT;
        events.context = &worker->items[i];
        events.on_done = on_done;
        events.release = on_release;
        afc_request request = AFC_REQUEST_INIT;
        request.url = next_random(&worker->random) % 16 == 0 ? worker->slow : worker->url;
        if (afc_task_new(&tasks[i], worker->fixture->session, &request, &events, NULL) != AFC_OK) {
            worker->refused++;
        }
    }
    for (size_t i = 0; i < count; i++) {
        if (tasks[i] == NULL) continue;
        disturb(worker, tasks[i]);
        is_started[i] = next_random(&worker->random) % 16 != 0;
        if (is_started[i]) afc_task_start(tasks[i]);
        disturb(worker, tasks[i]);
    }
    for (size_t i = 0; i < count; i++) {
        if (tasks[i] == NULL) continue;
        disturb(worker, tasks[i]);
        afc_task_release(tasks[i]);
    }
    wait_for_drops(worker, count);
    for (size_t i = 0; i < count; i++) count_end(worker, &worker->items[i], is_started[i]);
}

static void *work(void *context) {
    worker *worker = context;
    for (size_t left = worker->tasks; left > 0;) {
        size_t count = left < ROUND ? left : ROUND;
        run_round(worker, count);
        left -= count;
    }
    return NULL;
}

static void check_each_completes_once(size_t tasks, bool gathers_results) {
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    options.max_connections_per_host = 32;
    options.gather_results = gathers_results;
    fixture *fixture = fixture_new(&(afts_options){.record_limit = 16}, &options);
    serve(fixture, "/fast", answer(200, NULL, "ok"));
    afts_script *slow = afts_script_new();
    afts_respond_chunked(slow, 200, NULL);
    afts_chunk(slow, "a", 1);
    afts_pause(slow, 1);
    afts_chunk(slow, "b", 1);
    afts_last_chunk(slow, NULL);
    serve(fixture, "/slow", slow);
    worker *workers = calloc(THREADS, sizeof *workers);
    assert_non_null(workers);
    for (size_t i = 0; i < THREADS; i++) {
        worker *worker = &workers[i];
        worker->fixture = fixture;
        worker->random = i + 1;
        worker->tasks = tasks / THREADS;
        afts_server_url(fixture->server, "/fast", worker->url, sizeof worker->url);
        afts_server_url(fixture->server, "/slow", worker->slow, sizeof worker->slow);
        pthread_mutex_init(&worker->lock, NULL);
        pthread_cond_init(&worker->changed, NULL);
        assert_int_equal(pthread_create(&worker->thread, NULL, work, worker), 0);
    }
    size_t completed = 0, cancelled = 0;
    for (size_t i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        assert_int_equal(workers[i].wrong, 0);
        assert_int_equal(workers[i].refused, 0);
        assert_int_equal(workers[i].failed, 0);
        completed += workers[i].completed;
        cancelled += workers[i].cancelled;
        pthread_cond_destroy(&workers[i].changed);
        pthread_mutex_destroy(&workers[i].lock);
    }
    assert_true(completed > 0);
    assert_true(cancelled > 0);
    free(workers);
    fixture_free(fixture);
}

static void each_task_completes_exactly_once(void **state) {
    (void)state;
    check_each_completes_once(number_of_tasks(), false);
}

static void each_task_completes_exactly_once_with_gathered_results(void **state) {
    (void)state;
    check_each_completes_once(number_of_tasks() / 4, true);
}

/* ---- Sessions ------------------------------------------------------------------------------ */

static void *make_and_end_sessions(void *context) {
    fixture *fixture = context;
    size_t rounds = number_of_tasks() / 2000;
    for (size_t i = 0; i < rounds; i++) {
        afc_session *session;
        if (afc_session_new(&session, NULL, NULL) != AFC_OK) return context;
        char url[128];
        afts_server_url(fixture->server, "/fast", url, sizeof url);
        afc_request request = AFC_REQUEST_INIT;
        request.url = url;
        afc_task *task = NULL;
        if (afc_task_begin(&task, session, &request, NULL, NULL) != AFC_OK) return context;
        if (i % 2 == 0) afc_session_cancel_all(session);
        afc_session_release(session);
        if (i % 3 == 0) afc_task_cancel(task);
        afc_task_release(task);
        if (i % 8 == 0) afc_join_closed_sessions();
    }
    return NULL;
}

static void many_threads_make_and_release_sessions(void **state) {
    fixture *fixture = *state;
    serve(fixture, "/fast", answer(200, NULL, "ok"));
    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, make_and_end_sessions, fixture), 0);
    }
    for (size_t i = 0; i < THREADS; i++) {
        void *failed;
        pthread_join(threads[i], &failed);
        assert_null(failed);
    }
}

/* ---- Descriptors --------------------------------------------------------------------------- */

static void more_than_1024_connections_work(void **state) {
    (void)state;
    enum { TASKS = 1100 };
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    /* Both ends of every connection are in this process. */
    if (limit.rlim_max < 3 * TASKS || number_of_tasks() < ALL_TASKS) skip();
    limit.rlim_cur = limit.rlim_max < 16384 ? limit.rlim_max : 16384;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    options.max_connections_per_host = 0;
    fixture *fixture = fixture_new(NULL, &options);
    afts_script *script = afts_script_new();
    afts_stall(script, "all");
    afts_respond(script, 200, NULL, "ok", 2);
    serve(fixture, "/", script);
    call **calls = calloc(TASKS, sizeof *calls);
    assert_non_null(calls);
    for (size_t i = 0; i < TASKS; i++) {
        calls[i] = call_new(fixture, "/");
        call_start(calls[i]);
    }
    assert_true(afts_wait_stalled(fixture->server, "all", TASKS, PATIENCE_MS));
    afts_release(fixture->server, "all", AFTS_OPEN);
    for (size_t i = 0; i < TASKS; i++) {
        call_wait(calls[i]);
        check_ended(calls[i], AFC_OK);
        call_free(calls[i]);
    }
    free(calls);
    fixture_free(fixture);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_task_completes_exactly_once),
        cmocka_unit_test(each_task_completes_exactly_once_with_gathered_results),
        FIXTURE_TEST(many_threads_make_and_release_sessions),
        cmocka_unit_test(more_than_1024_connections_work),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
