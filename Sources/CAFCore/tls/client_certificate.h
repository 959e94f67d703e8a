/** Client certificates: read once, sent to servers that request one. */
#ifndef AFC_TLS_CLIENT_CERTIFICATE_H
#define AFC_TLS_CLIENT_CERTIFICATE_H

#include "trust/hostname.h"

#include <afcore/error.h>
#include <afcore/tls.h>
#include <openssl/ssl.h>

typedef struct afc__tls_identity {
    bool is_for_all;
    afc__host_pattern pattern;
    X509 *certificate;
    EVP_PKEY *key;
    STACK_OF(X509) *chain;
} afc__tls_identity;

/**
 * Reads a certificate and its key. Fails with AFC_EINVAL for an invalid certificate or key, a wrong password, or a key
 * that doesn't match; AFC_EFILE; AFC_ENOMEM. On failure `*out` is cleared.
 */
afc_status afc__tls_identity_read(afc__tls_identity *out, const afc_client_certificate *source,
                                  afc_failure *failure);
void afc__tls_identity_clear(afc__tls_identity *identity);

/** Returns the certificate for a host; NULL if there is none. */
const afc__tls_identity *afc__tls_identity_for(const afc__tls_identity *all, size_t count,
                                               const afc__trust_host *host);

/** Makes OpenSSL send the certificate. Returns false if OpenSSL refuses it, for example because it is too weak. */
bool afc__tls_identity_show(const afc__tls_identity *identity, SSL *ssl);

#endif
