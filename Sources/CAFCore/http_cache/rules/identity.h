/** Whose request it is, as far as stored responses are kept apart by that. */
#ifndef AFC_HTTP_CACHE_RULES_IDENTITY_H
#define AFC_HTTP_CACHE_RULES_IDENTITY_H

#include "http_cache/rules/fingerprint.h"

#include <afcore/auth.h>

/** What a request says about whose it is. */
typedef struct afc__identity_question {
    const afc_header *headers;
    size_t header_count;
    const afc_credentials *credentials; /**< NULL: none. */
    bool replaces_field; /**< `credentials` are sent instead of the request's own Authorization. */
} afc__identity_question;

/**
 * Writes the fingerprint of a request's Authorization, else of its credentials, and of the fields that are marked as
 * secret; an empty text for an anonymous request. Cookie doesn't count: a response that depends on it says so in Vary.
 * false: out of memory.
 */
bool afc__identity_of(char out[AFC__FINGERPRINT_SIZE], const afc__identity_question *question);

#endif
