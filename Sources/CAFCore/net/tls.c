#include "net/tls.h"

#include "base/alloc.h"
#include "base/failure.h"
#include "trust/evaluate.h"

#include <openssl/crypto.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <string.h>

struct af__tls {
    af__trust trust;
};

struct af__tls_peer {
    unsigned references; /* Loop thread only. */
    const af__tls *tls;
    af__verdict verdict;
    bool was_judged;
    bool said_goodbye; /* The server sent close_notify. */
    char host[];
};

static int context_index = -1;

static void forget_peer(void *parent, void *data, CRYPTO_EX_DATA *all, int index, long number,
                        void *pointer) {
    (void)parent, (void)all, (void)index, (void)number, (void)pointer;
    af__tls_peer_release(data);
}

static void reserve_index(void) {
    context_index = SSL_CTX_get_ex_new_index(0, NULL, NULL, NULL, forget_peer);
}

void af__tls_init_library(void) {
    OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, NULL);
}

af_status af__tls_new(af__tls **out, const af_trust_policy *policy, af_failure *failure) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, reserve_index);
    *out = NULL;
    af__tls *tls = context_index >= 0 ? af__zalloc(sizeof *tls) : NULL;
    if (tls == NULL) return af__fail(failure, AF_ENOMEM, "out of memory");
    af_status status = af__trust_init(&tls->trust, policy, failure);
    if (status != AF_OK) {
        af_free(tls);
        return status;
    }
    *out = tls;
    return AF_OK;
}

void af__tls_free(af__tls *tls) {
    if (tls == NULL) return;
    af__trust_clear(&tls->trust);
    af_free(tls);
}

static int verify(X509_STORE_CTX *context, void *argument) {
    af__tls_peer *peer = argument;
    af__trust_evaluate(&peer->tls->trust, peer->host, context, &peer->verdict);
    peer->was_judged = true;
    return peer->verdict.is_accepted ? 1 : 0;
}

/** libcurl's BIO knows no end of file, so OpenSSL can't tell a cut connection from a closed one. */
static void watch_alerts(const SSL *ssl, int where, int value) {
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
    X509_STORE *store = af__trust_get_store(&tls->trust);
    if (store == NULL || SSL_CTX_set_ex_data(context, context_index, peer) != 1) {
        af__tls_peer_release(peer);
        return NULL;
    }
    peer->references++;
    SSL_CTX_set1_cert_store(context, store);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
    SSL_CTX_set_cert_verify_callback(context, verify, peer);
    /* A body that ends with the connection is complete only if the peer said so. */
    SSL_CTX_clear_options(context, SSL_OP_IGNORE_UNEXPECTED_EOF);
    SSL_CTX_set_info_callback(context, watch_alerts);
    return peer;
}

af__tls_peer *af__tls_peer_of(void *ssl) {
    af__tls_peer *peer = SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), context_index);
    if (peer != NULL) peer->references++;
    return peer;
}

bool af__tls_peer_said_goodbye(const af__tls_peer *peer) {
    return peer != NULL && peer->said_goodbye;
}

void af__tls_peer_release(af__tls_peer *peer) {
    if (peer != NULL && --peer->references == 0) af_free(peer);
}

bool af__tls_peer_was_refused(const af__tls_peer *peer, af_trust_reason *reason,
                              const char **text) {
    if (peer == NULL || !peer->was_judged || peer->verdict.is_accepted) return false;
    *reason = peer->verdict.reason;
    *text = peer->verdict.text;
    return true;
}
