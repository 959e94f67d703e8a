/**
 * Validators: the conditional requests that a cache makes, and those that it answers (RFC 9110 8.8, 13; RFC 9111 4.3).
 * Pure functions.
 */
#ifndef AFC_HTTP_CACHE_RULES_VALIDATORS_H
#define AFC_HTTP_CACHE_RULES_VALIDATORS_H

#include <afcore/message.h>

enum { AFC__CONDITIONS_MAX = 2 };

/**
 * Writes If-None-Match and If-Modified-Since for a stored head. Returns their number, which is 0 if it has no
 * validator.
 */
size_t afc__conditions_write(afc_header out[AFC__CONDITIONS_MAX], const afc_head *stored);

/** The result of the conditions of a request for a stored response. */
typedef enum afc__condition {
    AFC__CONDITION_NONE,         /**< The request has no conditions. */
    AFC__CONDITION_NOT_MODIFIED, /**< The client has it already: answer 304. */
    AFC__CONDITION_MODIFIED,     /**< Answer with the stored response. */
    AFC__CONDITION_OTHER         /**< If-Match, If-Unmodified-Since: only the server decides. */
} afc__condition;

/**
 * Evaluates the conditions for a stored response that may be used (RFC 9111 4.3.2). If-None-Match has precedence over
 * If-Modified-Since, which is compared with Last-Modified, else with Date, else with the time when the response was
 * received.
 */
afc__condition afc__condition_of(const afc_header *headers, size_t count, const afc_head *stored,
                                 int64_t response_time);

/** Returns whether the request has any conditional field but If-Range. */
bool afc__has_conditions(const afc_header *headers, size_t count);

/**
 * Returns whether If-Range allows a part of the stored response (RFC 9110 13.1.5): its entity-tag is strong and equal,
 * or its date is the same as a strong Last-Modified, which is a minute older than Date.
 */
bool afc__if_range_allows(afc_slice value, const afc_head *stored);

/** Returns ETag if it is strong, or else Last-Modified if that is strong (RFC 9110 8.8.2.2); NULL if neither is. */
const afc_header *afc__strong_validator(const afc_head *head);

/**
 * Returns whether two heads describe the same representation: by equal entity-tags, or else equal dates of
 * modification.
 */
bool afc__validators_agree(const afc_head *a, const afc_head *b);

/**
 * Returns whether a 304 or 206 is about another version than the stored response, and so must not update it (RFC 9111
 * 4.3.4). Its entity-tag differs in a weak comparison, or is strong while the stored response has none; or it has no
 * entity-tag, and another Last-Modified.
 */
bool afc__validators_contradict(const afc_head *update, const afc_head *stored);

/**
 * Returns whether a response to HEAD describes the stored response: each of ETag, Last-Modified and Content-Length in
 * it has the same value there (RFC 9111 4.3.5). If the stored head has no Content-Length, `body_size` is compared,
 * which is negative if unknown.
 */
bool afc__head_describes_stored(const afc_head *head, const afc_head *stored, int64_t body_size);

#endif
