/** Shared by the files of the driver, the only ones that use libcurl. */
#ifndef AFC_CURL_DRIVER_INTERNAL_H
#define AFC_CURL_DRIVER_INTERNAL_H

#include "base/list.h"
#include "curl/allocator.h"
#include "curl/attempt.h"
#include "curl/driver.h"
#include "curl/quirks.h"
#include "curl/resolve.h"
#include "message/proxy.h"
#include "message/redact.h"
#include "tls/tls.h"

#include <assert.h>
#include <curl/curl.h>

/** The options of an easy handle that differ between requests, as last set. */
typedef struct afc__easy_state {
    enum { AFC__KIND_GET, AFC__KIND_HEAD, AFC__KIND_POST, AFC__KIND_UPLOAD } request_kind;
    bool has_custom_method;
    long http_version;
    bool waits_for_multiplex;
    bool decodes;
    bool is_fresh;
    bool connect_only; /**< libcurl gives up a request before it sends anything; see exchange.c. */
    long tls_options;
    bool has_proxy;
    bool has_tunnel; /**< Through an HTTP proxy, also for http. */
    bool has_own_socket;
    bool has_proxy_field;
    /** Which fields are set, if they are only those of every request with that coding; see set_fields(). */
    enum { AFC__FIELDS_OF_REQUEST, AFC__FIELDS_DECODED, AFC__FIELDS_PLAIN } fields;
    bool connection_auth; /**< libcurl authenticates the connection. */
    bool forbids_reuse;
    long connect_ms;
    long expect_ms;
    long weight;
    long buffer_size, upload_buffer_size;
    bool is_verbose; /**< CURLOPT_VERBOSE; see trace.c. */
} afc__easy_state;

/** The state for tracing a hop; see trace.c. */
typedef struct afc__trace {
    afc__buffer head;         /**< The request head sent so far. A secret. */
    afc__redaction redaction; /**< State between two lines of the response. */
    char address[46];         /**< Of the last socket opened. */
    uint16_t port;
} afc__trace;

/** The protocol of a connection, as its last exchange saw it. */
typedef enum afc__connection {
    AFC__CONNECTION_UNKNOWN, /**< Being connected, or not opened by this driver. */
    AFC__CONNECTION_HTTP_1,
    AFC__CONNECTION_HTTP_2, /**< libcurl reads between requests; frames may arrive at any time. */
    AFC__CONNECTION_ENDED   /**< Shut down by this driver, because of unexpected input. */
} afc__connection;

/**
 * What is read and written at once on an upgraded connection: a message of 64 KiB with its head. Below 128 KiB, malloc()
 * doesn't make a mapping for each buffer; the kernel limits their number. Pages that are never used take no memory.
 */
enum { AFC__UPGRADED_BUFFER = 68 * 1024 };

/** What the driver sends and receives on an upgraded connection; see direct_io.h. */
typedef struct afc__direct {
    enum {
        AFC__SENDER_LIBCURL, /**< libcurl may have bytes, and will ask for some. */
        AFC__SENDER_DRIVER   /**< libcurl waits until it is resumed. */
    } sender;
    bool holds_input;     /**< libcurl or the transfer holds bytes that the caller hasn't taken. */
    curl_socket_t socket; /**< CURL_SOCKET_BAD: unknown. */
    int64_t given;        /**< Bytes that libcurl was given, */
    int64_t sent;         /**< and those that were sent without it. */
    int64_t received;     /**< Bytes that were received without libcurl. */
    afc__buffer unsent;   /**< Bytes for libcurl, from the offset on. */
    size_t unsent_offset;
} afc__direct;

typedef struct afc__socket afc__socket;

/** What is true of one hop only. Plain values: what must be released is beside it. */
typedef struct afc__exchange_hop {
    afc__transfer *transfer;
    afc__exchange_owner owner;
    afc__attempt attempt;
    unsigned slot;       /**< See afc__isolation_take(). */
    bool is_looking_up;  /**< libcurl looks its host up over HTTPS. */
    bool was_connecting; /**< The owner was notified. */
    bool avoids_reuse;   /**< A pooled connection had unexpected input. */
    bool was_repeated;   /**< libcurl has sent it more than once. */
    bool is_multiplexed; /**< Activity on the connection may belong to other exchanges. */
    unsigned tls_layers; /**< TLS layers prepared for the connection being made. */
    int socket_error;    /**< errno if no socket could be opened; 0: it could. */
    long connect_error;  /**< errno of an address that failed, if another one was connected. */
    long connections;    /**< Opened for it by the time its request was last about to be sent. */
    /** No field line was received since libcurl freed the last response's fields. */
    bool awaits_field;
    bool is_behind_status_line; /**< The last line of a response to CONNECT was its first. */
    bool has_paused;
    bool has_yielded; /**< Paused until the next turn of the loop; see body_flow.c. */
    uint64_t turn;    /**< The turn that the next member belongs to. */
    int64_t
        turn_began_us; /**< When it got its second piece of the body in that turn; 0: it hasn't. */
    int64_t passed;    /**< Body bytes that the transfer has consumed. */
    curl_off_t moved;  /**< If multiplexed: body bytes at the last check. */
    int64_t last_activity_us;
    int64_t continue_due_us; /**< See afc__exchange_continue_due(); 0: never. */
    bool has_ended;
    CURLcode code;
} afc__exchange_hop;

struct afc__exchange {
    afc__exchange *next_free;
    afc__driver *driver;
    CURL *easy;
    afc__easy_state state;
    CURLcode option_error; /**< The error of the first option that libcurl refused. */
    char error_text[CURL_ERROR_SIZE];
    CURLU *url;                /**< The last hop's server, as libcurl parses it. */
    char *origin;              /**< The same as text, "https://host:port"; NULL: none yet. */
    struct curl_slist *fields; /**< `field_capacity` nodes, linked as far as needed. */
    size_t field_capacity;
    afc__buffer field_text;
    afc__buffer proxy_text;
    struct curl_slist proxy_field; /**< Proxy-Authorization, in `proxy_text`. */
    uint64_t serial;               /**< Different for every hop. */

    afc__node running_node; /**< In driver->running, from its start to its end. */
    unsigned multi_number;  /**< The driver's when the exchange was made. */

    /* This hop. */
    afc__exchange_hop hop;
    afc_failure
        retry_failure;  /**< Why it couldn't begin again; AFC_OK: it could, or didn't have to. */
    uint64_t carrier;   /**< Number of the HTTP/2 connection that carried it last; 0: none. */
    int carrier_socket; /**< That connection's descriptor at the time. */
    /** Peer of the connection that carried it last; NULL: none or no TLS. */
    afc__tls_peer *carrier_peer;
    afc__tls_peer *peer;
    afc__tls_peer *proxy_peer; /**< Of a new connection to a proxy over TLS. */
    afc__direct direct;
    /** Sockets that name it as their `exchange`, `last` and `opener`, also for an earlier hop. */
    afc__list watched, used, opened;
    bool is_stopped;   /**< libcurl must not read for it; see read_pause.c. */
    afc__socket *held; /**< HTTP/1: the socket that isn't watched for it; NULL: none. */
    enum {
        AFC__FLUSH_NONE,
        AFC__FLUSH_DUE,    /**< In the driver's list, to be flushed once libcurl has returned. */
        AFC__FLUSHING,     /**< libcurl is passing on what it collected. */
        AFC__FLUSH_STOPPED /**< Flushed; libcurl reads nothing. */
    } flush;               /**< Of a decoded body; see body_flow.c. */
    afc__node flush_node;  /**< In driver->to_flush, with AFC__FLUSH_DUE. */
    afc__node broken_node; /**< In driver->broken. */
    afc__node silent_node; /**< In driver->silent: libcurl waited for nothing on its connection, */
    int silent_socket;     /**< which had this descriptor. */
    afc__trace trace;
    afc__hosts hosts;

    /* A response that libcurl would have lost; see early_response.c. */
    afc__buffer early_response;
    bool is_reinjected;
    int reinjection_listener, reinjection_peer; /**< -1: none. */
    afc_hop measured;                           /**< The timings when the connection broke. */
    bool has_whole_response; /**< Its body is complete, although ours wasn't sent completely. */
    int64_t recovered_size;  /**< Bytes of it that libcurl doesn't know about. */
};

/** Records what has become of the request. */
static inline void afc__exchange_enter(afc__exchange *exchange, afc__attempt attempt) {
    assert(afc__attempt_may_become(exchange->hop.attempt, attempt));
    exchange->hop.attempt = attempt;
}

/** Returns whether the hop has its connection; see afc__attempt_is_connected(). */
static inline bool afc__exchange_is_connected(const afc__exchange *exchange) {
    return afc__attempt_is_connected(exchange->hop.attempt);
}

/** Keeps the error of the first option that libcurl refused. */
static inline void afc__exchange_check_option(afc__exchange *exchange, CURLcode code) {
    if (exchange->option_error == CURLE_OK) exchange->option_error = code;
}

/** Sets an option of the exchange's handle. Refusals are kept by afc__exchange_check_option(). */
#define AFC__SET(exchange, option, value)                                                          \
    afc__exchange_check_option(exchange, curl_easy_setopt((exchange)->easy, option, value))

struct afc__socket {
    afc__watch watch;
    afc__driver *driver;
    afc__exchange *exchange; /**< The last one that libcurl named; for its activity only. */
    afc__exchange *last;     /**< The same, also after libcurl has released the socket, */
    uint64_t last_serial;    /**< if this is still its hop. */
    /* In the lists of these exchanges, and of `opener`; only socket_links.c changes them. */
    afc__node exchange_node, last_node, opener_node;
    afc__name *name;    /**< The host that it was opened for; NULL: no lookup. */
    unsigned wanted;    /**< Readiness that libcurl waits for. */
    unsigned watched;   /**< Readiness that epoll reports. */
    bool is_registered; /**< Registered with epoll. */
    bool is_own;        /**< Opened by this driver, so closing it is reported. */

    /* Of a connection; see connection_reuse.c. */
    afc__connection kind;
    afc__exchange *opener;   /**< The exchange that it was opened for, */
    uint64_t opener_serial;  /**< if this is still its hop. */
    uint64_t number;         /**< Unique among connections; 0: closed. */
    uint64_t closed_number;  /**< The previous connection with this descriptor, */
    bool was_open;           /**< and whether the peer had not ended that one when it was closed. */
    afc__tls_peer *proxy;    /**< The TLS peer of the proxy; NULL: none. */
    uint32_t requests;       /**< Sent on it so far. */
    uint32_t streams;        /**< HTTP/2: exchanges on it, */
    uint32_t stopped;        /**< and how many of them are stopped. */
    bool must_recheck;       /**< See afc__driver_recheck(). */
    afc__socket *next_alike; /**< Next in the same slot of afc__driver.by_port. */
    int local_port;
    char local[46], remote[46];
};

typedef struct afc__network afc__network;

enum { AFC__PORT_PLACES = 256 };

struct afc__driver {
    afc__loop *loop;
    CURLM *multi;          /**< NULL: memory was too short for another one. */
    CURLMcode multi_error; /**< Other than CURLM_OK: `multi` is unusable; see sockets.c. */
    unsigned multi_number; /**< How many were replaced. */
    CURLSH *share;
    afc__tls *tls;
    afc__tls *proxy_tls; /**< For proxies: their own policy, no client certificates. */
    afc__proxies proxies;
    afc__network *network; /**< NULL: the system's defaults. */
    afc__names names;
    afc__memory *memory;
    afc__quirks quirks;
    char *user_agent;
    const char *encodings; /**< Encodings that this libcurl decodes, for Accept-Encoding. */
    long max_idle_s, max_age_s;
    uint32_t max_requests; /**< Per connection; 0: no limit. */
    bool forbids_reuse;
    bool rechecks;         /**< Some socket must be rechecked. */
    unsigned auth_schemes; /**< afc__connection_schemes() */
    uint32_t max_connections_per_host, max_connections;
    long max_idle_connections;
    uint32_t active;
    bool is_abandoning; /**< libcurl is releasing connections with unfinished exchanges. */
    unsigned slots;     /**< Slots in use, as bits; see afc__isolation_take(). */
    afc__alarm alarm;
    afc__socket **sockets; /**< By descriptor. */
    size_t socket_capacity;
    afc__socket *by_port[AFC__PORT_PLACES]; /**< Connections by local port. */
    uint64_t opened;                        /**< Sockets opened so far. */
    afc__exchange *free;
    size_t free_count, handle_count; /**< Idle exchanges, and all. */
    /** Unused until the session ends; see afc__exchange_must_be_parked(). */
    afc__exchange *parked;
    size_t parked_count;
    afc__list to_flush; /**< Flushed once libcurl has returned; see body_flow.c. */
    afc__list silent;   /**< Upgrades that may have ended; see afc__driver_next_silent(). */
    /* AFC__UPGRADED_BUFFER bytes each, for direct_io.c; NULL: not needed so far. */
    char *outgoing, *incoming;
    /** Exchanges whose end libcurl doesn't report; see afc__driver_next_ended(). */
    afc__list broken;
    afc__list running; /**< Exchanges from their start to their end. */
    atomic_uint_fast64_t connections;
};

#endif
