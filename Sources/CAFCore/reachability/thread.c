/* The thread af-reach: hears of changes, decides what they mean for each monitor, and tells it. */
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
    MOST_DATAGRAMS = 64, /* In one turn. */
    MOST_LOOKUPS = 4,    /* At once. */
    MOST_RETRIES = 5,    /* Of a lookup that failed for the moment: after 1, 2, 4, 8 and 16 s. */
    FIRST_RETRY_US = 1000 * 1000,
    /* A link that is switched off loses its routes only after that was told. */
    PASSING_US = 5 * 1000,
    MOST_PASSING = 8
};

/* The one that runs. */
static struct {
    pthread_mutex_t lock;
    af__reach_hub *hub; /* NULL: no thread, or one that takes nothing more. */
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
    af__loop_arm(&monitor->hub->loop, &monitor->retry, af__now_us() + delay);
}

static void retry_rang(af__alarm *alarm) {
    af_reach_monitor *monitor = AF__OWNER(alarm, af_reach_monitor, retry);
    monitor->wants_lookup = true;
    monitor->hub->is_due = true;
}

/** The monitor is active. */
static void take_answer(af_reach_monitor *monitor) {
    af__addresses *found = monitor->lookup.found;
    int error = monitor->lookup.error;
    monitor->lookup = (af__lookup){0};
    monitor->is_looking_up = false;
    monitor->is_answered = true;
    monitor->hub->lookups--;
    monitor->hub->is_due = true;
    if (found != NULL) {
        monitor->address_count = af__reach_take_addresses(found, monitor->addresses);
        af__addresses_release(found);
    } else if (af__reach_is_temporary(error)) {
        /* That says nothing against the addresses that are known. */
        look_up_later(monitor);
    } else {
        monitor->address_count = 0;
    }
}

static void stop_lookup(af_reach_monitor *monitor) {
    if (!monitor->is_looking_up) return;
    af__resolver_cancel(&monitor->lookup);
    monitor->is_looking_up = false;
    monitor->hub->lookups--;
    /* Another one may have waited for its turn. */
    monitor->hub->is_due = true;
}

static void look_up(af_reach_monitor *monitor, uint64_t print) {
    if (!monitor->is_answered || monitor->print != print) {
        monitor->wants_lookup = true;
        monitor->retries = 0;
    }
    if (!monitor->wants_lookup || monitor->is_looking_up) return;
    if (monitor->hub->lookups >= MOST_LOOKUPS) return;
    monitor->wants_lookup = false;
    monitor->print = print;
    af__loop_disarm(&monitor->hub->loop, &monitor->retry);
    monitor->hub->lookups++;
    monitor->is_looking_up = true;
    /* The network has changed, so what others were told before says nothing. */
    bool has_ended = af__resolver_begin(&monitor->lookup, &monitor->hub->names, monitor->host,
                                        AF_UNSPEC, AF__LOOKUP_FRESH);
    if (has_ended) take_answer(monitor);
}

/* ---- Deciding and telling ------------------------------------------------------------------ */

static bool is_same(const af_reachability *a, const af_reachability *b) {
    return a->status == b->status && a->link == b->link && strcmp(a->link_name, b->link_name) == 0;
}

static void tell(af_reach_monitor *monitor, const af_reachability *state) {
    if (monitor->was_told && is_same(&monitor->told, state)) return;
    monitor->was_told = true;
    monitor->told = *state;
    af__reach_lock();
    bool is_wanted = monitor->is_wanted && monitor->serial == monitor->active_serial;
    if (is_wanted) monitor->state = *state;
    af__reach_unlock();
    if (is_wanted && monitor->on_change != NULL) monitor->on_change(monitor->context, state);
}

/** false: not yet, because the routes are about to change. */
static bool decide(af_reach_monitor *monitor) {
    af_reachability state = {AF_REACH_NONE, AF_LINK_UNKNOWN, ""};
    bool is_any_passing = false;
    for (size_t i = 0; i < monitor->address_count && state.status == AF_REACH_NONE; i++) {
        af__reach_route route = af__reach_probe(&monitor->addresses[i]);
        bool is_passing;
        state = af__reach_decide(&monitor->hub->facts, &route, 1, &is_passing);
        is_any_passing |= is_passing;
    }
    bool is_final = state.status != AF_REACH_NONE || !is_any_passing ||
                    monitor->hub->passing_count >= MOST_PASSING;
    if (is_final) tell(monitor, &state);
    return is_final;
}

static void decide_all(af__reach_hub *hub) {
    if (!hub->is_due || hub->facts.stage != AF__REACH_KNOWN) return;
    hub->is_due = false;
    bool is_final = true;
    uint64_t print = af__reach_print(&hub->facts);
    /* Callbacks change no list but that of what waits. */
    for (af__node *node = hub->active.head.next; node != &hub->active.head; node = node->next) {
        af_reach_monitor *monitor = AF__OWNER(node, af_reach_monitor, active);
        if (monitor->host != NULL) {
            look_up(monitor, print);
            if (!monitor->is_answered) continue;
        }
        is_final &= decide(monitor);
    }
    if (is_final) {
        hub->passing_count = 0;
    } else {
        hub->passing_count++;
        af__loop_arm(&hub->loop, &hub->passing, af__now_us() + PASSING_US);
    }
}

static void passing_rang(af__alarm *alarm) {
    AF__OWNER(alarm, af__reach_hub, passing)->is_due = true;
}

/* ---- The kernel's messages ----------------------------------------------------------------- */

static void ask(af__reach_hub *hub) {
    af__reach_request request;
    while (af__reach_facts_ask(&hub->facts, &request)) {
        if (!af__reach_send(hub->netlink, &request)) af__reach_facts_refuse(&hub->facts);
    }
}

/**
 * Messages were lost, answers and refusals perhaps among them, and a socket that still has an old
 * question under way takes no new one. A new socket knows of none.
 */
static bool start_over(af__reach_hub *hub) {
    int fresh = af__reach_open();
    if (fresh < 0) {
        af__reach_facts_lose(&hub->facts);
        return true;
    }
    af__loop_unwatch(&hub->loop, &hub->watch);
    close(hub->netlink);
    hub->netlink = hub->watch.descriptor = fresh;
    af__reach_facts_restart(&hub->facts);
    return af__loop_watch(&hub->loop, &hub->watch, AF__READABLE, true) == AF_OK;
}

static void netlink_ready(af__watch *watch, unsigned readiness) {
    (void)readiness;
    af__reach_hub *hub = AF__OWNER(watch, af__reach_hub, watch);
    for (int i = 0; i < MOST_DATAGRAMS; i++) {
        ssize_t size = af__reach_receive(hub->netlink, hub->buffer, sizeof hub->buffer);
        if (size == 0) return;
        hub->is_due = true;
        if (size > 0) {
            af__reach_facts_take(&hub->facts, hub->buffer, (size_t)size);
        } else if (size == -ENOBUFS) {
            if (!start_over(hub)) return;
        } else {
            af__loop_unwatch(&hub->loop, watch);
            return;
        }
    }
}

static af_link_kind kind_of(void *context, int index, const char *name) {
    (void)context;
    return af__reach_medium("/sys/class/net", index, name);
}

/* ---- Monitors coming and going ------------------------------------------------------------- */

static void activate(af__reach_hub *hub, af_reach_monitor *monitor, unsigned serial) {
    if (!monitor->is_active) {
        monitor->is_active = true;
        monitor->hub = hub;
        atomic_fetch_add(&monitor->references, 1);
        af__list_append(&hub->active, &monitor->active);
        hub->active_count++;
        monitor->retry.ring = retry_rang;
        /* One more for the hub's own. */
        af_status status = af__loop_reserve_alarms(&hub->loop, hub->active_count + 1);
        monitor->can_retry = status == AF_OK;
    }
    monitor->active_serial = serial;
    monitor->was_told = false;
    monitor->is_answered = false;
    hub->is_due = true;
}

static void deactivate(af__reach_hub *hub, af_reach_monitor *monitor) {
    if (!monitor->is_active) return;
    monitor->is_active = false;
    stop_lookup(monitor);
    af__loop_disarm(&hub->loop, &monitor->retry);
    af__list_remove(&monitor->active);
    hub->active_count--;
    af__reach_unreference(monitor);
}

/** The first of those that wait, out of its list; under no lock when it returns. */
static af_reach_monitor *next_waiting(af__reach_hub *hub, bool *is_wanted, unsigned *serial) {
    af_reach_monitor *monitor = NULL;
    af__reach_lock();
    af__node *node = af__list_first(&hub->waiting);
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
    af__reach_hub *hub = context;
    bool has_names = false;
    for (af__post *post = first; post != NULL; post = post->next) {
        has_names |= post == &hub->names.post;
    }
    /* Once: whoever posts from here on has the node in the inbox again. */
    af__reach_lock();
    hub->is_posted = false;
    af__reach_unlock();
    bool is_wanted;
    unsigned serial;
    af_reach_monitor *monitor;
    while ((monitor = next_waiting(hub, &is_wanted, &serial)) != NULL) {
        if (is_wanted) {
            activate(hub, monitor, serial);
        } else {
            deactivate(hub, monitor);
        }
        af__reach_unreference(monitor);
    }
    af__lookup *lookup;
    while (has_names && (lookup = af__resolver_take_ended(&hub->names)) != NULL) {
        take_answer(AF__OWNER(lookup, af_reach_monitor, lookup));
    }
}

/* ---- The thread ---------------------------------------------------------------------------- */

static af__turn finish_turn(void *context, bool was_idle) {
    (void)was_idle;
    af__reach_hub *hub = context;
    ask(hub);
    decide_all(hub);
    af__reach_lock();
    bool is_over = hub->wanted == 0 && hub->active_count == 0 && af__list_is_empty(&hub->waiting);
    /* From now on others make a hub of their own. */
    if (is_over && shared.hub == hub) shared.hub = NULL;
    af__reach_unlock();
    return is_over ? AF__TURN_END : AF__TURN_SLEEP;
}

static void clear(af__reach_hub *hub) {
    if (hub->netlink >= 0) close(hub->netlink);
    af__reach_facts_clear(&hub->facts);
    af__resolver_close(&hub->names);
    af__loop_clear(&hub->loop);
    af_free(hub);
}

static void ended(void *context) {
    clear(context);
}

static af_status fail_system(af_failure *failure, int error, const char *what) {
    af__fail(failure, AF_EINTERNAL, "%s: %s", what, strerror(error));
    failure->system_error = error;
    return AF_EINTERNAL;
}

static af_status set_up(af__reach_hub *hub, af_failure *failure) {
    af__loop_owner owner = {hub, take_posts, NULL, finish_turn, ended, "af-reach"};
    af_status status = af__loop_init(&hub->loop, owner, failure);
    if (status != AF_OK) return status;
    if (af__loop_reserve_alarms(&hub->loop, 1) != AF_OK) {
        return af__fail_memory(failure);
    }
    hub->netlink = af__reach_open();
    if (hub->netlink < 0) return fail_system(failure, -hub->netlink, "no netlink socket");
    hub->watch = (af__watch){hub->netlink, netlink_ready};
    status = af__resolver_open(&hub->names, &hub->loop, failure);
    if (status != AF_OK) return status;
    status = af__loop_watch(&hub->loop, &hub->watch, AF__READABLE, true);
    if (status != AF_OK) return af__fail(failure, status, "the netlink socket can't be watched");
    return af__loop_start(&hub->loop, failure);
}

static af_status start(af_failure *failure) {
    af__reach_hub *hub = af__zalloc(sizeof *hub);
    if (hub == NULL) return af__fail_memory(failure);
    hub->netlink = -1;
    hub->passing.ring = passing_rang;
    af__list_init(&hub->waiting);
    af__list_init(&hub->active);
    af__reach_facts_init(&hub->facts, kind_of, hub);
    af_status status = set_up(hub, failure);
    if (status != AF_OK) {
        clear(hub);
        return status;
    }
    shared.hub = hub;
    return AF_OK;
}

af_status af__reach_hub_get(af__reach_hub **out, af_failure *failure) {
    af_status status = shared.hub == NULL ? start(failure) : AF_OK;
    *out = shared.hub;
    return status;
}

af__reach_hub *af__reach_hub_running(void) {
    return shared.hub;
}

/* ---- Forks --------------------------------------------------------------------------------- */

/** The thread, and all that it held, are the parent's. */
static void reset_in_child(void) {
    if (shared.hub != NULL) {
        close(shared.hub->netlink);
        close(shared.hub->loop.epoll_descriptor);
        close(shared.hub->loop.event_descriptor);
    }
    shared.hub = NULL;
    af__reach_unlock();
}

static void register_handlers(void) {
    /* Threads are started under the lock, so a fork has to take it before theirs. */
    af__threads_watch_forks();
    af__resolver_watch_forks();
    pthread_atfork(af__reach_lock, af__reach_unlock, reset_in_child);
}

void af__reach_watch_forks(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, register_handlers);
}
