#include "net/tls.h"

#include "base/alloc.h"
#include "base/failure.h"
#include "trust/evaluate.h"

#include <openssl/crypto.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <string.h>

struct af__tls {
    af_trust_policy *policy;
};

struct af__tls_peer {
    unsigned references; /* Loop thread only. */
    const af__tls *tls;
    af__evidence *evidence; /* What was judged; NULL: nothing yet. */
    bool lacked_memory;     /* So that nothing could be judged. */
    bool said_goodbye;      /* The server sent close_notify. */
    char host[];
};

/* ---- What can't be sent any more ----------------------------------------------------------- */

/* Written once, before any other thread can look. */
static BIO_METHOD *guard_method;
static int guard_type;

/**
 * Once the peer is gone, what is written goes nowhere and the next read tells why: first whatever
 * the peer still said, an answer to half a body for example, and then that it is gone.
 */
static int guard_write(BIO *bio, const char *bytes, int size) {
    bool is_broken = BIO_get_data(bio) != NULL;
    if (is_broken) return size;
    int count = BIO_write(BIO_next(bio), bytes, size);
    BIO_clear_retry_flags(bio);
    BIO_copy_next_retry(bio);
    if (count > 0 || BIO_should_retry(bio)) return count;
    BIO_set_data(bio, bio);
    return size;
}

static long guard_control(BIO *bio, int command, long number, void *pointer) {
    return BIO_next(bio) != NULL ? BIO_ctrl(BIO_next(bio), command, number, pointer) : 0;
}

static int guard_create(BIO *bio) {
    BIO_set_init(bio, 1);
    return 1;
}

static void make_guard_method(void) {
    guard_type = BIO_get_new_index() | BIO_TYPE_FILTER;
    BIO_METHOD *method = BIO_meth_new(guard_type, "af write guard");
    if (method == NULL) return;
    BIO_meth_set_write(method, guard_write);
    BIO_meth_set_ctrl(method, guard_control);
    BIO_meth_set_create(method, guard_create);
    guard_method = method;
}

/** Over HTTP/2 an answer comes without the end of the connection, and others share that. */
static bool speaks_http_2(const SSL *ssl) {
    const unsigned char *protocol;
    unsigned size;
    SSL_get0_alpn_selected(ssl, &protocol, &size);
    return size == 2 && memcmp(protocol, "h2", 2) == 0;
}

/** Without memory for it the connection works all the same. */
static void guard_writes(SSL *ssl) {
    BIO *next = SSL_get_wbio(ssl);
    /* Tickets that come later count as the end of a handshake as well. */
    bool is_guarded = next == NULL || BIO_method_type(next) == guard_type;
    if (guard_method == NULL || is_guarded || speaks_http_2(ssl)) return;
    BIO *guard = BIO_new(guard_method);
    if (guard == NULL) return;
    BIO_up_ref(next);
    SSL_set0_wbio(ssl, BIO_push(guard, next));
}

/* ---- Sessions' policies and connections' peers --------------------------------------------- */

static int context_index = -1, session_index = -1;

static void forget_peer(void *parent, void *data, CRYPTO_EX_DATA *all, int index, long number,
                        void *pointer) {
    (void)parent, (void)all, (void)index, (void)number, (void)pointer;
    af__tls_peer_release(data);
}

static void forget_evidence(void *parent, void *data, CRYPTO_EX_DATA *all, int index, long number,
                            void *pointer) {
    (void)parent, (void)all, (void)index, (void)number, (void)pointer;
    af__evidence_release(data);
}

/** A ticket makes another TLS session of the one that it came in. */
static int copy_evidence(CRYPTO_EX_DATA *to, const CRYPTO_EX_DATA *from, void **data, int index,
                         long number, void *pointer) {
    (void)to, (void)from, (void)index, (void)number, (void)pointer;
    af__evidence_retain(*data);
    return 1;
}

static void prepare_once(void) {
    make_guard_method();
    context_index = SSL_CTX_get_ex_new_index(0, NULL, NULL, NULL, forget_peer);
    session_index = SSL_SESSION_get_ex_new_index(0, NULL, NULL, copy_evidence, forget_evidence);
}

void af__tls_init_library(void) {
    OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, NULL);
}

af_status af__tls_new(af__tls **out, af_trust_policy *policy, af_failure *failure) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, prepare_once);
    *out = NULL;
    bool is_ready = context_index >= 0 && session_index >= 0;
    af__tls *tls = is_ready ? af__zalloc(sizeof *tls) : NULL;
    if (tls == NULL) return af__fail(failure, AF_ENOMEM, "out of memory");
    af_status status = AF_OK;
    if (policy != NULL)
        tls->policy = af_trust_policy_retain(policy);
    else
        status = af_trust_policy_new(&tls->policy, NULL, failure);
    if (status != AF_OK) {
        af_free(tls);
        return status;
    }
    *out = tls;
    return AF_OK;
}

void af__tls_free(af__tls *tls) {
    if (tls == NULL) return;
    af_trust_policy_release(tls->policy);
    af_free(tls);
}

/* ---- The verdict --------------------------------------------------------------------------- */

/**
 * Who is connected to, in the words of a certificate. libcurl alone knows the A-labels of an
 * internationalised name, and has just sent them to the server.
 */
static const char *host_of(const af__tls_peer *peer, const SSL *ssl) {
    bool is_ascii = true;
    for (const char *at = peer->host; *at != '\0'; at++) {
        if ((unsigned char)*at > 127) is_ascii = false;
    }
    const char *sent = is_ascii ? NULL : SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
    return sent != NULL ? sent : peer->host;
}

/**
 * Runs in every full handshake. Sessions that are resumed were judged in theirs, by the same policy:
 * they never leave the af_session.
 */
static int verify(X509_STORE_CTX *context, void *argument) {
    af__tls_peer *peer = argument;
    const af_trust_policy *policy = peer->tls->policy;
    SSL *ssl = X509_STORE_CTX_get_ex_data(context, SSL_get_ex_data_X509_STORE_CTX_idx());
    af__trust_case shown = {host_of(peer, ssl), X509_STORE_CTX_get0_cert(context),
                            X509_STORE_CTX_get0_untrusted(context)};
    af__evidence_release(peer->evidence);
    af__evidence *evidence = peer->evidence = af__trust_evaluate(policy, &shown);
    if (evidence == NULL || !af__trust_ask_hook(policy, evidence)) {
        peer->lacked_memory = true;
        X509_STORE_CTX_set_error(context, X509_V_ERR_OUT_OF_MEM);
        return 0;
    }
    /* Left in the context, it is what OpenSSL and libcurl go by. */
    X509_STORE_CTX_set_error(context, evidence->verdict.error);
    if (!evidence->verdict.is_accepted) return 0;
    if (SSL_SESSION_set_ex_data(SSL_get0_session(ssl), session_index, evidence) == 1) {
        af__evidence_retain(evidence);
    }
    return 1;
}

/** libcurl's BIO knows no end of file, so OpenSSL can't tell a cut connection from a closed one. */
static void watch(const SSL *ssl, int where, int value) {
    if (where == SSL_CB_HANDSHAKE_DONE) guard_writes((SSL *)(uintptr_t)ssl);
    if (where != SSL_CB_READ_ALERT || (value & 0xFF) != SSL_AD_CLOSE_NOTIFY) return;
    af__tls_peer *peer = SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), context_index);
    if (peer != NULL) peer->said_goodbye = true;
}

af__tls_peer *af__tls_prepare(af__tls *tls, void *ssl_context, const char *host) {
    SSL_CTX *context = ssl_context;
    size_t size = strlen(host) + 1;
    af__tls_peer *peer = af__zalloc(sizeof *peer + size);
    if (peer == NULL) return NULL;
    memcpy(peer->host, host, size);
    peer->tls = tls;
    peer->references = 1;
    if (SSL_CTX_set_ex_data(context, context_index, peer) != 1) {
        af__tls_peer_release(peer);
        return NULL;
    }
    peer->references++;
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
    SSL_CTX_set_cert_verify_callback(context, verify, peer);
    /* A body that ends with the connection is complete only if the peer said so. */
    SSL_CTX_clear_options(context, SSL_OP_IGNORE_UNEXPECTED_EOF);
    SSL_CTX_set_info_callback(context, watch);
    return peer;
}

af__tls_peer *af__tls_peer_of(void *ssl) {
    af__tls_peer *peer = SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), context_index);
    if (peer == NULL) return NULL;
    if (peer->evidence == NULL && SSL_session_reused(ssl)) {
        SSL_SESSION *session = SSL_get0_session(ssl);
        peer->evidence = af__evidence_retain(SSL_SESSION_get_ex_data(session, session_index));
    }
    peer->references++;
    return peer;
}

bool af__tls_peer_said_goodbye(const af__tls_peer *peer) {
    return peer != NULL && peer->said_goodbye;
}

af__evidence *af__tls_peer_copy_evidence(const af__tls_peer *peer) {
    return peer != NULL ? af__evidence_retain(peer->evidence) : NULL;
}

void af__tls_peer_release(af__tls_peer *peer) {
    if (peer == NULL || --peer->references != 0) return;
    af__evidence_release(peer->evidence);
    af_free(peer);
}

af_status af__tls_peer_get_verdict(const af__tls_peer *peer, af_trust_reason *reason,
                                   const char **text) {
    *reason = AF_TRUST_OTHER;
    if (peer == NULL) return AF_OK;
    if (peer->lacked_memory) {
        *text = "no memory to judge the certificate chain";
        return AF_ENOMEM;
    }
    if (peer->evidence == NULL || peer->evidence->verdict.is_accepted) return AF_OK;
    *reason = peer->evidence->verdict.reason;
    *text = peer->evidence->verdict.text;
    return AF_EUNTRUSTED;
}
