#include "tls/tls.h"

#include "base/bytes.h"
#include "certificate/certificate.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static afts_status fail(afts_server *server, const char *what) {
    char reason[128] = "";
    unsigned long error = ERR_peek_last_error();
    ERR_error_string_n(error, reason, sizeof reason);
    snprintf(server->error, sizeof server->error, "%s: %s", what, error != 0 ? reason : "refused");
    ERR_clear_error();
    return AFTS_EINVAL;
}

static bool use_chain_pem(SSL_CTX *context, const char *pem) {
    BIO *bio = BIO_new_mem_buf(pem, -1);
    X509 *leaf = PEM_read_bio_X509(bio, NULL, NULL, NULL);
    bool done = leaf != NULL && SSL_CTX_use_certificate(context, leaf) == 1;
    X509_free(leaf);
    X509 *above = NULL;
    while (done && (above = PEM_read_bio_X509(bio, NULL, NULL, NULL)) != NULL) {
        done = SSL_CTX_add0_chain_cert(context, above) == 1;
        if (!done) X509_free(above);
    }
    ERR_clear_error();
    BIO_free(bio);
    return done;
}

static bool use_key_pem(SSL_CTX *context, const char *pem) {
    BIO *bio = BIO_new_mem_buf(pem, -1);
    EVP_PKEY *key = PEM_read_bio_PrivateKey(bio, NULL, NULL, NULL);
    bool done = key != NULL && SSL_CTX_use_PrivateKey(context, key) == 1;
    EVP_PKEY_free(key);
    BIO_free(bio);
    return done;
}

static bool use_certificate(SSL_CTX *context, const afts_tls *tls) {
    bool done = false;
    if (tls->chain_pem != NULL) {
        done = use_chain_pem(context, tls->chain_pem);
    } else if (tls->chain_file != NULL) {
        done = SSL_CTX_use_certificate_chain_file(context, tls->chain_file) == 1;
    }
    if (done && tls->key_pem != NULL) {
        done = use_key_pem(context, tls->key_pem);
    } else {
        done = done && tls->key_file != NULL &&
               SSL_CTX_use_PrivateKey_file(context, tls->key_file, SSL_FILETYPE_PEM) == 1;
    }
    return done && SSL_CTX_check_private_key(context) == 1;
}

static bool ask_for_client_certificate(SSL_CTX *context, const afts_tls *tls) {
    BIO *bio = BIO_new_mem_buf(tls->client_ca_pem, -1);
    X509 *authority = NULL;
    bool any = false;
    bool done = true;
    while (done && (authority = PEM_read_bio_X509(bio, NULL, NULL, NULL)) != NULL) {
        done = X509_STORE_add_cert(SSL_CTX_get_cert_store(context), authority) == 1 &&
               SSL_CTX_add_client_CA(context, authority) == 1;
        X509_free(authority);
        any = true;
    }
    ERR_clear_error();
    BIO_free(bio);
    int demand = tls->client_certificate_required ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0;
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER | demand, NULL);
    return done && any;
}

static int select_alpn(SSL *ssl, const unsigned char **out, unsigned char *out_size,
                       const unsigned char *offered, unsigned offered_size, void *context) {
    (void)ssl;
    afts_server *server = context;
    unsigned char *chosen = NULL;
    if (SSL_select_next_proto(&chosen, out_size, server->alpn, (unsigned)server->alpn_size, offered,
                              offered_size) != OPENSSL_NPN_NEGOTIATED) {
        return SSL_TLSEXT_ERR_NOACK;
    }
    *out = chosen;
    return SSL_TLSEXT_ERR_OK;
}

/** Turns "h2,http/1.1" into length-prefixed names. */
static bool use_alpn(afts_server *server, const char *names) {
    afts__buffer wire = {0};
    bool done = true;
    while (done && *names) {
        size_t size = strcspn(names, ",");
        uint8_t prefix = (uint8_t)size;
        done = size > 0 && size < 256;
        afts__buffer_append(&wire, &prefix, 1);
        afts__buffer_append(&wire, names, size);
        names += size + (names[size] == ',');
    }
    server->alpn = wire.bytes;
    server->alpn_size = wire.size;
    SSL_CTX_set_alpn_select_cb(server->tls, select_alpn, server);
    return done && !wire.is_invalid && wire.size > 0;
}

static int staple(SSL *ssl, void *context) {
    afts_server *server = context;
    uint8_t *copy = OPENSSL_memdup(server->ocsp, server->ocsp_size);
    if (copy == NULL) return SSL_TLSEXT_ERR_NOACK;
    SSL_set_tlsext_status_ocsp_resp(ssl, copy, (long)server->ocsp_size);
    return SSL_TLSEXT_ERR_OK;
}

static bool use_ocsp(afts_server *server, const afts_tls *tls) {
    server->ocsp = afts__copy(tls->ocsp_response, tls->ocsp_response_size);
    server->ocsp_size = tls->ocsp_response_size;
    SSL_CTX_set_tlsext_status_cb(server->tls, staple);
    SSL_CTX_set_tlsext_status_arg(server->tls, server);
    return server->ocsp != NULL;
}

static void set_resumption(SSL_CTX *context, const afts_tls *tls) {
    static const unsigned char id[] = "test server";
    SSL_CTX_set_session_id_context(context, id, sizeof id - 1);
    if (tls->no_tickets || tls->no_resumption) SSL_CTX_set_options(context, SSL_OP_NO_TICKET);
    if (tls->no_resumption) {
        SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
        SSL_CTX_set_num_tickets(context, 0);
    }
}

afts_status afts__tls_init(afts_server *server, const afts_tls *tls) {
    afts__openssl_init();
    server->tls = SSL_CTX_new(TLS_server_method());
    if (server->tls == NULL || afts__tls_bio_method() == NULL) return fail(server, "OpenSSL");
    /* Level 0 accepts weak keys too: the client under test has to refuse them. */
    SSL_CTX_set_security_level(server->tls, 0);
    int min = tls->min_version ? (int)tls->min_version : TLS1_2_VERSION;
    if (!SSL_CTX_set_min_proto_version(server->tls, min) ||
        !SSL_CTX_set_max_proto_version(server->tls, (int)tls->max_version)) {
        return fail(server, "TLS versions");
    }
    if (!use_certificate(server->tls, tls)) return fail(server, "certificate chain and key");
    if (tls->ciphers != NULL && !SSL_CTX_set_cipher_list(server->tls, tls->ciphers)) {
        return fail(server, "ciphers");
    }
    if (tls->client_ca_pem == NULL && tls->client_certificate_required) {
        snprintf(server->error, sizeof server->error,
                 "a client certificate is required, but no authority to verify it is set");
        return AFTS_EINVAL;
    }
    if (tls->client_ca_pem != NULL && !ask_for_client_certificate(server->tls, tls)) {
        return fail(server, "client authorities");
    }
    if (tls->alpn != NULL && !use_alpn(server, tls->alpn)) return fail(server, "ALPN list");
    if (tls->ocsp_response != NULL && !use_ocsp(server, tls)) return fail(server, "OCSP response");
    set_resumption(server->tls, tls);
    return AFTS_OK;
}

void afts__tls_clear(afts_server *server) {
    SSL_CTX_free(server->tls);
    free(server->alpn);
    free(server->ocsp);
}
