#include "tls/tls.h"

#include "base/bytes.h"

#include <errno.h>
#include <openssl/err.h>
#include <sys/socket.h>

/** OpenSSL's own socket BIO writes without MSG_NOSIGNAL, and would raise SIGPIPE. */
static int bio_write(BIO *bio, const char *bytes, int size) {
    afts_conn *conn = BIO_get_data(bio);
    ssize_t count;
    do {
        count = send(conn->fd, bytes, (size_t)size, MSG_NOSIGNAL);
    } while (count < 0 && errno == EINTR);
    return (int)count;
}

static int bio_read(BIO *bio, char *out, int size) {
    afts_conn *conn = BIO_get_data(bio);
    ssize_t count;
    do {
        count = recv(conn->fd, out, (size_t)size, 0);
    } while (count < 0 && errno == EINTR);
    if (count == 0) BIO_set_flags(bio, BIO_FLAGS_IN_EOF);
    return (int)count;
}

static long bio_ctrl(BIO *bio, int command, long number, void *pointer) {
    (void)number;
    (void)pointer;
    if (command == BIO_CTRL_EOF) return BIO_test_flags(bio, BIO_FLAGS_IN_EOF) != 0;
    return command == BIO_CTRL_FLUSH;
}

static BIO_METHOD *bio_method;

static void make_bio_method(void) {
    int type = BIO_get_new_index();
    BIO_METHOD *method = type < 0 ? NULL : BIO_meth_new(type | BIO_TYPE_SOURCE_SINK, "test server");
    if (method == NULL) return;
    if (!BIO_meth_set_write(method, bio_write) || !BIO_meth_set_read(method, bio_read) ||
        !BIO_meth_set_ctrl(method, bio_ctrl)) {
        BIO_meth_free(method);
        return;
    }
    bio_method = method;
}

const BIO_METHOD *afts__tls_bio_method(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_bio_method);
    return bio_method;
}

static char *copy_alpn(const SSL *ssl) {
    const unsigned char *name = NULL;
    unsigned size = 0;
    SSL_get0_alpn_selected(ssl, &name, &size);
    return size > 0 ? afts__copy(name, size) : NULL;
}

static char *copy_client_subject(const SSL *ssl) {
    char subject[256];
    X509 *certificate = SSL_get0_peer_certificate(ssl);
    if (certificate == NULL) return NULL;
    X509_NAME_oneline(X509_get_subject_name(certificate), subject, sizeof subject);
    return afts__copy_text(subject);
}

static void record_success(afts_conn *conn) {
    SSL *ssl = conn->ssl;
    afts_server *server = conn->server;
    afts_connection *seen = &conn->record->seen;
    pthread_mutex_lock(&server->lock);
    seen->tls = true;
    seen->tls_resumed = SSL_session_reused(ssl) == 1;
    seen->tls_version = afts__copy_text(SSL_get_version(ssl));
    seen->tls_cipher = afts__copy_text(SSL_get_cipher_name(ssl));
    seen->sni = afts__copy_text(SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name));
    seen->alpn = copy_alpn(ssl);
    seen->client_subject = copy_client_subject(ssl);
    server->stats.handshakes++;
    server->stats.handshakes_resumed += seen->tls_resumed ? 1 : 0;
    afts__server_changed(server);
    pthread_mutex_unlock(&server->lock);
}

static afts_status record_failure(afts_conn *conn) {
    char reason[160] = "the connection ended during the handshake";
    unsigned long error = ERR_peek_error();
    if (error != 0) ERR_error_string_n(error, reason, sizeof reason);
    afts_server *server = conn->server;
    pthread_mutex_lock(&server->lock);
    conn->record->seen.tls_error = afts__copy_text(reason);
    conn->record->seen.sni = afts__copy_text(
        SSL_get_servername(conn->ssl, TLSEXT_NAMETYPE_host_name));
    server->stats.handshakes_failed++;
    afts__server_changed(server);
    pthread_mutex_unlock(&server->lock);
    conn->ending = AFTS_HANDSHAKE_FAILED;
    ERR_clear_error();
    return AFTS_ELOST;
}

afts_status afts__tls_handshake(afts_conn *conn) {
    if (conn->server->tls == NULL) return AFTS_OK;
    BIO *bio = BIO_new(afts__tls_bio_method());
    SSL *ssl = SSL_new(conn->server->tls);
    if (bio == NULL || ssl == NULL) {
        BIO_free(bio);
        SSL_free(ssl);
        return AFTS_ENOMEM;
    }
    BIO_set_data(bio, conn);
    BIO_set_init(bio, 1);
    SSL_set_bio(ssl, bio, bio);
    conn->ssl = ssl;
    ERR_clear_error();
    if (SSL_accept(ssl) != 1) return record_failure(conn);
    conn->can_send_notify = true;
    record_success(conn);
    return AFTS_OK;
}
