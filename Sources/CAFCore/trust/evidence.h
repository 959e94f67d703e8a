/**
 * What a handshake has shown of its peer, handed around as a reference until somebody wants to read
 * it. Knows no OpenSSL.
 */
#ifndef AF_TRUST_EVIDENCE_H
#define AF_TRUST_EVIDENCE_H

#include <afcore/trust.h>

typedef struct af__evidence af__evidence;

/** Any thread. NULL is fine. */
af__evidence *af__evidence_retain(af__evidence *evidence);
void af__evidence_release(af__evidence *evidence);

/** Was a chain verified, with nothing of it let through? NULL was not. */
bool af__evidence_is_faultless(const af__evidence *evidence);

/** Written out for people and programs; af_trust_report_free(). NULL when out of memory. */
af_trust_report *af__evidence_report(const af__evidence *evidence);

#endif
