/**
 * A proxy that connects every host to one server and records the requests: HTTP with and without a
 * tunnel, SOCKS5 with and without a password.
 */
#ifndef AFC_TESTS_RELAY_H
#define AFC_TESTS_RELAY_H

#include "support/world.h"

typedef struct relay relay;

/** Makes a proxy to the server of `world`. */
relay *relay_new(world *world);

/**
 * At a Unix-domain socket, a path or "@" and an abstract name: every connection leads to the server
 * of `world` as it is, and is written down by this path.
 */
relay *relay_new_at(world *world, const char *path);

/** The same over TLS, by this certificate, which is for "localhost". A handshake that fails is noted. */
relay *relay_new_tls(world *world, const afts_cert *cert);

/** Ends every connection. */
void relay_free(relay *relay);

/** "SCHEME://[USERINFO@]127.0.0.1:PORT", one of the world's texts. `userinfo` may be NULL. */
const char *relay_url(relay *relay, const char *scheme, const char *userinfo);

/** Over TLS: requests a client certificate, and accepts any, or none. */
void relay_ask_for_certificate(relay *relay);

/** Returns whether a client sent a certificate. */
bool relay_saw_certificate(relay *relay);

/** Responds to every CONNECT with this status; 0: opens the tunnel. */
void relay_refuse(relay *relay, int status);

/** Responds to every CONNECT with these bytes, which aren't copied, and closes the connection; size 0: opens the tunnel. */
void relay_answer(relay *relay, afc_slice bytes);

/** Requires this user and password of SOCKS clients. NULL: none. */
void relay_ask_for(relay *relay, const char *user, const char *password);

/**
 * Responds to CONNECT with 407 and this challenge, unless Proxy-Authorization begins with
 * `admitted`. NULL: accepts every client.
 */
void relay_challenge(relay *relay, const char *challenge, const char *admitted);

/** Returns the number of connections with a request. */
size_t relay_count(relay *relay);

/** Returns request number `index`: a head, or "SOCKS host:port". One of the world's texts. */
const char *relay_seen(relay *relay, size_t index);

#endif
