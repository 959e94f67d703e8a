/**
 * What goes over the wire besides bodies, as tasks report it: af_task_events.on_trace.
 */
#ifndef AFCORE_TRACE_H
#define AFCORE_TRACE_H

#include <afcore/base.h>

AF_BEGIN_DECLS

/** What af_trace tells of. */
typedef enum af_trace_kind {
    /** The connection that the request heads which follow are sent on. */
    AF_TRACE_CONNECTION = 0,
    /** The head of a request, all of whose bytes have been sent. */
    AF_TRACE_REQUEST = 1,
    /** One line of a response's head or of its trailers; the empty one ends them. */
    AF_TRACE_RESPONSE = 2
} af_trace_kind;

/** A connection, as far as it is known when it is about to be used. */
typedef struct af_trace_connection {
    char remote_address[46]; /**< Empty for a Unix-domain socket. */
    uint16_t remote_port;
    bool is_proxy; /**< The address is a proxy's. */
    bool reused;   /**< The connection was taken from the pool. */
    /** "TLSv1.3", and the cipher suite in OpenSSL's words; NULL in the clear. */
    const char *tls_version, *cipher;
    const char *alpn;    /**< The protocol that was agreed on; NULL: none. */
    const char *subject; /**< Of the leaf certificate (RFC 4514); NULL if none was shown. */
} af_trace_connection;

/**
 * What went over the wire besides bodies, in the order in which it did. Each redirect, each round of
 * authentication, each repeat and each CONNECT has request and response of its own.
 *
 * Over HTTP/2 heads are written as those of HTTP/1.1, with "HTTP/2" as the version, names in lower case and host
 * for :authority. Everything else is what was sent or received, byte for byte, but for secrets: "<hidden>" stands
 * for the values of Authorization, Proxy-Authorization, Cookie, Set-Cookie and of fields that the request marks
 * with AF_HEADER_SECRET, and URLs lack their userinfo.
 */
typedef struct af_trace {
    af_trace_kind kind;
    size_t hop;     /**< The index that its hop will have in af_result_get_hops(). */
    bool is_tunnel; /**< CONNECT, its response, or the connection that they need. */
    af_slice bytes; /**< REQUEST, RESPONSE: with the ends of lines. */
    const af_trace_connection *connection; /**< CONNECTION. */
} af_trace;

AF_END_DECLS

#endif
