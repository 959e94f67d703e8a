/**
 * The host names of a session: looked up by run/resolver, then given to libcurl with CURLOPT_RESOLVE, so that libcurl
 * never looks one up. Its own lookups run on a thread that it joins when a handle is removed: for as long as
 * getaddrinfo() hangs, the loop would hang with it.
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
    /** Names without a connection or request that a session keeps in libcurl's cache. */
    AF__MOST_IDLE_NAMES = 256,
    /** A proxy, and the target of a SOCKS5 proxy that wants its address. */
    AF__MOST_HOSTS = 2
};

typedef struct af__names {
    af__resolver_client client;
    af__text_table table; /**< "host:port" to af__name. */
    af__text_entry **buckets;
    bool has_wildcard; /**< There is an override for every host, "*:port". */
    af__list idle;     /**< Names that nobody uses, least recently used first. */
    size_t idle_count;
    af__list failed; /**< Exchanges that ended before libcurl got them. */
} af__names;

/** A name that an exchange uses. */
typedef struct af__host_use {
    struct af__exchange *exchange;
    af__name *name; /**< NULL: this one is not needed. */
    af__resolved *resolved;
    af__node node; /**< While `resolved` is NULL: in the list of those that wait for the name. */
} af__host_use;

/** Where an exchange is. */
typedef enum af__stage {
    AF__STAGE_IDLE,       /**< It has no hop. */
    AF__STAGE_LOOKING_UP, /**< It waits for addresses. */
    AF__STAGE_FAILED,     /**< It has none, or libcurl refused it: the hop is about to end. */
    AF__STAGE_ADDED       /**< libcurl has it. */
} af__stage;

/** The part of an exchange that belongs to its names. */
typedef struct af__hosts {
    af__stage stage;
    af__host_use uses[AF__MOST_HOSTS];
    unsigned missing;  /**< Names that it waits for. */
    int64_t began_us;  /**< When it began to wait, */
    int64_t waited_us; /**< and how long that took; 0: it didn't have to. */
    struct curl_slist list[AF__MOST_HOSTS + 1];
    bool has_list;     /**< CURLOPT_RESOLVE is set to `list`. */
    af__name *evicted; /**< Its last entry takes this one out of libcurl's cache. */
    af__node node;     /**< In names->failed. */
    int error, system_error;
    bool is_proxy;     /**< It is the proxy's name that failed. */
    CURLMcode refusal; /**< Or libcurl refused the handle. */
} af__hosts;

af_status af__names_init(struct af__driver *driver, af_failure *failure);
void af__names_clear(struct af__driver *driver);

/**
 * Find the addresses of all hosts that the prepared hop connects to. Sets the stage: AF__STAGE_ADDED if libcurl has
 * the hop, AF__STAGE_LOOKING_UP if it has to wait, AF__STAGE_FAILED. AF_ENOMEM: nothing was begun.
 */
af_status af__exchange_begin(struct af__exchange *exchange, af_failure *failure);

/** The lookups that have ended: hops that waited go to libcurl, or fail. */
void af__names_take_ended(struct af__driver *driver);

/** The next exchange that failed before libcurl got it, or NULL. */
struct af__exchange *af__names_next_failed(struct af__driver *driver);

/** Why it failed. */
void af__exchange_explain_names(const struct af__exchange *exchange, af_failure *failure);

/** libcurl has taken CURLOPT_RESOLVE into its cache. */
void af__exchange_names_are_loaded(struct af__exchange *exchange);

/** The hop has ended, at whichever stage. */
void af__exchange_release_names(struct af__exchange *exchange);

/** CURLOPT_RESOLVER_START_FUNCTION: may libcurl look for the name itself? */
bool af__exchange_may_look_up(const struct af__exchange *exchange);

/** libcurl's cache has no room for the scope of link-local addresses: add it. */
void af__exchange_add_scope(const struct af__exchange *exchange, struct curl_sockaddr *address);

/** As long as a connection is open, hops need not wait for its host's addresses to be renewed. */
af__name *af__name_of_connection(struct af__exchange *exchange);
void af__name_connection_closed(struct af__driver *driver, af__name *name);

#endif
