#include "tls/client_certificate.h"

#include "base/failure.h"
#include "base/file.h"
#include "base/sized.h"
#include "base/text.h"

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
    afc_slice bytes;
    afc__buffer owned;
} secret_bytes;

static void clear_secret(secret_bytes *secret) {
    if (secret->owned.size > 0) explicit_bzero(secret->owned.bytes, secret->owned.size);
    afc__buffer_clear(&secret->owned);
}

static afc_status read_file(secret_bytes *out, const char *path, afc_failure *failure) {
    afc_status status = afc__read_file(&out->owned, path, AFC__FILE_REGULAR, failure);
    out->bytes = afc__buffer_slice(&out->owned);
    bool is_none = status == AFC_ETOOBIG || status == AFC_EINVAL ||
                   (status == AFC_OK && out->bytes.size == 0);
    if (!is_none) return status;
    return afc__fail(failure, AFC_EINVAL, "%s: not a file with a certificate or a key", path);
}

static afc_status take_bytes(secret_bytes *out, afc_slice bytes, const char *path,
                             afc_failure *failure) {
    out->bytes = bytes;
    if (path != NULL) return read_file(out, path, failure);
    if (afc__lacks_bytes(bytes)) {
        return afc__fail(failure, AFC_EINVAL, "the client certificate has a size but no bytes");
    }
    if (bytes.size <= MAX_FILE) return AFC_OK;
    return afc__fail(failure, AFC_EINVAL, "the client certificate is too long");
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

static bool is_der(afc_slice bytes) {
    return bytes.size > 0 && bytes.bytes[0] == 0x30;
}

static BIO *open_bytes(afc_slice bytes) {
    return BIO_new_mem_buf(bytes.bytes, (int)bytes.size);
}

static EVP_PKEY *read_key(afc_slice bytes, void *password) {
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

static bool read_pem(afc__tls_identity *out, afc_slice bytes) {
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
static bool read_der(afc__tls_identity *out, afc_slice bytes, const char *password) {
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

static afc_status read_pair(afc__tls_identity *out, const afc_client_certificate *source,
                            afc_slice certificate, afc_slice key, afc_failure *failure) {
    void *password = (void *)(uintptr_t)source->password;
    bool is_good = is_der(certificate) ? read_der(out, certificate, source->password)
                                       : read_pem(out, certificate);
    if (!is_good) {
        if (!is_der(certificate)) {
            return afc__fail(failure, AFC_EINVAL, "invalid client certificate");
        }
        return afc__give_reason(
            failure, AFC_REASON_KEY_PASSWORD,
            afc__fail(failure, AFC_EINVAL, "invalid client certificate, or wrong password"));
    }
    if (out->key == NULL) out->key = read_key(key.size > 0 ? key : certificate, password);
    if (out->key == NULL) {
        return afc__give_reason(
            failure, AFC_REASON_KEY_PASSWORD,
            afc__fail(failure, AFC_EINVAL,
                      "invalid key of the client certificate, or wrong password"));
    }
    if (X509_check_private_key(out->certificate, out->key) == 1) return AFC_OK;
    return afc__fail(failure, AFC_EINVAL, "the key doesn't match the client certificate");
}

static afc_status read_pattern(afc__tls_identity *out, const afc_client_certificate *source,
                               afc_failure *failure) {
    out->is_for_all = source->host == NULL;
    if (out->is_for_all) return AFC_OK;
    if (afc__host_pattern_read(&out->pattern, source->host, source->include_subdomains)) {
        return AFC_OK;
    }
    return afc__fail(failure, AFC_EINVAL,
                     "invalid host of a client certificate: expected an ASCII name or an address");
}

afc_status afc__tls_identity_read(afc__tls_identity *out, const afc_client_certificate *source,
                                  afc_failure *failure) {
    secret_bytes certificate, key;
    afc__buffer_init(&certificate.owned, MAX_FILE);
    afc__buffer_init(&key.owned, MAX_FILE);
    certificate.bytes = key.bytes = (afc_slice){NULL, 0};
    memset(out, 0, sizeof *out);
    ERR_clear_error();
    afc_status status = AFC__CHECK_RESERVED(source, "afc_client_certificate", failure);
    if (status == AFC_OK) status = read_pattern(out, source, failure);
    if (status == AFC_OK) {
        status = take_bytes(&certificate, source->certificate, source->certificate_path, failure);
    }
    if (status == AFC_OK) status = take_bytes(&key, source->key, source->key_path, failure);
    if (status == AFC_OK) status = read_pair(out, source, certificate.bytes, key.bytes, failure);
    clear_secret(&certificate);
    clear_secret(&key);
    ERR_clear_error();
    if (status != AFC_OK) afc__tls_identity_clear(out);
    return status;
}

void afc__tls_identity_clear(afc__tls_identity *identity) {
    X509_free(identity->certificate);
    EVP_PKEY_free(identity->key);
    sk_X509_pop_free(identity->chain, X509_free);
    memset(identity, 0, sizeof *identity);
}

const afc__tls_identity *afc__tls_identity_for(const afc__tls_identity *all, size_t count,
                                               const afc__trust_host *host) {
    const afc__tls_identity *best = NULL;
    unsigned best_specificity = 0;
    for (size_t i = 0; i < count; i++) {
        if (all[i].is_for_all && best == NULL) best = &all[i];
        if (all[i].is_for_all) continue;
        unsigned specificity = afc__host_pattern_specificity(&all[i].pattern, host);
        if (specificity <= best_specificity) continue;
        best = &all[i];
        best_specificity = specificity;
    }
    return best;
}

bool afc__tls_identity_show(const afc__tls_identity *identity, SSL *ssl) {
    return SSL_use_certificate(ssl, identity->certificate) == 1 &&
           SSL_use_PrivateKey(ssl, identity->key) == 1 && SSL_set1_chain(ssl, identity->chain) == 1;
}
