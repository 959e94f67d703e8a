/** Decides whether a private cache may store a response (RFC 9111 3). Pure functions. */
#ifndef AFC_HTTP_CACHE_RULES_STORABILITY_H
#define AFC_HTTP_CACHE_RULES_STORABILITY_H

#include "http_cache/rules/cache_control.h"

/** Why a response isn't stored. */
typedef enum afc__storable {
    AFC__STORABLE,
    /** Only responses to GET are stored, and to POST if Content-Location names the request's URL. */
    AFC__STORABLE_NOT_METHOD,
    /** A status that is never stored, such as 304 and 401. */
    AFC__STORABLE_NOT_STATUS,
    AFC__STORABLE_NOT_UNDERSTOOD, /**< must-understand, with an unknown status. */
    AFC__STORABLE_NOT_ALLOWED,    /**< no-store, in the request or the response. */
    AFC__STORABLE_NOT_SELECTABLE, /**< Vary: *. */
    AFC__STORABLE_NOT_USABLE,   /**< Neither fresh nor with a validator: it could never be used. */
    AFC__STORABLE_NOT_READABLE, /**< Cache-Control is broken. */
    AFC__STORABLE_NOT_COUNTABLE /**< Connection and no-cache="…" name too many fields. */
} afc__storable;

typedef struct afc__storable_question {
    const char *method;
    const afc_head *head;
    const afc__http_cache_control *request;  /**< The request's directives. */
    const afc__http_cache_control *response; /**< The response's. */
    /** For POST: Content-Location is the URL of the request (RFC 9110 9.3.3). */
    bool is_content_of_url;
} afc__storable_question;

/** Returns whether a response may be stored (RFC 9111 3), or why not. */
afc__storable afc__storable_of(const afc__storable_question *question);

/**
 * Returns whether a final response to GET with this status replaces what was stored for such a request, even if it
 * isn't stored itself (RFC 9111 4.3.3). False for statuses that don't describe the resource: errors of the server,
 * parts, and requests that were malformed, too early, too frequent or without credentials.
 */
bool afc__status_supersedes(int status);

/** Returns the reason as a text; NULL for AFC__STORABLE. */
const char *afc__storable_text(afc__storable storable);

/**
 * Returns whether the request asks for something that the URL doesn't name: it has a Host of its own, or a field that
 * names another method. Such a request neither uses nor makes an entry.
 */
bool afc__request_is_unkeyed(const afc_header *headers, size_t count);

#endif
