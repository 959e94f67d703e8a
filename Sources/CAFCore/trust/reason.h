/** Maps OpenSSL's verification errors to af_trust_reason. */
#ifndef AF_TRUST_REASON_H
#define AF_TRUST_REASON_H

#include <afcore/error.h>
#include <stdbool.h>

af_trust_reason af__trust_reason_of(int error);

/** Returns whether the path doesn't end at a trust anchor. */
bool af__trust_lacks_anchor(int error);

#endif
