/** Maps OpenSSL's verification errors to afc_trust_reason. */
#ifndef AFC_TRUST_REASON_H
#define AFC_TRUST_REASON_H

#include <afcore/error.h>
#include <stdbool.h>

/** Returns the reason for an error X509_V_…; AFC_TRUST_OTHER if there is no closer one. */
afc_trust_reason afc__trust_reason_of(int error);

/** Returns whether the path doesn't end at a trust anchor. */
bool afc__trust_lacks_anchor(int error);

#endif
