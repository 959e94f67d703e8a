/** Keeps a failed write from hiding what a peer sent before it closed the connection. */
#ifndef AF_TLS_WRITE_GUARD_H
#define AF_TLS_WRITE_GUARD_H

#include <openssl/ssl.h>
#include <stdbool.h>

/** Call it once, before other threads use it. */
void af__tls_guard_init(void);

/**
 * Guards an HTTP/1 connection, after its handshake. Out of memory isn't an error: the connection
 * works without it.
 */
void af__tls_guard(SSL *ssl);

#endif
