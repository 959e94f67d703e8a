/** Which entries a response makes invalid (RFC 9111 4.4). Pure functions. */
#ifndef AFC_HTTP_CACHE_RULES_INVALIDATION_H
#define AFC_HTTP_CACHE_RULES_INVALIDATION_H

#include "message/url.h"

#include <afcore/message.h>

/** Returns whether this method is safe (RFC 9110 9.2.1). Methods that aren't known may not be. */
bool afc__method_is_safe(const char *method);

/** Returns whether a response with this status to an unsafe method says that something was changed. */
static inline bool afc__status_invalidates(int status) {
    return status >= 200 && status <= 399;
}

/**
 * Resolves Location or Content-Location, whose entry is invalid too if it has the same origin as the request: another
 * site can't be made to lose its entries. `which` is 0 or 1. false: no such URL, or of another origin.
 */
bool afc__invalidated_url(afc__url *out, const afc__url *request, const afc_head *head,
                          size_t which);

/** Returns whether Content-Location is the URL of the request. */
bool afc__content_is_of_url(const afc__url *request, const afc_head *head);

#endif
