/**
 * A proxy that leads every host to one server, and writes down what it was asked: HTTP with and
 * without a tunnel, SOCKS5 with and without a password.
 */
#ifndef AF_TESTS_RELAY_H
#define AF_TESTS_RELAY_H

#include "support/world.h"

typedef struct relay relay;

/** To the server of `world`. */
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

/** Over TLS: ask every client for a certificate, and take whichever, or none. */
void relay_ask_for_certificate(relay *relay);

/** Has a client shown one? */
bool relay_saw_certificate(relay *relay);

/** Answer every CONNECT with this status; 0: make the tunnel. */
void relay_refuse(relay *relay, int status);

/** Ask SOCKS clients for this user and password. NULL: for none. */
void relay_ask_for(relay *relay, const char *user, const char *password);

/**
 * Answer CONNECT by 407 with this challenge, unless its Proxy-Authorization begins with `admitted`. NULL: let
 * everybody through.
 */
void relay_challenge(relay *relay, const char *challenge, const char *admitted);

/** How many connections have asked for something. */
size_t relay_count(relay *relay);

/** What was asked as number `index`: a head, or "SOCKS host:port". One of the world's texts. */
const char *relay_seen(relay *relay, size_t index);

#endif
