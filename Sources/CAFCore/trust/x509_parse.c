#include "trust/x509_parse.h"

#include "base/failure.h"
#include "base/text.h"

#include <errno.h>
#include <limits.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>

static const char pin_scheme[] = "sha256//";

enum { BASE64_SIZE = 44 }; /* Base64 of a digest. */

/* ---- Certificates and revocation lists ----------------------------------------------------- */

#define BEGIN "-----BEGIN "

static const void *find(afc_slice text, const char *part) {
    return memmem(text.bytes, text.size, part, strlen(part));
}

bool afc__is_der(afc_slice bytes) {
    /* The first byte of a length in the long form: of one to four bytes, or of unknown length as in BER. */
    enum { SEQUENCE = 0x30, LONG_LENGTH = 0x80, MAX_LENGTH = 0x84 };
    if (bytes.size < 2 || bytes.bytes[0] != SEQUENCE) return false;
    unsigned char length = (unsigned char)bytes.bytes[1];
    if (length >= LONG_LENGTH) return length <= MAX_LENGTH;
    return find(bytes, BEGIN) == NULL;
}

static void *decode(const unsigned char **at, long size, bool is_crl) {
    return is_crl ? (void *)d2i_X509_CRL(NULL, at, size) : (void *)d2i_X509(NULL, at, size);
}

static void free_item(void *item, bool is_crl) {
    if (is_crl)
        X509_CRL_free(item);
    else
        X509_free(item);
}

/** Reads a block of PEM. It must hold one item only, as what follows that would be lost. */
static void *read_block(BIO *bio, bool is_crl) {
    unsigned char *bytes = NULL;
    long size = 0;
    const char *label = is_crl ? PEM_STRING_X509_CRL : PEM_STRING_X509;
    if (PEM_bytes_read_bio(&bytes, &size, NULL, label, bio, NULL, NULL) != 1) return NULL;
    const unsigned char *at = bytes;
    void *one = decode(&at, size, is_crl);
    if (one != NULL && at != bytes + size) {
        free_item(one, is_crl);
        one = NULL;
        /* Without an error this would count as a lack of memory. */
        ERR_raise(ERR_LIB_PEM, PEM_R_BAD_BASE64_DECODE);
    }
    OPENSSL_free(bytes);
    return one;
}

static void *read_one(BIO *bio, bool is_pem, bool is_crl) {
    if (is_pem) return read_block(bio, is_crl);
    return is_crl ? (void *)d2i_X509_CRL_bio(bio, NULL) : (void *)d2i_X509_bio(bio, NULL);
}

static int count_of(afc_slice text, const char *part) {
    int count = 0;
    const char *found;
    while ((found = find(text, part)) != NULL) {
        size_t end = (size_t)(found - text.bytes) + strlen(part);
        text = (afc_slice){text.bytes + end, text.size - end};
        count++;
    }
    return count;
}

/** Returns how many blocks of PEM begin in a text. OpenSSL may read fewer; see parse(). */
static int count_blocks(afc_slice text, bool is_crl) {
    if (is_crl) return count_of(text, BEGIN PEM_STRING_X509_CRL "-----");
    return count_of(text, BEGIN PEM_STRING_X509 "-----") +
           count_of(text, BEGIN PEM_STRING_X509_OLD "-----");
}

/** Returns whether the last read failed only because the text ended. */
static bool is_at_end(bool is_pem) {
    unsigned long error = ERR_peek_last_error();
    return is_pem && ERR_GET_LIB(error) == ERR_LIB_PEM &&
           ERR_GET_REASON(error) == PEM_R_NO_START_LINE;
}

int afc__take_system_error(void) {
    unsigned long error;
    int found = 0;
    while ((error = ERR_get_error()) != 0) {
        if (ERR_GET_REASON(error) == ERR_R_MALLOC_FAILURE) {
            found = ENOMEM;
        } else if (ERR_SYSTEM_ERROR(error) && found == 0) {
            found = ERR_GET_REASON(error);
        }
    }
    return found;
}

bool afc__take_memory_error(void) {
    return afc__take_system_error() == ENOMEM;
}

/**
 * Returns whether the last read failed for lack of memory. Every other failure leaves an error in OpenSSL's queue, but
 * PEM_read_bio_ex() of OpenSSL 3.0 reports none for two of its allocations.
 */
static bool lacks_memory(void) {
    return ERR_peek_error() == 0 || afc__take_memory_error();
}

/** Reads everything into `out`. Fails with AFC_EINVAL if nothing was found, or one item is invalid. */
static afc_status read_all(OPENSSL_STACK *out, BIO *bio, bool is_pem, bool is_crl) {
    while (is_pem || BIO_pending(bio) > 0) {
        void *one = read_one(bio, is_pem, is_crl);
        if (one == NULL) {
            if (!is_at_end(is_pem)) return lacks_memory() ? AFC_ENOMEM : AFC_EINVAL;
            ERR_clear_error();
            break;
        }
        if (OPENSSL_sk_push(out, one) > 0) continue;
        free_item(one, is_crl);
        return AFC_ENOMEM;
    }
    return OPENSSL_sk_num(out) > 0 ? AFC_OK : AFC_EINVAL;
}

static void free_certificate(void *certificate) {
    X509_free(certificate);
}

static void free_crl(void *crl) {
    X509_CRL_free(crl);
}

static afc_status parse(OPENSSL_STACK **out, afc_slice text, bool is_crl, const char *what,
                        afc_failure *failure) {
    *out = NULL;
    if (text.size == 0) return AFC_OK;
    if (afc__lacks_bytes(text)) {
        return afc__fail(failure, AFC_EINVAL, "%s: a size but no bytes", what);
    }
    if (text.size > INT_MAX) return afc__fail(failure, AFC_EINVAL, "%s: too long", what);
    ERR_clear_error();
    BIO *bio = BIO_new_mem_buf(text.bytes, (int)text.size);
    OPENSSL_STACK *all = OPENSSL_sk_new_null();
    afc_status status = AFC_ENOMEM;
    bool is_pem = !afc__is_der(text);
    if (bio != NULL && all != NULL) status = read_all(all, bio, is_pem, is_crl);
    BIO_free(bio);
    ERR_clear_error();
    /* A block without its last line extends to the end of the next block, whose content OpenSSL then ignores. */
    if (status == AFC_OK && is_pem && count_blocks(text, is_crl) != OPENSSL_sk_num(all)) {
        status = AFC_EINVAL;
    }
    if (status == AFC_OK) {
        *out = all;
        return AFC_OK;
    }
    int count = all != NULL ? OPENSSL_sk_num(all) : 0;
    OPENSSL_sk_pop_free(all, is_crl ? free_crl : free_certificate);
    if (status == AFC_ENOMEM) return afc__fail_memory(failure);
    const char *kind = is_crl ? "revocation list" : "certificate";
    if (count == 0) return afc__fail(failure, AFC_EINVAL, "%s: no valid %s found", what, kind);
    return afc__fail(failure, AFC_EINVAL, "%s: %s number %d is invalid", what, kind, count + 1);
}

afc_status afc__certificates_parse(STACK_OF(X509) **out, afc_slice text, const char *what,
                                   afc_failure *failure) {
    OPENSSL_STACK *all;
    afc_status status = parse(&all, text, false, what, failure);
    *out = (STACK_OF(X509) *)all;
    /*
     * OpenSSL parses a certificate's extensions at their first use and caches them in it. That happens here, where no
     * other thread has the certificate yet: otherwise the loops of several sessions would do it at the same time.
     */
    for (int i = 0; status == AFC_OK && i < sk_X509_num(*out); i++) {
        X509_check_purpose(sk_X509_value(*out, i), -1, 0);
    }
    /* Without a certificate OpenSSL isn't used: its first call waits until it is initialized. */
    if (*out != NULL) ERR_clear_error();
    return status;
}

afc_status afc__crls_parse(STACK_OF(X509_CRL) **out, afc_slice text, afc_failure *failure) {
    OPENSSL_STACK *all;
    afc_status status = parse(&all, text, true, "the revocation lists", failure);
    *out = (STACK_OF(X509_CRL) *)all;
    return status;
}

/* ---- Pins ---------------------------------------------------------------------------------- */

bool afc__key_hash_of(afc__key_hash *out, const X509 *certificate) {
    unsigned char *key = NULL;
    int size = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate), &key);
    bool is_done = size > 0 &&
                   EVP_Digest(key, (size_t)size, out->bytes, NULL, EVP_sha256(), NULL) == 1;
    OPENSSL_free(key);
    return is_done;
}

void afc__pin_write(char out[53], const afc__key_hash *digest) {
    memcpy(out, pin_scheme, sizeof pin_scheme - 1);
    EVP_EncodeBlock((unsigned char *)out + sizeof pin_scheme - 1, digest->bytes, AFC__DIGEST_SIZE);
}

afc_status afc__pin_parse(afc__key_hash *out, const char *text, afc_failure *failure) {
    unsigned char plain[BASE64_SIZE];
    char again[53];
    size_t scheme = sizeof pin_scheme - 1;
    bool is_pin = text != NULL && strlen(text) == scheme + BASE64_SIZE &&
                  memcmp(text, pin_scheme, scheme) == 0 &&
                  EVP_DecodeBlock(plain, (const unsigned char *)text + scheme, BASE64_SIZE) ==
                      AFC__DIGEST_SIZE + 1;
    ERR_clear_error();
    if (is_pin) {
        memcpy(out->bytes, plain, AFC__DIGEST_SIZE);
        afc__pin_write(again, out);
        /* Refuses spaces and unused bits, which the decoder accepts. */
        is_pin = strcmp(again, text) == 0;
    }
    if (is_pin) return AFC_OK;
    return afc__fail(failure, AFC_EINVAL,
                     "invalid pin: expected \"sha256//\" and the base64 of 32 bytes");
}
