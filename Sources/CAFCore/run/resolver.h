/**
 * Host names to addresses. getaddrinfo() can't be interrupted and may take as long as it likes, so it runs on a few
 * threads that all sessions of the process share and that nobody ever waits for.
 */
#ifndef AF_RUN_RESOLVER_H
#define AF_RUN_RESOLVER_H

#include "base/list.h"
#include "run/loop.h"

#include <stdatomic.h>

struct addrinfo;

enum {
    AF__RESOLVER_MOST_THREADS = 32,
    /** Addresses of one name that are kept, of each family. */
    AF__RESOLVER_MOST_ADDRESSES = 64,
    /** Names whose addresses are cached. */
    AF__RESOLVER_MOST_KNOWN = 1024
};

typedef struct af__address {
    int family;              /**< AF_INET or AF_INET6. */
    uint32_t scope;          /**< Link that a link-local address belongs to; 0: none. */
    unsigned char bytes[16]; /**< 4 or 16 of them, the rest 0. */
} af__address;

/** In the order of getaddrinfo(), RFC 6724. Shared by reference; it never changes. */
typedef struct af__addresses {
    atomic_uint references;
    int64_t expires_us; /**< af__now_us() from which on they are to be looked up again. */
    size_t count;       /**< At least 1. */
    af__address list[];
} af__addresses;

af__addresses *af__addresses_retain(af__addresses *addresses);
void af__addresses_release(af__addresses *addresses);

/** A loop whose owner looks up names. Lookups that have ended are posted to it with `post`. */
typedef struct af__resolver_client {
    af__post post;
    af__loop *loop;
    /* Under the resolver's lock. */
    af__list ended;
    bool is_posted;
} af__resolver_client;

/** One question. Lives in its owner, at a fixed address until it has been taken or cancelled. */
typedef struct af__lookup {
    af__node node;
    af__resolver_client *client;
    struct af__resolver_name *name; /**< While it waits. */
    /* When it has ended. */
    af__addresses *found; /**< The owner's reference; NULL: it failed. */
    int error;            /**< Then: EAI_… of getaddrinfo(). */
    int system_error;     /**< With EAI_SYSTEM: errno. */
} af__lookup;

typedef enum af__lookup_kind {
    AF__LOOKUP_SHARED, /**< Takes cached addresses, and joins others that ask for the same. */
    AF__LOOKUP_FRESH   /**< Asks the system in any case, and keeps the result from others. */
} af__lookup_kind;

/** AF_EINTERNAL: the system has no random bytes. Ends with af__resolver_close(). */
af_status af__resolver_open(af__resolver_client *client, af__loop *loop, af_failure *failure);

/** None of its lookups may be under way. After the last client idle threads end, and the cache is emptied. */
void af__resolver_close(af__resolver_client *client);

/**
 * Look up `host` (copied), for AF_UNSPEC, AF_INET or AF_INET6. true: it has ended already, from the cache or
 * because there is no memory. false: its end is posted to the client's loop. Loop thread.
 */
bool af__resolver_begin(af__lookup *lookup, af__resolver_client *client, const char *host,
                        int family, af__lookup_kind kind);

/** Forget it, whether it waits, has ended, or was never begun. Doesn't wait. Loop thread. */
void af__resolver_cancel(af__lookup *lookup);

/**
 * Once the client's post has come out of the inbox: the next lookup that has ended. To be called until it returns
 * NULL; then there will be another post. Loop thread.
 */
af__lookup *af__resolver_take_ended(af__resolver_client *client);

/** So that other fork handlers can be registered behind the resolver's: their locks are taken first. */
void af__resolver_watch_forks(void);

/** What tests replace. */
typedef struct af__resolver_settings {
    int (*look_up)(const char *host, const char *service, const struct addrinfo *hints,
                   struct addrinfo **out); /**< getaddrinfo(); results go to freeaddrinfo(). */
    int64_t lifetime_us;                   /**< Of cached addresses. */
    int64_t idle_us;                       /**< A thread ends that had nothing to do for so long. */
} af__resolver_settings;

/** For the lookups that run from now on; NULL: leave them. Returns those of before. Any thread. */
af__resolver_settings af__resolver_configure(const af__resolver_settings *settings);

#endif
