/** Keeps a failed write from hiding what a peer sent before it closed the connection. */
#ifndef AFC_TLS_WRITE_GUARD_H
#define AFC_TLS_WRITE_GUARD_H

#include <openssl/ssl.h>
#include <stdbool.h>

/**
 * Makes the BIO method. Call it before other threads use it, and again if it failed. Returns false if out of memory.
 */
bool afc__tls_guard_init(void);

/**
 * Guards an HTTP/1 connection, after its handshake. Out of memory isn't an error: the connection
 * works without it.
 */
void afc__tls_guard(SSL *ssl);

#endif
