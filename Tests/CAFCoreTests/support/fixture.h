/** A scripted server and a session that connects to it: the fixture of every network test. */
#ifndef AFC_TESTS_FIXTURE_H
#define AFC_TESTS_FIXTURE_H

#include "support/check.h"

#include <afcore/session.h>
#include <caftestserver.h>

/**
 * How long a test waits for an expected event, in milliseconds. It is generous because it asserts
 * nothing about time: with a sanitizer on a busy machine, a minute wasn't enough.
 */
enum { PATIENCE_MS = 300000 };

typedef struct fixture {
    afts_server *server;
    afc_session *session;
    afts_cert *authority; /**< TLS fixtures: the session's anchor. */
    afts_cert *leaf;      /**< TLS fixtures: the server's certificate. */
    char texts[16][512];
    unsigned next_text;
} fixture;

/** Makes a fixture and starts its server. NULL arguments mean defaults. */
fixture *fixture_new(const afts_options *server, const afc_session_options *session);

/** Makes a server with a certificate for localhost, and a session that trusts its authority. */
fixture *fixture_new_tls(void);

/** Does the same, with the server's ALPN protocols and the session's other options. */
fixture *fixture_new_alpn(const char *alpn, const afc_session_options *session);

/** Releases the session, waits for its thread to end, frees the server. */
void fixture_free(fixture *fixture);

/** Releases the session and waits for its thread; keeps the server. */
void fixture_close_session(fixture *fixture);

/** Makes a policy that trusts this certificate (PEM) alone. The caller owns it. */
afc_trust_policy *policy_trusting(const char *pem);

/** As setup and teardown of a test with a plain server. */
int fixture_setup(void **state);
int fixture_teardown(void **state);

#define FIXTURE_TEST(test) cmocka_unit_test_setup_teardown(test, fixture_setup, fixture_teardown)

/** "http://127.0.0.1:PORT/path"; one of the last 16 texts asked for. */
const char *url_of(fixture *fixture, const char *path);

/** The root of a TLS fixture, under the name that its certificate is for. */
const char *tls_url(fixture *fixture);

/** Returns a formatted text; the last 16 stay valid. */
const char *text_of(fixture *fixture, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/** Responds to every request of `path` by `script`, whose reference is taken over. */
void serve(fixture *fixture, const char *path, afts_script *script);

/** Responds to the next request of `path` only by `script`, whose reference is taken over. */
void serve_once(fixture *fixture, const char *path, afts_script *script);

/** Responds to `path` with exactly these bytes, then closes. */
void serve_text(fixture *fixture, const char *path, const char *text);
void serve_bytes(fixture *fixture, const char *path, afc_slice bytes);

/** Makes a script of one complete response. */
afts_script *answer(int status, const char *headers, const char *body);

/** Returns a field's value of request number `index`; "" without one. */
const char *seen_header(fixture *fixture, size_t index, const char *name);

/**
 * What a server can send beyond what a task took: all that the sockets' buffers may grow to, and
 * what libcurl and the task hold.
 */
uint64_t buffered_at_most(void);

/** Returns whether libcurl has this version or a later one. */
bool libcurl_is_at_least(unsigned major, unsigned minor);

/** Returns the number of descriptors open in this process. */
size_t count_descriptors(void);

#endif
