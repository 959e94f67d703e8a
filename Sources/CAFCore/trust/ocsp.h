/** Checks the OCSP response that a server staples to its handshake. */
#ifndef AF_TRUST_OCSP_H
#define AF_TRUST_OCSP_H

#include "trust/evaluate.h"

/**
 * Checks a stapled response; empty: none. Changes the verdict to a refusal if the policy's mode requires it. Call
 * it before the verification is shared, and only if the chain was accepted.
 */
void af__trust_check_ocsp(const af_trust_policy *policy, af__verification *verification,
                          af_slice response);

#endif
