/**
 * Decides whether a stored response that fits a request may be used for it (RFC 9111 4, RFC 5861, RFC 8246). Pure
 * functions.
 */
#ifndef AFC_HTTP_CACHE_RULES_REUSE_H
#define AFC_HTTP_CACHE_RULES_REUSE_H

#include "http_cache/rules/freshness.h"

#include <afcore/task.h>

typedef enum afc__reuse {
    AFC__REUSE_FRESH,
    AFC__REUSE_STALE,            /**< The request allows a stale one. */
    AFC__REUSE_WHILE_VALIDATING, /**< Use it, and validate it in the background. */
    AFC__REUSE_AFTER_VALIDATING, /**< Validate it first: the server decides. */
    AFC__REUSE_NEVER             /**< Treat it as if it weren't stored. */
} afc__reuse;

typedef struct afc__reuse_question {
    const afc__http_cache_control *request;  /**< The request's directives. */
    const afc__http_cache_control *response; /**< The stored response's. */
    const afc__freshness *freshness;         /**< The stored response's. */
    int64_t age;                             /**< In seconds; see afc__current_age(). */
    afc_http_cache_policy policy;
} afc__reuse_question;

/** Returns how a stored response may be used for a request. */
afc__reuse afc__reuse_of(const afc__reuse_question *question);

/**
 * Returns whether a stale response may be used because the server sent no valid head, or an error (stale-if-error, RFC
 * 5861 4).
 */
bool afc__reuse_on_error(const afc__reuse_question *question);

/** Returns whether stale-if-error applies to this status (RFC 5861 4). */
static inline bool afc__status_is_error(int status) {
    return status == 500 || status == 502 || status == 503 || status == 504;
}

/**
 * Returns whether the request may be answered by the cache only, so that a miss is a 504 (RFC 9111 5.2.1.7). A request
 * that bypasses the cache isn't subject to only-if-cached.
 */
static inline bool afc__reuse_is_local(const afc__http_cache_control *request,
                                       afc_http_cache_policy policy) {
    if (policy == AFC_HTTP_CACHE_BYPASS) return false;
    return policy == AFC_HTTP_CACHE_ONLY || (request->flags & AFC__CONTROL_ONLY_IF_CACHED) != 0;
}

#endif
