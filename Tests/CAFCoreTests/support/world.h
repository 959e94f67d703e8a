/**
 * A scripted server and a session that talks to it: where every test of the network begins.
 */
#ifndef AF_TESTS_WORLD_H
#define AF_TESTS_WORLD_H

#include "support/check.h"

#include <afcore/session.h>
#include <caftestserver.h>

/**
 * How long a test waits for what must happen, in milliseconds. Generous, because it is no
 * assertion about time: with a sanitizer, on a busy machine, a minute was not enough.
 */
enum { PATIENCE_MS = 300000 };

typedef struct world {
    afts_server *server;
    af_session *session;
    afts_cert *authority; /**< TLS worlds: what the session trusts. */
    afts_cert *leaf;      /**< TLS worlds: what the server shows. */
    char texts[16][512];
    unsigned next_text;
} world;

/** Defaults where an argument is NULL. The server is started. */
world *world_new(const afts_options *server, const af_session_options *session);

/** A server with a certificate for localhost, and a session that trusts its authority. */
world *world_new_tls(void);

/** The same with what the server offers by ALPN, and the other options of the session. */
world *world_new_alpn(const char *alpn, const af_session_options *session);

/** Releases the session, waits for its thread to end, frees the server. */
void world_free(world *world);

/** Release the session and wait for its thread; the server stays. */
void world_close_session(world *world);

/** A policy that trusts this certificate (PEM) alone; yours. */
af_trust_policy *policy_trusting(const char *pem);

/** As setup and teardown of a test with a plain server. */
int world_setup(void **state);
int world_teardown(void **state);

#define WORLD_TEST(test) cmocka_unit_test_setup_teardown(test, world_setup, world_teardown)

/** "http://127.0.0.1:PORT/path"; one of the last 16 texts asked for. */
const char *url_of(world *world, const char *path);

/** The root of a TLS world, under the name that its certificate is for. */
const char *tls_url(world *world);

/** A formatted text, one of the last 16 asked for. */
const char *text_of(world *world, const char *format, ...) __attribute__((format(printf, 2, 3)));

/** Answer every request of `path` by `script`, which is taken. */
void serve(world *world, const char *path, afts_script *script);

/** Answer only the next request of `path` by `script`, which is taken. */
void serve_once(world *world, const char *path, afts_script *script);

/** Answer `path` with exactly these bytes, then close. */
void serve_text(world *world, const char *path, const char *text);
void serve_bytes(world *world, const char *path, af_slice bytes);

/** A script of one complete answer. */
afts_script *answer(int status, const char *headers, const char *body);

/** The value of a field of the request that came as number `index`; "" if it is not there. */
const char *seen_header(world *world, size_t index, const char *name);

/**
 * What a server can send beyond what a task took: all that the sockets' buffers may grow to, and
 * what libcurl and the task hold.
 */
uint64_t buffered_at_most(void);

/** Is libcurl of this version or a later one? */
bool libcurl_is_at_least(unsigned major, unsigned minor);

/** How many descriptors this process has open. */
size_t count_descriptors(void);

#endif
