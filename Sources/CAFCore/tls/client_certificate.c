#include "tls/client_certificate.h"

#include "base/failure.h"
#include "base/file.h"
#include "base/sized.h"
#include "base/text.h"
#include "trust/x509_parse.h"

#include <limits.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/pkcs12.h>
#include <stdio.h>
#include <string.h>

/* The maximum size of a certificate or key file. */
enum { MAX_FILE = 1024 * 1024 };

/* ---- Secret bytes -------------------------------------------------------------------------- */

/** Bytes that may be secret: borrowed from the caller, or read from a file into `owned`. */
typedef struct secret_bytes {
    const char *name;  /**< For error texts: the path, or which bytes of the caller these are. */
    afc_reason reason; /**< Reason of errors about the content. */
    afc_slice bytes;
    afc__buffer owned;
} secret_bytes;

static void secret_init(secret_bytes *secret, const char *path, const char *field,
                        afc_reason reason) {
    secret->name = path != NULL ? path : field;
    secret->reason = reason;
    secret->bytes = (afc_slice){NULL, 0};
    afc__buffer_init(&secret->owned, MAX_FILE);
}

static void clear_secret(secret_bytes *secret) {
    afc__buffer_wipe(&secret->owned);
    afc__buffer_clear(&secret->owned);
}

static afc_status read_file(secret_bytes *out, const char *path, afc_failure *failure) {
    afc_status status = afc__read_file(&out->owned, path, AFC__FILE_REGULAR, failure);
    out->bytes = afc__buffer_slice(&out->owned);
    if (status == AFC_OK && out->bytes.size == 0) {
        afc__fail(failure, AFC_EINVAL, "%s is empty: expected a certificate or a key", path);
        return afc__give_reason(failure, out->reason, AFC_EINVAL);
    }
    if (status != AFC_ETOOBIG) return status;
    if (failure != NULL) failure->status = AFC_EINVAL;
    return afc__give_reason(failure, out->reason, AFC_EINVAL);
}

static afc_status take_bytes(secret_bytes *out, afc_slice bytes, const char *path,
                             afc_failure *failure) {
    out->bytes = bytes;
    if (path != NULL) return read_file(out, path, failure);
    if (afc__lacks_bytes(bytes)) {
        return afc__fail(failure, AFC_EINVAL, "%s has a size but no bytes", out->name);
    }
    if (bytes.size <= MAX_FILE) return AFC_OK;
    afc__fail(failure, AFC_EINVAL, "%s is larger than the limit of %d bytes", out->name,
              (int)MAX_FILE);
    return afc__give_reason(failure, out->reason, AFC_EINVAL);
}

/* ---- Certificates and keys ----------------------------------------------------------------- */

typedef struct secret_password {
    const char *text; /**< NULL if none was given. */
    bool was_needed;  /**< OpenSSL has asked for one. */
} secret_password;

/** Passes the password to OpenSSL. Without this callback OpenSSL would prompt on the terminal. */
static int tell_password(char *out, int size, int is_writing, void *context) {
    secret_password *password = context;
    (void)is_writing;
    password->was_needed = true;
    size_t length = password->text != NULL ? strlen(password->text) : 0;
    if (password->text == NULL || length > (size_t)size) return -1;
    memcpy(out, password->text, length);
    return (int)length;
}

static BIO *open_bytes(afc_slice bytes) {
    return BIO_new_mem_buf(bytes.bytes, (int)bytes.size);
}

/**
 * Returns whether PEM has a block of this type, such as "CERTIFICATE" or, after the name of an algorithm, "PRIVATE
 * KEY".
 */
static bool has_block(afc_slice bytes, const char *type) {
    char line[64];
    int size = snprintf(line, sizeof line, "%s-----", type);
    return bytes.size != 0 && memmem(bytes.bytes, bytes.size, line, (size_t)size) != NULL;
}

static EVP_PKEY *read_pem_key(afc_slice bytes, secret_password *password) {
    BIO *bio = open_bytes(bytes);
    EVP_PKEY *key = bio != NULL ? PEM_read_bio_PrivateKey(bio, NULL, tell_password, password)
                                : NULL;
    BIO_free(bio);
    return key;
}

/** Reads a key in DER, which doesn't show whether it is encrypted: so it is first read as a plain one. */
static EVP_PKEY *read_der_key(afc_slice bytes, secret_password *password) {
    BIO *bio = open_bytes(bytes);
    EVP_PKEY *key = bio != NULL ? d2i_PrivateKey_bio(bio, NULL) : NULL;
    BIO_free(bio);
    if (key != NULL) return key;
    bio = open_bytes(bytes);
    key = bio != NULL ? d2i_PKCS8PrivateKey_bio(bio, NULL, tell_password, password) : NULL;
    BIO_free(bio);
    return key;
}

/**
 * Reads certificates in PEM; the first one is the client's. A damaged one after it is an error: it would be missing in
 * handshakes.
 */
static bool read_pem(afc__tls_identity *out, afc_slice bytes) {
    (void)afc__certificates_parse(&out->chain, bytes, "the client certificate", NULL);
    out->certificate = sk_X509_shift(out->chain);
    return out->certificate != NULL;
}

/** Reads DER: a PKCS #12 file, which needs the password, or a bare certificate. */
static bool read_der(afc__tls_identity *out, afc_slice bytes, secret_password *password) {
    BIO *bio = open_bytes(bytes);
    PKCS12 *file = bio != NULL ? d2i_PKCS12_bio(bio, NULL) : NULL;
    BIO_free(bio);
    password->was_needed = file != NULL;
    if (file != NULL) {
        bool is_good = PKCS12_parse(file, password->text, &out->key, &out->certificate,
                                    &out->chain) == 1;
        PKCS12_free(file);
        return is_good && out->certificate != NULL;
    }
    bio = open_bytes(bytes);
    out->certificate = bio != NULL ? d2i_X509_bio(bio, NULL) : NULL;
    BIO_free(bio);
    return out->certificate != NULL;
}

/* ---- Errors -------------------------------------------------------------------------------- */

/** Fails with AFC_EINVAL. The name comes last in the text, as a long path may be cut off. */
static afc_status fail(const secret_bytes *in, const char *what, afc_failure *failure) {
    afc__fail(failure, AFC_EINVAL, "invalid client certificate: %s %s", what, in->name);
    return afc__give_reason(failure, in->reason, AFC_EINVAL);
}

static afc_status fail_password(const secret_bytes *in, const char *what, afc_failure *failure) {
    return afc__give_reason(failure, AFC_REASON_KEY_PASSWORD, fail(in, what, failure));
}

static afc_status fail_certificate(const secret_bytes *in, const secret_password *password,
                                   afc_failure *failure) {
    if (afc__is_der(in->bytes)) {
        if (!password->was_needed) {
            return fail(in, "neither PKCS #12 nor a certificate in", failure);
        }
        return fail_password(
            in, password->text == NULL ? "a password is needed for" : "wrong password for",
            failure);
    }
    bool is_missing = !has_block(in->bytes, "CERTIFICATE");
    return fail(in, is_missing ? "no certificate in" : "damaged certificate in", failure);
}

/**
 * Fails because the key can't be read. `is_read` means that the bytes also hold the certificate, which was read: if
 * they are DER, they have no key.
 */
static afc_status fail_key(const secret_bytes *in, bool is_read, const secret_password *password,
                           afc_failure *failure) {
    bool is_missing = afc__is_der(in->bytes) ? is_read : !has_block(in->bytes, "PRIVATE KEY");
    if (is_missing) return fail_password(in, "no private key in", failure);
    if (!password->was_needed) return fail(in, "damaged private key in", failure);
    return fail_password(in,
                         password->text == NULL ? "a password is needed for the private key in"
                                                : "wrong password for the private key in",
                         failure);
}

static afc_status read_pair(afc__tls_identity *out, secret_password *password,
                            const secret_bytes *certificate, const secret_bytes *key,
                            afc_failure *failure) {
    bool is_one_file = key->bytes.size == 0;
    bool is_good = afc__is_der(certificate->bytes) ? read_der(out, certificate->bytes, password)
                                                   : read_pem(out, certificate->bytes);
    if (!is_good) return fail_certificate(certificate, password, failure);
    if (is_one_file) key = certificate;
    if (out->key == NULL) {
        password->was_needed = false;
        out->key = afc__is_der(key->bytes) ? read_der_key(key->bytes, password)
                                           : read_pem_key(key->bytes, password);
    }
    if (out->key == NULL) return fail_key(key, is_one_file, password, failure);
    if (X509_check_private_key(out->certificate, out->key) == 1) return AFC_OK;
    afc__fail(failure, AFC_EINVAL,
              "the private key in %s doesn't match the client certificate in %s", key->name,
              certificate->name);
    return afc__give_reason(failure, AFC_REASON_CLIENT_KEY, AFC_EINVAL);
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
    secret_password password = {.text = source->password};
    secret_init(&certificate, source->certificate_path, "the certificate's bytes",
                AFC_REASON_CLIENT_CERTIFICATE);
    secret_init(&key, source->key_path, "the key's bytes", AFC_REASON_CLIENT_KEY);
    memset(out, 0, sizeof *out);
    ERR_clear_error();
    afc_status status = AFC__CHECK_RESERVED(source, "afc_client_certificate", failure);
    if (status == AFC_OK) status = read_pattern(out, source, failure);
    if (status == AFC_OK) {
        status = take_bytes(&certificate, source->certificate, source->certificate_path, failure);
    }
    if (status == AFC_OK) status = take_bytes(&key, source->key, source->key_path, failure);
    if (status == AFC_OK) status = read_pair(out, &password, &certificate, &key, failure);
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
