/* A multi handle that fails for good ends its tasks with an error, and later ones get another handle. */
#include "support/call.h"

#include <curl/curl.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/stat.h>

typedef CURLMcode action(CURLM *multi, curl_socket_t socket, int what, int *running);
typedef CURLM *maker(void);

static action *real_action;
static maker *real_init;

typedef int controller(int epoll, int operation, int descriptor, struct epoll_event *event);

static controller *real_control;
/** The errno with which the next socket can't be watched; 0: it can. */
static atomic_int unwatched_once;

/** What the next call returns instead of running libcurl; CURLM_OK: it runs. */
static atomic_int error_once;
/** Calls with the handle of the last error, which would be the end of this program. */
static atomic_uint calls_after_error;
static _Atomic(CURLM *) broken;
/** Held while libcurl runs: a call that has sent a request may receive its response, too. */
static pthread_mutex_t running_libcurl = PTHREAD_MUTEX_INITIALIZER;
/** No further handle can be made. */
static atomic_bool lacks_memory;

static __attribute__((constructor)) void find_real(void) {
    *(void **)&real_action = dlsym(RTLD_NEXT, "curl_multi_socket_action");
    *(void **)&real_init = dlsym(RTLD_NEXT, "curl_multi_init");
    *(void **)&real_control = dlsym(RTLD_NEXT, "epoll_ctl");
}

/** Takes the place of the system's: fs.epoll.max_user_watches is reached, or memory is short. */
int epoll_ctl(int epoll, int operation, int descriptor, struct epoll_event *event) {
    struct stat facts;
    bool is_socket = fstat(descriptor, &facts) == 0 && S_ISSOCK(facts.st_mode);
    bool is_new = operation == EPOLL_CTL_ADD && is_socket;
    int error = is_new ? atomic_exchange(&unwatched_once, 0) : 0;
    if (error == 0) return real_control(epoll, operation, descriptor, event);
    errno = error;
    return -1;
}

/** Takes the place of libcurl's. */
CURLMcode curl_multi_socket_action(CURLM *multi, curl_socket_t socket, int what, int *running) {
    pthread_mutex_lock(&running_libcurl);
    CURLMcode code = (CURLMcode)atomic_exchange(&error_once, CURLM_OK);
    if (multi == atomic_load(&broken)) atomic_fetch_add(&calls_after_error, 1);
    bool fails = code != CURLM_OK;
    if (!fails) code = real_action(multi, socket, what, running);
    pthread_mutex_unlock(&running_libcurl);
    if (!fails) return code;
    if (code == CURLM_OUT_OF_MEMORY || code == CURLM_INTERNAL_ERROR) atomic_store(&broken, multi);
    return code;
}

/** The next call returns this; one that is under way ends first. */
static void fail_next_call(CURLMcode error) {
    pthread_mutex_lock(&running_libcurl);
    atomic_store(&error_once, error);
    pthread_mutex_unlock(&running_libcurl);
}

/** Takes the place of libcurl's. */
CURLM *curl_multi_init(void) {
    if (atomic_load(&lacks_memory)) return NULL;
    CURLM *multi = real_init();
    /* A new handle may have the address of the last one. */
    if (multi == atomic_load(&broken)) atomic_store(&broken, NULL);
    return multi;
}

static afts_script *stalled_answer(const char *gate) {
    afts_script *script = afts_script_new();
    afts_stall(script, gate);
    afts_respond(script, 200, NULL, "late", 4);
    return script;
}

enum { TASKS = 3 };

/** Starts tasks that wait for the server, and ends them with an error of libcurl. */
static void break_with(fixture *fixture, CURLMcode error, afc_status expected) {
    call *calls[TASKS];
    serve(fixture, "/late", stalled_answer("late"));
    for (size_t i = 0; i < TASKS; i++) {
        calls[i] = call_new(fixture, "/late");
        call_start(calls[i]);
    }
    assert_true(afts_wait_stalled(fixture->server, "late", TASKS, PATIENCE_MS));
    atomic_store(&calls_after_error, 0);
    fail_next_call(error);
    /* The bytes that the server sends make the loop call libcurl. */
    afts_release(fixture->server, "late", TASKS);
    for (size_t i = 0; i < TASKS; i++) {
        call_wait(calls[i]);
        check_ended(calls[i], expected);
        check_contains(calls[i]->failure.text, curl_multi_strerror(error));
        call_free(calls[i]);
    }
    assert_int_equal(atomic_load(&calls_after_error), 0);
}

static void replaces_multi_handle_after_an_error(void **state) {
    fixture *fixture = *state;
    check_fetch(fixture, "/", AFC_OK);
    break_with(fixture, CURLM_OUT_OF_MEMORY, AFC_ENOMEM);
    check_fetch(fixture, "/", AFC_OK);
    break_with(fixture, CURLM_INTERNAL_ERROR, AFC_EINTERNAL);
    check_fetch(fixture, "/", AFC_OK);
}

static void reports_that_no_multi_handle_can_be_made(void **state) {
    fixture *fixture = *state;
    check_fetch(fixture, "/", AFC_OK);
    atomic_store(&lacks_memory, true);
    break_with(fixture, CURLM_OUT_OF_MEMORY, AFC_ENOMEM);
    check_fetch(fixture, "/", AFC_ENOMEM);
    atomic_store(&lacks_memory, false);
    check_fetch(fixture, "/", AFC_OK);
}

typedef struct batch {
    int error;
    call *calls[TASKS];
} batch;

/** Starts the tasks in one turn of the loop, so that libcurl has them all when the first one connects. */
static void start_batch(call *call) {
    batch *batch = call->payload;
    atomic_store(&unwatched_once, batch->error);
    for (size_t i = 0; i < TASKS; i++) call_start(batch->calls[i]);
}

/** libcurl 7.88.1 would crash for a task that has no connection yet. */
static void ends_every_task_if_a_socket_cannot_be_watched(void **state) {
    fixture *fixture = *state;
    static const int errors[] = {ENOSPC, ENOMEM};
    for (size_t i = 0; i < COUNT_OF(errors); i++) {
        batch batch = {.error = errors[i]};
        for (size_t k = 0; k < TASKS; k++) batch.calls[k] = call_new(fixture, "/");
        serve(fixture, "/last", answer(200, "Connection: close", ""));
        call *first = call_new(fixture, "/last");
        first->payload = &batch;
        first->at_done = start_batch;
        call_perform(first);
        check_ended(first, AFC_OK);
        for (size_t k = 0; k < TASKS; k++) {
            call_wait(batch.calls[k]);
            check_ended(batch.calls[k], AFC_ENOMEM);
            check_contains(batch.calls[k]->failure.text, "couldn't be watched");
            call_free(batch.calls[k]);
        }
        call_free(first);
        check_fetch(fixture, "/", AFC_OK);
    }
}

/** The task that was to be ended goes on, or ends with an error of its own. */
static void survives_harmless_errors(void **state) {
    fixture *fixture = *state;
    static const CURLMcode harmless[] = {CURLM_BAD_SOCKET, CURLM_RECURSIVE_API_CALL};
    for (size_t i = 0; i < COUNT_OF(harmless); i++) {
        serve(fixture, "/late", stalled_answer("late"));
        call *call = call_new(fixture, "/late");
        call_start(call);
        assert_true(afts_wait_stalled(fixture->server, "late", 1, PATIENCE_MS));
        fail_next_call(harmless[i]);
        afts_release(fixture->server, "late", 1);
        call_wait(call);
        check_ended(call, AFC_OK);
        call_free(call);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(replaces_multi_handle_after_an_error),
        FIXTURE_TEST(reports_that_no_multi_handle_can_be_made),
        FIXTURE_TEST(ends_every_task_if_a_socket_cannot_be_watched),
        FIXTURE_TEST(survives_harmless_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
