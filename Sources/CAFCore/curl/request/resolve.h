/**
 * The host names of a session: run/resolver.c looks them up, and libcurl gets the addresses with CURLOPT_RESOLVE, so
 * that libcurl never looks up a name. The thread of a lookup by libcurl is joined when a handle is removed, which would
 * block the loop as long as getaddrinfo() does. Loop thread only.
 */
#ifndef AFC_CURL_REQUEST_RESOLVE_H
#define AFC_CURL_REQUEST_RESOLVE_H

#include "base/text_table.h"
#include "curl/driver.h"
#include "run/resolver.h"

#include <afcore/error.h>
#include <curl/curl.h>

typedef struct afc__name afc__name;
typedef struct afc__resolved afc__resolved;

enum {
    /** Maximum number of names in libcurl's cache without a connection or request. */
    AFC__IDLE_NAMES_MAX = 256,
    /** Maximum number of names of a hop: of a SOCKS5 proxy, and of the server, whose address the proxy needs. */
    AFC__HOSTS_MAX = 2
};

typedef struct afc__names {
    afc__resolver_client client;
    afc__text_table table; /**< Maps "host:port" to an afc__name. */
    afc__text_entry **buckets;
    bool has_wildcard; /**< There is an override for every host, "*:port". */
    afc__list idle;    /**< Unused names, least recently used first. */
    size_t idle_count;
    afc__list failed; /**< Exchanges that failed before they were added to libcurl. */
} afc__names;

/** A name that an exchange uses. */
typedef struct afc__host_use {
    afc__exchange *exchange;
    afc__name *name; /**< NULL if this member isn't used. */
    afc__resolved *resolved;
    afc__node node; /**< In name->waiting, while `resolved` is NULL. */
} afc__host_use;

/** The stage of an exchange: whether it was added to libcurl (curl_multi_add_handle()). */
typedef enum afc__stage {
    AFC__STAGE_IDLE,       /**< No hop. */
    AFC__STAGE_LOOKING_UP, /**< Waiting for addresses. */
    /** The lookup failed, or libcurl refused the handle: the hop is about to end. */
    AFC__STAGE_FAILED,
    AFC__STAGE_ADDED /**< Added to libcurl. */
} afc__stage;

/** The names that a hop uses. Zeroed between two hops. */
typedef struct afc__hosts {
    afc__stage stage;
    afc__host_use uses[AFC__HOSTS_MAX];
    unsigned missing;  /**< The number of names that the hop waits for. */
    int64_t began_us;  /**< When the wait began (afc__now_us()); 0 if the hop didn't wait. */
    int64_t waited_us; /**< The duration of the wait, once it has ended. */
    int64_t added_us;  /**< When the handle was added to libcurl. */
    /** The value of CURLOPT_RESOLVE. */
    struct curl_slist list[AFC__HOSTS_MAX + 1];
    bool has_list; /**< CURLOPT_RESOLVE is set to `list`. */
    /** A name that the last entry of `list` removes from libcurl's cache, or NULL. */
    afc__name *evicted;
    afc__node node; /**< In names->failed. */
    /** The error of getaddrinfo() (EAI_…), and errno for EAI_SYSTEM. */
    int error, system_error;
    bool is_proxy;     /**< The name that failed is the proxy's. */
    CURLMcode refusal; /**< If `error` is 0: libcurl's error when the handle was added. */
} afc__hosts;

/**
 * Initialises driver->names with the session's overrides. Fails with AFC_ENOMEM or AFC_EINTERNAL; afc__names_clear() is
 * allowed then.
 */
afc_status afc__names_init(afc__driver *driver, afc_failure *failure);
void afc__names_clear(afc__driver *driver);

/**
 * Starts a prepared hop, once the addresses of all hosts that it connects to are known. Sets the stage:
 * AFC__STAGE_ADDED if the handle was added to libcurl, AFC__STAGE_LOOKING_UP if the hop has to wait, or
 * AFC__STAGE_FAILED. Fails with AFC_ENOMEM; nothing was started then.
 */
afc_status afc__exchange_begin(afc__exchange *exchange, afc_failure *failure);

/** Records that libcurl's cache has none of the addresses any more, as its multi handle was replaced. */
void afc__names_forget_loaded(afc__driver *driver);

/** Handles finished lookups: hops that waited are added to libcurl, or fail. */
void afc__names_take_ended(afc__driver *driver);

/** Returns the next exchange that failed before it was added to libcurl, or NULL. */
afc__exchange *afc__names_next_failed(afc__driver *driver);

/** Sets `*failure` to the reason of an exchange whose stage is AFC__STAGE_FAILED. */
void afc__exchange_explain_names(const afc__exchange *exchange, afc_failure *failure);

/** Call it in a callback of the transfer: libcurl has read CURLOPT_RESOLVE into its cache by then. */
void afc__exchange_names_are_loaded(afc__exchange *exchange);

/** Releases the names of a hop that has ended, at any stage. */
void afc__exchange_release_names(afc__exchange *exchange);

/** For CURLOPT_RESOLVER_START_FUNCTION: returns whether libcurl may look up the name itself. */
bool afc__exchange_may_look_up(const afc__exchange *exchange);

/** Adds the scope of a link-local address, which libcurl's cache can't store. */
void afc__exchange_add_scope(const afc__exchange *exchange, struct curl_sockaddr *address);

/**
 * Returns the name that a new connection was made for, or NULL, and counts the connection. While a connection is open,
 * other hops don't wait for a new lookup of its host.
 */
afc__name *afc__name_of_connection(afc__exchange *exchange);
/** Call it with the result of afc__name_of_connection() when the connection is closed. */
void afc__name_connection_closed(afc__driver *driver, afc__name *name);

#endif
