/**
 * The result of a handshake's verification, with a reference count; converted to a report only when one is
 * requested. Doesn't need OpenSSL's headers.
 */
#ifndef AF_TRUST_VERIFICATION_H
#define AF_TRUST_VERIFICATION_H

#include <afcore/trust.h>

typedef struct af__verification af__verification;

/** Any thread. NULL is allowed. */
af__verification *af__verification_retain(af__verification *verification);
void af__verification_release(af__verification *verification);

/** Returns whether a chain was verified without accepted errors. false for NULL. */
bool af__verification_is_faultless(const af__verification *verification);

/** Creates a report; af_trust_report_free(). NULL when out of memory. */
af_trust_report *af__verification_report(const af__verification *verification);

#endif
