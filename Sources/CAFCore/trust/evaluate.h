/**
 * Is this certificate chain accepted, and why not? The only place that decides.
 */
#ifndef AF_TRUST_EVALUATE_H
#define AF_TRUST_EVALUATE_H

#include "trust/policy.h"
#include "trust/verification.h"

#include <openssl/x509.h>

typedef struct af__verdict {
    bool is_accepted;
    bool is_verified;       /**< The chain is a verified path. */
    af_trust_reason reason; /**< Why not; also set if a fault is let through. */
    af_pin_outcome pins;
    int depth;      /**< Of the certificate at fault; 0 is the server's own. */
    int error;      /**< In OpenSSL's words; never X509_V_OK if it is not accepted. */
    char text[128]; /**< One line for people. */
} af__verdict;

/** What was judged. Everything is borrowed. */
typedef struct af__trust_case {
    const char *host; /**< As it was asked for; NULL: none to compare. */
    X509 *leaf;
    STACK_OF(X509) *sent; /**< By the peer, the leaf among them or not. */
} af__trust_case;

/** A verdict and its chain, immutable once others see it. */
struct af__verification {
    atomic_uint references;
    af__verdict verdict;
    STACK_OF(X509) *chain;
    af__trust_host host; /**< Its text is empty if there was none. */
};

/**
 * Judge, the hook's opinion not yet asked. NULL: out of memory, which accepts nothing. The
 * reference is the caller's.
 */
af__verification *af__trust_evaluate(const af_trust_policy *policy,
                                     const af__trust_case *trust_case);

/** Ask the hook, if there is one. Before anybody else sees the verification. false: out of memory. */
bool af__trust_run_callback(const af_trust_policy *policy, af__verification *verification);

/** Turn it into a refusal. Before anybody else sees the verification. */
void af__verification_refuse(af__verification *verification, af_trust_reason reason, int error,
                             const char *text);

#endif
