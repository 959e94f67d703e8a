/**
 * The verification results of resumable TLS sessions. A resumed handshake has no chain, so its
 * connection gets the verification of the full handshake that created the session.
 */
#ifndef AFC_TLS_SESSIONS_H
#define AFC_TLS_SESSIONS_H

#include "trust/verification.h"

#include <openssl/ssl.h>
#include <stddef.h>
#include <stdint.h>

/** libcurl keeps fewer sessions than this: 8 hosts up to version 8.11, 25 since. */
enum { AFC__TLS_SESSIONS = 64 };

/** Loop thread only. Zero-initialise. */
typedef struct afc__tls_sessions {
    struct afc__tls_session {
        uint64_t number; /**< 0 if unused. */
        afc__verification *verification;
    } entries[AFC__TLS_SESSIONS];
    size_t next; /**< The entry to replace next, the oldest one. */
} afc__tls_sessions;

/**
 * Adds the session of `ssl`. Call it while the chain of a full handshake is being accepted. Retains `verification`.
 * Returns false if out of memory; the session then can't be resumed.
 */
bool afc__tls_sessions_add(afc__tls_sessions *sessions, SSL *ssl, afc__verification *verification);

/**
 * Returns the verification of the session of `ssl`, borrowed. Returns NULL if the session wasn't accepted under this
 * policy, or was evicted.
 */
afc__verification *afc__tls_sessions_find(const afc__tls_sessions *sessions, const SSL *ssl);

void afc__tls_sessions_clear(afc__tls_sessions *sessions);

#endif
