/** The answer of an OCSP responder that a server sends along with its certificate. */
#ifndef AF_TRUST_OCSP_H
#define AF_TRUST_OCSP_H

#include "trust/evaluate.h"

/**
 * Judge what was stapled; an empty `response` is none. Turns the verification into a refusal where the
 * policy's mode says so. Before anybody else sees the verification, and only if it was accepted.
 */
void af__trust_check_ocsp(const af_trust_policy *policy, af__verification *verification,
                          af_slice response);

#endif
