/**
 * Client certificates: read once, shown to servers that ask for one.
 */
#ifndef AF_TLS_CLIENT_CERTIFICATE_H
#define AF_TLS_CLIENT_CERTIFICATE_H

#include "trust/names.h"

#include <afcore/error.h>
#include <afcore/tls.h>
#include <openssl/ssl.h>

typedef struct af__identity {
    bool is_for_all;
    af__host_pattern pattern;
    X509 *certificate;
    EVP_PKEY *key;
    STACK_OF(X509) * chain;
} af__identity;

/**
 * AF_EINVAL: what is no certificate or key, a wrong password, a key of another certificate. AF_EFILE,
 * AF_ENOMEM. `*out` is clear then.
 */
af_status af__identity_read(af__identity *out, const af_client_certificate *source,
                            af_failure *failure);
void af__identity_clear(af__identity *identity);

/** The one for a host; NULL if there is none. */
const af__identity *af__identity_for(const af__identity *all, size_t count,
                                     const af__trust_host *host);

/** false: OpenSSL refuses it, because it is too weak for example. */
bool af__identity_show(const af__identity *identity, SSL *ssl);

#endif
