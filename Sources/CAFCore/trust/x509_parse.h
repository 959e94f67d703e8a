/**
 * Parses certificates, revocation lists and pins from the user's formats to OpenSSL's.
 */
#ifndef AFC_TRUST_X509_PARSE_H
#define AFC_TRUST_X509_PARSE_H

#include <afcore/base.h>
#include <afcore/error.h>
#include <openssl/x509.h>

enum { AFC__DIGEST_SIZE = 32 };

typedef struct afc__key_hash {
    unsigned char bytes[AFC__DIGEST_SIZE];
} afc__key_hash;

/**
 * Returns whether these bytes are DER, of a certificate, a revocation list, a key or PKCS #12. Otherwise they are PEM,
 * perhaps after other text. DER starts with the tag of a SEQUENCE (0x30), which is also the digit 0. In the long form
 * of the length, the next byte is 0x80 to 0x84, which can't follow a digit in a text. Only small keys have the short
 * form; they don't contain a line of PEM.
 */
bool afc__is_der(afc_slice bytes);

/**
 * Parses all certificates of `text`, PEM or DER, in their order. The caller owns the list and its references. `*out` is
 * NULL for an empty text. Fails with AFC_EINVAL if there is no certificate or an invalid one, with a text that names
 * `what`; or with AFC_ENOMEM.
 */
afc_status afc__certificates_parse(STACK_OF(X509) **out, afc_slice text, const char *what,
                                   afc_failure *failure);

/** Does the same for revocation lists. */
afc_status afc__crls_parse(STACK_OF(X509_CRL) **out, afc_slice text, afc_failure *failure);

/** Clears OpenSSL's errors of this thread. Returns whether one of them says that memory is out. */
bool afc__take_memory_error(void);

/**
 * Clears OpenSSL's errors of this thread. Returns ENOMEM if one of them says that memory is out; otherwise the errno of
 * a system call that failed, or 0.
 */
int afc__take_system_error(void);

/** Computes the SHA-256 of the SubjectPublicKeyInfo, which pins contain (RFC 7469). Returns false if out of memory. */
bool afc__key_hash_of(afc__key_hash *out, const X509 *certificate);

/** Parses a pin, "sha256//" and base64. Fails with AFC_EINVAL. */
afc_status afc__pin_parse(afc__key_hash *out, const char *text, afc_failure *failure);

/** Writes a pin as text. */
void afc__pin_write(char out[53], const afc__key_hash *digest);

#endif
