/* The thread af-reach: receives changes, decides what they mean for each monitor, and reports it. */
#include "reachability/thread.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/failure.h"
#include "reachability/netlink.h"
#include "run/threads.h"

#include <errno.h>
#include <netdb.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    MAX_DATAGRAMS = 64, /* Maximum number of datagrams per turn of the loop. */
    MAX_LOOKUPS = 4,    /* Maximum simultaneous lookups. */
    MAX_RETRIES = 5, /* Retries of a lookup after a temporary failure: after 1, 2, 4, 8 and 16 s. */
    FIRST_RETRY_US = 1000 * 1000,
    /*
     * Delay until a transient route is checked again: the kernel removes the routes of a link only after it has
     * reported that the link is down.
     */
    TRANSIENT_US = 5 * 1000,
    /*
     * Delays after an error of the netlink socket, or while routes are unknown: 0.1, 0.2, 0.4 s and so on, up to 51.2
     * s.
     */
    FIRST_RESTART_US = 100 * 1000,
    MAX_DOUBLINGS = 9,
    /* Number of the thread's own alarms. */
    OWN_ALARMS = 2,
    MAX_TRANSIENT = 8
};

/* The running thread. */
static struct {
    pthread_mutex_t lock;
    afc__reach_thread *thread; /* NULL if there is no thread, or if it is about to end. */
} shared = {PTHREAD_MUTEX_INITIALIZER, NULL};

void afc__reach_lock(void) {
    pthread_mutex_lock(&shared.lock);
}

void afc__reach_unlock(void) {
    pthread_mutex_unlock(&shared.lock);
}

void afc__reach_unreference(afc_reach_monitor *monitor) {
    if (atomic_fetch_sub(&monitor->references, 1) != 1) return;
    if (monitor->release != NULL) monitor->release(monitor->context);
    afc_free(monitor->host);
    afc_free(monitor);
}

/* ---- Lookups ------------------------------------------------------------------------------- */

static void look_up_later(afc_reach_monitor *monitor) {
    if (!monitor->can_retry || monitor->retries >= MAX_RETRIES) return;
    int64_t delay = (int64_t)FIRST_RETRY_US << monitor->retries++;
    afc__loop_arm(&monitor->thread->loop, &monitor->retry, afc__now_us() + delay);
}

static void retry_rang(afc__alarm *alarm) {
    afc_reach_monitor *monitor = AFC__OWNER(alarm, afc_reach_monitor, retry);
    monitor->wants_lookup = true;
    monitor->thread->is_due = true;
}

/** Copies the first addresses that were found to `out`. Returns their number. */
static size_t copy_addresses(const afc__addresses *found,
                             afc__reach_address out[AFC__REACH_ADDRESSES_MAX]) {
    size_t count = 0;
    for (; count < found->count && count < AFC__REACH_ADDRESSES_MAX; count++) {
        const afc__address *address = &found->list[count];
        out[count] = (afc__reach_address){.family = (uint8_t)address->family,
                                          .scope = (int)address->scope};
        memcpy(out[count].bytes, address->bytes, sizeof out[count].bytes);
    }
    return count;
}

/** Returns whether a lookup that failed with this EAI_… may succeed later. */
static bool is_temporary(int error) {
    return error == EAI_AGAIN || error == EAI_SYSTEM || error == EAI_MEMORY;
}

/** Takes the result of a lookup. The monitor must be active. */
static void take_lookup(afc_reach_monitor *monitor) {
    afc__addresses *found = monitor->lookup.found;
    int error = monitor->lookup.error;
    monitor->lookup = (afc__lookup){0};
    monitor->is_looking_up = false;
    monitor->is_looked_up = true;
    monitor->thread->lookups--;
    monitor->thread->is_due = true;
    if (found != NULL) {
        monitor->address_count = copy_addresses(found, monitor->addresses);
        afc__addresses_release(found);
    } else if (is_temporary(error)) {
        /* A temporary failure doesn't invalidate known addresses. */
        look_up_later(monitor);
    } else {
        monitor->address_count = 0;
    }
}

static void stop_lookup(afc_reach_monitor *monitor) {
    if (!monitor->is_looking_up) return;
    afc__resolver_cancel(&monitor->lookup);
    monitor->is_looking_up = false;
    monitor->thread->lookups--;
    /* Another lookup may be waiting for one of the MAX_LOOKUPS slots. */
    monitor->thread->is_due = true;
}

static void look_up(afc_reach_monitor *monitor, uint64_t fingerprint) {
    if (!monitor->is_looked_up || monitor->fingerprint != fingerprint) {
        monitor->wants_lookup = true;
        monitor->retries = 0;
    }
    if (!monitor->wants_lookup || monitor->is_looking_up) return;
    if (monitor->thread->lookups >= MAX_LOOKUPS) return;
    monitor->wants_lookup = false;
    monitor->fingerprint = fingerprint;
    afc__loop_disarm(&monitor->thread->loop, &monitor->retry);
    monitor->thread->lookups++;
    monitor->is_looking_up = true;
    /* A fresh lookup: the network has changed, so cached results are outdated. */
    bool has_ended = afc__resolver_begin(&monitor->lookup, &monitor->thread->names, monitor->host,
                                         AF_UNSPEC, AFC__LOOKUP_FRESH);
    if (has_ended) take_lookup(monitor);
}

/* ---- Deciding and reporting ---------------------------------------------------------------- */

static bool is_same(const afc_reachability *a, const afc_reachability *b) {
    return a->status == b->status && a->link == b->link && strcmp(a->link_name, b->link_name) == 0;
}

static void report_change(afc_reach_monitor *monitor, const afc_reachability *state) {
    if (monitor->was_reported && is_same(&monitor->reported, state)) return;
    monitor->was_reported = true;
    monitor->reported = *state;
    afc__reach_lock();
    bool is_wanted = monitor->is_wanted && monitor->serial == monitor->active_serial;
    if (is_wanted) monitor->state = *state;
    afc__reach_unlock();
    if (is_wanted && monitor->on_change != NULL) monitor->on_change(monitor->context, state);
}

typedef enum decision {
    DECIDED,
    TRANSIENT, /* Not decided yet, because routes are about to change. */
    UNKNOWN    /* Not decided, because the kernel couldn't be asked. The monitor keeps its state. */
} decision;

/** Decides the state of a monitor, and reports it if it has changed. */
static decision decide(afc_reach_monitor *monitor) {
    afc_reachability state = {.status = AFC_REACH_NONE};
    bool is_any_transient = false, is_any_unknown = false;
    for (size_t i = 0; i < monitor->address_count && state.status == AFC_REACH_NONE; i++) {
        afc__reach_route route = afc__reach_probe(&monitor->addresses[i]);
        bool is_transient;
        state = afc__reach_decide(&monitor->thread->table, &route, 1, &is_transient);
        is_any_transient |= is_transient;
        is_any_unknown |= route.is_unknown;
    }
    if (state.status == AFC_REACH_NONE) {
        if (is_any_unknown) return UNKNOWN;
        if (is_any_transient && monitor->thread->transient_count < MAX_TRANSIENT) return TRANSIENT;
    }
    report_change(monitor, &state);
    return DECIDED;
}

/** Returns the delay before the `count`th consecutive try, from 0. */
static int64_t delay_of_try(unsigned count) {
    return (int64_t)FIRST_RESTART_US << (count < MAX_DOUBLINGS ? count : MAX_DOUBLINGS);
}

static void decide_again(afc__reach_thread *thread, bool is_any_transient, bool is_any_unknown) {
    int64_t delay_us = is_any_transient ? TRANSIENT_US : delay_of_try(thread->unknown_count);
    thread->transient_count = is_any_transient ? thread->transient_count + 1 : 0;
    thread->unknown_count = is_any_unknown ? thread->unknown_count + 1 : 0;
    if (!is_any_transient && !is_any_unknown) return;
    afc__loop_arm(&thread->loop, &thread->again, afc__now_us() + delay_us);
}

static void decide_all(afc__reach_thread *thread) {
    if (!thread->is_due || thread->table.stage != AFC__REACH_KNOWN) return;
    thread->is_due = false;
    bool is_any_transient = false, is_any_unknown = false;
    uint64_t fingerprint = afc__reach_fingerprint(&thread->table);
    /* Safe while callbacks run: these only change the list of waiting monitors. */
    for (afc__node *node = thread->active.head.next; node != &thread->active.head;
         node = node->next) {
        afc_reach_monitor *monitor = AFC__OWNER(node, afc_reach_monitor, active);
        if (monitor->host != NULL) {
            look_up(monitor, fingerprint);
            if (!monitor->is_looked_up) continue;
        }
        decision made = decide(monitor);
        is_any_transient |= made == TRANSIENT;
        is_any_unknown |= made == UNKNOWN;
    }
    decide_again(thread, is_any_transient, is_any_unknown);
}

static void again_rang(afc__alarm *alarm) {
    AFC__OWNER(alarm, afc__reach_thread, again)->is_due = true;
}

/* ---- The kernel's messages ----------------------------------------------------------------- */

static void ask(afc__reach_thread *thread) {
    afc__reach_request request;
    while (afc__link_table_ask(&thread->table, &request)) {
        if (!afc__reach_send(thread->netlink, &request)) afc__link_table_refuse(&thread->table);
    }
}

/**
 * Starts over with a new socket: the response to a request may be among the lost messages, and a socket with a dump in
 * progress accepts no other request. Returns false if that isn't possible now.
 */
static bool start_over(afc__reach_thread *thread) {
    int fresh = afc__reach_open();
    if (fresh < 0) return false;
    afc__loop_unwatch(&thread->loop, &thread->watch);
    close(thread->netlink);
    thread->netlink = thread->watch.descriptor = fresh;
    afc__link_table_restart(&thread->table);
    return afc__loop_watch(&thread->loop, &thread->watch, AFC__READABLE) == AFC_OK;
}

/** Arms the timer to start over. The monitors keep their states until then. */
static void start_over_later(afc__reach_thread *thread) {
    int64_t delay_us = delay_of_try(thread->restarts++);
    afc__loop_arm(&thread->loop, &thread->restart, afc__now_us() + delay_us);
}

static void restart_rang(afc__alarm *alarm) {
    afc__reach_thread *thread = AFC__OWNER(alarm, afc__reach_thread, restart);
    thread->is_due = true;
    if (!start_over(thread)) start_over_later(thread);
}

static void netlink_ready(afc__watch *watch, unsigned readiness) {
    (void)readiness;
    afc__reach_thread *thread = AFC__OWNER(watch, afc__reach_thread, watch);
    for (int i = 0; i < MAX_DATAGRAMS; i++) {
        ssize_t size = afc__reach_receive(thread->netlink, thread->buffer, sizeof thread->buffer);
        if (size == 0) return;
        thread->is_due = true;
        if (size > 0) {
            thread->restarts = 0;
            afc__link_table_take(&thread->table, thread->buffer, (size_t)size);
        } else if (size != -ENOBUFS) {
            afc__loop_unwatch(&thread->loop, watch);
            start_over_later(thread);
            return;
        } else if (!start_over(thread)) {
            /* If the old socket still works, everything can be requested through it. */
            afc__link_table_lose(&thread->table);
            start_over_later(thread);
        }
    }
}

static afc_link_kind kind_of(void *context, int index, const char *name) {
    (void)context;
    return afc__reach_medium("/sys/class/net", index, name);
}

/* ---- Starting and stopping monitors -------------------------------------------------------- */

static void activate(afc__reach_thread *thread, afc_reach_monitor *monitor, unsigned serial) {
    if (!monitor->is_active) {
        monitor->is_active = true;
        monitor->thread = thread;
        atomic_fetch_add(&monitor->references, 1);
        afc__list_append(&thread->active, &monitor->active);
        thread->active_count++;
        monitor->retry.callback = retry_rang;
        size_t alarms = thread->active_count + OWN_ALARMS;
        afc_status status = afc__loop_reserve_alarms(&thread->loop, alarms);
        monitor->can_retry = status == AFC_OK;
    }
    monitor->active_serial = serial;
    monitor->was_reported = false;
    monitor->is_looked_up = false;
    thread->is_due = true;
}

static void deactivate(afc__reach_thread *thread, afc_reach_monitor *monitor) {
    if (!monitor->is_active) return;
    monitor->is_active = false;
    stop_lookup(monitor);
    afc__loop_disarm(&thread->loop, &monitor->retry);
    afc__list_remove(&monitor->active);
    thread->active_count--;
    afc__reach_unreference(monitor);
}

/** Removes and returns the first waiting monitor, or NULL. Takes and releases the lock. */
static afc_reach_monitor *next_waiting(afc__reach_thread *thread, bool *is_wanted,
                                       unsigned *serial) {
    afc_reach_monitor *monitor = NULL;
    afc__reach_lock();
    afc__node *node = afc__list_first(&thread->waiting);
    if (node != NULL) {
        afc__list_remove(node);
        monitor = AFC__OWNER(node, afc_reach_monitor, waiting);
        monitor->is_waiting = false;
        *is_wanted = monitor->is_wanted;
        *serial = monitor->serial;
    }
    afc__reach_unlock();
    return monitor;
}

static void take_posts(void *context, afc__post *first) {
    afc__reach_thread *thread = context;
    bool has_names = false;
    for (afc__post *post = first; post != NULL; post = post->next) {
        has_names |= post == &thread->names.post;
    }
    /* Reset before the list is processed: later posts then queue the node again. */
    afc__reach_lock();
    thread->is_posted = false;
    afc__reach_unlock();
    bool is_wanted;
    unsigned serial;
    afc_reach_monitor *monitor;
    while ((monitor = next_waiting(thread, &is_wanted, &serial)) != NULL) {
        if (is_wanted) {
            activate(thread, monitor, serial);
        } else {
            deactivate(thread, monitor);
        }
        afc__reach_unreference(monitor);
    }
    afc__lookup *lookup;
    while (has_names && (lookup = afc__resolver_take_ended(&thread->names)) != NULL) {
        take_lookup(AFC__OWNER(lookup, afc_reach_monitor, lookup));
    }
}

/* ---- The thread ---------------------------------------------------------------------------- */

static afc__turn finish_turn(void *context, bool was_idle) {
    (void)was_idle;
    afc__reach_thread *thread = context;
    ask(thread);
    decide_all(thread);
    afc__reach_lock();
    bool is_over = thread->wanted == 0 && thread->active_count == 0 &&
                   afc__list_is_empty(&thread->waiting);
    /* From now on new monitors start another thread. */
    if (is_over && shared.thread == thread) shared.thread = NULL;
    afc__reach_unlock();
    return is_over ? AFC__TURN_END : AFC__TURN_SLEEP;
}

static void clear(afc__reach_thread *thread) {
    if (thread->netlink >= 0) close(thread->netlink);
    afc__link_table_clear(&thread->table);
    afc__resolver_close(&thread->names);
    afc__loop_clear(&thread->loop);
    afc_free(thread);
}

static void ended(void *context) {
    clear(context);
}

static afc_status fail_system(afc_failure *failure, int error, const char *what) {
    afc__fail(failure, AFC_EINTERNAL, "%s: %s", what, strerror(error));
    failure->system_error = error;
    return AFC_EINTERNAL;
}

static afc_status set_up(afc__reach_thread *thread, afc_failure *failure) {
    afc__loop_owner owner = {thread, take_posts, NULL, finish_turn, ended, "af-reach"};
    afc_status status = afc__loop_init(&thread->loop, owner, failure);
    if (status != AFC_OK) return status;
    if (afc__loop_reserve_alarms(&thread->loop, OWN_ALARMS) != AFC_OK) {
        return afc__fail_memory(failure);
    }
    thread->netlink = afc__reach_open();
    if (thread->netlink < 0) return fail_system(failure, -thread->netlink, "no netlink socket");
    thread->watch = (afc__watch){.descriptor = thread->netlink, .ready = netlink_ready};
    status = afc__resolver_open(&thread->names, &thread->loop, failure);
    if (status != AFC_OK) return status;
    status = afc__loop_watch(&thread->loop, &thread->watch, AFC__READABLE);
    if (status != AFC_OK) return afc__fail(failure, status, "cannot watch the netlink socket");
    return afc__loop_start(&thread->loop, failure);
}

static afc_status start(afc_failure *failure) {
    afc__reach_thread *thread = afc__zalloc(sizeof *thread);
    if (thread == NULL) return afc__fail_memory(failure);
    thread->netlink = -1;
    thread->again.callback = again_rang;
    thread->restart.callback = restart_rang;
    afc__list_init(&thread->waiting);
    afc__list_init(&thread->active);
    afc__link_table_init(&thread->table, kind_of, thread);
    afc_status status = set_up(thread, failure);
    if (status != AFC_OK) {
        clear(thread);
        return status;
    }
    shared.thread = thread;
    return AFC_OK;
}

afc_status afc__reach_thread_get(afc__reach_thread **out, afc_failure *failure) {
    afc_status status = shared.thread == NULL ? start(failure) : AFC_OK;
    *out = shared.thread;
    return status;
}

afc__reach_thread *afc__reach_thread_running(void) {
    return shared.thread;
}

/* ---- Forks --------------------------------------------------------------------------------- */

/** Called in the child, where the thread doesn't exist: its resources belong to the parent. */
static void reset_in_child(void) {
    if (shared.thread != NULL) {
        close(shared.thread->netlink);
        close(shared.thread->loop.epoll_descriptor);
        close(shared.thread->loop.event_descriptor);
    }
    shared.thread = NULL;
    afc__reach_unlock();
}

static void register_handlers(void) {
    /*
     * Threads are started under this lock, so a fork must take it before the lock of run/threads: that module's
     * handlers are registered first, because prepare handlers run in reverse order.
     */
    afc__threads_watch_forks();
    afc__resolver_watch_forks();
    pthread_atfork(afc__reach_lock, afc__reach_unlock, reset_in_child);
}

void afc__reach_watch_forks(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, register_handlers);
}
