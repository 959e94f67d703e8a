/**
 * The result of a handshake's verification, with a reference count; converted to a report only when one is
 * requested. Doesn't need OpenSSL's headers.
 */
#ifndef AFC_TRUST_VERIFICATION_H
#define AFC_TRUST_VERIFICATION_H

#include <afcore/trust.h>

typedef struct afc__verification afc__verification;

/** Retain and release a verification. Any thread; NULL is allowed. */
afc__verification *afc__verification_retain(afc__verification *verification);
void afc__verification_release(afc__verification *verification);

/**
 * Returns whether a chain was verified and names the host, without accepted errors: only then may other sessions rely
 * on what the server sends. The host is compared even if the policy skips that. Missed pins that are only reported or
 * have expired don't count as errors. Returns false for NULL.
 */
bool afc__verification_is_faultless(const afc__verification *verification);

/** Creates a report, which the caller frees with afc_trust_report_free(). Returns NULL if out of memory. */
afc_trust_report *afc__verification_report(const afc__verification *verification);

#endif
