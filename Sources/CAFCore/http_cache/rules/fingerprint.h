/** Fingerprints of secrets: equal secrets have equal fingerprints. They are stored in place of the secrets. */
#ifndef AFC_HTTP_CACHE_RULES_FINGERPRINT_H
#define AFC_HTTP_CACHE_RULES_FINGERPRINT_H

#include <afcore/base.h>

/** Size of a fingerprint as text, with its NUL: SHA-256 in hexadecimal. */
#define AFC__FINGERPRINT_SIZE 65

/** Writes the fingerprint of a secret. Returns false if out of memory; `out` is then empty. */
bool afc__fingerprint(char out[AFC__FINGERPRINT_SIZE], afc_slice secret);

#endif
