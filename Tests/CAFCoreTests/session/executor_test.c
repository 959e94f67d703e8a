/* Callbacks that run where the session's executor wants them. */
#include "support/auth_server.h"
#include "support/call.h"
#include "support/child.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 4096, MANY = 200 };

typedef struct posted {
    void (*function)(void *argument);
    void *argument;
} posted;

/** A queue that the test empties, in its own thread or in several. */
typedef struct queue {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    posted calls[MOST];
    size_t first, last;
    bool has_ended, refuses;
    atomic_uint count, closed;
} queue;

static bool post(void *context, void (*function)(void *argument), void *argument) {
    queue *queue = context;
    atomic_fetch_add(&queue->count, 1);
    pthread_mutex_lock(&queue->lock);
    bool takes = !queue->refuses && queue->last - queue->first < MOST;
    if (takes) queue->calls[queue->last++ % MOST] = (posted){function, argument};
    pthread_cond_broadcast(&queue->changed);
    pthread_mutex_unlock(&queue->lock);
    return takes;
}

/** Makes the next call; false: the queue has ended. */
static bool run_next(queue *queue) {
    pthread_mutex_lock(&queue->lock);
    while (queue->first == queue->last && !queue->has_ended)
        pthread_cond_wait(&queue->changed, &queue->lock);
    bool has_one = queue->first != queue->last;
    posted call = {NULL, NULL};
    if (has_one) call = queue->calls[queue->first++ % MOST];
    pthread_mutex_unlock(&queue->lock);
    if (has_one) call.function(call.argument);
    return has_one;
}

static void end_queue(queue *queue) {
    pthread_mutex_lock(&queue->lock);
    queue->has_ended = true;
    pthread_cond_broadcast(&queue->changed);
    pthread_mutex_unlock(&queue->lock);
}

static void note_closed(void *context) {
    atomic_fetch_add(&((queue *)context)->closed, 1);
}

static queue *queue_new(void) {
    queue *new = calloc(1, sizeof *new);
    assert_non_null(new);
    pthread_mutex_init(&new->lock, NULL);
    pthread_cond_init(&new->changed, NULL);
    return new;
}

static void queue_free(queue *queue) {
    pthread_cond_destroy(&queue->changed);
    pthread_mutex_destroy(&queue->lock);
    free(queue);
}

static fixture *fixture_of(queue *queue) {
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    options.executor = (afc_executor){queue, post};
    options.on_closed = note_closed;
    options.context = queue;
    return fixture_new(NULL, &options);
}

/* ---- On one thread ------------------------------------------------------------------------- */

typedef struct seen {
    pthread_t thread;
    bool is_wrong_thread, is_on_loop;
    char log[64];
    afc_status status;
    int64_t received;
} seen;

static void note(seen *seen, char what) {
    size_t size = strlen(seen->log);
    if (!pthread_equal(pthread_self(), seen->thread)) seen->is_wrong_thread = true;
    bool repeats = size > 0 && seen->log[size - 1] == what && what == 'p';
    if (!repeats && size + 1 < sizeof seen->log) seen->log[size] = what;
}

static void at_progress(void *context, const afc_progress *progress) {
    note(context, 'p');
    ((seen *)context)->received = progress->received;
}

static void at_done(void *context, afc_result *result) {
    seen *seen = context;
    note(seen, 'd');
    seen->status = afc_result_get_failure(result)->status;
    afc_result_free(result);
}

static void at_release(void *context) {
    note(context, 'x');
}

static afc_status at_head(void *context, afc_response *response) {
    seen *seen = context;
    (void)response;
    seen->is_on_loop = !pthread_equal(pthread_self(), seen->thread);
    return AFC_OK;
}

static afc_task *begin(fixture *fixture, seen *seen, const char *path) {
    afc_task *task;
    afc_request request = AFC_REQUEST_INIT;
    afc_task_events events = AFC_TASK_EVENTS_INIT;
    request.url = url_of(fixture, path);
    events.context = seen;
    events.on_head = at_head;
    events.on_progress = at_progress;
    events.on_done = at_done;
    events.release = at_release;
    check_status(afc_task_begin(&task, fixture->session, &request, &events, NULL), AFC_OK);
    return task;
}

static void callbacks_run_on_the_thread_of_the_executor(void **state) {
    (void)state;
    queue *queue = queue_new();
    fixture *fixture = fixture_of(queue);
    serve(fixture, "/", answer(200, NULL, "hello"));
    seen seen = {.thread = pthread_self()};
    afc_task *task = begin(fixture, &seen, "/");
    /* Not before this thread makes the call. */
    check_status(afc_task_wait(task, 0), AFC_ETIMEOUT);
    while (strchr(seen.log, 'x') == NULL) assert_true(run_next(queue));
    check_status(afc_task_wait(task, -1), AFC_OK);
    assert_string_equal(seen.log, "pdx");
    assert_false(seen.is_wrong_thread);
    assert_true(seen.is_on_loop);
    check_status(seen.status, AFC_OK);
    assert_int_equal(seen.received, 5);
    afc_task_release(task);
    fixture_free(fixture);
    assert_int_equal(atomic_load(&queue->closed), 1);
    assert_int_equal(queue->first, queue->last);
    queue_free(queue);
}

/** The callbacks that decide something, consume a part of a body, or report what is under way. */
enum {
    INFORMED = 1 << 0,
    REDIRECTED = 1 << 1,
    CHALLENGED = 1 << 2,
    ACCEPTED = 1 << 3,
    TRACED = 1 << 4,
    STORED = 1 << 5,
    ANSWERED = 1 << 6,
    RECEIVED = 1 << 7,
    WOKEN = 1 << 8,
    ALL_ON_LOOP = (1 << 9) - 1
};

typedef struct loop_calls {
    seen seen;
    atomic_uint made;
    atomic_bool is_elsewhere;
    afc_task *task;
} loop_calls;

/** Calls of one task never run at the same time, apart from on_progress. */
static void count_on_loop(loop_calls *calls, unsigned what) {
    if (pthread_equal(pthread_self(), calls->seen.thread)) atomic_store(&calls->is_elsewhere, true);
    atomic_fetch_or(&calls->made, what);
}

static void informed(void *context, const afc_head *head) {
    if (head->status == 103) count_on_loop(context, INFORMED);
}

static afc_redirect_decision redirected(void *context, afc_redirect *redirect) {
    (void)redirect;
    count_on_loop(context, REDIRECTED);
    return AFC_REDIRECT_FOLLOW;
}

static afc_challenge_decision challenged(void *context, const afc_challenge *challenge,
                                         afc_credentials *credentials) {
    (void)challenge;
    *credentials = valid_credentials;
    count_on_loop(context, CHALLENGED);
    return AFC_CHALLENGE_USE;
}

static void accepted(void *context, const afc_challenge *challenge) {
    (void)challenge;
    count_on_loop(context, ACCEPTED);
}

static void traced(void *context, const afc_trace *trace) {
    (void)trace;
    count_on_loop(context, TRACED);
}

static bool stored(void *context, afc_http_cache_candidate *candidate) {
    (void)candidate;
    count_on_loop(context, STORED);
    return true;
}

/** Wakes its task, after whose on_wake the body follows. */
static afc_status answered(void *context, afc_response *response) {
    loop_calls *calls = context;
    (void)response;
    count_on_loop(context, ANSWERED);
    afc_task_wake(calls->task);
    return AFC_OK;
}

static afc_status received(void *context, afc_slice chunk) {
    loop_calls *calls = context;
    (void)chunk;
    count_on_loop(context, RECEIVED);
    return (atomic_load(&calls->made) & WOKEN) != 0 ? AFC_OK : AFC_EAGAIN;
}

static void woken(void *context) {
    count_on_loop(context, WOKEN);
}

static void ended(void *context, afc_result *result) {
    at_done(&((loop_calls *)context)->seen, result);
}

static void released(void *context) {
    at_release(&((loop_calls *)context)->seen);
}

static void other_callbacks_run_on_the_loop_thread(void **state) {
    (void)state;
    queue *queue = queue_new();
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    options.executor = (afc_executor){queue, post};
    check_status(afc_http_cache_open(&options.http_cache, NULL, NULL), AFC_OK);
    fixture *fixture = fixture_new(NULL, &options);
    afts_script *script = afts_script_new();
    afts_interim(script, 103, NULL);
    afts_respond(script, 302, "Location: /in\r\nCache-Control: max-age=3600", "", 0);
    serve(fixture, "/", script);
    auth_server auth_server = {.challenges = {"Basic realm=x"}, .user = "me", .password = "secret"};
    auth_server_path(fixture, "/in", &auth_server);
    loop_calls calls = {.seen = {.thread = pthread_self()}};
    afc_request request = AFC_REQUEST_INIT;
    request.url = url_of(fixture, "/");
    request.sink.kind = AFC_SINK_CALLBACK;
    afc_task_events events = {sizeof events, &calls,   redirected, informed, answered,
                              received,      NULL,     ended,      released, woken,
                              challenged,    accepted, traced,     stored};
    check_status(afc_task_begin(&calls.task, fixture->session, &request, &events, NULL), AFC_OK);
    while (strchr(calls.seen.log, 'x') == NULL) assert_true(run_next(queue));
    check_status(calls.seen.status, AFC_OK);
    assert_string_equal(calls.seen.log, "dx");
    assert_false(calls.seen.is_wrong_thread);
    assert_int_equal(atomic_load(&calls.made), ALL_ON_LOOP);
    assert_false(atomic_load(&calls.is_elsewhere));
    afc_task_release(calls.task);
    fixture_free(fixture);
    afc_http_cache_release(options.http_cache);
    queue_free(queue);
}

/** A task without on_progress, on_done and release has nothing that the executor could run. */
static void executor_gets_only_calls_of_tasks_that_need_it(void **state) {
    (void)state;
    queue *queue = queue_new();
    queue->refuses = true;
    fixture *fixture = fixture_of(queue);
    serve(fixture, "/", answer(200, NULL, "hello"));
    for (int i = 0; i < 4; i++) {
        seen seen = {.thread = pthread_self()};
        afc_task *task;
        afc_request request = AFC_REQUEST_INIT;
        afc_task_events events = AFC_TASK_EVENTS_INIT;
        request.url = url_of(fixture, "/");
        events.context = &seen;
        events.on_head = at_head;
        if (i == 1) events.on_done = at_done;
        if (i == 2) events.release = at_release;
        if (i == 3) events.on_progress = at_progress;
        unsigned before = atomic_load(&queue->count);
        check_status(afc_task_begin(&task, fixture->session, &request, &events, NULL), AFC_OK);
        check_status(afc_task_wait(task, -1), AFC_OK);
        assert_int_equal(atomic_load(&queue->count) > before, i > 0);
        afc_task_release(task);
    }
    fixture_free(fixture);
    queue_free(queue);
}

static void refused_call_runs_on_the_loop_thread(void **state) {
    (void)state;
    queue *queue = queue_new();
    queue->refuses = true;
    fixture *fixture = fixture_of(queue);
    serve(fixture, "/", answer(200, NULL, "hello"));
    seen seen = {.thread = pthread_self()};
    afc_task *task = begin(fixture, &seen, "/");
    check_status(afc_task_wait(task, -1), AFC_OK);
    assert_string_equal(seen.log, "pdx");
    assert_true(seen.is_wrong_thread);
    afc_task_release(task);
    fixture_free(fixture);
    queue_free(queue);
}

static bool post_nowhere(void *context, void (*function)(void *argument), void *argument) {
    (void)context;
    function(argument);
    return true;
}

static void executor_may_call_at_once(void **state) {
    (void)state;
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    options.executor.post = post_nowhere;
    fixture *fixture = fixture_new(NULL, &options);
    serve(fixture, "/", answer(200, NULL, "hello"));
    seen seen = {.thread = pthread_self()};
    afc_task *task = begin(fixture, &seen, "/");
    check_status(afc_task_wait(task, -1), AFC_OK);
    assert_string_equal(seen.log, "pdx");
    afc_task_release(task);
    fixture_free(fixture);
}

/** The session stays open until the last callback has returned. */
static void session_closes_after_the_last_callback(void **state) {
    (void)state;
    queue *queue = queue_new();
    fixture *fixture = fixture_of(queue);
    serve(fixture, "/", answer(200, NULL, "hello"));
    seen seen = {.thread = pthread_self()};
    afc_task *task = begin(fixture, &seen, "/");
    afc_session_release(fixture->session);
    fixture->session = NULL;
    afc_task_release(task);
    while (strchr(seen.log, 'x') == NULL) {
        assert_int_equal(atomic_load(&queue->closed), 0);
        assert_true(run_next(queue));
    }
    afc_join_closed_sessions();
    assert_int_equal(atomic_load(&queue->closed), 1);
    fixture_free(fixture);
    queue_free(queue);
}

static void perform_does_not_need_the_executor(void **state) {
    (void)state;
    queue *queue = queue_new();
    fixture *fixture = fixture_of(queue);
    serve(fixture, "/", answer(200, NULL, "hello"));
    afc_request request = AFC_REQUEST_INIT;
    afc_result *result;
    request.url = url_of(fixture, "/");
    check_status(afc_perform(&result, fixture->session, &request, NULL), AFC_OK);
    check_slice(afc_result_get_body(result), "hello");
    afc_result_free(result);
    assert_int_equal(atomic_load(&queue->count), 0);
    fixture_free(fixture);
    queue_free(queue);
}

static void task_that_is_never_started_is_released_at_once(void **state) {
    (void)state;
    queue *queue = queue_new();
    fixture *fixture = fixture_of(queue);
    seen seen = {.thread = pthread_self()};
    afc_task *task;
    afc_request request = AFC_REQUEST_INIT;
    afc_task_events events = AFC_TASK_EVENTS_INIT;
    events.context = &seen;
    events.on_done = at_done;
    events.release = at_release;
    request.url = url_of(fixture, "/");
    check_status(afc_task_new(&task, fixture->session, &request, &events, NULL), AFC_OK);
    afc_task_release(task);
    assert_string_equal(seen.log, "x");
    /* What has an effect on a task that is started hands none to the loop before. */
    void (*const calls[])(afc_task *) = {afc_task_cancel, afc_task_wake, afc_task_suspend,
                                         afc_task_resume};
    for (size_t i = 0; i < COUNT_OF(calls); i++) {
        seen.log[0] = '\0';
        check_status(afc_task_new(&task, fixture->session, &request, &events, NULL), AFC_OK);
        afc_task_suspend(task);
        calls[i](task);
        afc_task_release(task);
        assert_string_equal(seen.log, "x");
    }
    seen.log[0] = '\0';
    request.url = "no URL";
    check_status(afc_task_new(&task, fixture->session, &request, &events, NULL), AFC_EINVAL);
    assert_string_equal(seen.log, "x");
    assert_int_equal(atomic_load(&queue->count), 0);
    fixture_free(fixture);
    queue_free(queue);
}

static void task_of_a_forked_child_completes_without_the_executor(void **state) {
    (void)state;
    if (!CAN_FORK) skip();
    queue *queue = queue_new();
    fixture *fixture = fixture_of(queue);
    afc_task *task;
    static seen seen;
    afc_request request = AFC_REQUEST_INIT;
    afc_task_events events = AFC_TASK_EVENTS_INIT;
    events.context = &seen;
    events.on_done = at_done;
    events.release = at_release;
    request.url = url_of(fixture, "/");
    check_status(afc_task_new(&task, fixture->session, &request, &events, NULL), AFC_OK);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        afc_task_start(task);
        bool completes = afc_task_wait(task, -1) == AFC_OK && seen.status == AFC_ECLOSED;
        bool is_fine = completes && strcmp(seen.log, "dx") == 0;
        child_exit(is_fine ? 0 : 1);
    }
    child_check(child);
    afc_task_release(task);
    fixture_free(fixture);
    queue_free(queue);
}

/* ---- On several threads -------------------------------------------------------------------- */

typedef struct order {
    atomic_int inside; /**< Callbacks of the task that run now. */
    atomic_bool is_wrong;
    atomic_uint done, released;
} order;

static void enter(order *order) {
    if (atomic_fetch_add(&order->inside, 1) != 0 || atomic_load(&order->released) != 0)
        atomic_store(&order->is_wrong, true);
}

static void leave(order *order) {
    atomic_fetch_sub(&order->inside, 1);
}

static void count_progress(void *context, const afc_progress *progress) {
    order *order = context;
    (void)progress;
    enter(order);
    if (atomic_load(&order->done) != 0) atomic_store(&order->is_wrong, true);
    leave(order);
}

static void count_done(void *context, afc_result *result) {
    order *order = context;
    enter(order);
    atomic_fetch_add(&order->done, 1);
    afc_result_free(result);
    leave(order);
}

static void count_release(void *context) {
    order *order = context;
    enter(order);
    if (atomic_load(&order->done) != 1) atomic_store(&order->is_wrong, true);
    leave(order);
    atomic_fetch_add(&order->released, 1);
}

static void *work(void *context) {
    while (run_next(context)) {}
    return NULL;
}

static void callbacks_of_a_task_stay_in_order_on_several_threads(void **state) {
    (void)state;
    enum { THREADS = 4 };
    queue *queue = queue_new();
    fixture *fixture = fixture_of(queue);
    static char block[16 * 1024];
    afts_script *script = afts_script_new();
    afts_respond_repeated(script, 200, NULL, block, sizeof block, 20);
    serve(fixture, "/", script);
    pthread_t threads[THREADS];
    static order orders[MANY];
    memset(orders, 0, sizeof orders);
    for (size_t i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, work, queue);
    for (size_t i = 0; i < MANY; i++) {
        afc_task *task;
        afc_request request = AFC_REQUEST_INIT;
        afc_task_events events = AFC_TASK_EVENTS_INIT;
        request.url = url_of(fixture, "/");
        request.progress_ms = 1;
        events.context = &orders[i];
        events.on_progress = count_progress;
        events.on_done = count_done;
        events.release = count_release;
        check_status(afc_task_begin(&task, fixture->session, &request, &events, NULL), AFC_OK);
        if (i % 3 == 0) afc_task_cancel(task);
        if (i % 7 == 0) check_status(afc_task_wait(task, -1), AFC_OK);
        afc_task_release(task);
    }
    fixture_close_session(fixture);
    end_queue(queue);
    for (size_t i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    for (size_t i = 0; i < MANY; i++) {
        assert_false(atomic_load(&orders[i].is_wrong));
        assert_int_equal(atomic_load(&orders[i].done), 1);
        assert_int_equal(atomic_load(&orders[i].released), 1);
    }
    fixture_free(fixture);
    queue_free(queue);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(callbacks_run_on_the_thread_of_the_executor),
        cmocka_unit_test(other_callbacks_run_on_the_loop_thread),
        cmocka_unit_test(executor_gets_only_calls_of_tasks_that_need_it),
        cmocka_unit_test(refused_call_runs_on_the_loop_thread),
        cmocka_unit_test(executor_may_call_at_once),
        cmocka_unit_test(session_closes_after_the_last_callback),
        cmocka_unit_test(perform_does_not_need_the_executor),
        cmocka_unit_test(task_that_is_never_started_is_released_at_once),
        cmocka_unit_test(task_of_a_forked_child_completes_without_the_executor),
        cmocka_unit_test(callbacks_of_a_task_stay_in_order_on_several_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
