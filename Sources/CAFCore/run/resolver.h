/**
 * Name resolution. getaddrinfo() can't be interrupted and may take any time, so it runs on a few threads that all
 * sessions of the process share and that no thread ever waits for.
 */
#ifndef AF_RUN_RESOLVER_H
#define AF_RUN_RESOLVER_H

#include "base/list.h"
#include "run/loop.h"

#include <stdatomic.h>

struct addrinfo;

enum {
    AF__RESOLVER_MOST_THREADS = 32,
    /** Maximum number of addresses kept per name and family. */
    AF__RESOLVER_MOST_ADDRESSES = 64,
    /** Maximum number of cached names. */
    AF__RESOLVER_MOST_KNOWN = 1024
};

typedef struct af__address {
    int family;              /**< AF_INET or AF_INET6. */
    uint32_t scope;          /**< Interface index of a link-local address; 0: none. */
    unsigned char bytes[16]; /**< 4 or 16 bytes, the rest 0. */
} af__address;

/** Addresses in the order of getaddrinfo() (RFC 6724). Immutable, with a reference count. */
typedef struct af__addresses {
    atomic_uint references;
    int64_t expires_us; /**< Expiry time on the clock of af__now_us(). */
    size_t count;       /**< At least 1. */
    af__address list[];
} af__addresses;

af__addresses *af__addresses_retain(af__addresses *addresses);
void af__addresses_release(af__addresses *addresses);

/** A loop that resolves names. Completed lookups are posted to it with `post`. */
typedef struct af__resolver_client {
    af__post post;
    af__loop *loop;
    /* Under the resolver's lock. */
    af__list ended;
    bool is_posted;
} af__resolver_client;

/** A lookup, a member of its owner. Must not move until it was taken or cancelled. */
typedef struct af__lookup {
    af__node node;
    af__resolver_client *client;
    struct af__resolver_name *name; /**< While waiting. */
    /* After completion. */
    af__addresses *found; /**< Owned reference; NULL: the lookup failed. */
    int error;            /**< If it failed: EAI_… of getaddrinfo(). */
    int system_error;     /**< With EAI_SYSTEM: errno. */
} af__lookup;

typedef enum af__lookup_kind {
    AF__LOOKUP_SHARED, /**< Uses cached addresses and joins running lookups of the same name. */
    AF__LOOKUP_FRESH   /**< Always asks the system, and doesn't share the result. */
} af__lookup_kind;

/** Registers a client. Pair with af__resolver_close(). AF_EINTERNAL: the system has no random bytes. */
af_status af__resolver_open(af__resolver_client *client, af__loop *loop, af_failure *failure);

/** Removes a client without running lookups. After the last one, idle threads end and the cache is emptied. */
void af__resolver_close(af__resolver_client *client);

/**
 * Resolves `host` (copied) for AF_UNSPEC, AF_INET or AF_INET6. true: already complete, from the cache or because
 * memory is out. false: completion is posted to the client's loop. Loop thread.
 */
bool af__resolver_begin(af__lookup *lookup, af__resolver_client *client, const char *host,
                        int family, af__lookup_kind kind);

/** Cancels a lookup in any state, also one that was never begun. Doesn't block. Loop thread. */
void af__resolver_cancel(af__lookup *lookup);

/**
 * Returns the next completed lookup after the client's post was received. Call it until it returns NULL; then
 * there can be another post. Loop thread.
 */
af__lookup *af__resolver_take_ended(af__resolver_client *client);

/**
 * Registers the fork handlers, so that other modules can register theirs, whose locks are taken first, afterwards.
 */
void af__resolver_watch_forks(void);

/** Settings that tests replace. */
typedef struct af__resolver_settings {
    int (*look_up)(const char *host, const char *service, const struct addrinfo *hints,
                   struct addrinfo **out); /**< getaddrinfo(); results go to freeaddrinfo(). */
    int64_t lifetime_us;                   /**< Lifetime of cached addresses. */
    int64_t idle_us;                       /**< Idle threads end after this time. */
} af__resolver_settings;

/** Changes the settings for new lookups; NULL: no change. Returns the previous settings. Any thread. */
af__resolver_settings af__resolver_configure(const af__resolver_settings *settings);

#endif
