/** Identifies the user of a request: a private cache keeps the responses to different credentials apart. */
#ifndef AFC_HTTP_CACHE_RULES_IDENTITY_H
#define AFC_HTTP_CACHE_RULES_IDENTITY_H

#include "http_cache/rules/fingerprint.h"

#include <afcore/auth.h>

/** The parts of a request that identify its user. */
typedef struct afc__identity_question {
    const afc_header *headers;
    size_t header_count;
    const afc_credentials *credentials; /**< NULL if there are none. */
    bool replaces_field; /**< `credentials` are sent instead of the request's own Authorization. */
} afc__identity_question;

/**
 * Writes the fingerprint of a request's Authorization, or of its credentials if it has no such field, and of the fields
 * marked as secret. Writes an empty text for an anonymous request. Cookie isn't included: a response that depends on it
 * says so in Vary. Returns false if out of memory.
 */
bool afc__identity_of(char out[AFC__FINGERPRINT_SIZE], const afc__identity_question *question);

#endif
