/**
 * Certificates, revocation lists and pins as users write them, in the form that OpenSSL works with.
 */
#ifndef AF_TRUST_X509_PARSE_H
#define AF_TRUST_X509_PARSE_H

#include <afcore/base.h>
#include <afcore/error.h>
#include <openssl/x509.h>

enum { AF__DIGEST_SIZE = 32 };

typedef struct af__key_hash {
    unsigned char bytes[AF__DIGEST_SIZE];
} af__key_hash;

/**
 * Every certificate of `text`, PEM or DER, in its order; yours, with their references. An empty text
 * gives none, which is NULL. AF_EINVAL, naming `what`: text without a certificate or with a broken
 * one. AF_ENOMEM.
 */
af_status af__certificates_parse(STACK_OF(X509) **out, af_slice text, const char *what,
                                 af_failure *failure);

/** The same for revocation lists. */
af_status af__crls_parse(STACK_OF(X509_CRL) **out, af_slice text, af_failure *failure);

/** SHA-256 of the SubjectPublicKeyInfo, what a pin says. false: out of memory. */
bool af__key_hash_of(af__key_hash *out, const X509 *certificate);

/** "sha256//" and base64. AF_EINVAL. */
af_status af__pin_parse(af__key_hash *out, const char *text, af_failure *failure);

/** The text of a pin. */
void af__pin_write(char out[53], const af__key_hash *digest);

#endif
