/** Checks the OCSP response that a server staples to its handshake. */
#ifndef AFC_TRUST_OCSP_H
#define AFC_TRUST_OCSP_H

#include "trust/evaluate.h"

/**
 * Checks a stapled response, which is empty if there is none. Changes the verdict to a refusal if the policy's mode
 * requires it. Call it before the verification is shared, and only if the chain was accepted.
 */
void afc__trust_check_ocsp(const afc_trust_policy *policy, afc__verification *verification,
                           afc_slice response);

#endif
