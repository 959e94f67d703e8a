/** The insides of a certificate. */
#ifndef AFTS_CERTIFICATE_CERTIFICATE_H
#define AFTS_CERTIFICATE_CERTIFICATE_H

#include "caftestserver.h"

#include <openssl/x509.h>
#include <time.h>

#define AFTS__DAY_S ((int64_t)86400)

struct afts_cert {
    X509 *x509;
    EVP_PKEY *key;
    bool is_self_signed;
    char *pem;
    char *chain_pem;
    char *key_pem;
    uint8_t *der;
    size_t der_size;
    uint8_t spki_sha256[32];
};

/**
 * Initializes OpenSSL so that it isn't torn down at exit. Call it before anything else does
 * so: threads of a client may still use OpenSSL when the test process exits.
 */
void afts__openssl_init(void);
/** Sets a time relative to `now`. */
bool afts__set_time(ASN1_TIME *field, time_t now, int64_t from_now_s);
/** Copies what was written to a memory BIO; NULL if nothing was, or when out of memory. */
char *afts__copy_bio(BIO *bio);
/** Copies the DER bytes that OpenSSL encoded, and frees those; `size` <= 0: NULL. */
uint8_t *afts__take_der(unsigned char *der, int size, size_t *size_out);

#endif
