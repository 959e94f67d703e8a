#include "base/fork_gate.h"

#include "base/failure.h"

#include <pthread.h>
#include <time.h>

/* How long a fork waits at most. A turn of a loop takes milliseconds, unless a callback blocks. */
enum { MAX_WAIT_S = 1 };

static struct {
    pthread_mutex_t lock; /* Locked from before a fork until after it. */
    pthread_cond_t changed;
    afc__list sections;
    /** No thread was inside when the fork began. */
    bool was_quiet;
} gate = {.lock = PTHREAD_MUTEX_INITIALIZER,
          .changed = PTHREAD_COND_INITIALIZER,
          .sections = {{&gate.sections.head, &gate.sections.head}}};

/*
 * A thread sets "inside" and then checks for forks; a fork sets "forking" and then checks for threads inside. Both
 * orders are sequentially consistent, so at least one of the two sees the other.
 */
static atomic_uint forking; /* Forks that wait or are in progress. */
static atomic_uint callers; /* Threads inside that have no section. */
static atomic_bool is_unsafe;

static _Thread_local unsigned depth;
static _Thread_local afc__fork_section *own;

void afc__fork_gate_add(afc__fork_section *section) {
    *section = (afc__fork_section){0};
    pthread_mutex_lock(&gate.lock);
    afc__list_append(&gate.sections, &section->node);
    pthread_mutex_unlock(&gate.lock);
}

void afc__fork_gate_remove(afc__fork_section *section) {
    pthread_mutex_lock(&gate.lock);
    afc__list_remove(&section->node);
    pthread_mutex_unlock(&gate.lock);
}

static void set_inside(afc__fork_section *section, bool is_inside) {
    if (section != NULL) {
        atomic_store(&section->is_inside, is_inside);
    } else if (is_inside) {
        atomic_fetch_add(&callers, 1);
    } else {
        atomic_fetch_sub(&callers, 1);
    }
}

void afc__fork_gate_enter(afc__fork_section *section) {
    if (depth++ > 0) return;
    own = section;
    for (;;) {
        set_inside(section, true);
        if (atomic_load(&forking) == 0) return;
        set_inside(section, false);
        pthread_mutex_lock(&gate.lock);
        pthread_cond_broadcast(&gate.changed);
        while (atomic_load(&forking) != 0) pthread_cond_wait(&gate.changed, &gate.lock);
        pthread_mutex_unlock(&gate.lock);
    }
}

void afc__fork_gate_leave(afc__fork_section *section) {
    if (--depth > 0) return;
    set_inside(section, false);
    own = NULL;
    if (atomic_load(&forking) == 0) return;
    pthread_mutex_lock(&gate.lock);
    pthread_cond_broadcast(&gate.changed);
    pthread_mutex_unlock(&gate.lock);
}

afc_status afc__fork_gate_check(afc_failure *failure) {
    if (!atomic_load_explicit(&is_unsafe, memory_order_relaxed)) return AFC_OK;
    return afc__fail(failure, AFC_EINTERNAL,
                     "the process was forked while another thread was using OpenSSL");
}

/* ---- The fork ------------------------------------------------------------------------------ */

/**
 * Returns whether no other thread is inside. The forking thread may be inside, in a callback, but then it isn't inside
 * OpenSSL.
 */
static bool is_quiet(void) {
    unsigned self = depth > 0 && own == NULL ? 1 : 0;
    if (atomic_load(&callers) > self) return false;
    for (afc__node *node = gate.sections.head.next; node != &gate.sections.head;
         node = node->next) {
        afc__fork_section *section = AFC__OWNER(node, afc__fork_section, node);
        if (section != own && atomic_load(&section->is_inside)) return false;
    }
    return true;
}

static void close_gate(void) {
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += MAX_WAIT_S;
    int error = 0;
    pthread_mutex_lock(&gate.lock);
    atomic_fetch_add(&forking, 1);
    while (!is_quiet() && error == 0) {
        error = pthread_cond_timedwait(&gate.changed, &gate.lock, &until);
    }
    gate.was_quiet = is_quiet();
}

static void open_in_parent(void) {
    atomic_fetch_sub(&forking, 1);
    pthread_cond_broadcast(&gate.changed);
    pthread_mutex_unlock(&gate.lock);
}

static void make_condition(void) {
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&gate.changed, &attributes);
    pthread_condattr_destroy(&attributes);
}

static void open_in_child(void) {
    if (!gate.was_quiet) atomic_store(&is_unsafe, true);
    /* In the child no other thread exists: the sections are the parent's. */
    afc__list_init(&gate.sections);
    atomic_store(&callers, depth > 0 && own == NULL ? 1 : 0);
    atomic_store(&forking, 0);
    make_condition();
    pthread_mutex_unlock(&gate.lock);
}

static void register_handlers(void) {
    /* No thread can be waiting yet: only forks make threads wait, and they need these handlers. */
    make_condition();
    pthread_atfork(close_gate, open_in_parent, open_in_child);
}

void afc__fork_gate_watch(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, register_handlers);
}
