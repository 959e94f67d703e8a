/*
 * Recovers responses that arrived while a body was still being sent, on a connection that then broke.
 *
 * libcurl gives up at the first byte that it can't send, and never reads what has arrived. Without TLS those bytes are
 * still in the socket when libcurl closes it. They are read here and reinjected: if the head hasn't begun, libcurl gets
 * them as the response on a separate connection, to a listener of this process; if the body has begun, they are used as
 * its rest. With TLS, tls/tls.c hides the failed write from libcurl, which then reads on by itself.
 *
 * Over HTTP/2 a server may respond and stop reading the body. libcurl would keep waiting to send the rest, so the
 * exchange is ended here once such a response, other than a success, is complete. Over HTTP/1 libcurl stops sending at
 * such a response, but still waits for a body that has paused. If only libcurl knows where the response ends (chunks,
 * codings), peer_end.c makes it check again.
 *
 * Not recoverable: the rest of a line, or of a chunked or encoded body, that has begun; a response that has not begun,
 * through SOCKS or a proxy over TLS.
 *
 * Tests: early_test and h2_early_test. A request without a body spends 165 of its 76,000 instructions on this (row
 * small_64 of Benchmarks/run, callgrind).
 */
#include "curl/body/early_response.h"

#include "base/state.h"
#include "curl/exchange_state.h"
#include "curl/metrics.h"
#include "curl/outcome.h"

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* The largest response that is kept, which a socket accepts at once. The rest of a longer response is lost. */
enum { MAX_RESPONSE = 128 * 1024 };

#define TO(state) (1u << AFC__EARLY_##state)

static const unsigned followers[AFC__EARLY_STATES] = {
    [AFC__EARLY_NONE] = TO(KEPT),
    [AFC__EARLY_KEPT] = TO(NONE) | TO(REINJECTED),
    [AFC__EARLY_REINJECTED] = TO(NONE),
};

bool afc__early_may_become(afc__early_state from, afc__early_state to) {
    return afc__state_may_follow(followers, from, to);
}

static void enter(afc__exchange *exchange, afc__early_state state) {
    assert(afc__early_may_become(exchange->early.state, state));
    exchange->early.state = state;
}

void afc__early_response_init(afc__early_response *early) {
    *early = (afc__early_response){.listener = -1, .peer = -1};
    afc__buffer_init(&early->bytes, UINT32_MAX);
}

/* ---- Keeping ------------------------------------------------------------------------------- */

static bool may_have_response(const afc__exchange *exchange) {
    const afc__transfer *transfer = exchange->hop.transfer;
    if (transfer == NULL || exchange->run.has_ended || exchange->state.connection_auth ||
        !transfer->request.sends_body || transfer->request.url.is_https ||
        afc__transfer_is_clear_http_2(transfer) || afc__transfer_has_failed(transfer) ||
        afc__transfer_is_cancelled(transfer)) {
        return false;
    }
    if (transfer->hop.proxy != NULL && transfer->hop.proxy->kind == AFC__PROXY_HTTPS) return false;
    if (afc__hop_in_body(&transfer->hop)) return afc__transfer_has_plain_body(transfer);
    if (!afc__hop_expects_status(&transfer->hop) || transfer->purpose == AFC__PURPOSE_UPGRADE)
        return false;
    /* SOCKS starts with a handshake, which the listener of this process doesn't implement. */
    return transfer->hop.proxy == NULL || transfer->hop.proxy->kind == AFC__PROXY_HTTP;
}

void afc__exchange_drop_early_response(afc__exchange *exchange) {
    if (exchange->early.state != AFC__EARLY_KEPT) return;
    exchange->early.bytes.size = 0;
    enter(exchange, AFC__EARLY_NONE);
}

/**
 * Returns whether the peer closed a connection in order. recv() has returned 0 for it, which doesn't exclude a reset:
 * once send() has reported the reset, recv() returns 0. Unix-domain sockets have no TCP_INFO, and lose no bytes.
 */
static bool was_closed_in_order(curl_socket_t descriptor) {
    struct tcp_info info = {0};
    socklen_t size = sizeof info;
    if (getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return true;
    return info.tcpi_state != TCP_CLOSE;
}

/** Reads what is left in the socket, up to MAX_RESPONSE bytes. */
static void read_rest(afc__exchange *exchange, curl_socket_t descriptor) {
    char bytes[16 * 1024];
    afc__buffer *kept = &exchange->early.bytes;
    for (;;) {
        ssize_t count = recv(descriptor, bytes, sizeof bytes, MSG_DONTWAIT);
        if (count < 0 && errno == EINTR) continue;
        exchange->early.has_orderly_end = count == 0 && was_closed_in_order(descriptor);
        if (count <= 0) return;
        size_t capacity = MAX_RESPONSE - kept->size;
        size_t size = (size_t)count < capacity ? (size_t)count : capacity;
        if (size == 0) return;
        if (afc__buffer_append(kept, bytes, size) != AFC_OK) {
            kept->size = 0;
            return;
        }
    }
}

void afc__exchange_recover_early_response(afc__exchange *exchange, curl_socket_t descriptor) {
    afc__exchange_drop_early_response(exchange);
    if (exchange->early.state != AFC__EARLY_NONE || !may_have_response(exchange)) return;
    read_rest(exchange, descriptor);
    if (exchange->early.bytes.size > 0) enter(exchange, AFC__EARLY_KEPT);
}

/* ---- Reinjecting --------------------------------------------------------------------------- */

bool afc__exchange_begin_reinjection(afc__exchange *exchange) {
    bool may = exchange->early.state == AFC__EARLY_KEPT && exchange->run.code == CURLE_SEND_ERROR &&
               afc__hop_in_head(&exchange->hop.transfer->hop);
    if (!may) return false;
    afc__exchange_collect_timings(exchange, &exchange->early.measured);
    enter(exchange, AFC__EARLY_REINJECTED);
    return true;
}

/**
 * The socket isn't connected here: libcurl before 8.0 calls connect() even if told that the socket is connected
 * (CURL_SOCKOPT_ALREADY_CONNECTED).
 */
curl_socket_t afc__exchange_open_reinjection(afc__exchange *exchange,
                                             struct curl_sockaddr *address) {
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    socklen_t size = sizeof name;
    int flags = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;
    int listener = socket(AF_UNIX, flags, 0);
    if (listener < 0) return CURL_SOCKET_BAD;
    /*
     * bind() with the family only makes the system choose a name in the abstract namespace, which isn't a file
     * (unix(7), autobind).
     */
    bool listens = bind(listener, (struct sockaddr *)&name, sizeof name.sun_family) == 0 &&
                   getsockname(listener, (struct sockaddr *)&name, &size) == 0 &&
                   listen(listener, 1) == 0;
    int descriptor = listens ? socket(AF_UNIX, flags, 0) : -1;
    if (descriptor < 0) {
        close(listener);
        return CURL_SOCKET_BAD;
    }
    /* libcurl may have given up an earlier socket, and open another one. */
    if (exchange->early.listener >= 0) close(exchange->early.listener);
    exchange->early.listener = listener;
    address->family = AF_UNIX;
    address->protocol = 0;
    address->addrlen = size;
    memcpy(&address->addr, &name, size);
    return descriptor;
}

/** Returns whether the peer is this process: any process may connect to a name chosen by the system. */
static bool is_own(int descriptor) {
    struct ucred peer;
    socklen_t size = sizeof peer;
    return getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
           peer.pid == getpid();
}

bool afc__exchange_feed_reinjection(afc__exchange *exchange) {
    int capacity = 2 * MAX_RESPONSE;
    int peer = accept4(exchange->early.listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (peer < 0) return false;
    /* It stays open to receive the request that libcurl sends; the bytes are never read. */
    exchange->early.peer = peer;
    if (!is_own(peer)) return false;
    setsockopt(peer, SOL_SOCKET, SO_SNDBUF, &capacity, sizeof capacity);
    const char *bytes = exchange->early.bytes.bytes;
    size_t left = exchange->early.bytes.size;
    while (left > 0) {
        ssize_t count = send(peer, bytes, left, MSG_NOSIGNAL);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) break;
        bytes += count;
        left -= (size_t)count;
    }
    shutdown(peer, SHUT_WR);
    return true;
}

/* ---- Complete responses -------------------------------------------------------------------- */

static bool sends_unwanted_body(const afc__exchange *exchange) {
    return exchange->driver->quirks.sends_unwanted_body &&
           afc__transfer_expects_unsent_body(exchange->hop.transfer);
}

/**
 * Returns whether an exchange that asked for an upgrade can end: with a response other than the 101. libcurl would wait
 * for the end of a request body that never begins. Only the body of a refusal is read first.
 */
static bool has_decided_upgrade(const afc__transfer *transfer) {
    if (transfer->hop.phase == AFC__PHASE_AWAITING_ANSWER) return false;
    if (afc__transfer_refuses_upgrade(transfer)) return afc__transfer_has_whole_body(transfer);
    return !afc__transfer_is_upgraded(transfer);
}

bool afc__exchange_has_whole_response(const afc__exchange *exchange) {
    const afc__transfer *transfer = exchange->hop.transfer;
    const afc_head *head = &transfer->hop.reader->head;
    if (!transfer->request.sends_body || afc__hop_in_head(&transfer->hop)) return false;
    if (transfer->purpose == AFC__PURPOSE_UPGRADE) return has_decided_upgrade(transfer);
    /* With HEAD, libcurl sends a body only as a POST, and would wait for a response body. */
    if (afc__request_head_is(&transfer->request, "HEAD"))
        return afc__transfer_has_whole_body(transfer);
    if (sends_unwanted_body(exchange)) return afc__transfer_has_whole_body(transfer);
    bool would_wait = afc__hop_is_http_2(&transfer->hop) || afc__exchange_sending_waits(exchange);
    if (!would_wait || head->status < 300 || !afc__transfer_has_whole_body(transfer)) return false;
    curl_off_t sent = 0;
    curl_easy_getinfo(exchange->easy, CURLINFO_SIZE_UPLOAD_T, &sent);
    return transfer->source.length == AFC_LENGTH_UNKNOWN || sent < transfer->source.length;
}

void afc__exchange_finish_body(afc__exchange *exchange) {
    afc__transfer *transfer = exchange->hop.transfer;
    /*
     * RST_STREAM after a complete response means that the server doesn't read the rest of our body. Some versions of
     * libcurl 8 report that as a failure to send. HTTP/2 bodies never end with their connection.
     */
    bool is_reset = exchange->run.code == CURLE_HTTP2_STREAM ||
                    exchange->run.code == CURLE_SEND_ERROR;
    if (is_reset && afc__hop_is_http_2(&transfer->hop)) {
        exchange->early.is_complete = afc__transfer_has_whole_body(transfer);
        return;
    }
    if (exchange->run.code != CURLE_SEND_ERROR || !afc__hop_in_body(&transfer->hop)) return;
    if (afc__transfer_has_failed(transfer) || !afc__transfer_has_plain_body(transfer)) return;
    curl_off_t received = 0;
    curl_easy_getinfo(exchange->easy, CURLINFO_SIZE_DOWNLOAD_T, &received);
    afc_slice rest = {NULL, 0};
    if (exchange->early.state == AFC__EARLY_KEPT)
        rest = (afc_slice){exchange->early.bytes.bytes, exchange->early.bytes.size};
    int64_t missing = afc__hop_bytes_missing(&transfer->hop, received);
    if ((int64_t)rest.size > missing) rest.size = (size_t)missing;
    if (rest.size > 0) {
        received += (curl_off_t)rest.size;
        if (afc__transfer_on_body(transfer, rest, received) != AFC__CONSUMED) return;
        exchange->early.recovered_size = (int64_t)rest.size;
    }
    bool has_end = missing == INT64_MAX && afc__exchange_accepts_end(exchange);
    exchange->early.is_complete = has_end || (int64_t)rest.size == missing;
}

void afc__exchange_end_reinjection(afc__exchange *exchange) {
    if (exchange->early.listener >= 0) close(exchange->early.listener);
    if (exchange->early.peer >= 0) close(exchange->early.peer);
    exchange->early.listener = exchange->early.peer = -1;
    exchange->early.is_complete = exchange->early.has_orderly_end = false;
    if (exchange->early.state != AFC__EARLY_NONE) enter(exchange, AFC__EARLY_NONE);
    exchange->early.recovered_size = 0;
    afc__buffer_clear(&exchange->early.bytes);
}

void afc__exchange_collect_reinjected(const afc__exchange *exchange, afc_hop *hop) {
    curl_off_t received = 0;
    curl_easy_getinfo(exchange->easy, CURLINFO_SIZE_DOWNLOAD_T, &received);
    *hop = exchange->early.measured;
    hop->received = received;
    hop->first_byte_us = hop->total_us;
}
