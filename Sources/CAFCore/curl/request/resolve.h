/**
 * The host names of a session: run/resolver looks them up, and libcurl gets the addresses with
 * CURLOPT_RESOLVE, so libcurl never looks up a name. Its own lookups run on a thread that it joins
 * when a handle is removed: the loop would block as long as getaddrinfo() does.
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
    /** The limit of names in libcurl's cache without a connection or request. */
    AFC__IDLE_NAMES_MAX = 256,
    /** A proxy, and the target of a SOCKS5 proxy that needs its address. */
    AFC__HOSTS_MAX = 2
};

typedef struct afc__names {
    afc__resolver_client client;
    afc__text_table table; /**< "host:port" to afc__name. */
    afc__text_entry **buckets;
    bool has_wildcard; /**< There is an override for every host, "*:port". */
    afc__list idle;    /**< Unused names, least recently used first. */
    size_t idle_count;
    afc__list failed; /**< Exchanges that failed before libcurl got them. */
} afc__names;

/** A name that an exchange uses. */
typedef struct afc__host_use {
    afc__exchange *exchange;
    afc__name *name; /**< NULL: this one is not needed. */
    afc__resolved *resolved;
    afc__node node; /**< While `resolved` is NULL: in the list of those that wait for the name. */
} afc__host_use;

/** The stage of an exchange. */
typedef enum afc__stage {
    AFC__STAGE_IDLE,       /**< No hop. */
    AFC__STAGE_LOOKING_UP, /**< Waiting for addresses. */
    AFC__STAGE_FAILED,     /**< No addresses, or refused by libcurl: the hop is about to end. */
    AFC__STAGE_ADDED       /**< Added to libcurl. */
} afc__stage;

/** The name state of an exchange. */
typedef struct afc__hosts {
    afc__stage stage;
    afc__host_use uses[AFC__HOSTS_MAX];
    unsigned missing;  /**< The number of names that it waits for. */
    int64_t began_us;  /**< When the wait began, */
    int64_t waited_us; /**< and its duration; 0: none. */
    int64_t added_us;  /**< When libcurl got it. */
    struct curl_slist list[AFC__HOSTS_MAX + 1];
    bool has_list;      /**< CURLOPT_RESOLVE is set to `list`. */
    afc__name *evicted; /**< A name that its last entry removes from libcurl's cache. */
    afc__node node;     /**< In names->failed. */
    int error, system_error;
    bool is_proxy;     /**< The proxy's name failed. */
    CURLMcode refusal; /**< Or libcurl's error when the handle was added. */
} afc__hosts;

afc_status afc__names_init(afc__driver *driver, afc_failure *failure);
void afc__names_clear(afc__driver *driver);

/**
 * Finds the addresses of all hosts that the prepared hop connects to. Sets the stage:
 * AFC__STAGE_ADDED if the hop was added to libcurl, AFC__STAGE_LOOKING_UP if it has to wait,
 * AFC__STAGE_FAILED. AFC_ENOMEM: nothing was started.
 */
afc_status afc__exchange_begin(afc__exchange *exchange, afc_failure *failure);

/** Notes that libcurl's cache has none of the addresses any more, as its multi handle was replaced. */
void afc__names_forget_loaded(afc__driver *driver);

/** Handles finished lookups: hops that waited are added to libcurl, or fail. */
void afc__names_take_ended(afc__driver *driver);

/** Returns the next exchange that failed before libcurl got it, or NULL. */
afc__exchange *afc__names_next_failed(afc__driver *driver);

/** Describes why it failed. */
void afc__exchange_explain_names(const afc__exchange *exchange, afc_failure *failure);

/** Call it when libcurl has read CURLOPT_RESOLVE into its cache. */
void afc__exchange_names_are_loaded(afc__exchange *exchange);

/** Releases the names of a hop that has ended, at any stage. */
void afc__exchange_release_names(afc__exchange *exchange);

/** CURLOPT_RESOLVER_START_FUNCTION: returns whether libcurl may look up the name itself. */
bool afc__exchange_may_look_up(const afc__exchange *exchange);

/** Adds the scope of a link-local address, which libcurl's cache can't store. */
void afc__exchange_add_scope(const afc__exchange *exchange, struct curl_sockaddr *address);

/**
 * Returns the name of the connection. While a connection is open, hops don't wait for a new lookup
 * of its host.
 */
afc__name *afc__name_of_connection(afc__exchange *exchange);
void afc__name_connection_closed(afc__driver *driver, afc__name *name);

#endif
