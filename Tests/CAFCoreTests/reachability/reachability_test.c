/* Monitors as a program uses them; the loopback is all that they need of a network. */
#include "session/task_connectivity.h"
#include "support/child.h"
#include "support/fixture.h"
#include "support/recording_monitor.h"
#include "support/threads.h"
#include "support/torture.h"

#include <dlfcn.h>
#include <errno.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static const char home[] = "127.0.0.1";

/* ---- Faults ---------------------------------------------------------------------------------- */

/* While it isn't 0, routes can't be asked for. */
static _Atomic int route_error;
static atomic_uint unanswered;

/** Passes on to libc, unless it is for a route. */
int socket(int family, int type, int protocol) {
    static int (*real)(int, int, int);
    if (real == NULL) *(void **)&real = dlsym(RTLD_NEXT, "socket");
    int error = atomic_load(&route_error);
    if (error == 0 || family == AF_NETLINK) return real(family, type, protocol);
    atomic_fetch_add(&unanswered, 1);
    errno = error;
    return -1;
}

/* ---- Tests ----------------------------------------------------------------------------------- */

static void monitor_is_unknown_before_its_start(void **state) {
    (void)state;
    static const char *const hosts[] = {NULL, "127.0.0.1", "::1", "fe80::1%lo", "localhost"};
    for (size_t i = 0; i < COUNT_OF(hosts); i++) {
        recording_monitor *recording = recording_monitor_new(hosts[i]);
        afc_reachability now;
        afc_reach_monitor_get_state(recording->monitor, &now);
        assert_int_equal(now.status, AFC_REACH_UNKNOWN);
        assert_int_equal(now.link, AFC_LINK_UNKNOWN);
        assert_string_equal(now.link_name, "");
        afc_reach_monitor_stop(recording->monitor);
        assert_int_equal(count_threads("af-reach"), 0);
        recording_monitor_free(recording);
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
    recording_monitor *recording = recording_monitor_start(home);
    afc_reachability now = recording_monitor_expect(recording, AFC_REACH_VIA_WIFI, "lo");
    assert_int_equal(now.link, AFC_LINK_LOOPBACK);
    afc_reach_monitor_get_state(recording->monitor, &now);
    assert_int_equal(now.status, AFC_REACH_VIA_WIFI);
    check_status(afc_reach_monitor_start(recording->monitor, NULL), AFC_OK);
    recording_monitor_expect_reports(recording, 2);
    afc_reach_monitor_stop(recording->monitor);
    /* What was seen stays. */
    afc_reach_monitor_get_state(recording->monitor, &now);
    assert_int_equal(now.status, AFC_REACH_VIA_WIFI);
    recording_monitor_free(recording);
    afc_join_closed_sessions();
}

static void unknown_route_is_asked_for_again(void **state) {
    (void)state;
    static const int errors[] = {EMFILE, ENFILE, ENOMEM, ENOBUFS};
    for (size_t i = 0; i < COUNT_OF(errors); i++) {
        atomic_store(&unanswered, 0);
        atomic_store(&route_error, errors[i]);
        recording_monitor *recording = recording_monitor_start(home);
        /* Nothing changes in the network meanwhile. */
        while (atomic_load(&unanswered) < 2) sched_yield();
        assert_int_equal(recording_monitor_report_count(recording), 0);
        atomic_store(&route_error, 0);
        recording_monitor_expect(recording, AFC_REACH_VIA_WIFI, "lo");
        assert_int_equal(recording_monitor_report_count(recording), 1);
        recording_monitor_free(recording);
        afc_join_closed_sessions();
    }
}

static void unsupported_family_has_no_route(void **state) {
    (void)state;
    atomic_store(&route_error, EAFNOSUPPORT);
    recording_monitor *recording = recording_monitor_start(home);
    recording_monitor_expect(recording, AFC_REACH_NONE, "");
    atomic_store(&route_error, 0);
    recording_monitor_free(recording);
    afc_join_closed_sessions();
}

static void unknown_route_is_not_offline(void **state) {
    (void)state;
    afc_failure failure = {.status = AFC_EDNS};
    atomic_store(&route_error, EMFILE);
    afc__task_explain_offline(&failure);
    assert_int_equal(failure.reason, AFC_REASON_NONE);
    atomic_store(&route_error, EAFNOSUPPORT);
    failure.system_error = EMFILE;
    afc__task_explain_offline(&failure);
    assert_int_equal(failure.reason, AFC_REASON_NONE);
    failure.system_error = 0;
    afc__task_explain_offline(&failure);
    assert_int_equal(failure.reason, AFC_REASON_OFFLINE);
    /* A name may be in any script, and longer than the text. */
    failure = (afc_failure){.status = AFC_EDNS, .text = "x"};
    for (size_t i = 1; i + 2 < sizeof failure.text; i += 2) {
        memcpy(failure.text + i, "\xc3\xbc", 3);
    }
    afc__task_explain_offline(&failure);
    atomic_store(&route_error, 0);
    check_contains(failure.text, "no route to the internet: x\xc3\xbc");
    assert_int_equal((unsigned char)failure.text[strlen(failure.text) - 1], 0xbc);
}

static void looks_up_names(void **state) {
    (void)state;
    recording_monitor *recording = recording_monitor_start("localhost");
    recording_monitor_expect(recording, AFC_REACH_VIA_WIFI, "lo");
    recording_monitor_free(recording);
    afc_join_closed_sessions();
}

static void monitors_share_a_thread_until_the_last_ends(void **state) {
    (void)state;
    recording_monitor *first = recording_monitor_start(home);
    recording_monitor *second = recording_monitor_start("127.0.0.2");
    recording_monitor_expect(first, AFC_REACH_VIA_WIFI, "lo");
    recording_monitor_expect(second, AFC_REACH_VIA_WIFI, "lo");
    assert_int_equal(count_threads("af-reach"), 1);
    afc_reach_monitor_stop(first->monitor);
    assert_int_equal(count_threads("af-reach"), 1);
    recording_monitor_free(second);
    afc_join_closed_sessions();
    assert_int_equal(count_threads("af-reach"), 0);
    check_status(afc_reach_monitor_start(first->monitor, NULL), AFC_OK);
    recording_monitor_expect_reports(first, 2);
    recording_monitor_free(first);
    afc_join_closed_sessions();
    assert_int_equal(count_threads("af-reach"), 0);
}

static void thread_closes_its_descriptors(void **state) {
    (void)state;
    size_t before = count_descriptors();
    for (int i = 0; i < 20; i++) {
        recording_monitor *recording = recording_monitor_start(i % 2 == 0 ? home : "localhost");
        recording_monitor_expect_reports(recording, 1);
        recording_monitor_free(recording);
        afc_join_closed_sessions();
    }
    assert_int_equal(count_descriptors(), before);
}

/* ---- Inside callbacks ---------------------------------------------------------------------- */

static void stop(recording_monitor *recording) {
    afc_reach_monitor_stop(recording->monitor);
}

static void restart_twice(recording_monitor *recording) {
    if (recording->report_count < 3) afc_reach_monitor_start(recording->monitor, NULL);
}

static void free_monitor(recording_monitor *recording) {
    afc_reach_monitor_free(recording->monitor);
    recording->monitor = NULL;
}

static void free_other(recording_monitor *recording) {
    afc_reach_monitor_free(recording->context);
    recording->context = NULL;
}

static void a_callback_may_stop_start_and_free(void **state) {
    (void)state;
    static void (*const acts[])(recording_monitor *) = {stop, restart_twice, free_monitor};
    static const size_t report_count[] = {1, 3, 1};
    for (size_t i = 0; i < COUNT_OF(acts); i++) {
        recording_monitor *recording = recording_monitor_new(home);
        recording->on_change = acts[i];
        check_status(afc_reach_monitor_start(recording->monitor, NULL), AFC_OK);
        recording_monitor_expect_reports(recording, report_count[i]);
        if (acts[i] == free_monitor) recording_monitor_expect_release(recording);
        recording_monitor_free(recording);
        afc_join_closed_sessions();
    }
}

static void a_callback_may_free_another_monitor(void **state) {
    (void)state;
    recording_monitor *other = recording_monitor_start("127.0.0.2");
    recording_monitor_expect_reports(other, 1);
    recording_monitor *recording = recording_monitor_new(home);
    recording->on_change = free_other;
    recording->context = other->monitor;
    other->monitor = NULL;
    check_status(afc_reach_monitor_start(recording->monitor, NULL), AFC_OK);
    recording_monitor_expect_release(other);
    recording_monitor_free(other);
    recording_monitor_free(recording);
    afc_join_closed_sessions();
}

typedef struct gate {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_inside, is_open;
} gate;

static void wait_at_gate(recording_monitor *recording) {
    gate *gate = recording->context;
    pthread_mutex_lock(&gate->lock);
    gate->is_inside = true;
    pthread_cond_broadcast(&gate->changed);
    while (!gate->is_open) pthread_cond_wait(&gate->changed, &gate->lock);
    pthread_mutex_unlock(&gate->lock);
}

static void a_monitor_may_be_freed_while_its_callback_runs(void **state) {
    (void)state;
    gate gate = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false, false};
    recording_monitor *recording = recording_monitor_new(home);
    recording->on_change = wait_at_gate;
    recording->context = &gate;
    check_status(afc_reach_monitor_start(recording->monitor, NULL), AFC_OK);
    pthread_mutex_lock(&gate.lock);
    while (!gate.is_inside) pthread_cond_wait(&gate.changed, &gate.lock);
    pthread_mutex_unlock(&gate.lock);
    afc_reach_monitor_free(recording->monitor);
    recording->monitor = NULL;
    /* Its context is still in use. */
    pthread_mutex_lock(&recording->lock);
    assert_int_equal(recording->release_count, 0);
    pthread_mutex_unlock(&recording->lock);
    pthread_mutex_lock(&gate.lock);
    gate.is_open = true;
    pthread_cond_broadcast(&gate.changed);
    pthread_mutex_unlock(&gate.lock);
    recording_monitor_free(recording);
    afc_join_closed_sessions();
}

/* ---- Many at once -------------------------------------------------------------------------- */

static void *use_monitors(void *context) {
    uint64_t random = (uintptr_t)context;
    static const char *const hosts[] = {NULL, "127.0.0.1", "localhost", "::1"};
    recording_monitor *watchers[4];
    for (size_t i = 0; i < COUNT_OF(watchers); i++) watchers[i] = recording_monitor_new(hosts[i]);
    for (int i = 0; i < 300; i++) {
        uint64_t choice = next_random(&random);
        recording_monitor *recording = watchers[choice % COUNT_OF(watchers)];
        afc_reachability now;
        switch (choice / 16 % 4) {
        case 0:
            afc_reach_monitor_stop(recording->monitor);
            break;
        case 1:
            afc_reach_monitor_get_state(recording->monitor, &now);
            break;
        default:
            check_status(afc_reach_monitor_start(recording->monitor, NULL), AFC_OK);
            break;
        }
    }
    for (size_t i = 0; i < COUNT_OF(watchers); i++) recording_monitor_free(watchers[i]);
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
    char report_count = 0;
    assert_int_equal(read(ends[0], &report_count, 1), 1);
    for (int way = 0; way < 3; way++) {
        pid_t child = fork();
        if (child == 0) {
            bool is_fine = count_threads("af-reach") == 0;
            if (way == 1) afc_reach_monitor_stop(monitor);
            if (way == 2) {
                is_fine &= afc_reach_monitor_start(monitor, NULL) == AFC_OK;
                is_fine &= read(ends[0], &report_count, 1) == 1 &&
                           report_count == AFC_REACH_VIA_WIFI;
            }
            afc_reach_monitor_free(monitor);
            afc_join_closed_sessions();
            child_exit(is_fine && count_threads("af-reach") == 0 ? 0 : 1);
        }
        child_check(child);
    }
    /* The parent's goes on. */
    check_status(afc_reach_monitor_start(monitor, NULL), AFC_OK);
    assert_int_equal(read(ends[0], &report_count, 1), 1);
    assert_int_equal(report_count, AFC_REACH_VIA_WIFI);
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
        cmocka_unit_test(unknown_route_is_asked_for_again),
        cmocka_unit_test(unsupported_family_has_no_route),
        cmocka_unit_test(unknown_route_is_not_offline),
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
