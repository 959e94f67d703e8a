/** Client certificates: read once, sent to servers that request one. */
#ifndef AF_TLS_CLIENT_CERTIFICATE_H
#define AF_TLS_CLIENT_CERTIFICATE_H

#include "trust/hostname.h"

#include <afcore/error.h>
#include <afcore/tls.h>
#include <openssl/ssl.h>

typedef struct af__tls_identity {
    bool is_for_all;
    af__host_pattern pattern;
    X509 *certificate;
    EVP_PKEY *key;
    STACK_OF(X509) *chain;
} af__tls_identity;

/**
 * Reads a certificate and its key. AF_EINVAL: an invalid certificate or key, a wrong password, or a
 * key that doesn't match. AF_EFILE, AF_ENOMEM. On failure `*out` is cleared.
 */
af_status af__tls_identity_read(af__tls_identity *out, const af_client_certificate *source,
                                af_failure *failure);
void af__tls_identity_clear(af__tls_identity *identity);

/** Returns the certificate for a host; NULL if there is none. */
const af__tls_identity *af__tls_identity_for(const af__tls_identity *all, size_t count,
                                             const af__trust_host *host);

/** Sends the certificate. false: OpenSSL refuses it, for example because it is too weak. */
bool af__tls_identity_show(const af__tls_identity *identity, SSL *ssl);

#endif
