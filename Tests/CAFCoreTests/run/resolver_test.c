/* The resolver by itself: its threads, its cache, and lookups that are cancelled. */
#include "base/clock.h"
#include "run/resolver.h"
#include "run/threads.h"
#include "support/fake_names.h"
#include "support/threads.h"
#include "support/torture.h"

#include <errno.h>
#include <netdb.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/** How long the machine was suspended. */
static atomic_long suspended_s;

/* Stands in for the C library's, in this program, because no test can suspend the machine. */
int clock_gettime(clockid_t clock, struct timespec *out) {
    int result = (int)syscall(SYS_clock_gettime, clock, out);
    if (clock == CLOCK_BOOTTIME) out->tv_sec += atomic_load(&suspended_s);
    return result;
}

/** A loop that takes lookups, and counts them. */
typedef struct taker {
    afc__loop loop;
    afc__resolver_client client;
    afc__post stop;
    bool is_stopping; /* Loop thread only. */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned taken;
    bool has_ended;
} taker;

static void note(taker *taker, bool has_ended, unsigned count) {
    pthread_mutex_lock(&taker->lock);
    taker->taken += count;
    taker->has_ended |= has_ended;
    pthread_cond_broadcast(&taker->changed);
    pthread_mutex_unlock(&taker->lock);
}

static void take_posts(void *context, afc__post *post) {
    taker *taker = context;
    for (; post != NULL; post = post->next) {
        if (post == &taker->stop) taker->is_stopping = true;
    }
    while (afc__resolver_take_ended(&taker->client) != NULL) note(taker, false, 1);
}

static afc__turn finish_turn(void *context, bool was_idle) {
    (void)was_idle;
    return ((taker *)context)->is_stopping ? AFC__TURN_END : AFC__TURN_SLEEP;
}

static void ended(void *context) {
    note(context, true, 0);
}

static void open_taker(taker *taker) {
    *taker = (struct taker){.taken = 0};
    pthread_mutex_init(&taker->lock, NULL);
    pthread_cond_init(&taker->changed, NULL);
    afc__loop_owner owner = {taker, take_posts, NULL, finish_turn, ended, "resolver-test"};
    check_status(afc__loop_init(&taker->loop, owner, NULL), AFC_OK);
    check_status(afc__resolver_open(&taker->client, &taker->loop, NULL), AFC_OK);
    check_status(afc__loop_start(&taker->loop, NULL), AFC_OK);
}

static void wait_taken(taker *taker, unsigned count) {
    pthread_mutex_lock(&taker->lock);
    while (taker->taken < count) pthread_cond_wait(&taker->changed, &taker->lock);
    pthread_mutex_unlock(&taker->lock);
}

static void close_taker(taker *taker) {
    afc__thread_will_end();
    afc__loop_post(&taker->loop, &taker->stop);
    pthread_mutex_lock(&taker->lock);
    while (!taker->has_ended) pthread_cond_wait(&taker->changed, &taker->lock);
    pthread_mutex_unlock(&taker->lock);
    afc__resolver_close(&taker->client);
    afc_join_closed_sessions();
    afc__loop_clear(&taker->loop);
    pthread_cond_destroy(&taker->changed);
    pthread_mutex_destroy(&taker->lock);
}

static int setup(void **state) {
    (void)state;
    fake_names_install();
    return 0;
}

static int teardown(void **state) {
    (void)state;
    fake_names_remove();
    /* One that has just returned from a lookup would stay for the next test. */
    wait_for_threads("af-names", 0);
    return 0;
}

static bool begin(taker *taker, afc__lookup *lookup, const char *host, afc__lookup_kind kind) {
    return afc__resolver_begin(lookup, &taker->client, host, AF_UNSPEC, kind);
}

static void release(afc__lookup *lookup) {
    afc__addresses_release(lookup->found);
    lookup->found = NULL;
}

/* -------------------------------------------------------------------------------------------- */

static void addresses_are_cached_until_they_expire(void **state) {
    (void)state;
    taker taker;
    afc__lookup lookup;
    open_taker(&taker);
    assert_false(begin(&taker, &lookup, "a.test", AFC__LOOKUP_SHARED));
    wait_taken(&taker, 1);
    assert_non_null(lookup.found);
    assert_int_equal(lookup.found->list[0].family, AF_INET);
    assert_memory_equal(lookup.found->list[0].bytes, "\x7f\0\0\1", 4);
    release(&lookup);
    assert_true(begin(&taker, &lookup, "a.test", AFC__LOOKUP_SHARED));
    release(&lookup);
    /* Another family is another question. */
    assert_false(
        afc__resolver_begin(&lookup, &taker.client, "a.test", AF_INET, AFC__LOOKUP_SHARED));
    wait_taken(&taker, 2);
    release(&lookup);
    assert_false(begin(&taker, &lookup, "a.test", AFC__LOOKUP_FRESH));
    wait_taken(&taker, 3);
    release(&lookup);
    assert_int_equal(fake_names_count("a.test"), 3);
    close_taker(&taker);
    /* With the last client the cache goes, too. */
    fake_names_live_for(0);
    open_taker(&taker);
    for (unsigned i = 1; i <= 2; i++) {
        assert_false(begin(&taker, &lookup, "a.test", AFC__LOOKUP_SHARED));
        wait_taken(&taker, i);
        release(&lookup);
    }
    close_taker(&taker);
}

static void addresses_expire_while_the_machine_is_suspended(void **state) {
    (void)state;
    taker taker;
    afc__lookup lookup;
    open_taker(&taker);
    assert_false(begin(&taker, &lookup, "a.test", AFC__LOOKUP_SHARED));
    wait_taken(&taker, 1);
    release(&lookup);
    assert_true(begin(&taker, &lookup, "a.test", AFC__LOOKUP_SHARED));
    release(&lookup);
    atomic_fetch_add(&suspended_s, 24 * 60 * 60);
    assert_false(begin(&taker, &lookup, "a.test", AFC__LOOKUP_SHARED));
    wait_taken(&taker, 2);
    release(&lookup);
    close_taker(&taker);
}

static void failures_are_not_cached(void **state) {
    (void)state;
    taker taker;
    afc__lookup lookup;
    open_taker(&taker);
    for (unsigned i = 1; i <= 2; i++) {
        assert_false(begin(&taker, &lookup, "gone.test", AFC__LOOKUP_SHARED));
        wait_taken(&taker, i);
        assert_null(lookup.found);
        assert_int_equal(lookup.error, EAI_NONAME);
    }
    assert_int_equal(fake_names_count("gone.test"), 2);
    close_taker(&taker);
}

static void cache_is_bounded(void **state) {
    (void)state;
    taker taker;
    afc__lookup lookup;
    char host[32];
    open_taker(&taker);
    for (unsigned i = 0; i <= AFC__RESOLVER_KNOWN_MAX; i++) {
        snprintf(host, sizeof host, "n%u.test", i);
        assert_false(begin(&taker, &lookup, host, AFC__LOOKUP_SHARED));
        wait_taken(&taker, i + 1);
        release(&lookup);
    }
    assert_true(begin(&taker, &lookup, host, AFC__LOOKUP_SHARED));
    release(&lookup);
    /* The oldest one made room. */
    assert_false(begin(&taker, &lookup, "n0.test", AFC__LOOKUP_SHARED));
    wait_taken(&taker, AFC__RESOLVER_KNOWN_MAX + 2);
    release(&lookup);
    close_taker(&taker);
}

static void cancelled_lookup_is_never_delivered(void **state) {
    (void)state;
    enum { COUNT = 2 * AFC__RESOLVER_THREADS_MAX };
    taker taker;
    afc__lookup lookups[COUNT], late;
    char host[32];
    open_taker(&taker);
    for (unsigned i = 0; i < COUNT; i++) {
        snprintf(host, sizeof host, "hung%u.test", i);
        assert_false(begin(&taker, &lookups[i], host, AFC__LOOKUP_SHARED));
    }
    fake_names_wait_hanging(AFC__RESOLVER_THREADS_MAX);
    assert_int_equal(count_threads("af-names"), AFC__RESOLVER_THREADS_MAX);
    assert_false(begin(&taker, &late, "late.test", AFC__LOOKUP_SHARED));
    /* Running or not: no lookup is there any more, and no thread was waited for. */
    for (unsigned i = 0; i < COUNT; i++) afc__resolver_cancel(&lookups[i]);
    fake_names_release();
    wait_taken(&taker, 1);
    release(&late);
    assert_int_equal(fake_names_count(NULL), AFC__RESOLVER_THREADS_MAX + 1);
    afc__lookup none = {0};
    afc__resolver_cancel(&none);
    close_taker(&taker);
    assert_int_equal(taker.taken, 1);
}

/** On a loop that takes nothing, so that what has ended stays where it is. */
static void finished_lookup_can_be_cancelled_before_delivery(void **state) {
    (void)state;
    afc__loop loop;
    afc__resolver_client client;
    afc__lookup first, second;
    afc__loop_owner owner = {.name = "none"};
    check_status(afc__loop_init(&loop, owner, NULL), AFC_OK);
    check_status(afc__resolver_open(&client, &loop, NULL), AFC_OK);
    assert_false(afc__resolver_begin(&first, &client, "a.test", AF_UNSPEC, AFC__LOOKUP_SHARED));
    assert_false(afc__resolver_begin(&second, &client, "gone.test", AF_UNSPEC, AFC__LOOKUP_SHARED));
    while (atomic_load(&loop.inbox) == NULL) sched_yield();
    afc__resolver_cancel(&first);
    afc__resolver_cancel(&second);
    assert_null(afc__resolver_take_ended(&client));
    afc__resolver_close(&client);
    afc_join_closed_sessions();
    afc__loop_clear(&loop);
}

static void idle_threads_end_after_a_while(void **state) {
    (void)state;
    taker taker;
    afc__lookup lookup;
    fake_names_let_threads_idle_for(1000);
    open_taker(&taker);
    assert_false(begin(&taker, &lookup, "a.test", AFC__LOOKUP_SHARED));
    wait_taken(&taker, 1);
    release(&lookup);
    wait_for_threads("af-names", 0);
    /* And come back. */
    assert_false(begin(&taker, &lookup, "b.test", AFC__LOOKUP_SHARED));
    wait_taken(&taker, 2);
    release(&lookup);
    close_taker(&taker);
}

static void idle_threads_end_with_the_last_client(void **state) {
    (void)state;
    taker first, second;
    afc__lookup lookup;
    open_taker(&first);
    open_taker(&second);
    assert_false(begin(&first, &lookup, "a.test", AFC__LOOKUP_SHARED));
    wait_taken(&first, 1);
    release(&lookup);
    close_taker(&first);
    assert_int_equal(count_threads("af-names"), 1);
    close_taker(&second);
    assert_int_equal(count_threads("af-names"), 0);
}

static void hanging_thread_is_not_waited_for_and_ends_later(void **state) {
    (void)state;
    taker taker;
    afc__lookup lookup;
    open_taker(&taker);
    assert_false(begin(&taker, &lookup, "hung.test", AFC__LOOKUP_SHARED));
    fake_names_wait_hanging(1);
    afc__resolver_cancel(&lookup);
    close_taker(&taker);
    assert_int_equal(count_threads("af-names"), 1);
    /* It still counts as one of those that there may be, and finds no task when it returns. */
    fake_names_release();
    wait_for_threads("af-names", 0);
}

static void any_allocation_may_fail(void **state) {
    (void)state;
    taker taker;
    open_taker(&taker);
    unsigned taken = 0, number = 0;
    TORTURE(n) {
        char host[32];
        afc__lookup lookup;
        snprintf(host, sizeof host, "n%u.test", number++);
        if (!begin(&taker, &lookup, host, AFC__LOOKUP_SHARED)) wait_taken(&taker, ++taken);
        bool lacks_memory = lookup.error == EAI_MEMORY ||
                            (lookup.error == EAI_SYSTEM && lookup.system_error == ENOMEM);
        assert_true(lookup.found != NULL || lacks_memory);
        release(&lookup);
    }
    assert_true(number > 2);
    close_taker(&taker);
}

#define RESOLVER_TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        RESOLVER_TEST(addresses_are_cached_until_they_expire),
        RESOLVER_TEST(addresses_expire_while_the_machine_is_suspended),
        RESOLVER_TEST(failures_are_not_cached),
        RESOLVER_TEST(cache_is_bounded),
        RESOLVER_TEST(cancelled_lookup_is_never_delivered),
        RESOLVER_TEST(finished_lookup_can_be_cancelled_before_delivery),
        RESOLVER_TEST(idle_threads_end_after_a_while),
        RESOLVER_TEST(idle_threads_end_with_the_last_client),
        RESOLVER_TEST(hanging_thread_is_not_waited_for_and_ends_later),
        RESOLVER_TEST(any_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
