/* afc_session_wake(): the program's work on the loop thread. */
#include "support/call.h"
#include "support/child.h"

#include <poll.h>
#include <time.h>
#include <unistd.h>

/** What on_wake does and counts. */
typedef struct waker {
    atomic_uint count;
    atomic_uint rounds; /**< How often it wakes the session again. */
    afc_session *session;
    pthread_t thread; /**< Thread of the last call. */
    pthread_mutex_t lock;
    pthread_cond_t changed;
} waker;

static void on_wake(void *context) {
    waker *waker = context;
    /* Another thread may set it to 0 at any moment, from where it must not be counted down. */
    unsigned rounds = atomic_load(&waker->rounds);
    if (rounds > 0 && atomic_compare_exchange_strong(&waker->rounds, &rounds, rounds - 1)) {
        afc_session_wake(waker->session);
    }
    pthread_mutex_lock(&waker->lock);
    waker->thread = pthread_self();
    atomic_fetch_add(&waker->count, 1);
    pthread_cond_broadcast(&waker->changed);
    pthread_mutex_unlock(&waker->lock);
}

static fixture *fixture_with(waker *waker, afc_session_loop loop) {
    *waker = (struct waker){.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    options.loop = loop;
    options.on_wake = on_wake;
    options.context = waker;
    fixture *fixture = fixture_new(NULL, &options);
    waker->session = fixture->session;
    return fixture;
}

static void wait_for(waker *waker, unsigned count) {
    struct timespec deadline;
    clock_gettime(CLOCK_REALTIME, &deadline);
    deadline.tv_sec += PATIENCE_MS / 1000;
    int error = 0;
    pthread_mutex_lock(&waker->lock);
    while (atomic_load(&waker->count) < count && error == 0) {
        error = pthread_cond_timedwait(&waker->changed, &waker->lock, &deadline);
    }
    pthread_mutex_unlock(&waker->lock);
    assert_int_equal(error, 0);
}

static void remember_thread(call *call) {
    *(pthread_t *)call->payload = pthread_self();
}

static void calls_on_wake_on_the_loop_thread(void **state) {
    (void)state;
    waker waker;
    fixture *fixture = fixture_with(&waker, AFC_LOOP_THREAD);
    pthread_t loop;
    call *call = call_new(fixture, "/");
    call->payload = &loop;
    call->at_done = remember_thread;
    call_perform(call);
    /* Each call is followed by an on_wake, whether the loop sleeps or not. */
    for (unsigned i = 0; i < 1000; i++) {
        unsigned before = atomic_load(&waker.count);
        afc_session_wake(fixture->session);
        wait_for(&waker, before + 1);
    }
    assert_true(pthread_equal(waker.thread, loop));
    call_free(call);
    fixture_free(fixture);
}

static void *wake_often(void *context) {
    for (int i = 0; i < 1000; i++) afc_session_wake(context);
    return NULL;
}

static void calls_of_many_threads_lose_no_wake_up(void **state) {
    (void)state;
    enum { THREADS = 4 };
    waker waker;
    fixture *fixture = fixture_with(&waker, AFC_LOOP_THREAD);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, wake_often, fixture->session), 0);
    }
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    unsigned before = atomic_load(&waker.count);
    afc_session_wake(fixture->session);
    wait_for(&waker, before + 1);
    assert_in_range(atomic_load(&waker.count), 1, THREADS * 1000 + 1);
    fixture_free(fixture);
}

static void wake_many(call *call) {
    for (int i = 0; i < 100; i++) afc_session_wake(call->session);
}

static void calls_of_a_callback_become_one_after_it(void **state) {
    (void)state;
    waker waker;
    fixture *fixture = fixture_with(&waker, AFC_LOOP_THREAD);
    afc_session_statistics before, after;
    call *call = call_new(fixture, "/");
    call->at_done = wake_many;
    afc_session_get_statistics(fixture->session, &before);
    call_perform(call);
    wait_for(&waker, 1);
    afc_session_get_statistics(fixture->session, &after);
    check_fetch(fixture, "/", AFC_OK);
    assert_int_equal(atomic_load(&waker.count), 1);
    assert_int_equal(after.posts - before.posts, 1); /* The start. */
    call_free(call);
    fixture_free(fixture);
}

static void one_that_wakes_itself_lets_transfers_proceed(void **state) {
    (void)state;
    enum { ROUNDS = 1000000000 };
    waker waker;
    fixture *fixture = fixture_with(&waker, AFC_LOOP_THREAD);
    atomic_store(&waker.rounds, ROUNDS);
    afc_session_wake(fixture->session);
    for (int i = 0; i < 3; i++) check_fetch(fixture, "/", AFC_OK);
    /* It is still called: a fetch takes one turn of the loop or more. */
    wait_for(&waker, atomic_load(&waker.count) + 100);
    assert_true(atomic_load(&waker.rounds) > 0);
    atomic_store(&waker.rounds, 0);
    fixture_free(fixture);
}

static void session_closes_after_the_last_on_wake(void **state) {
    (void)state;
    for (int i = 0; i < 100; i++) {
        waker waker;
        fixture *fixture = fixture_with(&waker, AFC_LOOP_THREAD);
        afc_session_wake(fixture->session);
        fixture_free(fixture); /* Releases it, and waits for its thread. */
        assert_int_equal(atomic_load(&waker.count), 1);
    }
}

static void has_no_effect_without_on_wake(void **state) {
    fixture *fixture = *state;
    afc_session_statistics before, after;
    check_fetch(fixture, "/", AFC_OK);
    afc_session_get_statistics(fixture->session, &before);
    afc_session_wake(fixture->session);
    afc_session_get_statistics(fixture->session, &after);
    assert_int_equal(after.posts, before.posts);
    check_fetch(fixture, "/", AFC_OK);
}

static void dispatch_calls_on_wake(void **state) {
    (void)state;
    waker waker;
    fixture *fixture = fixture_with(&waker, AFC_LOOP_EXTERNAL);
    struct pollfd polled = {.fd = afc_session_get_fd(fixture->session), .events = POLLIN};
    check_status(afc_session_dispatch(fixture->session), AFC_OK);
    for (unsigned i = 1; i <= 3; i++) {
        assert_int_equal(poll(&polled, 1, 0), 0);
        afc_session_wake(fixture->session);
        assert_int_equal(atomic_load(&waker.count), i - 1);
        assert_int_equal(poll(&polled, 1, PATIENCE_MS), 1);
        check_status(afc_session_dispatch(fixture->session), AFC_OK);
        assert_int_equal(atomic_load(&waker.count), i);
    }
    /* A dispatch ends although on_wake always wakes again, and the next one is due at once. */
    atomic_store(&waker.rounds, 1000);
    afc_session_wake(fixture->session);
    check_status(afc_session_dispatch(fixture->session), AFC_OK);
    assert_in_range(atomic_load(&waker.count), 4, 100);
    assert_int_equal(afc_session_get_timeout_ms(fixture->session), 0);
    atomic_store(&waker.rounds, 0);
    afc_session *session = fixture->session;
    fixture->session = NULL;
    afc_session_release(session);
    while (afc_session_dispatch(session) == AFC_OK) {}
    fixture_free(fixture);
}

static void has_no_effect_in_a_child(void **state) {
    (void)state;
    waker waker;
    fixture *fixture = fixture_with(&waker, AFC_LOOP_THREAD);
    afc_session_wake(fixture->session);
    wait_for(&waker, 1);
    if (CAN_FORK) {
        pid_t child = fork();
        if (child == 0) {
            afc_session_wake(fixture->session);
            child_exit(atomic_load(&waker.count) == 1 ? 0 : 1);
        }
        child_check(child);
    }
    afc_session_wake(fixture->session);
    wait_for(&waker, 2);
    fixture_free(fixture);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_on_wake_on_the_loop_thread),
        cmocka_unit_test(calls_of_many_threads_lose_no_wake_up),
        cmocka_unit_test(calls_of_a_callback_become_one_after_it),
        cmocka_unit_test(one_that_wakes_itself_lets_transfers_proceed),
        cmocka_unit_test(session_closes_after_the_last_on_wake),
        FIXTURE_TEST(has_no_effect_without_on_wake),
        cmocka_unit_test(dispatch_calls_on_wake),
        cmocka_unit_test(has_no_effect_in_a_child),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
