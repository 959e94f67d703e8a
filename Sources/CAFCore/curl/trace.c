/*
 * Reports the events of a traced hop: request heads, from libcurl's CURLOPT_DEBUGFUNCTION, response
 * lines, and the connection used.
 *
 * CURLOPT_VERBOSE is only set when the connection starts: before 8.4, libcurl's handles for DNS
 * over HTTPS copy CURLOPT_VERBOSE without CURLOPT_DEBUGFUNCTION, and would print to standard error.
 */
#include "curl/trace.h"

#include "base/failure.h"
#include "curl/handle.h"
#include "curl/network.h"
#include "transfer/trace.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

/** The end of a head. */
static const char empty_line[] = "\r\n\r\n";

static void forget_head(af__buffer *head) {
    if (head->size > 0) explicit_bzero(head->bytes, head->size);
    head->size = 0;
}

/* ---- The connection ------------------------------------------------------------------------ */

/**
 * Copies the remote address. Until the tunnel is established libcurl doesn't report it; the last
 * address tried is used.
 */
static void copy_remote(const af__exchange *exchange, af_trace_connection *out) {
    const char *address = NULL;
    long port = 0;
    curl_easy_getinfo(exchange->easy, CURLINFO_PRIMARY_IP, &address);
    curl_easy_getinfo(exchange->easy, CURLINFO_PRIMARY_PORT, &port);
    bool is_known = exchange->is_ready && address != NULL && address[0] != '\0';
    if (af__exchange_uses_socket(exchange)) return;
    if (!is_known) {
        memcpy(out->remote_address, exchange->trace.address, sizeof out->remote_address);
        out->remote_port = exchange->trace.port;
        return;
    }
    snprintf(out->remote_address, sizeof out->remote_address, "%s", address);
    out->remote_port = (uint16_t)port;
}

static bool is_reused(const af__exchange *exchange) {
    long connections = 0;
    curl_easy_getinfo(exchange->easy, CURLINFO_NUM_CONNECTS, &connections);
    return connections == 0;
}

static void report_connection(af__exchange *exchange) {
    const af__transfer *transfer = exchange->transfer;
    const struct curl_tlssessioninfo *tls = NULL;
    const void *ssl = NULL;
    af__tls_facts facts = {0};
    bool is_tunnel = !exchange->is_ready;
    af_trace_connection connection = {.is_proxy = transfer->hop.proxy != NULL};
    copy_remote(exchange, &connection);
    connection.is_reused = exchange->is_ready && is_reused(exchange);
    curl_easy_getinfo(exchange->easy, CURLINFO_TLS_SSL_PTR, &tls);
    if (tls != NULL) ssl = tls->internals;
    /* Since 8.16.0 libcurl doesn't expose the SSL of a proxy. */
    if (ssl == NULL) ssl = af__tls_peer_get_ssl(exchange->proxy_peer);
    af_trust_report *report = NULL;
    if (ssl != NULL) {
        af__tls_describe(ssl, &facts);
        bool is_origin = exchange->is_ready && transfer->request.url.is_https;
        const af__tls_peer *peer = is_origin ? exchange->peer : exchange->proxy_peer;
        af__verification *verification = af__tls_peer_copy_verification(peer);
        if (verification != NULL) report = af__verification_report(verification);
        af__verification_release(verification);
        connection.tls_version = facts.version;
        connection.cipher = facts.cipher;
        if (facts.alpn[0] != '\0') connection.alpn = facts.alpn;
        if (report != NULL && report->chain_count > 0)
            connection.subject = report->chain[0].subject;
    }
    af__transfer_trace_connection(exchange->transfer, &connection, is_tunnel);
    af_trust_report_free(report);
}

void af__exchange_trace_socket(af__exchange *exchange, const struct curl_sockaddr *address) {
    if (exchange->transfer == NULL || !af__transfer_is_traced(exchange->transfer)) return;
    af__trace *trace = &exchange->trace;
    trace->address[0] = '\0';
    trace->port = 0;
    if (address->family == AF_INET) {
        struct sockaddr_in four;
        memcpy(&four, &address->addr, sizeof four);
        inet_ntop(AF_INET, &four.sin_addr, trace->address, sizeof trace->address);
        trace->port = ntohs(four.sin_port);
    } else if (address->family == AF_INET6) {
        struct sockaddr_in6 six;
        memcpy(&six, (const void *)&address->addr, sizeof six);
        inet_ntop(AF_INET6, &six.sin6_addr, trace->address, sizeof trace->address);
        trace->port = ntohs(six.sin6_port);
    }
    af__exchange_set_verbose(exchange, true);
}

void af__exchange_trace_ready(af__exchange *exchange) {
    if (!af__transfer_is_traced(exchange->transfer)) return;
    forget_head(&exchange->trace.head);
    af__exchange_set_verbose(exchange, true);
    if (!exchange->is_reinjected) report_connection(exchange);
}

/* ---- Heads --------------------------------------------------------------------------------- */

/**
 * Collects a sent head, which the socket may accept in several pieces. An incomplete head is never
 * reported.
 */
static void take_sent(af__exchange *exchange, af_slice bytes) {
    af__buffer *head = &exchange->trace.head;
    bool is_tunnel = !exchange->is_ready;
    /*
     * The request on the connection to ourselves, which returns an early response, isn't reported.
     */
    if (exchange->is_reinjected) return;
    if (head->size == 0 && is_tunnel) report_connection(exchange);
    if (af__buffer_append(head, bytes.bytes, bytes.size) != AF_OK) {
        af_failure failure = {0};
        af__fail(&failure, AF_ENOMEM, "out of memory for the trace");
        af__transfer_fail(exchange->transfer, &failure);
        forget_head(head);
        return;
    }
    bool is_whole = head->size >= sizeof empty_line - 1 &&
                    memmem(head->bytes, head->size, empty_line, sizeof empty_line - 1) != NULL;
    if (!is_whole) return;
    af__transfer_trace_request(exchange->transfer, (af_slice){head->bytes, head->size}, is_tunnel);
    forget_head(head);
}

static int take_debug(CURL *easy, curl_infotype type, char *bytes, size_t size, void *context) {
    af__exchange *exchange = context;
    /* libcurl's own handles for DNS over HTTPS belong to no exchange of ours. */
    if (easy != exchange->easy || exchange->transfer == NULL || size == 0) return 0;
    if (type == CURLINFO_HEADER_IN) af__exchange_guard_line(exchange, bytes);
    if (type == CURLINFO_TEXT) af__exchange_heed_excess(exchange, (af_slice){bytes, size});
    if (!af__transfer_is_traced(exchange->transfer)) return 0;
    if (type == CURLINFO_HEADER_OUT) take_sent(exchange, (af_slice){bytes, size});
    return 0;
}

void af__exchange_trace_line(af__exchange *exchange, af_slice line) {
    /* CURLINFO_HEADER_IN omits trailers and the ends of interim heads (libcurl 7.88). */
    if (!af__transfer_is_traced(exchange->transfer)) return;
    af__transfer_trace_response(exchange->transfer, line, &exchange->trace.redaction,
                                !exchange->is_ready);
}

void af__exchange_init_trace(af__exchange *exchange) {
    af__buffer_init(&exchange->trace.head, UINT32_MAX);
}

CURLcode af__exchange_set_trace(af__exchange *exchange) {
    CURLcode code = curl_easy_setopt(exchange->easy, CURLOPT_DEBUGFUNCTION, take_debug);
    if (code != CURLE_OK) return code;
    return curl_easy_setopt(exchange->easy, CURLOPT_DEBUGDATA, exchange);
}

void af__exchange_pause_trace(af__exchange *exchange) {
    af__exchange_set_verbose(exchange, false);
}

void af__exchange_end_trace(af__exchange *exchange) {
    af__exchange_set_verbose(exchange, false);
    forget_head(&exchange->trace.head);
    af__buffer_clear(&exchange->trace.head);
    exchange->trace.redaction = AF__REDACT_NOTHING;
    exchange->trace.address[0] = '\0';
    exchange->trace.port = 0;
}
