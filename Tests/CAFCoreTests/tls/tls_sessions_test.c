/* The verification of TLS sessions, also of those that were written out and read back. */
#include "tls/sessions.h"

#include "base/alloc.h"
#include "support/check.h"
#include "trust/evaluate.h"

typedef struct handshake {
    SSL_CTX *context;
    SSL *ssl;
} handshake;

/** A connection that is about to resume `session`, or with a session of its own. */
static handshake handshake_new(SSL_SESSION *session) {
    handshake made = {.context = SSL_CTX_new(TLS_client_method())};
    assert_non_null(made.context);
    made.ssl = SSL_new(made.context);
    assert_non_null(made.ssl);
    SSL_SESSION *own = session == NULL ? SSL_SESSION_new() : NULL;
    SSL_SESSION *used = session != NULL ? session : own;
    assert_int_equal(SSL_SESSION_set_protocol_version(used, TLS1_3_VERSION), 1);
    assert_int_equal(SSL_set_session(made.ssl, used), 1);
    SSL_SESSION_free(own);
    return made;
}

static void handshake_free(handshake *handshake) {
    SSL_free(handshake->ssl);
    SSL_CTX_free(handshake->context);
}

static afc__verification *evidence_new(void) {
    afc__verification *verification = afc__zalloc(sizeof *verification);
    assert_non_null(verification);
    atomic_init(&verification->references, 1);
    return verification;
}

/** As libcurl 8.12 and later keep it. */
static SSL_SESSION *written_and_read(SSL_SESSION *session) {
    static const unsigned char cipher[] = {0x13, 0x01};
    SSL *ssl = SSL_new(SSL_CTX_new(TLS_client_method()));
    assert_int_equal(SSL_SESSION_set_cipher(session, SSL_CIPHER_find(ssl, cipher)), 1);
    SSL_CTX *context = SSL_get_SSL_CTX(ssl);
    SSL_free(ssl);
    SSL_CTX_free(context);
    unsigned char *bytes = NULL;
    int size = i2d_SSL_SESSION(session, &bytes);
    assert_true(size > 0);
    const unsigned char *at = bytes;
    SSL_SESSION *copy = d2i_SSL_SESSION(NULL, &at, size);
    assert_non_null(copy);
    OPENSSL_free(bytes);
    return copy;
}

static void finds_verification_of_serialised_session(void **state) {
    (void)state;
    static afc__tls_sessions sessions;
    handshake first = handshake_new(NULL);
    afc__verification *verification = evidence_new();
    assert_null(afc__tls_sessions_find(&sessions, first.ssl));
    assert_true(afc__tls_sessions_add(&sessions, first.ssl, verification));
    assert_ptr_equal(afc__tls_sessions_find(&sessions, first.ssl), verification);
    SSL_SESSION *copy = written_and_read(SSL_get0_session(first.ssl));
    handshake second = handshake_new(copy);
    assert_ptr_equal(afc__tls_sessions_find(&sessions, second.ssl), verification);
    SSL_SESSION_free(copy);
    handshake_free(&first);
    handshake_free(&second);
    afc__verification_release(verification);
    afc__tls_sessions_clear(&sessions);
}

static void refuses_session_of_another_policy(void **state) {
    (void)state;
    static afc__tls_sessions ours, others;
    handshake handshake = handshake_new(NULL), own = handshake_new(NULL);
    afc__verification *verification = evidence_new();
    assert_true(afc__tls_sessions_add(&ours, own.ssl, verification));
    assert_true(afc__tls_sessions_add(&others, handshake.ssl, verification));
    assert_null(afc__tls_sessions_find(&ours, handshake.ssl));
    assert_int_equal(SSL_SESSION_set1_ticket_appdata(SSL_get0_session(own.ssl), "short", 5), 1);
    assert_null(afc__tls_sessions_find(&ours, own.ssl));
    assert_int_equal(
        SSL_SESSION_set1_ticket_appdata(SSL_get0_session(own.ssl), "\0\0\0\0\0\0\0", 8), 1);
    assert_null(afc__tls_sessions_find(&ours, own.ssl));
    handshake_free(&handshake);
    handshake_free(&own);
    afc__verification_release(verification);
    afc__tls_sessions_clear(&ours);
    afc__tls_sessions_clear(&others);
}

static void forgets_oldest_session_first(void **state) {
    (void)state;
    static afc__tls_sessions sessions;
    handshake handshakes[AFC__TLS_SESSIONS + 1];
    afc__verification *verification = evidence_new();
    for (size_t i = 0; i <= AFC__TLS_SESSIONS; i++) {
        handshakes[i] = handshake_new(NULL);
        assert_true(afc__tls_sessions_add(&sessions, handshakes[i].ssl, verification));
    }
    assert_null(afc__tls_sessions_find(&sessions, handshakes[0].ssl));
    for (size_t i = 0; i <= AFC__TLS_SESSIONS; i++) {
        bool is_known = afc__tls_sessions_find(&sessions, handshakes[i].ssl) == verification;
        assert_int_equal(is_known, i > 0);
        handshake_free(&handshakes[i]);
    }
    assert_int_equal(atomic_load(&verification->references), AFC__TLS_SESSIONS + 1);
    afc__tls_sessions_clear(&sessions);
    assert_int_equal(atomic_load(&verification->references), 1);
    afc__verification_release(verification);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_verification_of_serialised_session),
        cmocka_unit_test(refuses_session_of_another_policy),
        cmocka_unit_test(forgets_oldest_session_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
