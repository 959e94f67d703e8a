/**
 * Parses certificates, revocation lists and pins from the user's formats to OpenSSL's.
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
 * Parses all certificates of `text`, PEM or DER, in its order. The caller owns the list and its references. An
 * empty text gives NULL. AF_EINVAL (the failure names `what`): no certificate, or an invalid one. AF_ENOMEM.
 */
af_status af__certificates_parse(STACK_OF(X509) **out, af_slice text, const char *what,
                                 af_failure *failure);

/** The same for revocation lists. */
af_status af__crls_parse(STACK_OF(X509_CRL) **out, af_slice text, af_failure *failure);

/** Computes the SHA-256 of the SubjectPublicKeyInfo, which pins contain (RFC 7469). false: out of memory. */
bool af__key_hash_of(af__key_hash *out, const X509 *certificate);

/** Parses a pin, "sha256//" and base64. AF_EINVAL. */
af_status af__pin_parse(af__key_hash *out, const char *text, af_failure *failure);

/** Writes a pin as text. */
void af__pin_write(char out[53], const af__key_hash *digest);

#endif
