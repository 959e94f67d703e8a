/** OpenSSL's reasons in our words. */
#ifndef AF_TRUST_REASON_H
#define AF_TRUST_REASON_H

#include <afcore/error.h>
#include <stdbool.h>

af_trust_reason af__trust_reason_of(int error);

/** Did the path end at nothing that is trusted? */
bool af__trust_lacks_anchor(int error);

#endif
