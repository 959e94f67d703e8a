#include "tls/client_certificate.h"

#include "base/failure.h"
#include "base/file.h"

#include <limits.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/pkcs12.h>
#include <string.h>

/* The maximum size of a certificate or key file. */
enum { MAX_FILE = 1024 * 1024 };

/* ---- Bytes that are secret ----------------------------------------------------------------- */

/** Either borrowed from the caller or in `owned`. */
typedef struct secret_bytes {
    af_slice bytes;
    af__buffer owned;
} secret_bytes;

static void clear_secret(secret_bytes *secret) {
    if (secret->owned.size > 0) explicit_bzero(secret->owned.bytes, secret->owned.size);
    af__buffer_clear(&secret->owned);
}

static af_status read_file(secret_bytes *out, const char *path, af_failure *failure) {
    af_status status = af__read_file(&out->owned, path, AF__FILE_REGULAR, failure);
    out->bytes = (af_slice){out->owned.bytes, out->owned.size};
    bool is_none = status == AF_ETOOBIG || status == AF_EINVAL ||
                   (status == AF_OK && out->bytes.size == 0);
    if (!is_none) return status;
    return af__fail(failure, AF_EINVAL, "%s: not a file with a certificate or a key", path);
}

static af_status take_bytes(secret_bytes *out, af_slice bytes, const char *path,
                            af_failure *failure) {
    out->bytes = bytes;
    if (path != NULL) return read_file(out, path, failure);
    if (bytes.size <= MAX_FILE) return AF_OK;
    return af__fail(failure, AF_EINVAL, "the client certificate is too long");
}

/* ---- Certificates and keys ----------------------------------------------------------------- */

/** Passes the password to OpenSSL. Without this callback OpenSSL would prompt on the terminal. */
static int tell_password(char *out, int size, int is_writing, void *password) {
    (void)is_writing;
    size_t length = password != NULL ? strlen(password) : 0;
    if (password == NULL || length > (size_t)size) return -1;
    memcpy(out, password, length);
    return (int)length;
}

static bool is_der(af_slice bytes) {
    return bytes.size > 0 && bytes.bytes[0] == 0x30;
}

static BIO *open_bytes(af_slice bytes) {
    return BIO_new_mem_buf(bytes.bytes, (int)bytes.size);
}

static EVP_PKEY *read_key(af_slice bytes, void *password) {
    EVP_PKEY *key = NULL;
    BIO *bio = open_bytes(bytes);
    if (bio != NULL && !is_der(bytes)) {
        key = PEM_read_bio_PrivateKey(bio, NULL, tell_password, password);
    } else if (bio != NULL) {
        key = password != NULL ? d2i_PKCS8PrivateKey_bio(bio, NULL, tell_password, password)
                               : d2i_PrivateKey_bio(bio, NULL);
    }
    BIO_free(bio);
    return key;
}

static bool read_pem(af__tls_identity *out, af_slice bytes) {
    BIO *bio = open_bytes(bytes);
    X509 *one = NULL;
    out->certificate = bio != NULL ? PEM_read_bio_X509(bio, NULL, NULL, NULL) : NULL;
    out->chain = sk_X509_new_null();
    bool is_good = out->certificate != NULL && out->chain != NULL;
    while (is_good && (one = PEM_read_bio_X509(bio, NULL, NULL, NULL)) != NULL) {
        is_good = sk_X509_push(out->chain, one) > 0;
        if (!is_good) X509_free(one);
    }
    BIO_free(bio);
    return is_good;
}

/** Reads DER: a PKCS #12 file or a bare certificate. */
static bool read_der(af__tls_identity *out, af_slice bytes, const char *password) {
    BIO *bio = open_bytes(bytes);
    PKCS12 *file = bio != NULL ? d2i_PKCS12_bio(bio, NULL) : NULL;
    BIO_free(bio);
    if (file != NULL) {
        bool is_good = PKCS12_parse(file, password, &out->key, &out->certificate, &out->chain) == 1;
        PKCS12_free(file);
        return is_good && out->certificate != NULL;
    }
    bio = open_bytes(bytes);
    out->certificate = bio != NULL ? d2i_X509_bio(bio, NULL) : NULL;
    BIO_free(bio);
    return out->certificate != NULL;
}

static af_status read_pair(af__tls_identity *out, const af_client_certificate *source,
                           af_slice certificate, af_slice key, af_failure *failure) {
    void *password = (void *)(uintptr_t)source->password;
    bool is_good = is_der(certificate) ? read_der(out, certificate, source->password)
                                       : read_pem(out, certificate);
    if (!is_good) {
        return af__fail(failure, AF_EINVAL, "invalid client certificate%s",
                        is_der(certificate) ? ", or wrong password" : "");
    }
    if (out->key == NULL) out->key = read_key(key.size > 0 ? key : certificate, password);
    if (out->key == NULL) {
        return af__fail(failure, AF_EINVAL,
                        "invalid key of the client certificate, or wrong password");
    }
    if (X509_check_private_key(out->certificate, out->key) == 1) return AF_OK;
    return af__fail(failure, AF_EINVAL, "the key doesn't match the client certificate");
}

static af_status read_pattern(af__tls_identity *out, const af_client_certificate *source,
                              af_failure *failure) {
    out->is_for_all = source->host == NULL;
    if (out->is_for_all) return AF_OK;
    if (af__host_pattern_read(&out->pattern, source->host, source->include_subdomains)) {
        return AF_OK;
    }
    return af__fail(failure, AF_EINVAL,
                    "invalid host of a client certificate: expected an ASCII name or an address");
}

af_status af__tls_identity_read(af__tls_identity *out, const af_client_certificate *source,
                                af_failure *failure) {
    secret_bytes certificate, key;
    af__buffer_init(&certificate.owned, MAX_FILE);
    af__buffer_init(&key.owned, MAX_FILE);
    certificate.bytes = key.bytes = (af_slice){NULL, 0};
    memset(out, 0, sizeof *out);
    ERR_clear_error();
    af_status status = read_pattern(out, source, failure);
    if (status == AF_OK) {
        status = take_bytes(&certificate, source->certificate, source->certificate_path, failure);
    }
    if (status == AF_OK) status = take_bytes(&key, source->key, source->key_path, failure);
    if (status == AF_OK) status = read_pair(out, source, certificate.bytes, key.bytes, failure);
    clear_secret(&certificate);
    clear_secret(&key);
    ERR_clear_error();
    if (status != AF_OK) af__tls_identity_clear(out);
    return status;
}

void af__tls_identity_clear(af__tls_identity *identity) {
    X509_free(identity->certificate);
    EVP_PKEY_free(identity->key);
    sk_X509_pop_free(identity->chain, X509_free);
    memset(identity, 0, sizeof *identity);
}

const af__tls_identity *af__tls_identity_for(const af__tls_identity *all, size_t count,
                                             const af__trust_host *host) {
    const af__tls_identity *best = NULL;
    unsigned best_specificity = 0;
    for (size_t i = 0; i < count; i++) {
        if (all[i].is_for_all && best == NULL) best = &all[i];
        if (all[i].is_for_all) continue;
        unsigned specificity = af__host_pattern_specificity(&all[i].pattern, host);
        if (specificity <= best_specificity) continue;
        best = &all[i];
        best_specificity = specificity;
    }
    return best;
}

bool af__tls_identity_show(const af__tls_identity *identity, SSL *ssl) {
    return SSL_use_certificate(ssl, identity->certificate) == 1 &&
           SSL_use_PrivateKey(ssl, identity->key) == 1 && SSL_set1_chain(ssl, identity->chain) == 1;
}
