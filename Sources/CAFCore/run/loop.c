#include "run/loop.h"

#include "base/clock.h"
#include "base/failure.h"
#include "run/threads.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum {
    BATCH = 32,
    LONG_TURN_US = 20000,
    /* If a wait ends this much too late, the process was stopped meanwhile, for example by Ctrl-Z. */
    STOPPED_US = 500000,
    /*
     * How long afc__loop_close() waits for the write of a thread that has reset `is_asleep`. Only a stopped thread
     * takes longer.
     */
    MAX_WAKEUP_MS = 10000
};

static _Thread_local const afc__loop *current_loop;

/** The value of `current_loop` on threads without a loop that make callbacks. */
static const afc__loop no_loop;

afc_status afc__loop_init(afc__loop *loop, afc__loop_owner owner, afc_failure *failure) {
    *loop = (afc__loop){
        .event_descriptor = -1, .epoll_descriptor = -1, .owner = owner, .look_due_us = INT64_MAX};
    afc__timers_init(&loop->timers);
    loop->epoll_descriptor = epoll_create1(EPOLL_CLOEXEC);
    loop->event_descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    /* Edge-triggered: each write is one event, and the counter need not be read. */
    struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.ptr = NULL};
    if (loop->epoll_descriptor < 0 || loop->event_descriptor < 0 ||
        epoll_ctl(loop->epoll_descriptor, EPOLL_CTL_ADD, loop->event_descriptor, &event) != 0) {
        int error = errno;
        afc__loop_clear(loop);
        afc_status status = afc__fail(failure, afc__is_shortage(error) ? AFC_ENOMEM : AFC_EINTERNAL,
                                      "cannot create the loop: %s", strerror(error));
        if (failure != NULL) failure->system_error = error;
        return status;
    }
    return AFC_OK;
}

static void close_descriptors(afc__loop *loop) {
    if (loop->epoll_descriptor >= 0) close(loop->epoll_descriptor);
    if (loop->event_descriptor >= 0) close(loop->event_descriptor);
    loop->epoll_descriptor = loop->event_descriptor = -1;
}

void afc__loop_clear(afc__loop *loop) {
    close_descriptors(loop);
    afc__timers_clear(&loop->timers);
}

void afc__loop_close(afc__loop *loop) {
    /*
     * A thread that is about to write the eventfd may not have done so yet, and after close() the descriptor's number
     * could be that of another file. If the write doesn't happen in time, the descriptor stays open: to lose it is
     * better than a write to another file, or a thread that never ends.
     */
    while (loop->wakeups_due > 0) {
        struct pollfd written = {.fd = loop->event_descriptor, .events = POLLIN};
        uint64_t count = 0;
        int ready = poll(&written, 1, MAX_WAKEUP_MS);
        if (ready == 0) loop->event_descriptor = -1;
        if (ready == 0 || (ready < 0 && errno != EINTR)) break;
        ssize_t size = read(loop->event_descriptor, &count, sizeof count);
        if (size != (ssize_t)sizeof count) continue;
        loop->wakeups_due = count < loop->wakeups_due ? loop->wakeups_due - count : 0;
    }
    close_descriptors(loop);
}

/**
 * In the child of a fork in a callback, the forking thread isn't a loop's any more: the loop exists in the parent only.
 */
static void forget_current_in_child(void) {
    current_loop = NULL;
}

static void register_handlers(void) {
    pthread_atfork(NULL, NULL, forget_current_in_child);
}

void afc__loop_watch_forks(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, register_handlers);
}

bool afc__loop_is_any_current(void) {
    return current_loop != NULL;
}

const afc__loop *afc__loop_enter_callbacks(void) {
    const afc__loop *before = current_loop;
    if (before == NULL) current_loop = &no_loop;
    return before;
}

void afc__loop_leave_callbacks(const afc__loop *before) {
    current_loop = before;
}

bool afc__loop_is_current(const afc__loop *loop) {
    return current_loop == loop;
}

/**
 * Writes to the eventfd, with cancellation disabled: write() is a cancellation point (pthreads(7)). If a thread of the
 * program were cancelled there, the wake-up would be lost, and the loop would sleep although there is a post.
 */
static void wake(const afc__loop *loop) {
    uint64_t one = 1;
    int before;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    /* EAGAIN isn't retried: the counter is full, after more wake-ups than can ever be pending. */
    while (write(loop->event_descriptor, &one, sizeof one) < 0 && errno == EINTR) {}
    pthread_setcancelstate(before, &before);
}

/*
 * Wake-up protocol. The loop sets "asleep", checks the inbox once more, and only then sleeps. A poster links its
 * node first and then reads "asleep". Both orders are sequentially consistent, so at least one of the two sees the
 * other. The thread that resets "asleep" writes the eventfd: one write for any number of posts.
 */
void afc__loop_post(afc__loop *loop, afc__post *post) {
    afc__post *first = atomic_load_explicit(&loop->inbox, memory_order_relaxed);
    do {
        post->next = first;
    } while (!atomic_compare_exchange_weak(&loop->inbox, &first, post));
    if (current_loop == loop || !atomic_load(&loop->is_asleep)) return;
    if (!atomic_exchange(&loop->is_asleep, false)) return;
    atomic_fetch_add_explicit(&loop->wakeups, 1, memory_order_relaxed);
    wake(loop);
}

void afc__loop_hurry(afc__loop *loop) {
    if (current_loop == loop) loop->hurries = true;
}

/** Passes all posts to the owner. Returns false if there was none. */
static bool drain_inbox(afc__loop *loop) {
    afc__post *newest = atomic_exchange(&loop->inbox, NULL);
    if (newest == NULL) return false;
    afc__post *oldest = NULL;
    while (newest != NULL) {
        afc__post *next = newest->next;
        newest->next = oldest;
        oldest = newest;
        newest = next;
    }
    loop->owner.take_posts(loop->owner.context, oldest);
    return true;
}

static int timeout_ms(const afc__loop *loop) {
    const afc__timer *first = afc__timers_first(&loop->timers);
    if (first == NULL) return -1;
    int64_t left = first->deadline - afc__now_us();
    if (left <= 0) return 0;
    /* Rounded up, as a loop that wakes before the deadline would spin until then. */
    int64_t milliseconds = (left + 999) / 1000;
    return milliseconds > INT_MAX ? INT_MAX : (int)milliseconds;
}

/**
 * Returns the time by which alarms are due in this turn. If the turn has taken long, that is when it checked its
 * sockets: data may have arrived since, whose absence an alarm is for. The next turn checks again.
 */
static int64_t due_time(const afc__loop *loop) {
    int64_t now = afc__now_us();
    return now - loop->now_us > LONG_TURN_US ? loop->now_us : now;
}

static void fire_alarms(afc__loop *loop) {
    afc__timer *first = afc__timers_first(&loop->timers);
    if (first == NULL) return;
    loop->firing_until_us = due_time(loop);
    while (first != NULL && first->deadline <= loop->firing_until_us) {
        afc__timers_disarm(&loop->timers, first);
        afc__alarm *alarm = (afc__alarm *)(void *)first;
        alarm->callback(alarm);
        first = afc__timers_first(&loop->timers);
    }
    loop->firing_until_us = 0;
}

static unsigned readiness_of(uint32_t events) {
    unsigned readiness = 0;
    if (events & EPOLLIN) readiness |= AFC__READABLE;
    if (events & EPOLLOUT) readiness |= AFC__WRITABLE;
    if (events & (EPOLLERR | EPOLLHUP)) readiness |= AFC__BROKEN;
    if (events & EPOLLRDHUP) readiness |= AFC__ENDED;
    return readiness;
}

/** Returns the time by which the loop must check its sockets again. */
static int64_t next_look(const afc__loop *loop) {
    const afc__timer *first = afc__timers_first(&loop->timers);
    if (first == NULL) return INT64_MAX;
    int64_t now = afc__now_us();
    return first->deadline > now ? first->deadline : now;
}

/**
 * Waits, and returns the number of events. The wait is interrupted only if the process is stopped and continued
 * (signal(7)), as the thread blocks all signals, even a profiler's while it waits. Then the sockets are checked before
 * any alarm fires.
 */
static int sleep_until_ready(afc__loop *loop, struct epoll_event *batch) {
    atomic_store(&loop->is_asleep, true);
    loop->look_due_us = next_look(loop);
    int timeout = atomic_load(&loop->inbox) != NULL ? 0 : timeout_ms(loop);
    int count = epoll_pwait(loop->epoll_descriptor, batch, BATCH, timeout, &loop->wait_mask);
    if (count < 0 && errno == EINTR) {
        loop->look_due_us = 0;
        count = epoll_wait(loop->epoll_descriptor, batch, BATCH, 0);
    }
    if (!atomic_exchange(&loop->is_asleep, false)) loop->wakeups_due++;
    return count;
}

/** Records that the process was stopped, if the sockets were checked much too late. */
static void notice_stop(afc__loop *loop) {
    if (loop->now_us - STOPPED_US > loop->look_due_us) loop->continued_us = loop->now_us;
    loop->look_due_us = INT64_MAX;
}

/** Handles ready sockets. Returns false if none was ready. */
static bool take_events(afc__loop *loop, struct epoll_event *batch, bool may_sleep) {
    afc__fork_gate_leave(loop->section);
    int count = may_sleep ? sleep_until_ready(loop, batch)
                          : epoll_wait(loop->epoll_descriptor, batch, BATCH, 0);
    afc__fork_gate_enter(loop->section);
    loop->now_us = afc__now_us();
    notice_stop(loop);
    loop->batch = batch;
    loop->batch_count = count > 0 ? count : 0;
    for (loop->batch_next = 0; loop->batch_next < loop->batch_count;) {
        struct epoll_event *event = &batch[loop->batch_next++];
        afc__watch *watch = event->data.ptr;
        /* NULL stands for the eventfd, which only wakes the loop, or for a watch that was removed meanwhile. */
        if (watch == NULL) continue;
        watch->ready(watch, readiness_of(event->events));
        if (loop->owner.after_socket != NULL) loop->owner.after_socket(loop->owner.context);
        if (loop->hurries) (void)drain_inbox(loop);
        loop->hurries = false;
    }
    loop->batch_count = 0;
    return count > 0;
}

static afc__turn take_turn(afc__loop *loop, struct epoll_event *batch, bool may_sleep) {
    bool has_events = take_events(loop, batch, may_sleep);
    /* Before the alarms: what posts start may arm an alarm that is due in this turn. */
    bool has_posts = drain_inbox(loop);
    fire_alarms(loop);
    atomic_fetch_add_explicit(&loop->turns, 1, memory_order_relaxed);
    return loop->owner.finish_turn(loop->owner.context, !has_events && !has_posts);
}

static bool runs_under_valgrind(void) {
    return dlsym(RTLD_DEFAULT, "_vgnU_freeres") != NULL;
}

/**
 * Sets the signals that are blocked during a wait. SIGPROF, which isn't blocked otherwise, would interrupt the wait as
 * if the process had been stopped. Valgrind ends the threads of a process that exits by its last signal, which as of
 * 3.19 it doesn't itself remove from the mask of a wait.
 */
static void set_wait_mask(afc__loop *loop) {
    pthread_sigmask(SIG_SETMASK, NULL, &loop->wait_mask);
    sigaddset(&loop->wait_mask, SIGPROF);
    if (runs_under_valgrind()) sigdelset(&loop->wait_mask, SIGRTMAX);
}

static void run(void *context) {
    afc__loop *loop = context;
    struct epoll_event batch[BATCH];
    afc__fork_section section;
    afc__fork_gate_add(&section);
    afc__fork_gate_enter(&section);
    loop->section = &section;
    set_wait_mask(loop);
    current_loop = loop;
    afc__turn next = AFC__TURN_SLEEP;
    while (next != AFC__TURN_END) next = take_turn(loop, batch, next == AFC__TURN_SLEEP);
    /*
     * The loop's memory may be freed by this call. `current_loop` is reset afterwards, so that its callbacks can't wait
     * for this thread.
     */
    loop->owner.ended(loop->owner.context);
    current_loop = NULL;
    afc__fork_gate_leave(&section);
    afc__fork_gate_remove(&section);
}

afc_status afc__loop_start(afc__loop *loop, afc_failure *failure) {
    int error = afc__thread_start(loop->owner.name, run, loop, loop->owner.context);
    if (error == 0) return AFC_OK;
    afc_status status = error == ENOMEM ? AFC_ENOMEM : AFC_EINTERNAL;
    afc__fail(failure, status, "cannot start the loop's thread: %s", strerror(error));
    if (failure != NULL) failure->system_error = error;
    return status;
}

/* ---- Driven by the program ------------------------------------------------------------------ */

/*
 * Between two dispatches the loop is "asleep": a post then writes the eventfd, which makes the epoll descriptor
 * readable. During a dispatch it is awake, and a post writes nothing. If such a post is too late for that dispatch, the
 * inbox isn't empty afterwards, and the next timeout is 0.
 */
void afc__loop_drive(afc__loop *loop) {
    atomic_store(&loop->is_asleep, true);
}

bool afc__loop_dispatch(afc__loop *loop) {
    struct epoll_event batch[BATCH];
    const afc__loop *outer = current_loop;
    afc__fork_gate_enter(NULL);
    current_loop = loop;
    loop->is_dispatching = true;
    if (!atomic_exchange(&loop->is_asleep, false)) loop->wakeups_due++;
    loop->next = AFC__TURN_LOOK;
    for (int turns = 0; turns < AFC__LOOP_DISPATCH_TURNS && loop->next == AFC__TURN_LOOK; turns++) {
        loop->next = take_turn(loop, batch, false);
    }
    bool continues = loop->next != AFC__TURN_END;
    if (continues) {
        loop->is_dispatching = false;
        loop->look_due_us = next_look(loop);
        atomic_store(&loop->is_asleep, true);
    } else {
        /* The loop's memory may be freed by this call. `current_loop` is reset afterwards, as for other callbacks. */
        loop->owner.ended(loop->owner.context);
    }
    current_loop = outer;
    afc__fork_gate_leave(NULL);
    return continues;
}

int afc__loop_timeout_ms(const afc__loop *loop) {
    bool is_due = loop->next == AFC__TURN_LOOK || atomic_load(&loop->inbox) != NULL;
    return is_due ? 0 : timeout_ms(loop);
}

uint64_t afc__loop_turn(const afc__loop *loop) {
    return atomic_load_explicit(&loop->turns, memory_order_relaxed) + 1;
}

int64_t afc__loop_now(const afc__loop *loop) {
    return loop->now_us;
}

int64_t afc__loop_continued(const afc__loop *loop) {
    return loop->continued_us;
}

afc_status afc__loop_watch(afc__loop *loop, afc__watch *watch, unsigned readiness) {
    unsigned watched = readiness | AFC__BROKEN;
    if (watch->watched == watched) return AFC_OK;
    struct epoll_event event = {.data.ptr = watch};
    if (readiness & AFC__READABLE) event.events |= EPOLLIN;
    if (readiness & AFC__WRITABLE) event.events |= EPOLLOUT;
    if (readiness & AFC__ENDED) event.events |= EPOLLRDHUP;
    int operation = watch->watched == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
    int result = epoll_ctl(loop->epoll_descriptor, operation, watch->descriptor, &event);
    if (result != 0 && errno == EEXIST) {
        /* The descriptor was closed and its number reused before the old watch was removed. */
        result = epoll_ctl(loop->epoll_descriptor, EPOLL_CTL_MOD, watch->descriptor, &event);
    } else if (result != 0 && errno == ENOENT) {
        /* The descriptor was closed, which removed it from epoll, and its number reused. */
        result = epoll_ctl(loop->epoll_descriptor, EPOLL_CTL_ADD, watch->descriptor, &event);
    }
    if (result != 0) return errno == ENOMEM || errno == ENOSPC ? AFC_ENOMEM : AFC_EINTERNAL;
    watch->watched = watched;
    return AFC_OK;
}

void afc__loop_unwatch(afc__loop *loop, afc__watch *watch) {
    if (watch->watched == 0) return;
    watch->watched = 0;
    /* Fails if the descriptor was closed before, which removed it from epoll. */
    epoll_ctl(loop->epoll_descriptor, EPOLL_CTL_DEL, watch->descriptor, NULL);
    for (int i = loop->batch_next; i < loop->batch_count; i++) {
        if (loop->batch[i].data.ptr == watch) {
            loop->batch[i].data.ptr = NULL;
        }
    }
}

afc_status afc__loop_reserve_alarms(afc__loop *loop, size_t count) {
    return afc__timers_reserve(&loop->timers, count);
}

void afc__loop_release_alarms(afc__loop *loop, size_t count) {
    afc__timers_shrink(&loop->timers, count);
}

void afc__loop_arm(afc__loop *loop, afc__alarm *alarm, int64_t deadline_us) {
    /* Sockets must be handled before an alarm fires again. */
    if (loop->firing_until_us != 0 && deadline_us <= loop->firing_until_us)
        deadline_us = loop->firing_until_us + 1;
    afc__timers_arm(&loop->timers, &alarm->timer, deadline_us);
}

void afc__loop_disarm(afc__loop *loop, afc__alarm *alarm) {
    afc__timers_disarm(&loop->timers, &alarm->timer);
}
