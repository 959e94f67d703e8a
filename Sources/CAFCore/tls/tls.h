/** Configures OpenSSL for each connection: the session's certificates and its verification. */
#ifndef AFC_TLS_TLS_H
#define AFC_TLS_TLS_H

#include "trust/verification.h"

#include <afcore/tls.h>

typedef struct afc__tls afc__tls;

/** The result of a connection's handshake. Shared by the connection and its first exchange. */
typedef struct afc__tls_peer afc__tls_peer;

/**
 * Asks OpenSSL not to clean up when the process exits, because loop threads may still use it then.
 * Call it before anything else initialises OpenSSL.
 */
void afc__tls_init_library(void);

/**
 * Makes the TLS settings of a session. `policy` may be NULL for the default policy. Fails with AFC_EINVAL or AFC_EFILE
 * because of `options`, or with AFC_ENOMEM.
 */
afc_status afc__tls_new(afc__tls **out, afc_trust_policy *policy, const afc_tls_options *options,
                        afc_failure *failure);
void afc__tls_free(afc__tls *tls);

/** Returns the fingerprint of the trust policy, which is empty for the default one. It lives as long as `tls`. */
const char *afc__tls_trust_fingerprint(const afc__tls *tls);

/** Returns whether a server of this name must present a pinned certificate or key, which it can't without TLS. */
bool afc__tls_demands_pin(const afc__tls *tls, afc_slice host);

/**
 * Call it before each call of libcurl. Until the next one, each connection may read for a few milliseconds. After that,
 * reads report that there is no input, so libcurl returns and the loop can serve other connections; the socket stays
 * readable. HTTP/2 frames without content, and extensions of chunks, have no other limit: libcurl accepts any number of
 * them without calling back.
 */
void afc__tls_begin_turn(afc__tls *tls);

/**
 * Sets up a connection: `ssl_context` is libcurl's SSL_CTX. The caller owns the reference to the peer. Returns NULL if
 * out of memory: then the connection must not be made.
 */
afc__tls_peer *afc__tls_prepare(afc__tls *tls, void *ssl_context, const char *host);
afc__tls_peer *afc__tls_peer_retain(afc__tls_peer *peer);
void afc__tls_peer_release(afc__tls_peer *peer);

/** Returns the peer of a connection, retained; `ssl` is its SSL. NULL if it has none. */
afc__tls_peer *afc__tls_peer_of(void *ssl);

/** Returns whether several exchanges can use the connection at a time (HTTP/2). `ssl` is its SSL. */
bool afc__tls_is_multiplexed(const void *ssl);

/** The negotiated parameters. Texts live as long as the connection, or forever. */
typedef struct afc__tls_facts {
    const char *version, *cipher;
    char alpn[32]; /**< Empty if there is none; a longer name is truncated. */
} afc__tls_facts;

/** Reads the negotiated parameters. `ssl` is the connection's SSL. */
void afc__tls_describe(const void *ssl, afc__tls_facts *out);

/**
 * Returns what was negotiated when the peer's chain was verified, even if the handshake failed. Returns NULL if no
 * chain was verified, or without a peer. Lives as long as the peer.
 */
const afc__tls_facts *afc__tls_peer_get_facts(const afc__tls_peer *peer);

/** Returns whether received bytes haven't been read yet. `ssl` is the connection's SSL. */
bool afc__tls_has_input(const void *ssl);

/** Does the same for the peer of an open connection. Returns false for NULL. */
bool afc__tls_peer_has_input(const afc__tls_peer *peer);

/** Returns the SSL of an open connection; NULL if it has none, or if the handshake isn't complete. */
const void *afc__tls_peer_get_ssl(const afc__tls_peer *peer);

/** Offers only HTTP/1.1 with ALPN. Call it before the connection is made. Returns false if out of memory. */
bool afc__tls_offer_http_1_1(void *ssl_context);

/** Returns whether the server sent close_notify. Without it, an end is a truncation. */
bool afc__tls_peer_got_close_notify(const afc__tls_peer *peer);

/**
 * Returns whether libcurl found that the connection had ended before it closed the connection itself: by close_notify,
 * the end of the stream, or a read or write error. An end that it hasn't read doesn't count. `peer` isn't NULL.
 */
bool afc__tls_peer_has_ended(const afc__tls_peer *peer);

/**
 * Returns whether libcurl has sent anything but close_notify since it last read. `peer` isn't NULL.
 */
bool afc__tls_peer_spoke_last(const afc__tls_peer *peer);

/**
 * Sets `*moves` to the number of reads and writes that moved bytes of the connection. Returns false if that is unknown:
 * before the handshake is complete, or without a peer.
 */
bool afc__tls_peer_get_moves(const afc__tls_peer *peer, uint64_t *moves);

/**
 * Returns the server's alert if it ended the handshake, or if it ended TLS because of the client's certificate, for
 * example a missing or rejected one, and sets `*reason`. Returns NULL otherwise. The text lives forever.
 */
const char *afc__tls_peer_get_alert(const afc__tls_peer *peer, afc_reason *reason);

/** Returns the verification of the peer, retained; NULL without a verification or a peer. */
afc__verification *afc__tls_peer_copy_verification(const afc__tls_peer *peer);

/**
 * Returns the result of verifying the chain: AFC_OK, or AFC_EUNTRUSTED, AFC_ENOMEM or another error with its reason in
 * `*reason` and `*text`.
 */
afc_status afc__tls_peer_get_verdict(const afc__tls_peer *peer, afc_trust_reason *reason,
                                     const char **text);

#endif
