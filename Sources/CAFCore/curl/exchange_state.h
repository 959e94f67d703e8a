/** The state of an exchange, for the sources of the driver: no header needs it. */
#ifndef AFC_CURL_EXCHANGE_STATE_H
#define AFC_CURL_EXCHANGE_STATE_H

#include "base/list.h"
#include "base/turn_budget.h"
#include "curl/body/decoder.h"
#include "curl/body/direct_io.h"
#include "curl/body/direction_state.h"
#include "curl/body/early_response.h"
#include "curl/body/gzip_end.h"
#include "curl/connection/isolation.h"
#include "curl/driver_internal.h"
#include "curl/easy_options.h"
#include "curl/request/resolve.h"
#include "curl/request_progress.h"
#include "curl/trace.h"
#include "tls/tls.h"

#include <assert.h>
#include <curl/curl.h>

/** CURLE_TOO_LARGE, which the headers of libcurl before 8.6.0 don't have. */
enum { AFC__CURLE_TOO_LARGE = 100 };

/** What is true of one hop only, also if it begins again. Plain values: what must be released is beside it. */
typedef struct afc__exchange_hop {
    afc__transfer *transfer;
    afc__exchange_owner owner;
    unsigned slot; /**< See afc__driver_start(). */
    int64_t last_activity_us;
    bool is_looking_up;           /**< libcurl looks its host up over HTTPS. */
    bool has_reported_connecting; /**< See afc__exchange_report_connecting(). */
    bool was_repeated;            /**< libcurl has sent it more than once. */
    long connect_error; /**< errno of an address that failed, if another one was connected. */
} afc__exchange_hop;

/** What is true until the hop ends, or begins again with another connection. Plain values, too. */
typedef struct afc__exchange_run {
    afc__request_progress progress;
    afc__connection_use use; /**< Decided by afc__isolation_begin(). */
    bool avoids_reuse;       /**< A pooled connection had unexpected input. */
    bool is_multiplexed;     /**< Activity on the connection may belong to other exchanges. */
    unsigned tls_layers;     /**< TLS layers prepared for the connection being made. */
    int socket_error;        /**< errno if no socket could be opened; 0: it could. */
    long connections; /**< Opened for it by the time its request was last about to be sent. */
    /** No field line was received since libcurl freed the last response's fields. */
    bool awaits_field;
    bool is_behind_status_line; /**< The last line of a response to CONNECT was its first. */
    afc__receiving receiving;
    bool has_yielded; /**< Receiving is paused until the next turn only; see body_flow.c. */
    afc__sending sending;
    /** libcurl is asked whether it still wants the request body; see peer_end.c. */
    enum { AFC__NUDGE_NONE, AFC__NUDGE_DUE, AFC__NUDGED } nudge;
    bool has_met_end; /**< See afc__reading_filter(). */
    afc__turn_budget budget;
    afc__gzip_end gzip_end;
    afc__decoder *decoder;   /**< Decodes the body instead of libcurl; NULL: none does. */
    int64_t passed;          /**< Body bytes that the transfer has consumed. */
    curl_off_t moved;        /**< If multiplexed: body bytes at the last check. */
    int64_t continue_due_us; /**< See afc__exchange_continue_due(); 0: never. */
    int64_t connect_time_us; /**< When an attempt to connect begins; see next_address.c. */
    bool has_ended;
    CURLcode code;
} afc__exchange_run;

struct afc__exchange {
    afc__exchange *next_free;
    afc__driver *driver;
    CURL *easy;
    afc__easy_state state;
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
    afc__exchange_run run;
    /** Replaces libcurl's result. AFC_OK: libcurl's counts. */
    afc_failure own_failure;
    uint64_t carrier;   /**< Number of the HTTP/2 connection that carried it last; 0: none. */
    int carrier_socket; /**< That connection's descriptor at the time. */
    /** Peer of the connection that carried it last; NULL: none or no TLS. */
    afc__tls_peer *carrier_peer;
    afc__tls_peer *peer;
    afc__tls_peer *proxy_peer; /**< Peer of a new connection to a proxy over TLS. */
    afc__direct direct;
    /** Sockets that name it as their `exchange`, `last` and `opener`, also for an earlier hop. */
    afc__list watched, used, opened;
    afc__socket *held;      /**< HTTP/1: the socket that isn't watched for it; NULL: none. */
    afc__node flush_node;   /**< In driver->to_flush, with AFC__RECEIVING_FLUSH_DUE. */
    afc__node broken_node;  /**< In driver->broken. */
    afc__node silent_node;  /**< In driver->silent: libcurl waited for nothing on its connection, */
    int silent_socket;      /**< which had this descriptor. */
    afc__node attempt_node; /**< In driver->ended_attempts. */
    afc__trace trace;
    afc__hosts hosts;

    afc__early_response early;
};

/** Records what has become of the request. */
static inline void afc__exchange_enter(afc__exchange *exchange, afc__request_progress progress) {
    assert(afc__request_progress_may_become(exchange->run.progress, progress));
    exchange->run.progress = progress;
}

/** Returns whether the hop has its connection; see afc__request_progress_is_connected(). */
static inline bool afc__exchange_is_connected(const afc__exchange *exchange) {
    return afc__request_progress_is_connected(exchange->run.progress);
}

/**
 * Tells whether a body that ends with the connection counts as complete, though it broke while the request's body was
 * being sent. A reset may have lost its end (RFC 9112 section 8): only a response without success, whose status says
 * all, is accepted then.
 */
static inline bool afc__exchange_accepts_end(const afc__exchange *exchange) {
    int status = exchange->hop.transfer->hop.reader->head.status;
    return exchange->early.has_orderly_end || status < 200 || status >= 300;
}

/** Returns whether the hop reads an early response from a listener of our own, and not from its server. */
static inline bool afc__exchange_uses_own_listener(const afc__exchange *exchange) {
    return exchange->early.state == AFC__EARLY_REINJECTED;
}

/** Returns whether libcurl must read nothing for it; see afc__receiving_is_paused(). */
static inline bool afc__exchange_receiving_is_paused(const afc__exchange *exchange) {
    return afc__receiving_is_paused(exchange->run.receiving);
}

/**
 * Returns whether libcurl sends nothing until it is resumed, because the request body had no bytes, or wasn't allowed
 * to send them.
 */
static inline bool afc__exchange_sending_waits(const afc__exchange *exchange) {
    return exchange->run.sending == AFC__SENDING_WAITS;
}

/** The read callback had no bytes. */
static inline void afc__sending_waits(afc__exchange *exchange) {
    exchange->run.sending = AFC__SENDING_WAITS;
}

/** Call it before libcurl is resumed. */
static inline void afc__sending_resumes(afc__exchange *exchange) {
    exchange->run.sending = AFC__SENDING_BY_LIBCURL;
}

/** Returns whether a direction waits for the transfer: afc__exchange_continue() has something to do. */
static inline bool afc__exchange_waits(const afc__exchange *exchange) {
    return exchange->run.receiving != AFC__RECEIVING_OPEN || afc__exchange_sending_waits(exchange);
}

/** Returns whether TLS got no further than the proxy: that to the server begins after the handshake with the proxy. */
static inline bool afc__exchange_ended_at_proxy(const afc__exchange *exchange) {
    return exchange->peer == NULL && exchange->proxy_peer != NULL;
}

/** Ends the exchange with this result. */
static inline void afc__exchange_end_with(afc__exchange *exchange, CURLcode code) {
    exchange->run.has_ended = true;
    exchange->run.code = code;
}

/** Records that something happened, for the idle time limit. */
static inline void afc__exchange_note_activity(afc__exchange *exchange) {
    exchange->hop.last_activity_us = afc__loop_now(exchange->driver->loop);
}

/**
 * Reports that a connection, or the lookup of its host, began at `since_us`; once, and once more after
 * afc__exchange_report_queued().
 */
static inline void afc__exchange_report_connecting(afc__exchange *exchange, int64_t since_us) {
    if (exchange->hop.has_reported_connecting) return;
    exchange->hop.has_reported_connecting = true;
    exchange->hop.owner.connecting(exchange->hop.owner.context, since_us);
}

/** Reports that the addresses are known. What begins now is a wait for a free connection, as far as is known. */
static inline void afc__exchange_report_queued(afc__exchange *exchange) {
    exchange->hop.has_reported_connecting = false;
    exchange->hop.owner.queued(exchange->hop.owner.context);
}

#endif
