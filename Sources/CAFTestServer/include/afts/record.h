/** The record: what the server saw, and ways to wait for it. */
#ifndef AFTS_RECORD_H
#define AFTS_RECORD_H

#include "server.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A header field. Both strings are NUL-terminated and may hold any other bytes, also more NULs. */
typedef struct afts_header {
    /** As sent, with its case. */
    const char *name;
    size_t name_size;
    /** Without the blanks around it. */
    const char *value;
    size_t value_size;
} afts_header;

/** A request as it was received. */
typedef struct afts_request {
    /** The connection's number, and the request's number on it; both from 0. */
    size_t connection;
    size_t number;
    /** The three words of the request line, NUL-terminated. */
    const char *method;
    const char *target;
    const char *version;
    /** In their order on the wire, repeats included. */
    const afts_header *headers;
    size_t header_count;
    /** The exact bytes of the head, including the empty line. */
    const uint8_t *head;
    size_t head_size;
    /** The body without its chunk framing, up to options.body_limit. */
    const uint8_t *body;
    size_t body_size;
    /** The body's length, also past the limit. */
    uint64_t body_total;
    /**
     * Whether the body was received completely. False in a script that hasn't read it, or if the
     * client gave up.
     */
    bool body_complete;
    /** No route matched it, so that the fallback answered. */
    bool unrouted;
} afts_request;

/** How a connection ended. */
typedef enum afts_ending {
    AFTS_STILL_OPEN = 0,
    /** The script, or the stopping server, closed it. */
    AFTS_CLOSED_BY_SERVER,
    /** The client closed it, or its own direction, in an orderly way before the server did. */
    AFTS_CLOSED_BY_CLIENT,
    /** The client reset it, or it broke. */
    AFTS_BROKEN,
    /** The TLS handshake failed. */
    AFTS_HANDSHAKE_FAILED
} afts_ending;

/** A connection. Strings are NUL-terminated and "" when they don't apply. */
typedef struct afts_connection {
    size_t index;
    uint16_t client_port;
    afts_ending ending;
    /** Requests whose head was read. */
    size_t requests;
    /** Exactly what was received (inside TLS), up to options.received_limit, and the full count. */
    const uint8_t *received;
    size_t received_size;
    uint64_t received_total;
    /** Bytes sent, inside TLS. */
    uint64_t sent_total;
    /**
     * Why the server refused what the client sent: with 400 or 431, HTTP/2 with GOAWAY, or a WebSocket's frame with a
     * close frame. The connection ends then.
     */
    const char *refusal;
    /** Whether a TLS handshake was completed, and what came of it. */
    bool tls;
    bool tls_resumed;
    const char *tls_version;
    const char *tls_cipher;
    const char *tls_error;
    const char *sni;
    const char *alpn;
    /** Subject of the client's certificate. */
    const char *client_subject;
} afts_connection;

/** Totals since the start. When a connection counts as closed, and no longer as open: see AFTS_CLOSED. */
typedef struct afts_stats {
    size_t accepted;
    size_t open;
    size_t closed;
    /** The largest number of connections open at the same time. */
    size_t peak_open;
    size_t requests;
    size_t handshakes;
    size_t handshakes_resumed;
    size_t handshakes_failed;
    uint64_t received;
    uint64_t sent;
} afts_stats;

/** Totals at this moment. */
afts_stats afts_server_stats(afts_server *server);

/**
 * Copies request `index`, from 0 in the order in which they were counted.
 *
 * @return the copy, freed by afts_request_free; NULL if it doesn't exist (yet, or was not kept: see
 *         options.record_limit), or when memory is short.
 */
afts_request *afts_copy_request(afts_server *server, size_t index);

/** Frees a copy. NULL is fine. */
void afts_request_free(afts_request *request);

/** The value of the first header called `name`, whatever its case; NULL without one. */
const char *afts_request_header(const afts_request *request, const char *name);

/**
 * Whether a request has a method and a path, which are compared as those of afts_route(). `method` may be NULL.
 *
 * @return AFTS_OK; AFTS_EINVAL for a method or a path that no request has.
 */
afts_status afts_request_matches(const afts_request *request, const char *method, const char *path,
                                 bool *matches);

/** Copies connection `index`, from 0 in the order of acceptance. Like afts_copy_request. */
afts_connection *afts_copy_connection(afts_server *server, size_t index);

/** Frees a copy. NULL is fine. */
void afts_connection_free(afts_connection *connection);

/*
 * Waiting. Each afts_wait…() returns true as soon as the condition holds, and false when `timeout_ms`
 * milliseconds have passed or the server has stopped without it. A negative timeout never passes.
 */

/** What can be waited for. */
typedef enum afts_condition {
    /**
     * A number of requests, in total. A request counts when its body has been read, or when the client gave up before
     * that; if its script reads the head only, when the head has been read. With a subject, such as "GET /users/" and
     * an asterisk, or "/path" for all methods, those that match it count: see afts_request_matches(). Of these, only
     * those that are kept: see options.record_limit.
     */
    AFTS_REQUESTS,
    AFTS_ACCEPTED, /**< A number of accepted connections, in total. */
    /**
     * A number of connections that have ended, in total. One whose client closes it, or its own direction, while a
     * script waits at a gate or pauses, counts from then on.
     */
    AFTS_CLOSED,
    AFTS_OPEN_AT_MOST,      /**< At most a number of open connections. */
    AFTS_RECEIVED,          /**< A number of received bytes, on all connections together. */
    AFTS_HANDSHAKES_FAILED, /**< A number of failed handshakes, in total. */
    AFTS_STALLED            /**< A number of scripts that wait at a gate at the same time. */
} afts_condition;

/**
 * Blocks until a condition holds. `subject` is the gate of AFTS_STALLED, or what AFTS_REQUESTS counts (NULL: all
 * requests), and ignored otherwise. A subject that no request matches never holds.
 */
bool afts_wait(afts_server *server, afts_condition condition, uint64_t count, const char *subject,
               int timeout_ms);

/** afts_wait() for each condition. */
bool afts_wait_requests(afts_server *server, size_t count, int timeout_ms);
bool afts_wait_accepted(afts_server *server, size_t count, int timeout_ms);
bool afts_wait_closed(afts_server *server, size_t count, int timeout_ms);
bool afts_wait_open_at_most(afts_server *server, size_t count, int timeout_ms);
bool afts_wait_received(afts_server *server, uint64_t bytes, int timeout_ms);
bool afts_wait_handshakes_failed(afts_server *server, size_t count, int timeout_ms);
bool afts_wait_stalled(afts_server *server, const char *gate, size_t count, int timeout_ms);

/** A wait that blocks no thread. */
typedef struct afts_watch afts_watch;

/**
 * Calls `reached` once: with true as soon as the condition holds, or with false when the server has stopped without it.
 * That may be before this function returns. It is called with the server's lock held, so it must neither block nor
 * call a function of the server.
 *
 * @return the watch, freed by afts_watch_free() before its server; NULL when memory is short.
 */
afts_watch *afts_watch_new(afts_server *server, afts_condition condition, uint64_t count,
                           const char *subject, void (*reached)(void *context, bool holds),
                           void *context);

/** Frees a watch, whose callback isn't called any more. NULL is fine. */
void afts_watch_free(afts_server *server, afts_watch *watch);

#ifdef __cplusplus
}
#endif

#endif
