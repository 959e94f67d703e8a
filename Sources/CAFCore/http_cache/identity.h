/** Whose request it is, as far as stored responses are kept apart by that. */
#ifndef AFC_HTTP_CACHE_IDENTITY_H
#define AFC_HTTP_CACHE_IDENTITY_H

#include "http_cache/fingerprint.h"

#include <afcore/auth.h>

/**
 * Writes the fingerprint of a field Authorization, else of `credentials`, which may be NULL; an empty text for an anonymous
 * request. false: out of memory.
 */
bool afc__identity_of(char out[AFC__FINGERPRINT_SIZE], const afc_header *headers, size_t count,
                      const afc_credentials *credentials);

#endif
