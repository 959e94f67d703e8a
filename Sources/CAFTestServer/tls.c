#include "internal.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

// OpenSSL's own socket BIO writes without MSG_NOSIGNAL, and would raise SIGPIPE.
static int bio_write(BIO *bio, const char *bytes, int len) {
    afts_conn *conn = BIO_get_data(bio);
    ssize_t n;
    do {
        n = send(conn->fd, bytes, (size_t)len, MSG_NOSIGNAL);
    } while (n < 0 && errno == EINTR);
    return (int)n;
}

static int bio_read(BIO *bio, char *out, int len) {
    afts_conn *conn = BIO_get_data(bio);
    ssize_t n;
    do {
        n = recv(conn->fd, out, (size_t)len, 0);
    } while (n < 0 && errno == EINTR);
    if (n == 0) {
        BIO_set_flags(bio, BIO_FLAGS_IN_EOF);
    }
    return (int)n;
}

static long bio_ctrl(BIO *bio, int command, long number, void *pointer) {
    (void)number;
    (void)pointer;
    if (command == BIO_CTRL_EOF) {
        return BIO_test_flags(bio, BIO_FLAGS_IN_EOF) != 0;
    }
    return command == BIO_CTRL_FLUSH;
}

static int make_bio_method(afts_server *server) {
    int type = BIO_get_new_index();
    server->bio = type < 0 ? NULL : BIO_meth_new(type | BIO_TYPE_SOURCE_SINK, "test server");
    return server->bio && BIO_meth_set_write(server->bio, bio_write) &&
           BIO_meth_set_read(server->bio, bio_read) && BIO_meth_set_ctrl(server->bio, bio_ctrl);
}

static int fail(afts_server *server, const char *what) {
    char reason[128] = "";
    unsigned long error = ERR_peek_last_error();
    ERR_error_string_n(error, reason, sizeof reason);
    snprintf(server->error, sizeof server->error, "%s: %s", what, error ? reason : "refused");
    ERR_clear_error();
    return -EINVAL;
}

static bool use_chain_pem(SSL_CTX *context, const char *pem) {
    BIO *bio = BIO_new_mem_buf(pem, -1);
    X509 *leaf = PEM_read_bio_X509(bio, NULL, NULL, NULL);
    bool done = leaf && SSL_CTX_use_certificate(context, leaf) == 1;
    X509_free(leaf);
    X509 *above = NULL;
    while (done && (above = PEM_read_bio_X509(bio, NULL, NULL, NULL)) != NULL) {
        done = SSL_CTX_add0_chain_cert(context, above) == 1;
        if (!done) {
            X509_free(above);
        }
    }
    ERR_clear_error();
    BIO_free(bio);
    return done;
}

static bool use_key_pem(SSL_CTX *context, const char *pem) {
    BIO *bio = BIO_new_mem_buf(pem, -1);
    EVP_PKEY *key = PEM_read_bio_PrivateKey(bio, NULL, NULL, NULL);
    bool done = key && SSL_CTX_use_PrivateKey(context, key) == 1;
    EVP_PKEY_free(key);
    BIO_free(bio);
    return done;
}

static bool use_certificate(SSL_CTX *context, const afts_tls *tls) {
    bool done = false;
    if (tls->chain_pem) {
        done = use_chain_pem(context, tls->chain_pem);
    } else if (tls->chain_file) {
        done = SSL_CTX_use_certificate_chain_file(context, tls->chain_file) == 1;
    }
    if (done && tls->key_pem) {
        done = use_key_pem(context, tls->key_pem);
    } else {
        done = done && tls->key_file &&
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

static int select_alpn(SSL *ssl, const unsigned char **out, unsigned char *out_len,
                       const unsigned char *offered, unsigned offered_len, void *context) {
    (void)ssl;
    afts_server *server = context;
    unsigned char *chosen = NULL;
    if (SSL_select_next_proto(&chosen, out_len, server->alpn, (unsigned)server->alpn_len, offered,
                              offered_len) != OPENSSL_NPN_NEGOTIATED) {
        return SSL_TLSEXT_ERR_NOACK;
    }
    *out = chosen;
    return SSL_TLSEXT_ERR_OK;
}

// Turns "h2,http/1.1" into length-prefixed names.
static bool use_alpn(afts_server *server, const char *names) {
    afts__buf wire = {0};
    bool done = true;
    while (done && *names) {
        size_t len = strcspn(names, ",");
        uint8_t prefix = (uint8_t)len;
        done = len > 0 && len < 256 && afts__buf_append(&wire, &prefix, 1) == 0 &&
               afts__buf_append(&wire, names, len) == 0;
        names += len + (names[len] == ',');
    }
    server->alpn = wire.data;
    server->alpn_len = wire.len;
    SSL_CTX_set_alpn_select_cb(server->tls, select_alpn, server);
    return done && wire.len > 0;
}

static int staple(SSL *ssl, void *context) {
    afts_server *server = context;
    uint8_t *copy = OPENSSL_memdup(server->ocsp, server->ocsp_len);
    if (!copy) {
        return SSL_TLSEXT_ERR_NOACK;
    }
    SSL_set_tlsext_status_ocsp_resp(ssl, copy, (long)server->ocsp_len);
    return SSL_TLSEXT_ERR_OK;
}

static bool use_ocsp(afts_server *server, const afts_tls *tls) {
    server->ocsp = afts__copy(tls->ocsp_response, tls->ocsp_response_len);
    server->ocsp_len = tls->ocsp_response_len;
    SSL_CTX_set_tlsext_status_cb(server->tls, staple);
    SSL_CTX_set_tlsext_status_arg(server->tls, server);
    return server->ocsp != NULL;
}

static void set_resumption(SSL_CTX *context, const afts_tls *tls) {
    static const unsigned char id[] = "test server";
    SSL_CTX_set_session_id_context(context, id, sizeof id - 1);
    if (tls->no_tickets || tls->no_resumption) {
        SSL_CTX_set_options(context, SSL_OP_NO_TICKET);
    }
    if (tls->no_resumption) {
        SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
        SSL_CTX_set_num_tickets(context, 0);
    }
}

int afts__tls_setup(afts_server *server, const afts_tls *tls) {
    afts__openssl_begin();
    server->tls = SSL_CTX_new(TLS_server_method());
    if (!server->tls || !make_bio_method(server)) {
        return fail(server, "OpenSSL");
    }
    // What is too weak for a client is the client's to say.
    SSL_CTX_set_security_level(server->tls, 0);
    int min = tls->min_version ? (int)tls->min_version : TLS1_2_VERSION;
    if (!SSL_CTX_set_min_proto_version(server->tls, min) ||
        !SSL_CTX_set_max_proto_version(server->tls, (int)tls->max_version)) {
        return fail(server, "TLS versions");
    }
    if (!use_certificate(server->tls, tls)) {
        return fail(server, "certificate chain and key");
    }
    if (tls->ciphers && !SSL_CTX_set_cipher_list(server->tls, tls->ciphers)) {
        return fail(server, "ciphers");
    }
    if (tls->client_ca_pem && !ask_for_client_certificate(server->tls, tls)) {
        return fail(server, "client authorities");
    }
    if (tls->alpn && !use_alpn(server, tls->alpn)) {
        return fail(server, "ALPN list");
    }
    if (tls->ocsp_response && !use_ocsp(server, tls)) {
        return fail(server, "OCSP response");
    }
    set_resumption(server->tls, tls);
    return 0;
}

void afts__tls_teardown(afts_server *server) {
    SSL_CTX_free(server->tls);
    BIO_meth_free(server->bio);
    free(server->alpn);
    free(server->ocsp);
}

static const char *copy_text(const char *text) {
    return text ? afts__copy(text, strlen(text)) : NULL;
}

static const char *copy_alpn(const SSL *ssl) {
    const unsigned char *name = NULL;
    unsigned len = 0;
    SSL_get0_alpn_selected(ssl, &name, &len);
    return len > 0 ? afts__copy(name, len) : NULL;
}

static const char *copy_client_subject(const SSL *ssl) {
    char subject[256];
    X509 *certificate = SSL_get0_peer_certificate(ssl);
    if (!certificate) {
        return NULL;
    }
    X509_NAME_oneline(X509_get_subject_name(certificate), subject, sizeof subject);
    return copy_text(subject);
}

static void record_success(afts_conn *conn) {
    SSL *ssl = conn->ssl;
    afts_server *server = conn->server;
    afts_connection *seen = &conn->record->seen;
    pthread_mutex_lock(&server->lock);
    seen->tls = true;
    seen->tls_resumed = SSL_session_reused(ssl) == 1;
    seen->tls_version = copy_text(SSL_get_version(ssl));
    seen->tls_cipher = copy_text(SSL_get_cipher_name(ssl));
    seen->sni = copy_text(SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name));
    seen->alpn = copy_alpn(ssl);
    seen->client_subject = copy_client_subject(ssl);
    server->stats.handshakes++;
    server->stats.handshakes_resumed += seen->tls_resumed ? 1 : 0;
    afts__changed(server);
    pthread_mutex_unlock(&server->lock);
}

static int record_failure(afts_conn *conn) {
    char reason[160] = "the connection ended during the handshake";
    unsigned long error = ERR_peek_error();
    if (error) {
        ERR_error_string_n(error, reason, sizeof reason);
    }
    afts_server *server = conn->server;
    pthread_mutex_lock(&server->lock);
    conn->record->seen.tls_error = copy_text(reason);
    conn->record->seen.sni = copy_text(SSL_get_servername(conn->ssl, TLSEXT_NAMETYPE_host_name));
    server->stats.handshakes_failed++;
    afts__changed(server);
    pthread_mutex_unlock(&server->lock);
    conn->ending = AFTS_HANDSHAKE_FAILED;
    ERR_clear_error();
    return -ECONNRESET;
}

int afts__tls_handshake(afts_conn *conn) {
    if (!conn->server->tls) {
        return 0;
    }
    BIO *bio = BIO_new(conn->server->bio);
    SSL *ssl = SSL_new(conn->server->tls);
    if (!bio || !ssl) {
        BIO_free(bio);
        SSL_free(ssl);
        return -ENOMEM;
    }
    BIO_set_data(bio, conn);
    BIO_set_init(bio, 1);
    SSL_set_bio(ssl, bio, bio);
    conn->ssl = ssl;
    ERR_clear_error();
    if (SSL_accept(ssl) != 1) {
        return record_failure(conn);
    }
    conn->tls_usable = true;
    record_success(conn);
    return 0;
}
