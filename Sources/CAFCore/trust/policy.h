/**
 * A trust policy, taken apart once and never changed: rules, and the certificates that they mean.
 */
#ifndef AF_TRUST_POLICY_H
#define AF_TRUST_POLICY_H

#include "trust/hostname.h"
#include "trust/x509_parse.h"

#include <afcore/trust.h>
#include <openssl/x509_vfy.h>
#include <stdatomic.h>

/**
 * Before anything else makes OpenSSL initialise itself: asks it not to tear itself down when the
 * process exits, because loop threads may still be using it then.
 */
void af__openssl_begin(void);

typedef struct af__trust_rule {
    af__host_pattern pattern; /**< Of the first rule, that for everywhere: unused. */
    af_pinning_mode mode;
    af_pin_match match;
    STACK_OF(X509) *certificates; /**< Mode certificate: pinned whole. */
    X509_STORE *store;            /**< Mode certificate: they alone. NULL if there are none. */
    af__key_hash *keys;           /**< Pinned by their keys. */
    size_t key_count;
    int64_t expires_s;
    bool report_only;
    bool allow_invalid_certificates;
    bool skip_host_check;
} af__trust_rule;

struct af_trust_policy {
    atomic_uint references;
    X509_STORE *store; /**< NULL: the system's, which is looked up when it is needed. */
    bool has_own_anchors;
    STACK_OF(X509) *intermediates;
    bool has_crls, check_authorities;
    af_ocsp_mode ocsp;
    int security_level; /**< 0: the default. */
    int64_t time_s;
    af_trust_hook hook;
    af__trust_rule *rules; /**< The first goes for everywhere. */
    size_t rule_count;
};

/** The rule for a host, which may be NULL. */
const af__trust_rule *af__policy_rule_for(const af_trust_policy *policy,
                                          const af__trust_host *host);

/**
 * The certificates to trust, borrowed. The system's are looked up at the first call in the process,
 * so that programs that speak no TLS don't pay for them. NULL when out of memory.
 */
X509_STORE *af__policy_store(const af_trust_policy *policy);

#endif
