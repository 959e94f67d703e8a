/* The thread af-reach: receives changes, decides what they mean for each monitor, and reports it. */
#include "base/alloc.h"
#include "base/clock.h"
#include "base/failure.h"
#include "reachability/monitor.h"
#include "reachability/netlink.h"
#include "run/threads.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    MOST_DATAGRAMS = 64, /* Per turn of the loop. */
    MOST_LOOKUPS = 4,    /* Maximum simultaneous lookups. */
    MOST_RETRIES =
        5, /* Retries of a lookup after a temporary failure: after 1, 2, 4, 8 and 16 s. */
    FIRST_RETRY_US = 1000 * 1000,
    /* The kernel removes the routes of a link only after it has reported that the link is down. */
    TRANSIENT_US = 5 * 1000,
    MOST_TRANSIENT = 8
};

/* The running thread. */
static struct {
    pthread_mutex_t lock;
    af__reach_thread *thread; /* NULL: no thread, or one that is about to end. */
} shared = {PTHREAD_MUTEX_INITIALIZER, NULL};

void af__reach_lock(void) {
    pthread_mutex_lock(&shared.lock);
}

void af__reach_unlock(void) {
    pthread_mutex_unlock(&shared.lock);
}

void af__reach_unreference(af_reach_monitor *monitor) {
    if (atomic_fetch_sub(&monitor->references, 1) != 1) return;
    if (monitor->release != NULL) monitor->release(monitor->context);
    af_free(monitor->host);
    af_free(monitor);
}

/* ---- Lookups ------------------------------------------------------------------------------- */

static void look_up_later(af_reach_monitor *monitor) {
    if (!monitor->can_retry || monitor->retries >= MOST_RETRIES) return;
    int64_t delay = (int64_t)FIRST_RETRY_US << monitor->retries++;
    af__loop_arm(&monitor->thread->loop, &monitor->retry, af__now_us() + delay);
}

static void retry_rang(af__alarm *alarm) {
    af_reach_monitor *monitor = AF__OWNER(alarm, af_reach_monitor, retry);
    monitor->wants_lookup = true;
    monitor->thread->is_due = true;
}

/** Takes the result of a lookup. The monitor must be active. */
static void take_answer(af_reach_monitor *monitor) {
    af__addresses *found = monitor->lookup.found;
    int error = monitor->lookup.error;
    monitor->lookup = (af__lookup){0};
    monitor->is_looking_up = false;
    monitor->is_answered = true;
    monitor->thread->lookups--;
    monitor->thread->is_due = true;
    if (found != NULL) {
        monitor->address_count = af__reach_take_addresses(found, monitor->addresses);
        af__addresses_release(found);
    } else if (af__reach_is_temporary(error)) {
        /* A temporary failure doesn't invalidate known addresses. */
        look_up_later(monitor);
    } else {
        monitor->address_count = 0;
    }
}

static void stop_lookup(af_reach_monitor *monitor) {
    if (!monitor->is_looking_up) return;
    af__resolver_cancel(&monitor->lookup);
    monitor->is_looking_up = false;
    monitor->thread->lookups--;
    /* Another lookup may be waiting for a free slot. */
    monitor->thread->is_due = true;
}

static void look_up(af_reach_monitor *monitor, uint64_t fingerprint) {
    if (!monitor->is_answered || monitor->fingerprint != fingerprint) {
        monitor->wants_lookup = true;
        monitor->retries = 0;
    }
    if (!monitor->wants_lookup || monitor->is_looking_up) return;
    if (monitor->thread->lookups >= MOST_LOOKUPS) return;
    monitor->wants_lookup = false;
    monitor->fingerprint = fingerprint;
    af__loop_disarm(&monitor->thread->loop, &monitor->retry);
    monitor->thread->lookups++;
    monitor->is_looking_up = true;
    /* A fresh lookup: the network has changed, so cached results are outdated. */
    bool has_ended = af__resolver_begin(&monitor->lookup, &monitor->thread->names, monitor->host,
                                        AF_UNSPEC, AF__LOOKUP_FRESH);
    if (has_ended) take_answer(monitor);
}

/* ---- Deciding and telling ------------------------------------------------------------------ */

static bool is_same(const af_reachability *a, const af_reachability *b) {
    return a->status == b->status && a->link == b->link && strcmp(a->link_name, b->link_name) == 0;
}

static void tell(af_reach_monitor *monitor, const af_reachability *state) {
    if (monitor->was_reported && is_same(&monitor->reported, state)) return;
    monitor->was_reported = true;
    monitor->reported = *state;
    af__reach_lock();
    bool is_wanted = monitor->is_wanted && monitor->serial == monitor->active_serial;
    if (is_wanted) monitor->state = *state;
    af__reach_unlock();
    if (is_wanted && monitor->on_change != NULL) monitor->on_change(monitor->context, state);
}

/** Decides the state of a monitor. false: not yet, because routes are about to change. */
static bool decide(af_reach_monitor *monitor) {
    af_reachability state = {AF_REACH_NONE, AF_LINK_UNKNOWN, ""};
    bool is_any_transient = false;
    for (size_t i = 0; i < monitor->address_count && state.status == AF_REACH_NONE; i++) {
        af__reach_route route = af__reach_probe(&monitor->addresses[i]);
        bool is_transient;
        state = af__reach_decide(&monitor->thread->table, &route, 1, &is_transient);
        is_any_transient |= is_transient;
    }
    bool is_final = state.status != AF_REACH_NONE || !is_any_transient ||
                    monitor->thread->transient_count >= MOST_TRANSIENT;
    if (is_final) tell(monitor, &state);
    return is_final;
}

static void decide_all(af__reach_thread *thread) {
    if (!thread->is_due || thread->table.stage != AF__REACH_KNOWN) return;
    thread->is_due = false;
    bool is_final = true;
    uint64_t fingerprint = af__reach_fingerprint(&thread->table);
    /* Callbacks change only the list of waiting monitors. */
    for (af__node *node = thread->active.head.next; node != &thread->active.head;
         node = node->next) {
        af_reach_monitor *monitor = AF__OWNER(node, af_reach_monitor, active);
        if (monitor->host != NULL) {
            look_up(monitor, fingerprint);
            if (!monitor->is_answered) continue;
        }
        is_final &= decide(monitor);
    }
    if (is_final) {
        thread->transient_count = 0;
    } else {
        thread->transient_count++;
        af__loop_arm(&thread->loop, &thread->transient, af__now_us() + TRANSIENT_US);
    }
}

static void transient_expired(af__alarm *alarm) {
    AF__OWNER(alarm, af__reach_thread, transient)->is_due = true;
}

/* ---- The kernel's messages ----------------------------------------------------------------- */

static void ask(af__reach_thread *thread) {
    af__reach_request request;
    while (af__link_table_ask(&thread->table, &request)) {
        if (!af__reach_send(thread->netlink, &request)) af__link_table_refuse(&thread->table);
    }
}

/**
 * Starts over with a new socket: responses may be among the lost messages, and a socket with a dump in progress
 * accepts no other request.
 */
static bool start_over(af__reach_thread *thread) {
    int fresh = af__reach_open();
    if (fresh < 0) {
        af__link_table_lose(&thread->table);
        return true;
    }
    af__loop_unwatch(&thread->loop, &thread->watch);
    close(thread->netlink);
    thread->netlink = thread->watch.descriptor = fresh;
    af__link_table_restart(&thread->table);
    return af__loop_watch(&thread->loop, &thread->watch, AF__READABLE, true) == AF_OK;
}

static void netlink_ready(af__watch *watch, unsigned readiness) {
    (void)readiness;
    af__reach_thread *thread = AF__OWNER(watch, af__reach_thread, watch);
    for (int i = 0; i < MOST_DATAGRAMS; i++) {
        ssize_t size = af__reach_receive(thread->netlink, thread->buffer, sizeof thread->buffer);
        if (size == 0) return;
        thread->is_due = true;
        if (size > 0) {
            af__link_table_take(&thread->table, thread->buffer, (size_t)size);
        } else if (size == -ENOBUFS) {
            if (!start_over(thread)) return;
        } else {
            af__loop_unwatch(&thread->loop, watch);
            return;
        }
    }
}

static af_link_kind kind_of(void *context, int index, const char *name) {
    (void)context;
    return af__reach_medium("/sys/class/net", index, name);
}

/* ---- Monitors coming and going ------------------------------------------------------------- */

static void activate(af__reach_thread *thread, af_reach_monitor *monitor, unsigned serial) {
    if (!monitor->is_active) {
        monitor->is_active = true;
        monitor->thread = thread;
        atomic_fetch_add(&monitor->references, 1);
        af__list_append(&thread->active, &monitor->active);
        thread->active_count++;
        monitor->retry.callback = retry_rang;
        /* One more for the thread's own alarm. */
        af_status status = af__loop_reserve_alarms(&thread->loop, thread->active_count + 1);
        monitor->can_retry = status == AF_OK;
    }
    monitor->active_serial = serial;
    monitor->was_reported = false;
    monitor->is_answered = false;
    thread->is_due = true;
}

static void deactivate(af__reach_thread *thread, af_reach_monitor *monitor) {
    if (!monitor->is_active) return;
    monitor->is_active = false;
    stop_lookup(monitor);
    af__loop_disarm(&thread->loop, &monitor->retry);
    af__list_remove(&monitor->active);
    thread->active_count--;
    af__reach_unreference(monitor);
}

/** Removes and returns the first waiting monitor. Releases the lock. */
static af_reach_monitor *next_waiting(af__reach_thread *thread, bool *is_wanted, unsigned *serial) {
    af_reach_monitor *monitor = NULL;
    af__reach_lock();
    af__node *node = af__list_first(&thread->waiting);
    if (node != NULL) {
        af__list_remove(node);
        monitor = AF__OWNER(node, af_reach_monitor, waiting);
        monitor->is_waiting = false;
        *is_wanted = monitor->is_wanted;
        *serial = monitor->serial;
    }
    af__reach_unlock();
    return monitor;
}

static void take_posts(void *context, af__post *first) {
    af__reach_thread *thread = context;
    bool has_names = false;
    for (af__post *post = first; post != NULL; post = post->next) {
        has_names |= post == &thread->names.post;
    }
    /* Reset before the list is processed: later posts then queue the node again. */
    af__reach_lock();
    thread->is_posted = false;
    af__reach_unlock();
    bool is_wanted;
    unsigned serial;
    af_reach_monitor *monitor;
    while ((monitor = next_waiting(thread, &is_wanted, &serial)) != NULL) {
        if (is_wanted) {
            activate(thread, monitor, serial);
        } else {
            deactivate(thread, monitor);
        }
        af__reach_unreference(monitor);
    }
    af__lookup *lookup;
    while (has_names && (lookup = af__resolver_take_ended(&thread->names)) != NULL) {
        take_answer(AF__OWNER(lookup, af_reach_monitor, lookup));
    }
}

/* ---- The thread ---------------------------------------------------------------------------- */

static af__turn finish_turn(void *context, bool was_idle) {
    (void)was_idle;
    af__reach_thread *thread = context;
    ask(thread);
    decide_all(thread);
    af__reach_lock();
    bool is_over = thread->wanted == 0 && thread->active_count == 0 &&
                   af__list_is_empty(&thread->waiting);
    /* From now on new monitors start another thread. */
    if (is_over && shared.thread == thread) shared.thread = NULL;
    af__reach_unlock();
    return is_over ? AF__TURN_END : AF__TURN_SLEEP;
}

static void clear(af__reach_thread *thread) {
    if (thread->netlink >= 0) close(thread->netlink);
    af__link_table_clear(&thread->table);
    af__resolver_close(&thread->names);
    af__loop_clear(&thread->loop);
    af_free(thread);
}

static void ended(void *context) {
    clear(context);
}

static af_status fail_system(af_failure *failure, int error, const char *what) {
    af__fail(failure, AF_EINTERNAL, "%s: %s", what, strerror(error));
    failure->system_error = error;
    return AF_EINTERNAL;
}

static af_status set_up(af__reach_thread *thread, af_failure *failure) {
    af__loop_owner owner = {thread, take_posts, NULL, finish_turn, ended, "af-reach"};
    af_status status = af__loop_init(&thread->loop, owner, failure);
    if (status != AF_OK) return status;
    if (af__loop_reserve_alarms(&thread->loop, 1) != AF_OK) {
        return af__fail_memory(failure);
    }
    thread->netlink = af__reach_open();
    if (thread->netlink < 0) return fail_system(failure, -thread->netlink, "no netlink socket");
    thread->watch = (af__watch){thread->netlink, netlink_ready};
    status = af__resolver_open(&thread->names, &thread->loop, failure);
    if (status != AF_OK) return status;
    status = af__loop_watch(&thread->loop, &thread->watch, AF__READABLE, true);
    if (status != AF_OK) return af__fail(failure, status, "cannot watch the netlink socket");
    return af__loop_start(&thread->loop, failure);
}

static af_status start(af_failure *failure) {
    af__reach_thread *thread = af__zalloc(sizeof *thread);
    if (thread == NULL) return af__fail_memory(failure);
    thread->netlink = -1;
    thread->transient.callback = transient_expired;
    af__list_init(&thread->waiting);
    af__list_init(&thread->active);
    af__link_table_init(&thread->table, kind_of, thread);
    af_status status = set_up(thread, failure);
    if (status != AF_OK) {
        clear(thread);
        return status;
    }
    shared.thread = thread;
    return AF_OK;
}

af_status af__reach_thread_get(af__reach_thread **out, af_failure *failure) {
    af_status status = shared.thread == NULL ? start(failure) : AF_OK;
    *out = shared.thread;
    return status;
}

af__reach_thread *af__reach_thread_running(void) {
    return shared.thread;
}

/* ---- Forks --------------------------------------------------------------------------------- */

/** In the child: the thread and its resources belong to the parent. */
static void reset_in_child(void) {
    if (shared.thread != NULL) {
        close(shared.thread->netlink);
        close(shared.thread->loop.epoll_descriptor);
        close(shared.thread->loop.event_descriptor);
    }
    shared.thread = NULL;
    af__reach_unlock();
}

static void register_handlers(void) {
    /* Threads are started while this lock is held, so a fork has to take it before the lock of run/threads. */
    af__threads_watch_forks();
    af__resolver_watch_forks();
    pthread_atfork(af__reach_lock, af__reach_unlock, reset_in_child);
}

void af__reach_watch_forks(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, register_handlers);
}
