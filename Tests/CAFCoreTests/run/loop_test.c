/* The loop by itself: posts, alarms and descriptors. */
#include "base/clock.h"
#include "run/loop.h"
#include "run/threads.h"
#include "support/check.h"

#include <afcore/session.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

/** The owner of a loop under test. */
typedef struct owner {
    afc__loop loop;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    afc__post stop;
    bool is_stopping; /* Loop thread only. */
    void (*taken)(struct owner *owner, afc__post *post);
    bool has_ended;
    size_t posts, rings, reads;
    /* Loop thread only: how often `after_socket` was called, and an alarm rang again in the same turn. */
    size_t sockets, repeats;
    int order[8];
    size_t order_count;
} owner;

static void take_posts(void *context, afc__post *post) {
    owner *owner = context;
    while (post != NULL) {
        afc__post *next = post->next;
        if (post == &owner->stop)
            owner->is_stopping = true;
        else
            owner->taken(owner, post);
        post = next;
    }
}

static void after_socket(void *context) {
    ((owner *)context)->sockets++;
}

static afc__turn finish_turn(void *context, bool was_idle) {
    (void)was_idle;
    return ((owner *)context)->is_stopping ? AFC__TURN_END : AFC__TURN_SLEEP;
}

static void ended(void *context) {
    owner *owner = context;
    pthread_mutex_lock(&owner->lock);
    owner->has_ended = true;
    pthread_cond_broadcast(&owner->changed);
    pthread_mutex_unlock(&owner->lock);
}

static void make(owner *owner) {
    *owner = (struct owner){.has_ended = false};
    pthread_mutex_init(&owner->lock, NULL);
    pthread_cond_init(&owner->changed, NULL);
    afc__loop_owner callbacks = {owner, take_posts, after_socket, finish_turn, ended, "loop-test"};
    check_status(afc__loop_init(&owner->loop, callbacks, NULL), AFC_OK);
    check_status(afc__loop_reserve_alarms(&owner->loop, COUNT_OF(owner->order)), AFC_OK);
}

static void start(owner *owner) {
    check_status(afc__loop_start(&owner->loop, NULL), AFC_OK);
}

static void wait_for(owner *owner, const size_t *counter, size_t count) {
    pthread_mutex_lock(&owner->lock);
    while (*counter < count) pthread_cond_wait(&owner->changed, &owner->lock);
    pthread_mutex_unlock(&owner->lock);
}

static void count(owner *owner, size_t *counter) {
    pthread_mutex_lock(&owner->lock);
    ++*counter;
    pthread_cond_broadcast(&owner->changed);
    pthread_mutex_unlock(&owner->lock);
}

static void stop(owner *owner) {
    afc__thread_will_end();
    afc__loop_post(&owner->loop, &owner->stop);
    pthread_mutex_lock(&owner->lock);
    while (!owner->has_ended) pthread_cond_wait(&owner->changed, &owner->lock);
    pthread_mutex_unlock(&owner->lock);
    afc_join_closed_sessions();
    afc__loop_clear(&owner->loop);
    pthread_cond_destroy(&owner->changed);
    pthread_mutex_destroy(&owner->lock);
}

/* ---- Posts --------------------------------------------------------------------------------- */

typedef struct parcel {
    afc__post post;
    size_t number;
    size_t *next; /* The next number expected from the thread that posts it. */
    bool *was_out_of_order;
} parcel;

static void check_order(owner *owner, afc__post *post) {
    parcel *parcel = (struct parcel *)(void *)post;
    if (parcel->number != (*parcel->next)++) *parcel->was_out_of_order = true;
    count(owner, &owner->posts);
}

enum { POSTERS = 4, POSTS = 20000 };

typedef struct poster {
    pthread_t thread;
    owner *owner;
    parcel *parcels;
    size_t next;
    bool was_out_of_order;
} poster;

static void *post_all(void *context) {
    poster *poster = context;
    for (size_t i = 0; i < POSTS; i++) {
        poster->parcels[i] = (parcel){{NULL}, i, &poster->next, &poster->was_out_of_order};
        afc__loop_post(&poster->owner->loop, &poster->parcels[i].post);
    }
    return NULL;
}

static void posts_arrive_in_the_order_of_their_thread(void **state) {
    (void)state;
    owner owner;
    poster posters[POSTERS] = {0};
    make(&owner);
    owner.taken = check_order;
    start(&owner);
    for (size_t i = 0; i < POSTERS; i++) {
        posters[i].owner = &owner;
        posters[i].parcels = calloc(POSTS, sizeof *posters[i].parcels);
        assert_non_null(posters[i].parcels);
        assert_int_equal(pthread_create(&posters[i].thread, NULL, post_all, &posters[i]), 0);
    }
    for (size_t i = 0; i < POSTERS; i++) pthread_join(posters[i].thread, NULL);
    wait_for(&owner, &owner.posts, POSTERS * POSTS);
    assert_true(owner.loop.wakeups <= POSTERS * POSTS);
    stop(&owner);
    for (size_t i = 0; i < POSTERS; i++) {
        assert_false(posters[i].was_out_of_order);
        free(posters[i].parcels);
    }
}

static void burst_wakes_the_loop_once(void **state) {
    (void)state;
    owner owner;
    parcel parcels[100];
    size_t next = 0;
    bool was_out_of_order = false;
    make(&owner);
    owner.taken = check_order;
    /* Asleep from the point of view of a poster; the thread starts when all are there. */
    atomic_store(&owner.loop.is_asleep, true);
    for (size_t i = 0; i < COUNT_OF(parcels); i++) {
        parcels[i] = (parcel){{NULL}, i, &next, &was_out_of_order};
        afc__loop_post(&owner.loop, &parcels[i].post);
    }
    assert_int_equal(owner.loop.wakeups, 1);
    start(&owner);
    wait_for(&owner, &owner.posts, COUNT_OF(parcels));
    stop(&owner);
    assert_false(was_out_of_order);
}

static void *post_when_cancelled(void *context) {
    owner *owner = context;
    pthread_cancel(pthread_self());
    afc__loop_post(&owner->loop, &owner->stop);
    pthread_testcancel();
    return NULL;
}

static void cancelled_thread_still_wakes_the_loop(void **state) {
    (void)state;
    owner owner;
    make(&owner);
    atomic_store(&owner.loop.is_asleep, true);
    pthread_t thread;
    void *result;
    assert_int_equal(pthread_create(&thread, NULL, post_when_cancelled, &owner), 0);
    assert_int_equal(pthread_join(thread, &result), 0);
    assert_true(result == PTHREAD_CANCELED);
    struct pollfd woken = {.fd = owner.loop.event_descriptor, .events = POLLIN};
    assert_int_equal(poll(&woken, 1, 0), 1);
    /* Only now, so that a lost wake-up fails the test instead of hanging it. */
    afc__thread_will_end();
    start(&owner);
    afc_join_closed_sessions();
    assert_true(owner.has_ended);
    afc__loop_clear(&owner.loop);
}

/* ---- Threads ------------------------------------------------------------------------------- */

static void read_mask(void *context) {
    pthread_sigmask(SIG_SETMASK, NULL, context);
}

static void threads_block_only_signals_for_the_process(void **state) {
    (void)state;
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE,  SIGILL,
                                 SIGTRAP, SIGSYS, SIGABRT, SIGPROF};
    static const int others[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGCHLD, SIGALRM, SIGUSR1};
    sigset_t mask;
    sigemptyset(&mask);
    afc__thread_will_end();
    assert_int_equal(afc__thread_start("mask-test", read_mask, &mask, NULL), 0);
    afc_join_closed_sessions();
    for (size_t i = 0; i < COUNT_OF(faults); i++)
        assert_int_equal(sigismember(&mask, faults[i]), 0);
    for (size_t i = 0; i < COUNT_OF(others); i++)
        assert_int_equal(sigismember(&mask, others[i]), 1);
}

static void threads_block_what_their_creator_blocks(void **state) {
    (void)state;
    sigset_t mask, blocked, before;
    sigemptyset(&mask);
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGABRT);
    pthread_sigmask(SIG_BLOCK, &blocked, &before);
    afc__thread_will_end();
    int error = afc__thread_start("mask-test", read_mask, &mask, NULL);
    afc_join_closed_sessions();
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    assert_int_equal(error, 0);
    assert_int_equal(sigismember(&mask, SIGABRT), 1);
    assert_int_equal(sigismember(&mask, SIGSEGV), 0);
}

/* ---- Alarms -------------------------------------------------------------------------------- */

typedef struct bell {
    afc__alarm alarm;
    owner *owner;
    int number;
    int64_t deadline_us;
    bool was_early;
} bell;

static void ring(afc__alarm *alarm) {
    bell *bell = (struct bell *)(void *)alarm;
    owner *owner = bell->owner;
    bell->was_early = afc__now_us() < bell->deadline_us;
    pthread_mutex_lock(&owner->lock);
    owner->order[owner->order_count++] = bell->number;
    pthread_mutex_unlock(&owner->lock);
    count(owner, &owner->rings);
}

static void arm(owner *owner, bell *bell, int number, int64_t deadline_us) {
    *bell = (struct bell){.alarm.callback = ring, .owner = owner, .number = number};
    bell->deadline_us = deadline_us;
    afc__loop_arm(&owner->loop, &bell->alarm, bell->deadline_us);
}

static void timers_fire_in_order_and_never_early(void **state) {
    (void)state;
    owner owner;
    bell bells[5];
    int64_t now_us = afc__now_us();
    make(&owner);
    arm(&owner, &bells[0], 0, now_us + 30000);
    arm(&owner, &bells[1], 1, now_us + 10000);
    arm(&owner, &bells[2], 2, now_us + 20000);
    arm(&owner, &bells[3], 3, now_us + 15000);
    arm(&owner, &bells[4], 4, now_us - 5);
    afc__loop_disarm(&owner.loop, &bells[3].alarm);
    start(&owner);
    wait_for(&owner, &owner.rings, 4);
    stop(&owner);
    static const int expected[] = {4, 1, 2, 0};
    for (size_t i = 0; i < COUNT_OF(expected); i++) {
        assert_int_equal(owner.order[i], expected[i]);
        assert_false(bells[expected[i]].was_early);
    }
}

static void rearm(afc__alarm *alarm) {
    bell *bell = (struct bell *)(void *)alarm;
    owner *owner = bell->owner;
    /* Due at once, again and again: posts must still get through. */
    afc__loop_arm(&owner->loop, alarm, 0);
    count(owner, &owner->rings);
}

static uint64_t last_turn; /* Loop thread only. */

static void rearm_in_another_turn(afc__alarm *alarm) {
    owner *owner = ((bell *)(void *)alarm)->owner;
    uint64_t turn = afc__loop_turn(&owner->loop);
    owner->repeats += turn == last_turn;
    last_turn = turn;
    rearm(alarm);
}

/** However many others wait: those of tasks do, for a long time. */
static void alarm_rings_once_a_turn(void **state) {
    (void)state;
    owner owner;
    bell bells[5];
    make(&owner);
    for (int i = 1; i < 5; i++) arm(&owner, &bells[i], i, afc__now_us() + 1000000000);
    arm(&owner, &bells[0], 0, 0);
    bells[0].alarm.callback = rearm_in_another_turn;
    start(&owner);
    wait_for(&owner, &owner.rings, 100);
    stop(&owner);
    assert_int_equal(owner.repeats, 0);
}

/* ---- Descriptors --------------------------------------------------------------------------- */

typedef struct pipe_end {
    afc__watch watch;
    owner *owner;
} pipe_end;

static void read_byte(afc__watch *watch, unsigned readiness) {
    pipe_end *end = (pipe_end *)(void *)watch;
    char byte;
    if ((readiness & AFC__READABLE) == 0 || read(watch->descriptor, &byte, 1) != 1) return;
    count(end->owner, &end->owner->reads);
}

static void count_post(owner *owner, afc__post *post) {
    (void)post;
    count(owner, &owner->posts);
}

static size_t rings_of(owner *owner) {
    pthread_mutex_lock(&owner->lock);
    size_t rings = owner->rings;
    pthread_mutex_unlock(&owner->lock);
    return rings;
}

static void timer_that_is_always_due_starves_nothing(void **state) {
    (void)state;
    owner owner;
    bell bell;
    int ends[2];
    afc__post post = {0};
    assert_int_equal(pipe(ends), 0);
    make(&owner);
    owner.taken = count_post;
    pipe_end end = {{.descriptor = ends[0], .ready = read_byte}, &owner};
    check_status(afc__loop_watch(&owner.loop, &end.watch, AFC__READABLE), AFC_OK);
    arm(&owner, &bell, 0, afc__now_us());
    bell.alarm.callback = rearm;
    start(&owner);
    wait_for(&owner, &owner.rings, 100);
    /* From here on the timer is always due. */
    assert_int_equal(write(ends[1], "x", 1), 1);
    wait_for(&owner, &owner.reads, 1);
    afc__loop_post(&owner.loop, &post);
    wait_for(&owner, &owner.posts, 1);
    wait_for(&owner, &owner.rings, rings_of(&owner) + 100);
    stop(&owner);
    assert_int_equal(owner.reads, 1);
    assert_int_equal(owner.posts, 1);
    close(ends[0]);
    close(ends[1]);
}

static void reports_readable_descriptors(void **state) {
    (void)state;
    owner owner;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    make(&owner);
    pipe_end end = {{.descriptor = ends[0], .ready = read_byte}, &owner};
    check_status(afc__loop_watch(&owner.loop, &end.watch, AFC__READABLE), AFC_OK);
    /* As if the descriptor was closed and its number used again, either here or before the watch was removed. */
    end.watch.watched = 0;
    check_status(afc__loop_watch(&owner.loop, &end.watch, AFC__READABLE), AFC_OK);
    afc__loop_unwatch(&owner.loop, &end.watch);
    afc__loop_unwatch(&owner.loop, &end.watch);
    end.watch.watched = AFC__WRITABLE;
    check_status(afc__loop_watch(&owner.loop, &end.watch, AFC__READABLE), AFC_OK);
    start(&owner);
    for (size_t i = 1; i <= 10; i++) {
        assert_int_equal(write(ends[1], "x", 1), 1);
        wait_for(&owner, &owner.reads, i);
    }
    stop(&owner);
    assert_int_equal(owner.sockets, 10);
    close(ends[0]);
    close(ends[1]);
}

static void refuses_closed_descriptor(void **state) {
    (void)state;
    owner owner;
    make(&owner);
    pipe_end end = {{.descriptor = -1, .ready = read_byte}, &owner};
    check_status(afc__loop_watch(&owner.loop, &end.watch, AFC__READABLE), AFC_EINTERNAL);
    start(&owner);
    stop(&owner);
}

static void ignore(int signal) {
    (void)signal;
}

static pthread_t profiled;

static void tell_thread(afc__alarm *alarm) {
    owner *owner = ((bell *)(void *)alarm)->owner;
    profiled = pthread_self();
    /* It may have started late. */
    owner->loop.continued_us = 0;
    ring(alarm);
}

/** A profiler interrupts threads all the time, which says nothing about how long they slept. */
static void profiled_loop_was_not_stopped(void **state) {
    (void)state;
    owner owner;
    bell bells[2];
    struct sigaction before, action = {.sa_handler = ignore};
    sigaction(SIGPROF, &action, &before);
    make(&owner);
    arm(&owner, &bells[0], 0, 0);
    bells[0].alarm.callback = tell_thread;
    arm(&owner, &bells[1], 1, afc__now_us() + 50000);
    start(&owner);
    wait_for(&owner, &owner.rings, 1);
    while (rings_of(&owner) < 2) {
        pthread_kill(profiled, SIGPROF);
        sched_yield();
    }
    stop(&owner);
    sigaction(SIGPROF, &before, NULL);
    int64_t continued_us = afc__loop_continued(&owner.loop);
    /* A machine that is busy enough holds it up for longer than that. */
    assert_true(continued_us == 0 || continued_us >= bells[1].deadline_us + 500000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(posts_arrive_in_the_order_of_their_thread),
        cmocka_unit_test(burst_wakes_the_loop_once),
        cmocka_unit_test(cancelled_thread_still_wakes_the_loop),
        cmocka_unit_test(threads_block_only_signals_for_the_process),
        cmocka_unit_test(threads_block_what_their_creator_blocks),
        cmocka_unit_test(timers_fire_in_order_and_never_early),
        cmocka_unit_test(timer_that_is_always_due_starves_nothing),
        cmocka_unit_test(alarm_rings_once_a_turn),
        cmocka_unit_test(profiled_loop_was_not_stopped),
        cmocka_unit_test(reports_readable_descriptors),
        cmocka_unit_test(refuses_closed_descriptor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
