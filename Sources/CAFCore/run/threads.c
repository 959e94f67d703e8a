#include "run/threads.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/futex.h"
#include "base/list.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

typedef struct thread {
    afc__node node; /**< In `running`, then in `ended`; in the child of a fork in `lost`. */
    const void *owner;
    pthread_t id;
    const char *name;
    void (*body)(void *context);
    void *context;
} thread;

/*
 * A thread can't join itself, and a detached one can't be waited for before the library is unloaded. Ended threads
 * are therefore kept in `ended` until the next start or join.
 */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    afc__list running, ended;
    /* In a forked child: the parent's threads. Their memory stays reachable, like other memory of the parent. */
    afc__list lost;
    unsigned ending; /* Threads that will end but aren't in `ended` yet. */
    bool is_exiting; /* The process exits: threads that end from now on won't be joined. */
} registry = {PTHREAD_MUTEX_INITIALIZER,
              PTHREAD_COND_INITIALIZER,
              {{&registry.running.head, &registry.running.head}},
              {{&registry.ended.head, &registry.ended.head}},
              {{&registry.lost.head, &registry.lost.head}},
              0,
              false};

static atomic_uint generation;
/* The number of threads that have ended. A futex, as a wait for it may have a limit. */
static atomic_uint ends;

static void lock_before_fork(void) {
    pthread_mutex_lock(&registry.lock);
}

static void unlock_in_parent(void) {
    pthread_mutex_unlock(&registry.lock);
}

static void lose(afc__list *threads) {
    afc__node *node;
    while ((node = afc__list_first(threads)) != NULL) {
        afc__list_remove(node);
        afc__list_append(&registry.lost, node);
    }
}

static void reset_in_child(void) {
    /*
     * All threads belong to the parent. The one that has forked, if it did so in a callback, may still end in the
     * child.
     */
    lose(&registry.running);
    lose(&registry.ended);
    registry.ending = 0;
    /* The parent's threads that waited for the condition would count as waiting for ever in the child. */
    pthread_cond_init(&registry.changed, NULL);
    atomic_fetch_add(&generation, 1);
    pthread_mutex_unlock(&registry.lock);
}

static void register_handlers(void) {
    pthread_atfork(lock_before_fork, unlock_in_parent, reset_in_child);
}

void afc__threads_watch_forks(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, register_handlers);
}

unsigned afc__process_generation(void) {
    return atomic_load_explicit(&generation, memory_order_relaxed);
}

static void join_ended(void) {
    for (;;) {
        pthread_mutex_lock(&registry.lock);
        afc__node *node = afc__list_first(&registry.ended);
        if (node != NULL) afc__list_remove(node);
        pthread_mutex_unlock(&registry.lock);
        if (node == NULL) return;
        thread *ended = AFC__OWNER(node, thread, node);
        pthread_join(ended->id, NULL);
        afc_free(ended);
    }
}

/**
 * Joins ended threads when the library is unloaded or the process exits: ThreadSanitizer reports those that were
 * neither joined nor detached as leaks. Doesn't wait for running threads, whose tasks may take long.
 */
__attribute__((destructor)) static void join_ended_at_exit(void) {
    pthread_mutex_lock(&registry.lock);
    registry.is_exiting = true;
    pthread_mutex_unlock(&registry.lock);
    join_ended();
}

/** Ends the calling thread, which the next start or join will join. Call it with the lock. */
static void end(thread *self) {
    afc__list_remove(&self->node);
    if (registry.is_exiting) {
        pthread_detach(pthread_self());
        afc_free(self);
        return;
    }
    self->id = pthread_self();
    afc__list_append(&registry.ended, &self->node);
}

static void *run(void *argument) {
    thread *self = argument;
    pthread_setname_np(pthread_self(), self->name);
    self->body(self->context);
    pthread_mutex_lock(&registry.lock);
    end(self);
    registry.ending--;
    pthread_cond_broadcast(&registry.changed);
    atomic_fetch_add(&ends, 1);
    pthread_mutex_unlock(&registry.lock);
    afc__futex_wake(&ends, INT_MAX);
    return NULL;
}

int afc__thread_create(pthread_t *id, void *(*body)(void *context), void *context) {
    /*
     * Signals that aren't blocked. Most report faults of the thread itself: if blocked, they end the process without
     * calling the program's handler, such as a crash reporter. Without SIGPROF the thread would be missing in profiles.
     * A signal that the caller blocks stays blocked: the program may wait for it in a thread of its own.
     */
    static const int of_thread[] = {SIGSEGV, SIGBUS, SIGFPE,  SIGILL,
                                    SIGTRAP, SIGSYS, SIGABRT, SIGPROF};
    sigset_t blocked, before;
    pthread_sigmask(SIG_SETMASK, NULL, &before);
    sigfillset(&blocked);
    for (size_t i = 0; i < sizeof of_thread / sizeof *of_thread; i++) {
        if (sigismember(&before, of_thread[i]) == 0) sigdelset(&blocked, of_thread[i]);
    }
    pthread_sigmask(SIG_SETMASK, &blocked, NULL);
    int error = pthread_create(id, NULL, body, context);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

static void set_running(thread *self, bool is_running) {
    pthread_mutex_lock(&registry.lock);
    if (is_running) {
        afc__list_append(&registry.running, &self->node);
    } else {
        afc__list_remove(&self->node);
    }
    pthread_mutex_unlock(&registry.lock);
}

int afc__thread_start(const char *name, void (*body)(void *context), void *context,
                      const void *owner) {
    afc__threads_watch_forks();
    join_ended();
    thread *self = afc__zalloc(sizeof *self);
    if (self == NULL) return ENOMEM;
    self->name = name;
    self->body = body;
    self->context = context;
    self->owner = owner;
    set_running(self, true);
    pthread_t id;
    int error = afc__thread_create(&id, run, self);
    if (error != 0) {
        set_running(self, false);
        afc_free(self);
        return error;
    }
    return 0;
}

void afc__thread_will_end(void) {
    pthread_mutex_lock(&registry.lock);
    registry.ending++;
    pthread_mutex_unlock(&registry.lock);
}

void afc__thread_will_stay(void) {
    pthread_mutex_lock(&registry.lock);
    registry.ending--;
    pthread_cond_broadcast(&registry.changed);
    pthread_mutex_unlock(&registry.lock);
}

void afc__threads_join_ending(void) {
    pthread_mutex_lock(&registry.lock);
    while (registry.ending > 0) pthread_cond_wait(&registry.changed, &registry.lock);
    pthread_mutex_unlock(&registry.lock);
    join_ended();
}

static bool has_running(const void *owner) {
    bool has_any = false;
    pthread_mutex_lock(&registry.lock);
    const afc__node *head = &registry.running.head;
    for (const afc__node *node = head->next; node != head && !has_any; node = node->next) {
        has_any = AFC__OWNER(node, const thread, node)->owner == owner;
    }
    pthread_mutex_unlock(&registry.lock);
    return has_any;
}

bool afc__threads_join_owned(const void *owner, int64_t limit_us) {
    int64_t deadline_us = limit_us >= 0 ? afc__now_us() + limit_us : -1;
    for (;;) {
        unsigned seen = atomic_load(&ends);
        if (!has_running(owner)) break;
        int64_t left_us = deadline_us >= 0 ? deadline_us - afc__now_us() : -1;
        if (deadline_us >= 0 && left_us <= 0) return false;
        afc__futex_wait(&ends, seen, left_us);
    }
    join_ended();
    return true;
}
