/** Decides whether a certificate chain is trusted. No other file decides that. */
#ifndef AFC_TRUST_EVALUATE_H
#define AFC_TRUST_EVALUATE_H

#include "trust/policy.h"
#include "trust/verification.h"

#include <openssl/x509.h>

typedef struct afc__verdict {
    bool is_accepted;
    bool is_verified; /**< The chain was verified. */
    bool is_by_pins;  /**< It was verified with the pinned certificates as the anchors. */
    /** The chain is verified and names the host, whether the rule asks for that or not. */
    bool names_host;
    /**
     * AFC_ENOMEM or AFC_EFILE if this machine couldn't verify the chain, which says nothing about the server. Otherwise
     * AFC_OK.
     */
    afc_status fault;
    afc_trust_reason reason; /**< Why the chain was refused; also set if an error was accepted. */
    afc_pin_outcome pins;
    int depth; /**< Index of the certificate with the error; 0 is the server's. */
    int error; /**< OpenSSL's X509_V_ERR_…; never X509_V_OK if the chain was refused. */
    char text[AFC_FAILURE_TEXT_SIZE]; /**< One line in English. */
} afc__verdict;

/** The input of an evaluation; borrowed. */
typedef struct afc__trust_case {
    const char *host; /**< The requested host; NULL if no name is compared. */
    X509 *leaf;
    STACK_OF(X509) *sent; /**< Sent by the peer, with or without the leaf. */
} afc__trust_case;

/** A verdict and its chain; immutable once it is shared. */
struct afc__verification {
    atomic_uint references;
    afc__verdict verdict;
    STACK_OF(X509) *chain;
    afc__trust_host host; /**< Its text is empty if there was no host. */
};

/**
 * Evaluates a chain, without calling the policy's handler. Returns NULL if out of memory, which must be treated as a
 * refusal. The caller owns the reference.
 */
afc__verification *afc__trust_evaluate(const afc_trust_policy *policy,
                                       const afc__trust_case *trust_case);

/**
 * Calls the policy's handler, if there is one, which may change the verdict. Call it before the verification is shared.
 * Returns false if out of memory.
 */
bool afc__trust_run_callback(const afc_trust_policy *policy, afc__verification *verification);

/** Changes the verdict to a refusal. Call it before the verification is shared. */
void afc__verification_refuse(afc__verification *verification, afc_trust_reason reason, int error,
                              const char *text);

#endif
