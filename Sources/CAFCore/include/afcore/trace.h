/**
 * Wire traces: request heads, response heads and connections, reported to afc_task_events.on_trace.
 */
#ifndef AFCORE_TRACE_H
#define AFCORE_TRACE_H

#include <afcore/base.h>

AFC_BEGIN_DECLS

/** The kind of a trace event. */
typedef enum AFC_OPEN_ENUM afc_trace_kind {
    /** The connection for the following request heads. If its TLS handshake failed, no head follows. */
    AFC_TRACE_CONNECTION = 0,
    /** The head of a request, after all of its bytes were sent. */
    AFC_TRACE_REQUEST = 1,
    /** One line of a response's head or trailers; they end with an empty line. */
    AFC_TRACE_RESPONSE = 2
} afc_trace_kind;

/** A connection that is about to be used, or, as far as it is known, one whose TLS handshake failed. */
typedef struct afc_trace_connection {
    char remote_address[46]; /**< Empty for a Unix-domain socket. */
    uint16_t remote_port;
    bool is_proxy;  /**< The address is that of a proxy. */
    bool is_reused; /**< The connection was taken from the pool. */
    /** OpenSSL's names of the TLS version ("TLSv1.3") and the cipher suite; NULL without TLS. */
    const char *tls_version, *cipher;
    const char *alpn; /**< Negotiated ALPN protocol; NULL if there is none. */
    /** Subject of the peer's certificate (RFC 4514); NULL if there is none. */
    const char *subject;
} afc_trace_connection;

/**
 * A trace event; events arrive in the order of the wire. Each redirect, authentication round, retry and
 * CONNECT has its own request and response.
 *
 * HTTP/2 heads are shown in the format of HTTP/1.1, with "HTTP/2" as the version, lower-case names and "host"
 * for ":authority". Otherwise the bytes are exactly those sent or received, except secrets: "<hidden>"
 * replaces the values of credentials (afc_header_is_credential()) and of fields that the request marks with
 * AFC_HEADER_SECRET, and URLs have no userinfo.
 */
typedef struct afc_trace {
    afc_trace_kind kind;
    size_t hop;      /**< Index of the hop in afc_result_get_hops(). */
    bool is_tunnel;  /**< Belongs to CONNECT: its request, response or connection. */
    afc_slice bytes; /**< For REQUEST and RESPONSE: the text, with line ends. */
    const afc_trace_connection *connection; /**< For CONNECTION. */
} afc_trace;

AFC_END_DECLS

#endif
