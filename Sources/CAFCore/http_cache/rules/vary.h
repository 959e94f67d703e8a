/**
 * Decides which requests a stored response answers, by Vary and the fields that it names (RFC 9111 4.1). Pure
 * functions.
 */
#ifndef AFC_HTTP_CACHE_RULES_VARY_H
#define AFC_HTTP_CACHE_RULES_VARY_H

#include "message/fields.h"

enum {
    AFC__VARY_MAX = 32, /**< Maximum number of names in Vary; a response with more isn't stored. */
    AFC__SELECTING_MAX = 16 * 1024 /**< Maximum size of all selecting fields in bytes. */
};

/** A request as the cache sees it: its own fields, and those that the session adds unless the request has them. */
typedef struct afc__http_cache_request {
    const afc_header *headers;
    size_t header_count;
    const char *cookies;    /**< All cookies that are sent, a secret; NULL if none is from a jar. */
    const char *user_agent; /**< NULL if there is none. */
    const char *accept_encoding; /**< NULL if there is none. */
    /**
     * The fingerprint of the request's credentials, empty if it has none. A response to a request with one identity is
     * only reused for the same, unless it is public.
     */
    const char *identity;
    /**
     * The fingerprint of the trust policy that verifies the server, empty for the default policy. A response is only
     * reused under the policy that has accepted its server, unless a program has stored it. NULL matches any policy, as
     * there is no server.
     */
    const char *trust;
} afc__http_cache_request;

/** Returns whether Vary has a member "*", or too many names. Then no request selects the response (RFC 9111 4.1). */
bool afc__vary_is_any(const afc_head *head);

/**
 * Appends the selecting fields: each name that Vary has, in lower case and once, with the request's value. A value
 * begins with "=", or is empty if the request has no such field. It is normalised: several lines are joined, blanks
 * around commas removed unless the value is secret or has quoted strings; languages are sorted and in lower case.
 * Values of Cookie, Authorization and fields marked as secret are replaced by their fingerprints. Unless `is_public`
 * the identity is added, as a field "*", and that of a trust policy which isn't the default one as a field "(trust)".
 * Call afc__fields_bind() before they are read. AFC_ETOOBIG, also for more than AFC__VARY_MAX names; AFC_ENOMEM.
 */
afc_status afc__selecting_fields_add(afc__fields *out, const afc_head *head,
                                     const afc__http_cache_request *request, bool is_public);

/**
 * Returns whether the request has the same values. Also returns false if out of memory. Doesn't compare the trust
 * policy.
 */
bool afc__selecting_fields_match(const afc_header *selecting, size_t count,
                                 const afc__http_cache_request *request);

/** Returns whether the policy of the request is the one that has accepted the server of the response. */
bool afc__selecting_fields_match_trust(const afc_header *selecting, size_t count,
                                       const afc__http_cache_request *request);

/**
 * Returns whether a response with this head fits although Accept-Language has another value, because the response is in
 * the single language that the request prefers. All other selecting fields must be the same. Also returns false if out
 * of memory.
 */
bool afc__selecting_fields_match_language(const afc_header *selecting, size_t count,
                                          const afc__http_cache_request *request,
                                          const afc_head *head);

#endif
