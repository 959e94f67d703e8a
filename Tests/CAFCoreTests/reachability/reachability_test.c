/* Monitors as a program uses them; the loopback is all that they need of a network. */
#include "support/child.h"
#include "support/threads.h"
#include "support/torture.h"
#include "support/watcher.h"
#include "support/world.h"

#include <semaphore.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static const char home[] = "127.0.0.1";

static void monitor_is_unknown_before_its_start(void **state) {
    (void)state;
    static const char *const hosts[] = {NULL, "127.0.0.1", "::1", "fe80::1%lo", "localhost"};
    for (size_t i = 0; i < COUNT_OF(hosts); i++) {
        watcher *watcher = watcher_new(hosts[i]);
        afc_reachability now;
        afc_reach_monitor_get_state(watcher->monitor, &now);
        assert_int_equal(now.status, AFC_REACH_UNKNOWN);
        assert_int_equal(now.link, AFC_LINK_UNKNOWN);
        assert_string_equal(now.link_name, "");
        afc_reach_monitor_stop(watcher->monitor);
        assert_int_equal(count_threads("af-reach"), 0);
        watcher_free(watcher);
    }
}

static void refuses_invalid_hosts(void **state) {
    (void)state;
    char host[300];
    memset(host, 'a', sizeof host);
    host[256] = 0;
    afc_reach_monitor *monitor;
    afc_failure failure;
    afc_reach_monitor_options options = AFC_REACH_MONITOR_OPTIONS_INIT;
    options.host = host;
    check_status(afc_reach_monitor_new(&monitor, &options, &failure), AFC_EINVAL);
    check_contains(failure.text, "255");
    assert_null(monitor);
    options.host = "";
    check_status(afc_reach_monitor_new(&monitor, &options, NULL), AFC_EINVAL);
    options.size = 0;
    check_status(afc_reach_monitor_new(&monitor, &options, NULL), AFC_EINVAL);
    host[255] = 0;
    options = (afc_reach_monitor_options)AFC_REACH_MONITOR_OPTIONS_INIT;
    options.host = host;
    check_status(afc_reach_monitor_new(&monitor, &options, NULL), AFC_OK);
    afc_reach_monitor_free(monitor);
    check_status(afc_reach_monitor_new(&monitor, NULL, NULL), AFC_OK);
    afc_reach_monitor_free(monitor);
    afc_reach_monitor_free(NULL);
}

static void start_reports_the_state_once(void **state) {
    (void)state;
    watcher *watcher = watcher_start(home);
    afc_reachability now = watcher_expect(watcher, AFC_REACH_VIA_WIFI, "lo");
    assert_int_equal(now.link, AFC_LINK_LOOPBACK);
    afc_reach_monitor_get_state(watcher->monitor, &now);
    assert_int_equal(now.status, AFC_REACH_VIA_WIFI);
    check_status(afc_reach_monitor_start(watcher->monitor, NULL), AFC_OK);
    watcher_expect_told(watcher, 2);
    afc_reach_monitor_stop(watcher->monitor);
    /* What was seen stays. */
    afc_reach_monitor_get_state(watcher->monitor, &now);
    assert_int_equal(now.status, AFC_REACH_VIA_WIFI);
    watcher_free(watcher);
    afc_join_closed_sessions();
}

static void looks_up_names(void **state) {
    (void)state;
    watcher *watcher = watcher_start("localhost");
    watcher_expect(watcher, AFC_REACH_VIA_WIFI, "lo");
    watcher_free(watcher);
    afc_join_closed_sessions();
}

static void monitors_share_a_thread_until_the_last_ends(void **state) {
    (void)state;
    watcher *first = watcher_start(home);
    watcher *second = watcher_start("127.0.0.2");
    watcher_expect(first, AFC_REACH_VIA_WIFI, "lo");
    watcher_expect(second, AFC_REACH_VIA_WIFI, "lo");
    assert_int_equal(count_threads("af-reach"), 1);
    afc_reach_monitor_stop(first->monitor);
    assert_int_equal(count_threads("af-reach"), 1);
    watcher_free(second);
    afc_join_closed_sessions();
    assert_int_equal(count_threads("af-reach"), 0);
    check_status(afc_reach_monitor_start(first->monitor, NULL), AFC_OK);
    watcher_expect_told(first, 2);
    watcher_free(first);
    afc_join_closed_sessions();
    assert_int_equal(count_threads("af-reach"), 0);
}

static void thread_closes_its_descriptors(void **state) {
    (void)state;
    size_t before = count_descriptors();
    for (int i = 0; i < 20; i++) {
        watcher *watcher = watcher_start(i % 2 == 0 ? home : "localhost");
        watcher_expect_told(watcher, 1);
        watcher_free(watcher);
        afc_join_closed_sessions();
    }
    assert_int_equal(count_descriptors(), before);
}

/* ---- Inside callbacks ---------------------------------------------------------------------- */

static void stop(watcher *watcher) {
    afc_reach_monitor_stop(watcher->monitor);
}

static void restart_twice(watcher *watcher) {
    if (watcher->told < 3) afc_reach_monitor_start(watcher->monitor, NULL);
}

static void free_monitor(watcher *watcher) {
    afc_reach_monitor_free(watcher->monitor);
    watcher->monitor = NULL;
}

static void free_other(watcher *watcher) {
    afc_reach_monitor_free(watcher->context);
    watcher->context = NULL;
}

static void a_callback_may_stop_start_and_free(void **state) {
    (void)state;
    static void (*const acts[])(watcher *) = {stop, restart_twice, free_monitor};
    static const size_t told[] = {1, 3, 1};
    for (size_t i = 0; i < COUNT_OF(acts); i++) {
        watcher *watcher = watcher_new(home);
        watcher->then = acts[i];
        check_status(afc_reach_monitor_start(watcher->monitor, NULL), AFC_OK);
        watcher_expect_told(watcher, told[i]);
        if (acts[i] == free_monitor) watcher_expect_dropped(watcher);
        watcher_free(watcher);
        afc_join_closed_sessions();
    }
}

static void a_callback_may_free_another_monitor(void **state) {
    (void)state;
    watcher *other = watcher_start("127.0.0.2");
    watcher_expect_told(other, 1);
    watcher *watcher = watcher_new(home);
    watcher->then = free_other;
    watcher->context = other->monitor;
    other->monitor = NULL;
    check_status(afc_reach_monitor_start(watcher->monitor, NULL), AFC_OK);
    watcher_expect_dropped(other);
    watcher_free(other);
    watcher_free(watcher);
    afc_join_closed_sessions();
}

typedef struct gate {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_inside, is_open;
} gate;

static void wait_at_gate(watcher *watcher) {
    gate *gate = watcher->context;
    pthread_mutex_lock(&gate->lock);
    gate->is_inside = true;
    pthread_cond_broadcast(&gate->changed);
    while (!gate->is_open) pthread_cond_wait(&gate->changed, &gate->lock);
    pthread_mutex_unlock(&gate->lock);
}

static void a_monitor_may_be_freed_while_its_callback_runs(void **state) {
    (void)state;
    gate gate = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false, false};
    watcher *watcher = watcher_new(home);
    watcher->then = wait_at_gate;
    watcher->context = &gate;
    check_status(afc_reach_monitor_start(watcher->monitor, NULL), AFC_OK);
    pthread_mutex_lock(&gate.lock);
    while (!gate.is_inside) pthread_cond_wait(&gate.changed, &gate.lock);
    pthread_mutex_unlock(&gate.lock);
    afc_reach_monitor_free(watcher->monitor);
    watcher->monitor = NULL;
    /* Its context is still in use. */
    pthread_mutex_lock(&watcher->lock);
    assert_int_equal(watcher->dropped, 0);
    pthread_mutex_unlock(&watcher->lock);
    pthread_mutex_lock(&gate.lock);
    gate.is_open = true;
    pthread_cond_broadcast(&gate.changed);
    pthread_mutex_unlock(&gate.lock);
    watcher_free(watcher);
    afc_join_closed_sessions();
}

/* ---- Many at once -------------------------------------------------------------------------- */

static void *use_monitors(void *context) {
    uint64_t random = (uintptr_t)context;
    static const char *const hosts[] = {NULL, "127.0.0.1", "localhost", "::1"};
    watcher *watchers[4];
    for (size_t i = 0; i < COUNT_OF(watchers); i++) watchers[i] = watcher_new(hosts[i]);
    for (int i = 0; i < 300; i++) {
        uint64_t choice = next_random(&random);
        watcher *watcher = watchers[choice % COUNT_OF(watchers)];
        afc_reachability now;
        switch (choice / 16 % 4) {
        case 0:
            afc_reach_monitor_stop(watcher->monitor);
            break;
        case 1:
            afc_reach_monitor_get_state(watcher->monitor, &now);
            break;
        default:
            check_status(afc_reach_monitor_start(watcher->monitor, NULL), AFC_OK);
            break;
        }
    }
    for (size_t i = 0; i < COUNT_OF(watchers); i++) watcher_free(watchers[i]);
    return NULL;
}

static void any_thread_may_use_monitors(void **state) {
    (void)state;
    pthread_t threads[4];
    for (size_t i = 0; i < COUNT_OF(threads); i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, use_monitors, (void *)(i + 1)), 0);
    }
    for (size_t i = 0; i < COUNT_OF(threads); i++) pthread_join(threads[i], NULL);
    afc_join_closed_sessions();
    /* Threads that look names up aren't waited for. One that hasn't run yet has the name of the thread that made it. */
    wait_for_threads("af-reach", 0);
    wait_for_threads("af-names", 0);
}

static void *name_itself(void *unused) {
    pthread_setname_np(pthread_self(), "af-joined");
    return unused;
}

/** What the counts above rest on: the kernel lists a thread for a moment after it was joined. */
static void joined_threads_are_not_counted(void **state) {
    (void)state;
    for (int i = 0; i < 500; i++) {
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, name_itself, NULL), 0);
        pthread_join(thread, NULL);
        assert_int_equal(count_threads("af-joined"), 0);
    }
    pthread_setname_np(pthread_self(), "af (a) name");
    assert_int_equal(count_threads("af (a) name"), 1);
}

/* ---- Forks and memory ---------------------------------------------------------------------- */

static void tell_pipe(void *context, const afc_reachability *state) {
    char status = (char)state->status;
    ssize_t written = write(*(int *)context, &status, 1);
    (void)written;
}

/** A child's monitors tell through a pipe, because no assertion may run there. */
static void child_process_has_its_own_monitors(void **state) {
    (void)state;
    if (!CAN_FORK) skip();
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    afc_reach_monitor_options options = AFC_REACH_MONITOR_OPTIONS_INIT;
    options.host = home;
    options.on_change = tell_pipe;
    options.context = &ends[1];
    afc_reach_monitor *monitor;
    check_status(afc_reach_monitor_new(&monitor, &options, NULL), AFC_OK);
    check_status(afc_reach_monitor_start(monitor, NULL), AFC_OK);
    char told = 0;
    assert_int_equal(read(ends[0], &told, 1), 1);
    for (int way = 0; way < 3; way++) {
        pid_t child = fork();
        if (child == 0) {
            bool is_fine = count_threads("af-reach") == 0;
            if (way == 1) afc_reach_monitor_stop(monitor);
            if (way == 2) {
                is_fine &= afc_reach_monitor_start(monitor, NULL) == AFC_OK;
                is_fine &= read(ends[0], &told, 1) == 1 && told == AFC_REACH_VIA_WIFI;
            }
            afc_reach_monitor_free(monitor);
            afc_join_closed_sessions();
            child_exit(is_fine && count_threads("af-reach") == 0 ? 0 : 1);
        }
        child_check(child);
    }
    /* The parent's goes on. */
    check_status(afc_reach_monitor_start(monitor, NULL), AFC_OK);
    assert_int_equal(read(ends[0], &told, 1), 1);
    assert_int_equal(told, AFC_REACH_VIA_WIFI);
    afc_reach_monitor_free(monitor);
    afc_join_closed_sessions();
    close(ends[0]);
    close(ends[1]);
}

static void post_semaphore(void *context, const afc_reachability *state) {
    (void)state;
    sem_post(context);
}

static void any_allocation_may_fail(void **state) {
    (void)state;
    static const char *const hosts[] = {"127.0.0.1", "localhost"};
    for (size_t i = 0; i < COUNT_OF(hosts); i++) {
        TORTURE(n) {
            afc_reach_monitor *monitor;
            afc_reach_monitor_options options = AFC_REACH_MONITOR_OPTIONS_INIT;
            sem_t was_told;
            sem_init(&was_told, 0, 0);
            options.host = hosts[i];
            options.on_change = post_semaphore;
            options.context = &was_told;
            afc_status status = afc_reach_monitor_new(&monitor, &options, NULL);
            if (status == AFC_OK) status = afc_reach_monitor_start(monitor, NULL);
            assert_true(status == AFC_OK || status == AFC_ENOMEM || status == AFC_EINTERNAL);
            while (status == AFC_OK && sem_wait(&was_told) != 0) {}
            afc_reach_monitor_free(monitor);
            afc_join_closed_sessions();
            sem_destroy(&was_told);
        }
    }
}

static void statuses_have_the_texts_of_afnetworking(void **state) {
    (void)state;
    assert_string_equal(afc_reach_status_text(AFC_REACH_UNKNOWN), "Unknown");
    assert_string_equal(afc_reach_status_text(AFC_REACH_NONE), "Not Reachable");
    assert_string_equal(afc_reach_status_text(AFC_REACH_VIA_WWAN), "Reachable via WWAN");
    assert_string_equal(afc_reach_status_text(AFC_REACH_VIA_WIFI), "Reachable via WiFi");
    assert_string_equal(afc_reach_status_text((afc_reach_status)17), "Unknown");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(monitor_is_unknown_before_its_start),
        cmocka_unit_test(refuses_invalid_hosts),
        cmocka_unit_test(start_reports_the_state_once),
        cmocka_unit_test(looks_up_names),
        cmocka_unit_test(monitors_share_a_thread_until_the_last_ends),
        cmocka_unit_test(thread_closes_its_descriptors),
        cmocka_unit_test(a_callback_may_stop_start_and_free),
        cmocka_unit_test(a_callback_may_free_another_monitor),
        cmocka_unit_test(a_monitor_may_be_freed_while_its_callback_runs),
        cmocka_unit_test(any_thread_may_use_monitors),
        cmocka_unit_test(joined_threads_are_not_counted),
        cmocka_unit_test(child_process_has_its_own_monitors),
        cmocka_unit_test(any_allocation_may_fail),
        cmocka_unit_test(statuses_have_the_texts_of_afnetworking),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
