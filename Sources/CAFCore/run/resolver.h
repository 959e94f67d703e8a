/**
 * Name resolution. getaddrinfo() can't be interrupted and may take any time, so it runs on a few threads that all
 * sessions of the process share and that no thread ever waits for.
 */
#ifndef AFC_RUN_RESOLVER_H
#define AFC_RUN_RESOLVER_H

#include "base/list.h"
#include "run/loop.h"

#include <stdatomic.h>

struct addrinfo;

enum {
    AFC__RESOLVER_THREADS_MAX = 32,
    /** Maximum number of addresses kept per name and family. */
    AFC__RESOLVER_ADDRESSES_MAX = 64,
    /** Maximum number of cached names. */
    AFC__RESOLVER_KNOWN_MAX = 1024
};

typedef struct afc__address {
    int family;              /**< AF_INET or AF_INET6. */
    uint32_t scope;          /**< Interface index of a link-local address, or 0. */
    unsigned char bytes[16]; /**< 4 or 16 bytes, the rest 0. */
} afc__address;

/** Addresses in the order of getaddrinfo() (RFC 6724). Immutable and reference-counted; any thread. */
typedef struct afc__addresses {
    atomic_uint references;
    int64_t expires_us; /**< Expiry time on the clock of afc__since_boot_us(). */
    size_t count;       /**< At least 1. */
    afc__address list[];
} afc__addresses;

afc__addresses *afc__addresses_retain(afc__addresses *addresses);
void afc__addresses_release(afc__addresses *addresses);

/** A loop that resolves names. `post` is posted to it when lookups have completed. */
typedef struct afc__resolver_client {
    afc__post post;
    afc__loop *loop;
    /* Under the resolver's lock. */
    afc__list ended;
    bool is_posted;
} afc__resolver_client;

/** A lookup: a member of its owner, which must not move until the lookup was taken or cancelled. */
typedef struct afc__lookup {
    afc__node node;
    afc__resolver_client *client;
    struct afc__resolver_name *name; /**< The name that the lookup waits for. */
    /* After completion. */
    afc__addresses *found; /**< A reference of the lookup's owner; NULL if the lookup failed. */
    int error;             /**< If the lookup failed: EAI_… of getaddrinfo(). */
    int system_error;      /**< With EAI_SYSTEM: errno. */
} afc__lookup;

typedef enum afc__lookup_kind {
    AFC__LOOKUP_SHARED, /**< Uses cached addresses and joins running lookups of the same name. */
    AFC__LOOKUP_FRESH   /**< Always asks the system, and doesn't share the result. */
} afc__lookup_kind;

/**
 * Registers a client, which must be closed with afc__resolver_close(). Fails with AFC_EINTERNAL without random bytes.
 */
afc_status afc__resolver_open(afc__resolver_client *client, afc__loop *loop, afc_failure *failure);

/**
 * Removes a client without running lookups; does nothing if it was never opened (zeroed). After the last one, idle
 * threads end and the cache is emptied.
 */
void afc__resolver_close(afc__resolver_client *client);

/**
 * Begins to resolve `host`, which is copied, for the family AF_UNSPEC, AF_INET or AF_INET6. Returns true if the lookup
 * is complete already, from the cache or because memory is out. Otherwise its completion is posted to the client's
 * loop. Loop thread.
 */
bool afc__resolver_begin(afc__lookup *lookup, afc__resolver_client *client, const char *host,
                         int family, afc__lookup_kind kind);

/** Cancels a lookup in any state, even one that was never begun. Doesn't block. Loop thread. */
void afc__resolver_cancel(afc__lookup *lookup);

/**
 * Returns the next completed lookup. Call it when the client's post was received, until it returns NULL; only then
 * there can be another post. Loop thread.
 */
afc__lookup *afc__resolver_take_ended(afc__resolver_client *client);

/** Registers the fork handlers. Modules whose locks must be taken before this one's register theirs afterwards. */
void afc__resolver_watch_forks(void);

/** Settings that tests replace. */
typedef struct afc__resolver_settings {
    int (*look_up)(const char *host, const char *service, const struct addrinfo *hints,
                   /** getaddrinfo(); its results are freed with freeaddrinfo(). */
                   struct addrinfo **out);
    int64_t lifetime_us; /**< Lifetime of cached addresses. */
    int64_t idle_us;     /**< Idle threads end after this time. */
} afc__resolver_settings;

/** Changes the settings for new lookups, unless `settings` is NULL. Returns the previous settings. Any thread. */
afc__resolver_settings afc__resolver_configure(const afc__resolver_settings *settings);

#endif
