/**
 * Which servers a session trusts. A policy is data, fixed when its session is made.
 */
#ifndef AFCORE_TRUST_H
#define AFCORE_TRUST_H

#include <afcore/base.h>
#include <afcore/error.h>

AF_BEGIN_DECLS

/** Start from AF_TRUST_POLICY_INIT: the system's certificates, names checked, TLS 1.2 or later. */
typedef struct af_trust_policy {
    size_t size; /**< sizeof(af_trust_policy), for growth. */
    /**
     * Certificates (PEM, one or many) that are trusted instead of the system's. Empty: the system
     * store. Copied by af_session_new().
     */
    af_slice anchors;
    /** Accept a chain that does not verify (expired, unknown issuer …). The name still counts. */
    bool allow_invalid_certificates;
    /** Accept a certificate of another host. */
    bool skip_host_check;
} af_trust_policy;

#define AF_TRUST_POLICY_INIT                                                                       \
    { sizeof(af_trust_policy), {NULL, 0}, false, false }

AF_END_DECLS

#endif
