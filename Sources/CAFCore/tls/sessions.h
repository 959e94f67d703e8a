/**
 * The verification results of resumable TLS sessions. A resumed handshake has no chain, so its
 * connection gets the verification of the full handshake that created the session.
 */
#ifndef AF_TLS_SESSIONS_H
#define AF_TLS_SESSIONS_H

#include "trust/verification.h"

#include <openssl/ssl.h>
#include <stddef.h>
#include <stdint.h>

/** libcurl keeps fewer sessions than this: 8 hosts up to version 8.11, 25 since. */
enum { AF__TLS_SESSIONS = 64 };

/** Loop thread only. Zero-initialise. */
typedef struct af__tls_sessions {
    struct af__tls_session {
        uint64_t number; /**< 0: unused. */
        af__verification *verification;
    } entries[AF__TLS_SESSIONS];
    size_t next; /**< The entry to replace next, the oldest one. */
} af__tls_sessions;

/**
 * Adds a session. Call it while the chain of a full handshake is being accepted. Retains
 * `verification`. false: out of memory; the session then can't be resumed.
 */
bool af__tls_sessions_add(af__tls_sessions *sessions, SSL *ssl, af__verification *verification);

/**
 * Returns the verification, borrowed. NULL: the session of `ssl` wasn't accepted under this policy,
 * or was evicted.
 */
af__verification *af__tls_sessions_find(const af__tls_sessions *sessions, const SSL *ssl);

void af__tls_sessions_clear(af__tls_sessions *sessions);

#endif
