/**
 * What OpenSSL is told for each connection: the session's certificates and its verdict.
 */
#ifndef AF_TLS_TLS_H
#define AF_TLS_TLS_H

#include "trust/verification.h"

#include <afcore/tls.h>

typedef struct af__tls af__tls;

/** What became of one connection's handshake. Shared by the connection and its first exchange. */
typedef struct af__tls_peer af__tls_peer;

/**
 * Before anything else makes OpenSSL initialise itself: asks it not to tear itself down when the
 * process exits, because loop threads may still be using it then.
 */
void af__tls_init_library(void);

/** `policy` NULL: the defaults. AF_EINVAL and AF_EFILE for `options`, AF_ENOMEM. */
af_status af__tls_new(af__tls **out, af_trust_policy *policy, const af_tls_options *options,
                      af_failure *failure);
void af__tls_free(af__tls *tls);

/**
 * Set up a connection: `ssl_context` is libcurl's SSL_CTX. The peer's reference is the caller's.
 * NULL when out of memory, and the connection must not be made.
 */
af__tls_peer *af__tls_prepare(af__tls *tls, void *ssl_context, const char *host);
af__tls_peer *af__tls_peer_retain(af__tls_peer *peer);
void af__tls_peer_release(af__tls_peer *peer);

/** The peer of a connection, a reference of your own; `ssl` is its SSL. NULL if it has none. */
af__tls_peer *af__tls_peer_of(void *ssl);

/** Do several exchanges share the connection at a time? `ssl` is its SSL. */
bool af__tls_is_multiplexed(const void *ssl);

/** What a handshake agreed on; texts live as long as the connection, or forever. */
typedef struct af__tls_facts {
    const char *version, *cipher;
    char alpn[32]; /**< Empty: nothing; a longer name is cut. */
} af__tls_facts;

/** `ssl` is the connection's SSL. */
void af__tls_describe(const void *ssl, af__tls_facts *out);

/** Has it received something that nobody has read yet? `ssl` is its SSL. */
bool af__tls_has_input(const void *ssl);

/** The same, by the peer of a connection that is open. NULL: no. */
bool af__tls_peer_has_input(const af__tls_peer *peer);

/** The SSL of a connection that is open; NULL: it has none, or its handshake isn't done. */
const void *af__tls_peer_get_ssl(const af__tls_peer *peer);

/** By ALPN, and nothing else. Before its connection is made. false: out of memory. */
bool af__tls_offer_http_1_1(void *ssl_context);

/** Has the server announced the end of the connection? Without that an end is a cut. */
bool af__tls_peer_got_close_notify(const af__tls_peer *peer);

/**
 * Did libcurl find the connection ended before it closed it: by close_notify, by its end, or by an error of reading or
 * writing? An end that it hasn't read doesn't count. `peer` isn't NULL.
 */
bool af__tls_peer_has_ended(const af__tls_peer *peer);

/** Has libcurl sent something since it read last, other than close_notify? `peer` isn't NULL. */
bool af__tls_peer_spoke_last(const af__tls_peer *peer);

/**
 * What the server said when it ended TLS for a reason that has to do with who we are, such as a
 * client certificate that it missed or doesn't like; NULL if it didn't. Lives forever.
 */
const char *af__tls_peer_get_alert(const af__tls_peer *peer);

/** What it has shown of itself, a reference of your own; NULL if nothing, or no peer. */
af__verification *af__tls_peer_copy_verification(const af__tls_peer *peer);

/**
 * How the handshake ended for the chain: AF_OK, or AF_EUNTRUSTED and AF_ENOMEM, which say why in
 * `*reason` and `*text`.
 */
af_status af__tls_peer_get_verdict(const af__tls_peer *peer, af_trust_reason *reason,
                                   const char **text);

#endif
