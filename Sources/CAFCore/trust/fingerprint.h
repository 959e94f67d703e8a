/** Fingerprints of trust policies: equal for equal options, in every process. */
#ifndef AFC_TRUST_FINGERPRINT_H
#define AFC_TRUST_FINGERPRINT_H

#include <afcore/trust.h>

/** Size of a fingerprint as text, with its NUL: SHA-256 in hexadecimal. */
#define AFC__TRUST_FINGERPRINT_SIZE 65

/**
 * Writes the fingerprint of valid options; an empty text for those of AFC_TRUST_OPTIONS_INIT. The handler only counts
 * as present or absent, as code has no fingerprint. Returns false if out of memory.
 */
bool afc__trust_fingerprint(char out[AFC__TRUST_FINGERPRINT_SIZE],
                            const afc_trust_options *options);

#endif
