/**
 * A session's trust policy in the form that OpenSSL works with. The system's certificates are
 * looked up once per process and shared.
 */
#ifndef AF_TRUST_ANCHORS_H
#define AF_TRUST_ANCHORS_H

#include <afcore/trust.h>
#include <openssl/x509_vfy.h>

typedef struct af__trust {
    X509_STORE *store; /**< Ours by reference count; the system's only once it was needed. */
    bool has_own_anchors;
    bool allow_invalid_certificates;
    bool skip_host_check;
} af__trust;

/** AF_EINVAL: anchors that hold no certificate or a broken one. AF_ENOMEM. */
af_status af__trust_init(af__trust *trust, const af_trust_policy *policy, af_failure *failure);
void af__trust_clear(af__trust *trust);

/**
 * The certificates to trust, borrowed. The system's are looked up at the first call in the process,
 * so that programs that speak no TLS don't pay for them. NULL when out of memory.
 */
X509_STORE *af__trust_get_store(af__trust *trust);

#endif
