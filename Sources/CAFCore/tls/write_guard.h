/**
 * What can't be sent any more: once a peer is gone, writing to it must not keep what it had still
 * said from being read.
 */
#ifndef AF_TLS_WRITE_GUARD_H
#define AF_TLS_WRITE_GUARD_H

#include <openssl/ssl.h>
#include <stdbool.h>

/** Once, before any other thread can look. */
void af__tls_guard_init(void);

/** When a handshake is done, of HTTP/1. Without memory for it the connection works all the same. */
void af__tls_guard(SSL *ssl);

#endif
