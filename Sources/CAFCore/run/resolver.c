#include "run/resolver.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/failure.h"
#include "base/text_table.h"
#include "run/threads.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { BUCKETS = 1024 };

typedef enum name_state {
    NAME_QUEUED,  /* In `shared.queue`. Freed when its last lookup is cancelled. */
    NAME_RUNNING, /* A thread is resolving it. */
    NAME_KNOWN    /* In `shared.known`, until it expires or is evicted. */
} name_state;

/** A name and an address family, in `shared.table` unless the lookup is a fresh one. */
typedef struct afc__resolver_name {
    afc__text_entry entry;
    afc__node node; /* In `shared.queue` or `shared.known`. */
    name_state state;
    afc__lookup_kind kind;
    int family;
    afc__list lookups; /* The lookups that wait for this name. */
    afc__addresses *found;
    char text[]; /* The key: a character for the family, then the host. */
} resolved_name;

/*
 * The state that all threads share, under `lock`. The lock is taken before that of run/threads.c. Nothing that could
 * block is called while it is held: a thread that hangs in getaddrinfo() holds no lock.
 */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t has_work;
    afc__resolver_settings settings;
    bool is_ready;
    /* afc__process_generation() of the process that the other members belong to. */
    unsigned generation;
    afc__text_table table;
    afc__text_entry *buckets[BUCKETS];
    afc__list queue; /* Oldest first. */
    afc__list known; /* Oldest first, which is also the order of their expiry. */
    size_t queued, known_count;
    unsigned clients;
    unsigned threads; /* Number of threads, without dismissed ones. */
    unsigned idle;    /* Number of threads that wait for work. */
    unsigned round;   /* Changed to dismiss the waiting threads. */
} shared = {.lock = PTHREAD_MUTEX_INITIALIZER,
            /* The lifetime is libcurl's default for CURLOPT_DNS_CACHE_TIMEOUT. */
            .settings = {getaddrinfo, INT64_C(60) * 1000 * 1000, INT64_C(10) * 1000 * 1000}};

/* ---- Addresses ----------------------------------------------------------------------------- */

afc__addresses *afc__addresses_retain(afc__addresses *addresses) {
    atomic_fetch_add_explicit(&addresses->references, 1, memory_order_relaxed);
    return addresses;
}

void afc__addresses_release(afc__addresses *addresses) {
    if (addresses == NULL || atomic_fetch_sub(&addresses->references, 1) != 1) return;
    afc_free(addresses);
}

static bool read_address(afc__address *out, const struct sockaddr *address) {
    *out = (afc__address){.family = address->sa_family};
    if (address->sa_family == AF_INET) {
        struct sockaddr_in in;
        memcpy(&in, address, sizeof in);
        memcpy(out->bytes, &in.sin_addr, 4);
    } else if (address->sa_family == AF_INET6) {
        struct sockaddr_in6 in;
        memcpy(&in, address, sizeof in);
        memcpy(out->bytes, &in.sin6_addr, 16);
        out->scope = in.sin6_scope_id;
    } else {
        return false;
    }
    return true;
}

/** Copies the addresses. Returns NULL and sets `*error` when out of memory, or if there is no address (EAI_NONAME). */
static afc__addresses *collect(const struct addrinfo *results, int64_t lifetime_us, int *error) {
    size_t count = 0, counts[2] = {0, 0};
    for (const struct addrinfo *next = results; next != NULL; next = next->ai_next) count++;
    if (count > (size_t)2 * AFC__RESOLVER_ADDRESSES_MAX) {
        count = (size_t)2 * AFC__RESOLVER_ADDRESSES_MAX;
    }
    afc__addresses *found = afc__alloc(sizeof *found + count * sizeof *found->list);
    *error = EAI_MEMORY;
    if (found == NULL) return NULL;
    atomic_init(&found->references, 1);
    found->count = 0;
    for (; results != NULL && found->count < count; results = results->ai_next) {
        size_t *same = &counts[results->ai_family == AF_INET6];
        if (*same >= AFC__RESOLVER_ADDRESSES_MAX) continue;
        if (!read_address(&found->list[found->count], results->ai_addr)) continue;
        ++*same;
        found->count++;
    }
    found->expires_us = afc__since_boot_us() + lifetime_us;
    *error = 0;
    if (found->count > 0) return found;
    afc_free(found);
    *error = EAI_NONAME;
    return NULL;
}

static bool has_ipv6(void) {
    int descriptor = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (descriptor >= 0) close(descriptor);
    return descriptor >= 0;
}

static afc__addresses *look_up(const resolved_name *name, afc__resolver_settings settings,
                               int *error, int *system_error) {
    struct addrinfo hints = {.ai_family = name->family, .ai_socktype = SOCK_STREAM};
    struct addrinfo *results = NULL;
    /* If the machine has no IPv6, AAAA queries are useless. */
    if (name->family == AF_UNSPEC && !has_ipv6()) hints.ai_family = AF_INET;
    errno = 0;
    *error = settings.look_up(name->text + 1, NULL, &hints, &results);
    *system_error = *error == EAI_SYSTEM ? errno : 0;
    if (*error != 0) return NULL;
    afc__addresses *found = collect(results, settings.lifetime_us, error);
    freeaddrinfo(results);
    return found;
}

/* ---- Names, under the lock ----------------------------------------------------------------- */

static resolved_name *owner_of(afc__node *node) {
    return AFC__OWNER(node, resolved_name, node);
}

static void free_name(resolved_name *name) {
    if (name->kind == AFC__LOOKUP_SHARED) afc__text_table_remove(&shared.table, &name->entry);
    if (name->state == NAME_QUEUED) shared.queued--;
    if (name->state == NAME_KNOWN) shared.known_count--;
    afc__list_remove(&name->node);
    afc__addresses_release(name->found);
    afc_free(name);
}

static resolved_name *new_name(const char *text, size_t size, int family, afc__lookup_kind kind) {
    resolved_name *name = afc__zalloc(sizeof *name + size + 1);
    if (name == NULL) return NULL;
    memcpy(name->text, text, size + 1);
    name->entry.key = (afc_slice){name->text, size};
    name->family = family;
    name->kind = kind;
    name->state = NAME_QUEUED;
    afc__list_init(&name->lookups);
    if (kind == AFC__LOOKUP_SHARED) afc__text_table_add(&shared.table, &name->entry);
    afc__list_append(&shared.queue, &name->node);
    shared.queued++;
    return name;
}

static void end_lookup(afc__lookup *lookup, afc__addresses *found, int error, int system_error) {
    afc__resolver_client *client = lookup->client;
    afc__list_remove(&lookup->node);
    lookup->name = NULL;
    lookup->found = found != NULL ? afc__addresses_retain(found) : NULL;
    lookup->error = error;
    lookup->system_error = system_error;
    afc__list_append(&client->ended, &lookup->node);
    if (client->is_posted) return;
    client->is_posted = true;
    afc__loop_post(client->loop, &client->post);
}

/** Completes a name's lookups. Takes `found`. */
static void end_name(resolved_name *name, afc__addresses *found, int error, int system_error) {
    afc__node *node;
    while ((node = afc__list_first(&name->lookups)) != NULL) {
        end_lookup(AFC__OWNER(node, afc__lookup, node), found, error, system_error);
    }
    if (found == NULL || name->kind == AFC__LOOKUP_FRESH || shared.clients == 0) {
        afc__addresses_release(found);
        free_name(name);
        return;
    }
    name->state = NAME_KNOWN;
    name->found = found;
    afc__list_append(&shared.known, &name->node);
    if (++shared.known_count > AFC__RESOLVER_KNOWN_MAX) {
        free_name(owner_of(afc__list_first(&shared.known)));
    }
}

static void forget_known(void) {
    afc__node *node;
    while ((node = afc__list_first(&shared.known)) != NULL) free_name(owner_of(node));
}

/** Fails all queued names, because no thread could be started. */
static void fail_queued(int error) {
    afc__node *node;
    while ((node = afc__list_first(&shared.queue)) != NULL) {
        end_name(owner_of(node), NULL, EAI_SYSTEM, error);
    }
}

/* ---- Forks --------------------------------------------------------------------------------- */

static void lock_shared(void) {
    pthread_mutex_lock(&shared.lock);
}

static void unlock_shared(void) {
    pthread_mutex_unlock(&shared.lock);
}

static void make_condition(void) {
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&shared.has_work, &attributes);
    pthread_condattr_destroy(&attributes);
}

/** Renews the condition, as the threads that wait for it exist only in the parent. */
static void reset_in_child(void) {
    make_condition();
    unlock_shared();
}

static void register_handlers(void) {
    make_condition();
    afc__list_init(&shared.queue);
    afc__list_init(&shared.known);
    shared.generation = afc__process_generation();
    afc__threads_watch_forks();
    pthread_atfork(lock_shared, unlock_shared, reset_in_child);
}

void afc__resolver_watch_forks(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, register_handlers);
}

/** Resets the state in a forked child: lookups, threads and clients belong to the parent. Call it with the lock. */
static void leave_parent(void) {
    if (shared.generation == afc__process_generation()) return;
    shared.generation = afc__process_generation();
    afc__text_entry *entry;
    size_t place = 0;
    while ((entry = afc__text_table_drain(&shared.table, &place)) != NULL) {
        free_name(AFC__OWNER(entry, resolved_name, entry));
    }
    afc__node *node;
    while ((node = afc__list_first(&shared.queue)) != NULL) free_name(owner_of(node));
    shared.clients = shared.threads = shared.idle = 0;
}

/* ---- Threads ------------------------------------------------------------------------------- */

/**
 * Waits for a name to resolve. Returns NULL if the thread must end; it isn't counted any more then. Call it with the
 * lock.
 */
static resolved_name *next_name(void) {
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (time_t)(shared.settings.idle_us / 1000000);
    until.tv_nsec += (long)(shared.settings.idle_us % 1000000) * 1000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    shared.idle++;
    int error = 0;
    unsigned round = shared.round;
    while (shared.queued == 0 && shared.clients != 0 && round == shared.round && error == 0) {
        error = pthread_cond_timedwait(&shared.has_work, &shared.lock, &until);
    }
    /* afc__resolver_close() has announced the end of this thread and no longer counts it. */
    if (round != shared.round) return NULL;
    shared.idle--;
    afc__node *node = afc__list_first(&shared.queue);
    if (node != NULL) {
        resolved_name *name = owner_of(node);
        afc__list_remove(&name->node);
        shared.queued--;
        name->state = NAME_RUNNING;
        return name;
    }
    shared.threads--;
    afc__thread_will_end();
    return NULL;
}

static void run(void *context) {
    (void)context;
    lock_shared();
    resolved_name *name;
    while ((name = next_name()) != NULL) {
        int error, system_error;
        afc__resolver_settings settings = shared.settings;
        unlock_shared();
        afc__addresses *found = look_up(name, settings, &error, &system_error);
        lock_shared();
        end_name(name, found, error, system_error);
    }
    unlock_shared();
}

/** Starts a thread. Call it with the lock, which is released meanwhile. */
static void start_thread(void) {
    shared.threads++;
    unlock_shared();
    int error = afc__thread_start("af-names", run, NULL, NULL);
    lock_shared();
    if (error == 0) return;
    /* Existing threads will handle the queue sooner or later, even if they hang now; without any, nothing would. */
    if (--shared.threads == 0) fail_queued(error);
}

/* ---- For loops ----------------------------------------------------------------------------- */

afc_status afc__resolver_open(afc__resolver_client *client, afc__loop *loop, afc_failure *failure) {
    afc__resolver_watch_forks();
    *client = (afc__resolver_client){.loop = loop};
    afc__list_init(&client->ended);
    lock_shared();
    if (!shared.is_ready) {
        shared.is_ready = afc__text_table_init(&shared.table, shared.buckets, BUCKETS);
    }
    if (shared.is_ready) {
        leave_parent();
        shared.clients++;
    }
    bool is_ready = shared.is_ready;
    unlock_shared();
    if (is_ready) return AFC_OK;
    client->loop = NULL;
    return afc__fail(failure, AFC_EINTERNAL, "the system has no random bytes");
}

void afc__resolver_close(afc__resolver_client *client) {
    if (client->loop == NULL) return;
    client->loop = NULL;
    lock_shared();
    if (--shared.clients == 0) {
        forget_known();
        /* Only idle threads: one in getaddrinfo() announces its end when it returns, which may never happen. */
        for (unsigned i = 0; i < shared.idle; i++) afc__thread_will_end();
        shared.round++;
        shared.threads -= shared.idle;
        shared.idle = 0;
        pthread_cond_broadcast(&shared.has_work);
    }
    unlock_shared();
}

static bool end_at_once(afc__lookup *lookup, afc__addresses *found, int error) {
    lookup->found = found != NULL ? afc__addresses_retain(found) : NULL;
    lookup->error = error;
    return true;
}

/** Begins a lookup; see afc__resolver_begin(). Call it with the lock. */
static bool begin(afc__lookup *lookup, const char *text, size_t size, int family,
                  afc__lookup_kind kind) {
    afc__text_entry *entry = NULL;
    if (kind == AFC__LOOKUP_SHARED) {
        entry = afc__text_table_find(&shared.table, (afc_slice){text, size});
    }
    resolved_name *name = entry != NULL ? AFC__OWNER(entry, struct afc__resolver_name, entry)
                                        : NULL;
    if (name != NULL && name->state == NAME_KNOWN) {
        if (afc__since_boot_us() < name->found->expires_us)
            return end_at_once(lookup, name->found, 0);
        free_name(name);
        name = NULL;
    }
    bool is_new = name == NULL;
    if (is_new) name = new_name(text, size, family, kind);
    if (name == NULL) return end_at_once(lookup, NULL, EAI_MEMORY);
    lookup->name = name;
    afc__list_append(&name->lookups, &lookup->node);
    if (!is_new) return false;
    if (shared.queued <= shared.idle) {
        pthread_cond_signal(&shared.has_work);
    } else if (shared.threads < AFC__RESOLVER_THREADS_MAX) {
        start_thread();
    }
    return false;
}

bool afc__resolver_begin(afc__lookup *lookup, afc__resolver_client *client, const char *host,
                         int family, afc__lookup_kind kind) {
    char text[NI_MAXHOST + 1];
    size_t size = strlen(host);
    *lookup = (afc__lookup){.client = client};
    if (size >= sizeof text - 1) return end_at_once(lookup, NULL, EAI_NONAME);
    text[0] = family == AF_INET ? '4' : family == AF_INET6 ? '6' : '*';
    memcpy(text + 1, host, size + 1);
    lock_shared();
    bool has_ended = begin(lookup, text, size + 1, family, kind);
    unlock_shared();
    return has_ended;
}

void afc__resolver_cancel(afc__lookup *lookup) {
    if (lookup->client == NULL) return;
    lock_shared();
    resolved_name *name = lookup->name;
    afc__list_remove(&lookup->node);
    bool is_needless = name != NULL && name->state == NAME_QUEUED &&
                       afc__list_is_empty(&name->lookups);
    if (is_needless) free_name(name);
    unlock_shared();
    afc__addresses_release(lookup->found);
    *lookup = (afc__lookup){0};
}

afc__lookup *afc__resolver_take_ended(afc__resolver_client *client) {
    lock_shared();
    afc__node *node = afc__list_first(&client->ended);
    if (node != NULL) {
        afc__list_remove(node);
    } else {
        /* Not earlier, as the post must not be posted a second time while it is in the inbox. */
        client->is_posted = false;
    }
    unlock_shared();
    return node != NULL ? AFC__OWNER(node, afc__lookup, node) : NULL;
}

afc__resolver_settings afc__resolver_configure(const afc__resolver_settings *settings) {
    lock_shared();
    afc__resolver_settings before = shared.settings;
    if (settings != NULL) shared.settings = *settings;
    unlock_shared();
    return before;
}
