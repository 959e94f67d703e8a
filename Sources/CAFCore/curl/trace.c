/*
 * Reports the events of a traced hop: the connection used, request heads, from libcurl's CURLOPT_DEBUGFUNCTION, and
 * response lines, from its CURLOPT_HEADERFUNCTION. The debug callback also serves handle.c.
 *
 * CURLOPT_VERBOSE is only set when the connection starts. Before 8.4, the handles that libcurl makes for DNS over HTTPS
 * copy CURLOPT_VERBOSE but not CURLOPT_DEBUGFUNCTION, and would print to standard error.
 */
#include "curl/trace.h"

#include "curl/connection/socket_address.h"
#include "curl/exchange_state.h"
#include "curl/handle.h"
#include "curl/request/network.h"
#include "transfer/trace.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

/** The empty line that ends a head. */
static const char empty_line[] = "\r\n\r\n";

/* ---- The connection ------------------------------------------------------------------------ */

/**
 * Copies the remote address. libcurl reports none until the tunnel is established or the exchange has ended; until
 * then, the last address tried is used.
 */
static void copy_remote(const afc__exchange *exchange, afc_trace_connection *out) {
    const char *address = NULL;
    long port = 0;
    curl_easy_getinfo(exchange->easy, CURLINFO_PRIMARY_IP, &address);
    curl_easy_getinfo(exchange->easy, CURLINFO_PRIMARY_PORT, &port);
    bool is_reported = afc__exchange_is_connected(exchange) || exchange->run.has_ended;
    bool is_known = is_reported && address != NULL && address[0] != '\0';
    if (afc__exchange_uses_socket(exchange)) return;
    if (!is_known) {
        memcpy(out->remote_address, exchange->trace.address, sizeof out->remote_address);
        out->remote_port = exchange->trace.port;
        return;
    }
    snprintf(out->remote_address, sizeof out->remote_address, "%s", address);
    out->remote_port = (uint16_t)port;
}

static bool is_reused(const afc__exchange *exchange) {
    long connections = 0;
    curl_easy_getinfo(exchange->easy, CURLINFO_NUM_CONNECTS, &connections);
    return connections == 0;
}

static afc_trace_connection connection_of(const afc__exchange *exchange) {
    afc_trace_connection connection = {.is_proxy = exchange->hop.transfer->hop.proxy != NULL};
    copy_remote(exchange, &connection);
    return connection;
}

/**
 * Adds the facts of TLS to a connection, and reports it.
 *
 * facts: What the handshake negotiated; NULL without TLS, or if it negotiated nothing.
 * peer: The peer whose certificate was verified, or NULL.
 * is_tunnel: The connection is to a proxy that hasn't made its tunnel yet.
 */
static void report(afc__exchange *exchange, afc_trace_connection *connection,
                   const afc__tls_facts *facts, const afc__tls_peer *peer, bool is_tunnel) {
    afc_trust_report *trust = NULL;
    if (facts != NULL) {
        afc__verification *verification = afc__tls_peer_copy_verification(peer);
        if (verification != NULL) trust = afc__verification_report(verification);
        afc__verification_release(verification);
        connection->tls_version = facts->version;
        connection->cipher = facts->cipher;
        if (facts->alpn[0] != '\0') connection->alpn = facts->alpn;
        if (trust != NULL && trust->chain_count > 0) connection->subject = trust->chain[0].subject;
    }
    afc__transfer_trace_connection(exchange->hop.transfer, connection, is_tunnel);
    afc_trust_report_free(trust);
}

static void report_connection(afc__exchange *exchange) {
    const struct curl_tlssessioninfo *tls = NULL;
    const void *ssl = NULL;
    afc__tls_facts facts = {0};
    afc_trace_connection connection = connection_of(exchange);
    bool is_connected = afc__exchange_is_connected(exchange);
    bool is_origin = is_connected && exchange->hop.transfer->request.url.is_https;
    curl_easy_getinfo(exchange->easy, CURLINFO_TLS_SSL_PTR, &tls);
    if (tls != NULL) ssl = tls->internals;
    /* Since 8.16.0 CURLINFO_TLS_SSL_PTR is never the SSL of a proxy. */
    if (ssl == NULL) ssl = afc__tls_peer_get_ssl(exchange->proxy_peer);
    if (ssl != NULL) afc__tls_describe(ssl, &facts);
    connection.is_reused = is_connected && is_reused(exchange);
    report(exchange, &connection, ssl != NULL ? &facts : NULL,
           is_origin ? exchange->peer : exchange->proxy_peer, !is_connected);
}

void afc__exchange_trace_failed_tls(afc__exchange *exchange) {
    if (!afc__transfer_is_traced(exchange->hop.transfer)) return;
    /* A peer may also end TLS after its handshake, when the connection has been reported. */
    if (afc__exchange_is_connected(exchange)) return;
    afc_trace_connection connection = connection_of(exchange);
    bool has_address = connection.remote_address[0] != '\0';
    /* A client certificate that can't be used fails before there is a connection. */
    if (!has_address && !afc__exchange_uses_socket(exchange)) return;
    bool is_proxys = afc__exchange_ended_at_proxy(exchange);
    const afc__tls_peer *peer = is_proxys ? exchange->proxy_peer : exchange->peer;
    report(exchange, &connection, afc__tls_peer_get_facts(peer), peer, is_proxys);
}

void afc__exchange_trace_socket(afc__exchange *exchange, const struct curl_sockaddr *address) {
    if (exchange->hop.transfer == NULL || !afc__transfer_is_traced(exchange->hop.transfer)) return;
    afc__ip ip;
    afc__trace *trace = &exchange->trace;
    trace->address[0] = '\0';
    trace->port = 0;
    if (afc__socket_address_read(&ip, &trace->port, &address->addr)) {
        /* The same notation as that of CURLINFO_PRIMARY_IP. */
        inet_ntop(address->family, ip.bytes, trace->address, sizeof trace->address);
    }
    afc__exchange_set_verbose(exchange, true);
}

void afc__exchange_trace_ready(afc__exchange *exchange) {
    if (!afc__transfer_is_traced(exchange->hop.transfer)) return;
    afc__buffer_wipe(&exchange->trace.head);
    afc__exchange_set_verbose(exchange, true);
    if (!afc__exchange_uses_own_listener(exchange)) report_connection(exchange);
}

/* ---- Heads --------------------------------------------------------------------------------- */

/** Collects a request head, which may be sent in several pieces, and reports it once it is complete. */
static void take_sent(afc__exchange *exchange, afc_slice bytes) {
    afc__buffer *head = &exchange->trace.head;
    bool is_tunnel = !afc__exchange_is_connected(exchange);
    /* The request to the listener of this process, which returns an early response, isn't reported. */
    if (afc__exchange_uses_own_listener(exchange)) return;
    if (head->size == 0 && is_tunnel) report_connection(exchange);
    if (afc__buffer_append(head, bytes.bytes, bytes.size) != AFC_OK) {
        afc__transfer_fail_text(exchange->hop.transfer, AFC_ENOMEM, "out of memory for the trace");
        afc__buffer_wipe(head);
        return;
    }
    bool is_whole = head->size >= sizeof empty_line - 1 &&
                    memmem(head->bytes, head->size, empty_line, sizeof empty_line - 1) != NULL;
    if (!is_whole) return;
    afc__transfer_trace_request(exchange->hop.transfer, (afc_slice){head->bytes, head->size},
                                is_tunnel);
    afc__buffer_wipe(head);
}

static int take_debug(CURL *easy, curl_infotype type, char *bytes, size_t size, void *context) {
    afc__exchange *exchange = context;
    /* The handles that libcurl makes for DNS over HTTPS inherit the callback; they belong to no exchange. */
    if (easy != exchange->easy || exchange->hop.transfer == NULL || size == 0) return 0;
    if (type == CURLINFO_HEADER_IN) afc__exchange_guard_line(exchange, bytes);
    if (type == CURLINFO_TEXT) afc__exchange_close_after_excess(exchange, (afc_slice){bytes, size});
    if (!afc__transfer_is_traced(exchange->hop.transfer)) return 0;
    if (type == CURLINFO_HEADER_OUT) take_sent(exchange, (afc_slice){bytes, size});
    return 0;
}

void afc__exchange_trace_line(afc__exchange *exchange, afc_slice line) {
    /*
     * The lines aren't taken from CURLINFO_HEADER_IN, which omits trailers and the ends of interim heads (libcurl
     * 7.88).
     */
    if (!afc__transfer_is_traced(exchange->hop.transfer)) return;
    afc__transfer_trace_response(exchange->hop.transfer, line, &exchange->trace.redaction,
                                 !afc__exchange_is_connected(exchange));
}

void afc__exchange_init_trace(afc__exchange *exchange) {
    afc__buffer_init(&exchange->trace.head, UINT32_MAX);
}

CURLcode afc__exchange_set_trace(afc__exchange *exchange) {
    CURLcode code = curl_easy_setopt(exchange->easy, CURLOPT_DEBUGFUNCTION, take_debug);
    if (code != CURLE_OK) return code;
    return curl_easy_setopt(exchange->easy, CURLOPT_DEBUGDATA, exchange);
}

void afc__exchange_pause_trace(afc__exchange *exchange) {
    afc__exchange_set_verbose(exchange, false);
}

void afc__exchange_end_trace(afc__exchange *exchange) {
    afc__exchange_set_verbose(exchange, false);
    afc__buffer_wipe(&exchange->trace.head);
    afc__buffer_clear(&exchange->trace.head);
    exchange->trace.redaction = AFC__REDACT_NOTHING;
    exchange->trace.address[0] = '\0';
    exchange->trace.port = 0;
}
