/**
 * A proxy that connects every host to one server and records the requests: HTTP with and without a
 * tunnel, SOCKS5 with and without a password.
 */
#ifndef AFC_TESTS_TEST_PROXY_H
#define AFC_TESTS_TEST_PROXY_H

#include "support/fixture.h"

typedef struct test_proxy test_proxy;

/** Makes a proxy to the server of `fixture`. */
test_proxy *test_proxy_new(fixture *fixture);

/**
 * At a Unix-domain socket, a path or "@" and an abstract name: every connection leads to the server
 * of `fixture` as it is, and is written down by this path.
 */
test_proxy *test_proxy_new_at(fixture *fixture, const char *path);

/** The same over TLS, by this certificate, which is for "localhost". A handshake that fails is noted. */
test_proxy *test_proxy_new_tls(fixture *fixture, const afts_cert *cert);

/** Ends every connection. */
void test_proxy_free(test_proxy *test_proxy);

/** "SCHEME://[USERINFO@]127.0.0.1:PORT", one of the fixture's texts. `userinfo` may be NULL. */
const char *test_proxy_url(test_proxy *test_proxy, const char *scheme, const char *userinfo);

/** Over TLS: requests a client certificate, and accepts any, or none. */
void test_proxy_request_certificate(test_proxy *test_proxy);

/** Returns whether a client sent a certificate. */
bool test_proxy_saw_certificate(test_proxy *test_proxy);

/** Responds to every CONNECT with this status; 0: opens the tunnel. */
void test_proxy_refuse(test_proxy *test_proxy, int status);

/**
 * Responds to every CONNECT with these bytes, which aren't copied, and closes the connection; size 0: opens the tunnel.
 */
void test_proxy_answer(test_proxy *test_proxy, afc_slice bytes);

/** Requires this user and password of SOCKS clients. NULL: none. */
void test_proxy_require_user(test_proxy *test_proxy, const char *user, const char *password);

/**
 * Responds to CONNECT with 407 and this challenge, unless Proxy-Authorization begins with
 * `admitted`. NULL: accepts every client.
 */
void test_proxy_challenge(test_proxy *test_proxy, const char *challenge, const char *admitted);

/** Returns the number of connections with a request. */
size_t test_proxy_count(test_proxy *test_proxy);

/** Returns request number `index`: a head, or "SOCKS host:port". One of the fixture's texts. */
const char *test_proxy_request(test_proxy *test_proxy, size_t index);

#endif
