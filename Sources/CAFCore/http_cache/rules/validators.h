/**
 * Validators: conditional requests that a cache makes, and those that it answers (RFC 9110 8.8, 13; RFC 9111 4.3). Pure
 * functions.
 */
#ifndef AFC_HTTP_CACHE_RULES_VALIDATORS_H
#define AFC_HTTP_CACHE_RULES_VALIDATORS_H

#include <afcore/message.h>

enum { AFC__CONDITIONS_MAX = 2 };

/** Writes If-None-Match and If-Modified-Since for a stored head. Returns their number; 0: it has no validator. */
size_t afc__conditions_write(afc_header out[AFC__CONDITIONS_MAX], const afc_head *stored);

/** What the conditions of a request say of a stored response. */
typedef enum afc__condition {
    AFC__CONDITION_NONE,         /**< The request has none. */
    AFC__CONDITION_NOT_MODIFIED, /**< The client has it already: answer 304. */
    AFC__CONDITION_MODIFIED,     /**< Answer with the stored response. */
    AFC__CONDITION_OTHER         /**< If-Match, If-Unmodified-Since: only the server decides. */
} afc__condition;

/**
 * Evaluates the conditions for a stored response that may be used (RFC 9111 4.3.2). If-None-Match has precedence over
 * If-Modified-Since; without Last-Modified that is compared with Date, or with when the response was received.
 */
afc__condition afc__condition_of(const afc_header *headers, size_t count, const afc_head *stored,
                                 int64_t response_time);

/** Returns whether the request has any conditional field but If-Range. */
bool afc__has_conditions(const afc_header *headers, size_t count);

/**
 * Does If-Range allow a part of the stored response (RFC 9110 13.1.5)? An entity-tag must be strong and equal; a date
 * must be that of Last-Modified, which is strong: a minute older than Date.
 */
bool afc__if_range_allows(afc_slice value, const afc_head *stored);

/** Returns ETag if it is strong, or else Last-Modified if that is (RFC 9110 8.8.2.2); NULL: neither. */
const afc_header *afc__strong_validator(const afc_head *head);

/**
 * Returns whether two heads describe the same representation: by equal entity-tags, or else equal dates of
 * modification.
 */
bool afc__validators_agree(const afc_head *a, const afc_head *b);

/**
 * Returns whether a 304 or 206 is about another version than the stored response. It has another entity-tag, compared
 * weakly, or a strong one where that has none; without an entity-tag it has another date of modification. Then it must
 * not update the stored response (RFC 9111 4.3.4).
 */
bool afc__validators_contradict(const afc_head *update, const afc_head *stored);

/**
 * Returns whether a response to HEAD describes the stored response: that has the same value for each of ETag,
 * Last-Modified and Content-Length in it (RFC 9111 4.3.5). `body_size` is compared with Content-Length if the stored
 * head has none; negative: unknown.
 */
bool afc__head_describes_stored(const afc_head *head, const afc_head *stored, int64_t body_size);

#endif
