/**
 * The host names of a session: run/resolver looks them up, and libcurl gets the addresses with
 * CURLOPT_RESOLVE, so libcurl never looks up a name. Its own lookups run on a thread that it joins
 * when a handle is removed: the loop would block as long as getaddrinfo() does.
 */
#ifndef AF_CURL_RESOLVE_H
#define AF_CURL_RESOLVE_H

#include "base/text_table.h"
#include "run/resolver.h"

#include <afcore/error.h>
#include <curl/curl.h>

struct af__exchange;
struct af__driver;

typedef struct af__name af__name;
typedef struct af__resolved af__resolved;

enum {
    /** The limit of names in libcurl's cache without a connection or request. */
    AF__MOST_IDLE_NAMES = 256,
    /** A proxy, and the target of a SOCKS5 proxy that needs its address. */
    AF__MOST_HOSTS = 2
};

typedef struct af__names {
    af__resolver_client client;
    af__text_table table; /**< "host:port" to af__name. */
    af__text_entry **buckets;
    bool has_wildcard; /**< There is an override for every host, "*:port". */
    af__list idle;     /**< Unused names, least recently used first. */
    size_t idle_count;
    af__list failed; /**< Exchanges that failed before libcurl got them. */
} af__names;

/** A name that an exchange uses. */
typedef struct af__host_use {
    struct af__exchange *exchange;
    af__name *name; /**< NULL: this one is not needed. */
    af__resolved *resolved;
    af__node node; /**< While `resolved` is NULL: in the list of those that wait for the name. */
} af__host_use;

/** The stage of an exchange. */
typedef enum af__stage {
    AF__STAGE_IDLE,       /**< No hop. */
    AF__STAGE_LOOKING_UP, /**< Waiting for addresses. */
    AF__STAGE_FAILED,     /**< No addresses, or refused by libcurl: the hop is about to end. */
    AF__STAGE_ADDED       /**< Added to libcurl. */
} af__stage;

/** The name state of an exchange. */
typedef struct af__hosts {
    af__stage stage;
    af__host_use uses[AF__MOST_HOSTS];
    unsigned missing;  /**< The number of names that it waits for. */
    int64_t began_us;  /**< When the wait began, */
    int64_t waited_us; /**< and its duration; 0: none. */
    struct curl_slist list[AF__MOST_HOSTS + 1];
    bool has_list;     /**< CURLOPT_RESOLVE is set to `list`. */
    af__name *evicted; /**< A name that its last entry removes from libcurl's cache. */
    af__node node;     /**< In names->failed. */
    int error, system_error;
    bool is_proxy;     /**< The proxy's name failed. */
    CURLMcode refusal; /**< Or libcurl's error when the handle was added. */
} af__hosts;

af_status af__names_init(struct af__driver *driver, af_failure *failure);
void af__names_clear(struct af__driver *driver);

/**
 * Finds the addresses of all hosts that the prepared hop connects to. Sets the stage:
 * AF__STAGE_ADDED if the hop was added to libcurl, AF__STAGE_LOOKING_UP if it has to wait,
 * AF__STAGE_FAILED. AF_ENOMEM: nothing was started.
 */
af_status af__exchange_begin(struct af__exchange *exchange, af_failure *failure);

/** Handles finished lookups: hops that waited are added to libcurl, or fail. */
void af__names_take_ended(struct af__driver *driver);

/** Returns the next exchange that failed before libcurl got it, or NULL. */
struct af__exchange *af__names_next_failed(struct af__driver *driver);

/** Describes why it failed. */
void af__exchange_explain_names(const struct af__exchange *exchange, af_failure *failure);

/** Call it when libcurl has read CURLOPT_RESOLVE into its cache. */
void af__exchange_names_are_loaded(struct af__exchange *exchange);

/** Releases the names of a hop that has ended, at any stage. */
void af__exchange_release_names(struct af__exchange *exchange);

/** CURLOPT_RESOLVER_START_FUNCTION: returns whether libcurl may look up the name itself. */
bool af__exchange_may_look_up(const struct af__exchange *exchange);

/** Adds the scope of a link-local address, which libcurl's cache can't store. */
void af__exchange_add_scope(const struct af__exchange *exchange, struct curl_sockaddr *address);

/**
 * Returns the name of the connection. While a connection is open, hops don't wait for a new lookup
 * of its host.
 */
af__name *af__name_of_connection(struct af__exchange *exchange);
void af__name_connection_closed(struct af__driver *driver, af__name *name);

#endif
