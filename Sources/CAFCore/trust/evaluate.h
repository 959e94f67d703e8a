/**
 * The decision about a certificate chain. This is the only place that decides.
 */
#ifndef AF_TRUST_EVALUATE_H
#define AF_TRUST_EVALUATE_H

#include "trust/policy.h"
#include "trust/verification.h"

#include <openssl/x509.h>

typedef struct af__verdict {
    bool is_accepted;
    bool is_verified;       /**< The chain was verified. */
    af_trust_reason reason; /**< Why the chain was refused; also set if an error was accepted. */
    af_pin_outcome pins;
    int depth;      /**< Index of the certificate with the error; 0: the server's. */
    int error;      /**< OpenSSL's X509_V_ERR_…; never X509_V_OK if the chain was refused. */
    char text[128]; /**< One line in English. */
} af__verdict;

/** The input of an evaluation; borrowed. */
typedef struct af__trust_case {
    const char *host; /**< The requested host; NULL: no name is compared. */
    X509 *leaf;
    STACK_OF(X509) *sent; /**< Sent by the peer, with or without the leaf. */
} af__trust_case;

/** A verdict and its chain; immutable once it is shared. */
struct af__verification {
    atomic_uint references;
    af__verdict verdict;
    STACK_OF(X509) *chain;
    af__trust_host host; /**< Its text is empty if there was no host. */
};

/**
 * Evaluates a chain, without the hook. NULL: out of memory, which must be treated as a refusal. The caller owns
 * the reference.
 */
af__verification *af__trust_evaluate(const af_trust_policy *policy,
                                     const af__trust_case *trust_case);

/** Calls the hook, if there is one, before the verification is shared. false: out of memory. */
bool af__trust_run_callback(const af_trust_policy *policy, af__verification *verification);

/** Changes the verdict to a refusal, before the verification is shared. */
void af__verification_refuse(af__verification *verification, af_trust_reason reason, int error,
                             const char *text);

#endif
