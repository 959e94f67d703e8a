/**
 * A parsed, immutable trust policy: rules and their certificates.
 */
#ifndef AFC_TRUST_POLICY_H
#define AFC_TRUST_POLICY_H

#include "trust/fingerprint.h"
#include "trust/hostname.h"
#include "trust/x509_parse.h"

#include <afcore/trust.h>
#include <openssl/x509_vfy.h>
#include <stdatomic.h>

/**
 * Initialises OpenSSL before anything else does. It isn't cleaned up at exit, because loop threads may still use it
 * then.
 */
void afc__openssl_begin(void);

typedef struct afc__trust_rule {
    afc__host_pattern pattern; /**< Unused in the first rule, the default one. */
    afc_pinning_mode mode;
    afc_pin_match match;
    STACK_OF(X509) *certificates; /**< For AFC_PINNING_CERTIFICATE: the pinned certificates. */
    /** For AFC_PINNING_CERTIFICATE: a store with only these; NULL if there are none. */
    X509_STORE *store;
    afc__key_hash *keys; /**< Pinned keys. */
    size_t key_count;
    int64_t expires_s;
    bool report_only;
    bool allow_invalid_certificates;
    bool skip_host_check;
} afc__trust_rule;

struct afc_trust_policy {
    atomic_uint references;
    /** Verifies at `time_s`, if that is set. NULL for the system's store, which is loaded on demand. */
    X509_STORE *store;
    bool has_own_anchors;
    STACK_OF(X509) *intermediates;
    bool has_crls, check_authorities;
    afc_ocsp_mode ocsp;
    int security_level; /**< 0 for the default. */
    int64_t time_s;
    afc_trust_handler handler;
    afc__trust_rule *rules; /**< The first one is the default rule. */
    size_t rule_count;
    char fingerprint[AFC__TRUST_FINGERPRINT_SIZE];
};

/** Returns the rule for a host, which may be NULL. */
const afc__trust_rule *afc__policy_rule_for(const afc_trust_policy *policy,
                                            const afc__trust_host *host);

/** Returns whether the pins of a rule have expired. */
bool afc__rule_has_expired(const afc_trust_policy *policy, const afc__trust_rule *rule);

/**
 * Returns whether a server of this name must present a pinned certificate or key. False if the host has no pins, or if
 * they have expired or are only reported.
 */
bool afc__policy_demands_pin(const afc_trust_policy *policy, afc_slice host);

/** Returns the Unix time at which everything is verified. */
int64_t afc__policy_time(const afc_trust_policy *policy);

/**
 * Returns the store of trust anchors, borrowed. The system's store is loaded by the first call in the process, so that
 * programs without TLS don't pay for it. A policy with a time of its own doesn't share it if it checks OCSP responses.
 * Fails with AFC_ENOMEM or AFC_EFILE, as described in trust/anchors.h; `*out` is then NULL.
 */
afc_status afc__policy_store(X509_STORE **out, const afc_trust_policy *policy,
                             afc_failure *failure);

#endif
