/** Decides which entries a response makes invalid (RFC 9111 4.4). Pure functions. */
#ifndef AFC_HTTP_CACHE_RULES_INVALIDATION_H
#define AFC_HTTP_CACHE_RULES_INVALIDATION_H

#include "message/url.h"

#include <afcore/message.h>

/** Returns whether this method is safe (RFC 9110 9.2.1). Unknown methods count as unsafe. */
bool afc__method_is_safe(const char *method);

/** Returns whether a response with this status to an unsafe method makes stored responses invalid: any but errors. */
static inline bool afc__status_invalidates(int status) {
    return status >= 200 && status <= 399;
}

/**
 * Resolves Location (`which` is 0) or Content-Location (1) of a response to an unsafe method: the entry of that URL is
 * invalid, too. Returns false if there is no such URL, or if its origin isn't the request's: no site can make another
 * one lose its entries.
 */
bool afc__invalidated_url(afc__url *out, const afc__url *request, const afc_head *head,
                          size_t which);

/** Returns whether Content-Location is the URL of the request. */
bool afc__content_is_of_url(const afc__url *request, const afc_head *head);

#endif
