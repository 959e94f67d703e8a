/**
 * The state of an exchange. Only for the source files of Sources/CAFCore/curl: no header outside that folder includes
 * this.
 */
#ifndef AFC_CURL_EXCHANGE_STATE_H
#define AFC_CURL_EXCHANGE_STATE_H

#include "base/list.h"
#include "base/turn_budget.h"
#include "curl/body/decoder.h"
#include "curl/body/direct_io.h"
#include "curl/body/direction_state.h"
#include "curl/body/early_response.h"
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

/**
 * The state of one hop, kept if the hop starts again on another connection. Zeroed when the hop has ended, so whatever
 * must be released is a member of afc__exchange instead.
 */
typedef struct afc__exchange_hop {
    afc__transfer *transfer;
    afc__exchange_owner owner;
    unsigned slot; /**< See afc__driver_start(). */
    int64_t last_activity_us;
    bool is_looking_up;           /**< libcurl is looking up the host with DNS over HTTPS. */
    bool has_reported_connecting; /**< See afc__exchange_report_connecting(). */
    bool was_repeated;            /**< libcurl has sent the request more than once. */
    /** errno of an address that failed before another one was connected; 0 if there was none. */
    long connect_error;
} afc__exchange_hop;

/**
 * The state of one run of a hop: zeroed when the hop has ended, or starts again on another connection. Only `decoder`
 * is released before.
 */
typedef struct afc__exchange_run {
    afc__request_progress progress;
    afc__connection_use use; /**< Decided by afc__isolation_begin(). */
    /** A pooled connection had unexpected input, so this run needs a new one. */
    bool avoids_reuse;
    /** HTTP/2: activity on the connection may belong to other exchanges. */
    bool is_multiplexed;
    /** TLS layers prepared for the connection being made: to a proxy, to the server. */
    unsigned tls_layers;
    int socket_error; /**< errno of the last socket that couldn't be opened; 0 if none failed. */
    long connections; /**< CURLINFO_NUM_CONNECTS when its request was last about to be sent. */
    /** libcurl has freed the fields of the last response, and no field line was received since; see handle.c. */
    bool awaits_field;
    /** The last line received was the status line of a response to CONNECT. */
    bool is_behind_status_line;
    bool has_folded_line; /**< The first field line of a head was folded, and is refused. */
    afc__receiving receiving;
    /** Receiving is paused only until the next turn of the loop; see body_flow.c. */
    bool has_yielded;
    afc__sending sending;
    /**
     * A nudge resumes the paused request body once: libcurl then ends the exchange, or asks for the body again; see
     * peer_end.c.
     */
    enum { AFC__NUDGE_NONE, AFC__NUDGE_DUE, AFC__NUDGED } nudge;
    /** The end of the connection was read; see meets_end_again() in read_pause.c. */
    bool has_met_end;
    afc__turn_budget budget;
    /** Made at the first bytes of an encoded body; NULL before, and for other bodies. */
    afc__decoder *decoder;
    /** Body bytes that the transfer has consumed, before decoding by `decoder`. */
    int64_t passed;
    curl_off_t moved; /**< If multiplexed: body bytes in both directions at the last check. */
    int64_t continue_due_us; /**< See afc__exchange_continue_due(); 0 if it isn't needed. */
    /** connect_time() of next_address.c when the attempt began. */
    int64_t connect_time_us;
    bool has_ended;
    CURLcode code;
} afc__exchange_run;

struct afc__exchange {
    afc__exchange *next_free;
    afc__driver *driver;
    CURL *easy;
    afc__easy_state state;
    char error_text[CURL_ERROR_SIZE];
    CURLU *url;   /**< The server of the last hop, as parsed by libcurl. */
    char *origin; /**< The same as text, "https://host:port"; NULL before the first hop. */
    struct curl_slist *fields; /**< An array of `field_capacity` nodes; those in use are linked. */
    size_t field_capacity;
    afc__buffer field_text;
    afc__buffer proxy_text;
    struct curl_slist proxy_field; /**< Proxy-Authorization, whose text is in `proxy_text`. */
    /** Different for every hop of this exchange. Sockets store it to detect a later hop. */
    uint64_t serial;

    afc__node running_node; /**< In driver->running while the exchange carries a hop. */
    unsigned multi_number;  /**< afc__multi.number when the exchange was made. */

    /* The current hop. */
    afc__exchange_hop hop;
    afc__exchange_run run;
    afc_failure own_failure; /**< Replaces libcurl's result, unless the status is AFC_OK. */
    /** afc__socket.number of the HTTP/2 connection that last carried the request; 0 if none. */
    uint64_t carrier;
    int carrier_socket; /**< The descriptor of `carrier` at that time. */
    /** TLS peer of the connection that last carried the request; NULL before it has one, or without TLS. */
    afc__tls_peer *carrier_peer;
    afc__tls_peer *peer;
    /** TLS peer of the proxy, if the connection to the proxy uses TLS. */
    afc__tls_peer *proxy_peer;
    afc__direct direct;
    /**
     * The sockets (afc__socket) whose members `exchange`, `last` and `opener` point to this exchange, even since an
     * earlier hop.
     */
    afc__list watched, used, opened;
    /** HTTP/1: the socket whose input isn't watched while the exchange is paused, or NULL. */
    afc__socket *held;
    afc__node broken_node;    /**< In driver->bodies.broken. */
    afc__node unwatched_node; /**< In driver->bodies.unwatched; see peer_end.c. */
    int unwatched_socket;     /**< The descriptor on which libcurl waits for nothing any more. */
    afc__node attempt_node;   /**< In driver->ended_attempts. */
    afc__trace trace;
    afc__hosts hosts;

    afc__early_response early;
};

/** Changes the progress of the request; request_progress.h says which changes are allowed. */
static inline void afc__exchange_enter(afc__exchange *exchange, afc__request_progress progress) {
    assert(afc__request_progress_may_become(exchange->run.progress, progress));
    exchange->run.progress = progress;
}

/** Returns whether the hop has its connection; see afc__request_progress_is_connected(). */
static inline bool afc__exchange_is_connected(const afc__exchange *exchange) {
    return afc__request_progress_is_connected(exchange->run.progress);
}

/**
 * Returns whether a body that ends with the connection counts as complete, although the connection broke while the
 * request body was being sent. A reset may have lost the end of the response (RFC 9112 section 8), so a body without an
 * orderly end is accepted only if the status isn't 2xx: such a status is sufficient by itself.
 */
static inline bool afc__exchange_accepts_end(const afc__exchange *exchange) {
    int status = exchange->hop.transfer->hop.reader->head.status;
    return exchange->early.has_orderly_end || status < 200 || status >= 300;
}

/**
 * Returns whether the hop reads an early response from a listener of this process, and not from its server; see
 * early_response.c.
 */
static inline bool afc__exchange_uses_own_listener(const afc__exchange *exchange) {
    return exchange->early.state == AFC__EARLY_REINJECTED;
}

/** Returns whether libcurl must read nothing for the exchange; see afc__receiving_is_paused(). */
static inline bool afc__exchange_receiving_is_paused(const afc__exchange *exchange) {
    return afc__receiving_is_paused(exchange->run.receiving);
}

/**
 * Returns whether libcurl sends nothing until it is resumed: the request body has no bytes now, or may not be sent now.
 */
static inline bool afc__exchange_sending_waits(const afc__exchange *exchange) {
    return exchange->run.sending == AFC__SENDING_WAITS;
}

/** Call it when the read callback (CURLOPT_READFUNCTION) has no bytes. */
static inline void afc__sending_waits(afc__exchange *exchange) {
    exchange->run.sending = AFC__SENDING_WAITS;
}

/** Call it before libcurl is resumed (curl_easy_pause()). */
static inline void afc__sending_resumes(afc__exchange *exchange) {
    exchange->run.sending = AFC__SENDING_BY_LIBCURL;
}

/** Returns whether a direction is paused, or the transfer keeps bytes: afc__exchange_continue() has something to do. */
static inline bool afc__exchange_waits(const afc__exchange *exchange) {
    return exchange->run.receiving != AFC__RECEIVING_OPEN || afc__exchange_sending_waits(exchange);
}

/** Returns whether only the TLS handshake with the proxy began. The one with the server begins after it. */
static inline bool afc__exchange_ended_at_proxy(const afc__exchange *exchange) {
    return exchange->peer == NULL && exchange->proxy_peer != NULL;
}

/** Marks the exchange as ended with this result of libcurl. */
static inline void afc__exchange_end_with(afc__exchange *exchange, CURLcode code) {
    exchange->run.has_ended = true;
    exchange->run.code = code;
}

/** Records activity now, for the idle time limit. */
static inline void afc__exchange_note_activity(afc__exchange *exchange) {
    exchange->hop.last_activity_us = afc__loop_now(exchange->driver->loop);
}

/**
 * Reports to the owner that a connection, or the lookup of its host, began at `since_us`. Further calls do nothing
 * until afc__exchange_report_queued() is called.
 */
static inline void afc__exchange_report_connecting(afc__exchange *exchange, int64_t since_us) {
    if (exchange->hop.has_reported_connecting) return;
    exchange->hop.has_reported_connecting = true;
    exchange->hop.owner.connecting(exchange->hop.owner.context, since_us);
}

/**
 * Reports to the owner that the addresses are known. From now on the hop may be waiting for a free connection: libcurl
 * doesn't report whether it is.
 */
static inline void afc__exchange_report_queued(afc__exchange *exchange) {
    exchange->hop.has_reported_connecting = false;
    exchange->hop.owner.queued(exchange->hop.owner.context);
}

#endif
