#include "tls/write_guard.h"

/* Written once, before any session can read it. */
static BIO_METHOD *guard_method;
static int guard_type;

/**
 * Discards writes once the peer has closed. The next reads return what the peer still sent, for
 * example a response to half a body, and then the error.
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

bool afc__tls_guard_init(void) {
    if (guard_method != NULL) return true;
    if (guard_type == 0) guard_type = BIO_get_new_index() | BIO_TYPE_FILTER;
    BIO_METHOD *method = BIO_meth_new(guard_type, "af write guard");
    if (method == NULL) return false;
    BIO_meth_set_write(method, guard_write);
    BIO_meth_set_ctrl(method, guard_control);
    BIO_meth_set_create(method, guard_create);
    guard_method = method;
    return true;
}

void afc__tls_guard(SSL *ssl) {
    BIO *next = SSL_get_wbio(ssl);
    /* OpenSSL also reports the end of a handshake for session tickets that arrive later. */
    bool is_guarded = next == NULL || BIO_method_type(next) == guard_type;
    if (guard_method == NULL || is_guarded) return;
    BIO *guard = BIO_new(guard_method);
    if (guard == NULL) return;
    BIO_up_ref(next);
    SSL_set0_wbio(ssl, BIO_push(guard, next));
}
