/*
 * Decides, when a hop has its connection and its request is about to be sent, whether the request may be sent there, or
 * at all.
 *
 * - Bytes that arrive while no request waits for a response aren't a response (RFC 9112 section 6.3). But libcurl 7
 *   gives them to the next request, and so does libcurl from 8.22.0 on, which checks a connection only once a second.
 *   So a pooled HTTP/1 connection with pending input is abandoned here, before a byte is sent, and the hop starts again
 *   on a new one. A connection that receives input while idle is shut down as soon as the loop notices.
 * - A pooled connection whose local address this machine has lost is shut down, and so abandoned in the same way.
 * - libcurl retries a request by itself if a pooled connection ends before the first byte of the response. The server
 *   may have processed the request by then, so requests that aren't idempotent fail here (RFC 9110 section 9.2.2).
 */
#include "curl/connection/connection_reuse.h"

#include "curl/body/body_flow.h"
#include "curl/body/early_response.h"
#include "curl/body/read_pause.h"
#include "curl/connection/isolation.h"
#include "curl/connection/socket.h"
#include "curl/connection/socket_address.h"
#include "curl/connection/tls_setup.h"
#include "curl/exchange_state.h"
#include "curl/handle.h"
#include "curl/trace.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

enum {
    /* How many reads drain a socket after shutdown(), so that libcurl sees the end of the connection. */
    MAX_DRAIN = 16,
    /*
     * A connection that was idle for less than this isn't checked for its local address: that takes four system calls.
     */
    MIN_REST_US = 100000
};

/* ---- Input --------------------------------------------------------------------------------- */

static const void *ssl_of(const afc__exchange *exchange) {
    const struct curl_tlssessioninfo *tls = NULL;
    if (!exchange->hop.transfer->request.url.is_https) return NULL;
    curl_easy_getinfo(exchange->easy, CURLINFO_TLS_SSL_PTR, &tls);
    return tls != NULL ? tls->internals : NULL;
}

/**
 * Returns whether a pooled connection has pending input. TLS records without HTTP bytes, such as a late session ticket,
 * count as well: they can't be distinguished here, and the cost is one new connection at most.
 */
static bool is_unclean(const afc__socket *socket, const void *ssl) {
    if (socket->kind == AFC__CONNECTION_ENDED) return true;
    if (ssl != NULL && afc__tls_has_input(ssl)) return true;
    if (afc__tls_peer_has_input(socket->proxy)) return true;
    return afc__socket_has_input(socket->watch.descriptor);
}

/* ---- Which socket it is -------------------------------------------------------------------- */

typedef struct reuse_route {
    const char *remote, *local;
    int local_port;
} reuse_route;

static afc__socket **bucket_of(afc__driver *driver, int local_port) {
    return &driver->pooled.by_port[(unsigned)local_port % AFC__PORT_BUCKETS];
}

static bool is_opened_for(const afc__socket *socket, const afc__exchange *exchange,
                          const reuse_route *route) {
    struct sockaddr_storage name;
    socklen_t size = sizeof name;
    afc__ip ip;
    uint16_t port;
    int type = 0;
    socklen_t type_size = sizeof type;
    if (!socket->is_own || socket->number == 0) return false;
    if (socket->opener_serial != exchange->serial) return false;
    int descriptor = socket->watch.descriptor;
    if (getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &type_size) != 0 ||
        type != SOCK_STREAM) {
        return false;
    }
    if (getsockname(descriptor, (struct sockaddr *)&name, &size) != 0) return false;
    bool is_ip = afc__socket_address_read(&ip, &port, (struct sockaddr *)&name);
    return is_ip ? port == route->local_port : name.ss_family == AF_UNIX;
}

static void copy_text(char *out, size_t size, const char *text) {
    size_t length = strnlen(text, size - 1);
    memcpy(out, text, length);
    out[length] = '\0';
}

/**
 * Finds the connection that was just made, among the sockets that were opened for several addresses, and adds it to the
 * table.
 */
static afc__socket *register_new(afc__exchange *exchange, const reuse_route *route) {
    afc__driver *driver = exchange->driver;
    for (afc__node *node = exchange->opened.head.next; node != &exchange->opened.head;
         node = node->next) {
        afc__socket *socket = AFC__OWNER(node, afc__socket, opener_node);
        if (!is_opened_for(socket, exchange, route)) continue;
        afc__socket_set_opener(socket, NULL);
        socket->kind = exchange->run.is_multiplexed ? AFC__CONNECTION_HTTP_2
                                                    : AFC__CONNECTION_HTTP_1;
        socket->local_port = route->local_port;
        copy_text(socket->local, sizeof socket->local, route->local);
        copy_text(socket->remote, sizeof socket->remote, route->remote);
        socket->proxy = afc__tls_peer_retain(exchange->proxy_peer);
        afc__socket **place = bucket_of(driver, route->local_port);
        socket->next_alike = *place;
        *place = socket;
        return socket;
    }
    return NULL;
}

static bool is_on_route(const afc__socket *socket, const reuse_route *route) {
    return socket->local_port == route->local_port &&
           strncmp(socket->local, route->local, sizeof socket->local - 1) == 0 &&
           strncmp(socket->remote, route->remote, sizeof socket->remote - 1) == 0;
}

/**
 * Returns whether an HTTP/1 connection carries another running exchange. After a response with an HTTP/2 status line,
 * libcurl sends further requests to that host over connections in use, whatever their protocol. Such a connection has
 * events that libcurl waits for, or a pause, which belong to the other exchange: between two exchanges libcurl releases
 * a connection.
 */
static bool serves_another(const afc__socket *socket, const afc__exchange *exchange) {
    if (socket->kind == AFC__CONNECTION_HTTP_2 || socket->last == exchange) return false;
    return socket->wanted != 0 ||
           (afc__socket_is_in_use(socket) && afc__exchange_waits(socket->last));
}

/** Returns whether a pooled connection has lost its local address, so that no request on it would be answered. */
static bool has_lost_route(const afc__socket *socket) {
    if (socket->idle.state != AFC__IDLE_RESTING || afc__socket_is_in_use(socket)) return false;
    int64_t rest_us = afc__loop_now(socket->driver->loop) - socket->idle.since_us;
    return rest_us >= MIN_REST_US && afc__socket_has_lost_address(socket->watch.descriptor);
}

/**
 * Finds a pooled connection by its addresses, and sets `*is_clean` to whether the request may be sent there. Addresses
 * may be ambiguous, such as for Unix-domain sockets: the result is then NULL, and `*is_clean` is true only if all
 * candidates are clean.
 */
static afc__socket *find_pooled(const afc__exchange *exchange, const reuse_route *route,
                                bool *is_clean) {
    const void *ssl = ssl_of(exchange);
    afc__socket *found = NULL;
    size_t count = 0;
    bool is_taken = false;
    *is_clean = true;
    for (afc__socket *at = *bucket_of(exchange->driver, route->local_port); at != NULL;
         at = at->next_alike) {
        if (!is_on_route(at, route)) continue;
        if (serves_another(at, exchange)) {
            is_taken = true;
            continue;
        }
        if (has_lost_route(at)) afc__reuse_end(at);
        if (at->kind != AFC__CONNECTION_HTTP_2 && is_unclean(at, ssl)) *is_clean = false;
        found = at;
        count++;
    }
    if (count == 0 && is_taken) *is_clean = false;
    return count == 1 ? found : NULL;
}

void afc__reuse_opened(afc__socket *socket, afc__exchange *exchange) {
    socket->kind = AFC__CONNECTION_UNKNOWN;
    afc__socket_set_opener(socket, exchange);
    socket->opener_serial = exchange->serial;
    socket->number = ++exchange->driver->pooled.opened;
    socket->requests = socket->streams = socket->stopped = 0;
    socket->must_recheck = false;
}

void afc__reuse_closing(afc__socket *socket) {
    afc__driver *driver = socket->driver;
    if (socket->kind != AFC__CONNECTION_UNKNOWN) {
        afc__socket **at = bucket_of(driver, socket->local_port);
        while (*at != NULL && *at != socket) at = &(*at)->next_alike;
        if (*at == socket) *at = socket->next_alike;
        /*
         * Only for connections: an attempt that failed must not change what is known of the last one with this
         * descriptor.
         */
        socket->was_open = socket->kind == AFC__CONNECTION_HTTP_2 &&
                           !afc__socket_has_input(socket->watch.descriptor);
        socket->closed_number = socket->number;
    }
    socket->number = 0;
    socket->kind = AFC__CONNECTION_UNKNOWN;
    afc__socket_set_opener(socket, NULL);
    afc__tls_peer_release(socket->proxy);
    socket->proxy = NULL;
}

void afc__reuse_end(afc__socket *socket) {
    char bytes[16 * 1024];
    int descriptor = socket->watch.descriptor;
    shutdown(descriptor, SHUT_RDWR);
    for (int i = 0; i < MAX_DRAIN; i++) {
        ssize_t count = recv(descriptor, bytes, sizeof bytes, MSG_DONTWAIT);
        if (count == 0 || (count < 0 && errno != EINTR)) break;
    }
    socket->kind = AFC__CONNECTION_ENDED;
}

void afc__reuse_on_input(afc__socket *socket) {
    /* libcurl doesn't wait for input of a paused exchange either, but its input isn't unexpected. */
    if (socket->kind == AFC__CONNECTION_HTTP_1 && !afc__socket_is_in_use(socket))
        afc__reuse_end(socket);
}

void afc__reuse_broke(const afc__exchange *exchange) {
    if (exchange->carrier == 0) return;
    afc__socket *socket = exchange->driver->sockets[exchange->carrier_socket];
    if (socket->number != exchange->carrier) return;
    /* Makes libcurl drop the connection, too, when it checks it. */
    shutdown(socket->watch.descriptor, SHUT_RDWR);
    socket->kind = AFC__CONNECTION_ENDED;
}

/* ---- Sending again ------------------------------------------------------------------------- */

/**
 * Returns whether the exchange's HTTP/2 connection without TLS is still open, by a libcurl that reports broken frames.
 * It isn't known what libcurl has read, so a connection with pending input, including an end, doesn't count as open.
 */
static bool is_clear_connection_open(const afc__exchange *exchange) {
    /*
     * libcurl 8.0 also repeats requests after broken frames. Earlier versions don't, as they pool no such connections.
     */
    const afc__quirks *quirks = &exchange->driver->quirks;
    if (quirks->hides_broken_frames && !quirks->fails_on_second_clear_request) return false;
    const afc__socket *socket = exchange->driver->sockets[exchange->carrier_socket];
    if (socket->number == exchange->carrier)
        return !afc__socket_has_input(exchange->carrier_socket);
    return socket->closed_number == exchange->carrier && socket->was_open;
}

/**
 * Returns whether the server refused the stream, or requires HTTP/1.1. Both mean that the request wasn't processed (RFC
 * 9113 section 8.7). libcurl also retries HTTP/2 requests after CURLE_RECV_ERROR and CURLE_SEND_ERROR on a pooled
 * connection (Curl_retry_request() in lib/transfer.c). Their causes are the end of the connection, or broken frames, or
 * a stream reset with NO_ERROR. The latter two leave an error text, which a refusal doesn't. Before 8.1.0 broken frames
 * leave none, but then nghttp2's GOAWAY is the last frame that libcurl has sent.
 */
static bool was_refused(const afc__exchange *exchange) {
    const afc__tls_peer *peer = exchange->carrier_peer;
    if (exchange->carrier == 0 || exchange->error_text[0] != '\0') return false;
    if (exchange->driver->quirks.repeats_without_text_if_refused) return true;
    if (peer == NULL) return is_clear_connection_open(exchange);
    if (!exchange->driver->quirks.multiplexes && afc__tls_peer_spoke_last(peer)) return false;
    return !afc__tls_peer_has_ended(peer);
}

/** Returns false and fails the transfer if libcurl repeats a request that the server may have processed. */
static bool may_send(afc__exchange *exchange) {
    if (exchange->run.progress != AFC__PROGRESS_SENT) return true;
    exchange->hop.was_repeated = true;
    if (afc__request_head_is_idempotent(&exchange->hop.transfer->request) ||
        was_refused(exchange)) {
        return true;
    }
    exchange->hop.was_repeated = false;
    return afc__transfer_fail_text(
        exchange->hop.transfer, AFC_ELOST,
        "the connection was lost; the server may have processed the request");
}

/** Counts a request on its connection, which is to be closed after the last one that it may carry. */
static void count_request(afc__exchange *exchange, afc__socket *socket) {
    uint32_t most = exchange->driver->pooled.max_requests;
    if (exchange->hop.transfer->purpose == AFC__PURPOSE_CONNECTION || most == 0) return;
    if (socket->requests < UINT32_MAX) socket->requests++;
    if (socket->requests >= most) afc__exchange_close_after(exchange, true);
}

/**
 * Decides whether the request may be sent, and records its connection. Returns false if the hop ends here, or starts
 * again on another connection (AFC__PROGRESS_NOT_SENT).
 */
static bool take_connection(afc__exchange *exchange, const reuse_route *route) {
    long connections = 0;
    bool is_clean = true;
    if (!may_send(exchange)) return false;
    curl_easy_getinfo(exchange->easy, CURLINFO_NUM_CONNECTS, &connections);
    bool is_new = connections != exchange->run.connections;
    exchange->run.connections = connections;
    afc__socket *socket = is_new ? register_new(exchange, route)
                                 : find_pooled(exchange, route, &is_clean);
    if (!is_clean && exchange->run.progress == AFC__PROGRESS_RESPONDING) {
        return afc__transfer_fail_text(exchange->hop.transfer, AFC_EPROTOCOL,
                                       "the server sent data after its response");
    }
    if (!is_clean) {
        /* An HTTP/2 connection would stay in the pool, and be chosen each time. */
        afc__exchange_close_after(exchange, true);
        afc__exchange_enter(exchange, AFC__PROGRESS_NOT_SENT);
        return false;
    }
    afc__exchange_enter(exchange, AFC__PROGRESS_SENT);
    afc__tls_peer_release(exchange->carrier_peer);
    exchange->carrier_peer = afc__tls_peer_retain(exchange->peer);
    if (socket != NULL && exchange->proxy_peer == NULL) {
        exchange->proxy_peer = afc__tls_peer_retain(socket->proxy);
    }
    afc__receiving_begins(exchange);
    if (!afc__exchange_set_carrier(exchange, socket)) {
        return afc__transfer_fail_text(exchange->hop.transfer, AFC_ENOMEM,
                                       "cannot watch the connection");
    }
    if (socket != NULL) {
        count_request(exchange, socket);
        afc__idle_restarts(socket);
    }
    if (socket != NULL && socket->kind != AFC__CONNECTION_HTTP_2) {
        afc__socket_set_last(socket, exchange);
        socket->last_serial = exchange->serial;
    }
    return true;
}

int afc__exchange_on_prerequest(void *context, char *remote, char *local, int remote_port,
                                int local_port) {
    (void)remote_port;
    afc__exchange *exchange = context;
    reuse_route route = {remote != NULL ? remote : "", local != NULL ? local : "", local_port};
    exchange->hop.is_looking_up = false;
    afc__exchange_names_are_loaded(exchange);
    curl_easy_getinfo(exchange->easy, CURLINFO_OS_ERRNO, &exchange->hop.connect_error);
    afc__exchange_attach_peer(exchange);
    if (afc__exchange_uses_own_listener(exchange))
        afc__exchange_enter(exchange, AFC__PROGRESS_SENT);
    else if (!take_connection(exchange, &route))
        return CURL_PREREQFUNC_ABORT;
    bool is_ready = afc__exchange_uses_own_listener(exchange)
                        ? afc__exchange_feed_reinjection(exchange)
                        : afc__transfer_begin_body(exchange->hop.transfer);
    if (!is_ready) return CURL_PREREQFUNC_ABORT;
    afc__result_set_verification(exchange->hop.transfer->result,
                                 afc__tls_peer_copy_verification(exchange->peer));
    exchange->hop.transfer->hop.shares_connection = afc__exchange_shares_connection(exchange);
    afc__exchange_trace_ready(exchange);
    afc__exchange_note_activity(exchange);
    afc__exchange_await_continue(exchange);
    exchange->hop.owner.connected(exchange->hop.owner.context);
    return CURL_PREREQFUNC_OK;
}

bool afc__exchange_claims_http_2(const afc__exchange *exchange) {
    const afc__transfer *transfer = exchange->hop.transfer;
    bool is_claimed = transfer->hop.reader->head.version == AFC_HTTP_2 &&
                      afc__exchange_is_connected(exchange);
    return is_claimed && !exchange->run.is_multiplexed && transfer->version != AFC_HTTP_PREFER_3;
}
