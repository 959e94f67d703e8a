/**
 * What a handshake has shown of its peer, handed around as a reference until somebody wants to read
 * it. Knows no OpenSSL.
 */
#ifndef AF_TRUST_VERIFICATION_H
#define AF_TRUST_VERIFICATION_H

#include <afcore/trust.h>

typedef struct af__verification af__verification;

/** Any thread. NULL is fine. */
af__verification *af__verification_retain(af__verification *verification);
void af__verification_release(af__verification *verification);

/** Was a chain verified, with nothing of it let through? NULL was not. */
bool af__verification_is_faultless(const af__verification *verification);

/** Written out for people and programs; af_trust_report_free(). NULL when out of memory. */
af_trust_report *af__verification_report(const af__verification *verification);

#endif
