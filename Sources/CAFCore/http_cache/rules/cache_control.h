/**
 * Reads the directives of Cache-Control in requests and responses (RFC 9111 5.2, RFC 5861, RFC 8246). Pure functions.
 */
#ifndef AFC_HTTP_CACHE_RULES_CACHE_CONTROL_H
#define AFC_HTTP_CACHE_RULES_CACHE_CONTROL_H

#include <afcore/message.h>

/** Directives without a number, as bits. */
enum {
    AFC__CONTROL_NO_STORE = 1u << 0,
    AFC__CONTROL_NO_CACHE = 1u << 1, /**< Without field names; those are in `no_cache_fields`. */
    AFC__CONTROL_MUST_REVALIDATE = 1u << 2,
    AFC__CONTROL_PUBLIC = 1u << 3,
    AFC__CONTROL_PRIVATE = 1u << 4,
    AFC__CONTROL_IMMUTABLE = 1u << 5,
    AFC__CONTROL_MUST_UNDERSTAND = 1u << 6,
    AFC__CONTROL_ONLY_IF_CACHED = 1u << 7,
    /** A quoted string has no end: what follows it is unknown, so the response isn't stored. */
    AFC__CONTROL_BROKEN = 1u << 8,
    AFC__CONTROL_PRESENT = 1u << 9 /**< There is at least one directive. */
};

enum {
    AFC__CONTROL_ABSENT = -1, /**< The value of a number whose directive is missing. */
    /** Maximum number of lists of field names; more count as no-cache without names. */
    AFC__CONTROL_LISTS_MAX = 8
};

/** The largest number of seconds that is distinguished; larger ones are treated as this one (RFC 9111 1.2.2). */
#define AFC__DELTA_MAX INT64_C(2147483648)

/**
 * The directives of one message. If a directive is repeated, the first one counts (RFC 9111 4.2.1). A number that is
 * missing or invalid counts as 0, for min-fresh as AFC__DELTA_MAX, so that a response is stale and a request strict;
 * for max-stale see there.
 */
typedef struct afc__http_cache_control {
    unsigned flags; /**< AFC__CONTROL_… */
    int64_t max_age;
    int64_t s_maxage; /**< For shared caches; here it only makes the freshness explicit. */
    int64_t stale_while_revalidate, stale_if_error;
    int64_t max_stale; /**< AFC__DELTA_MAX if it has no number: any staleness is allowed. */
    int64_t min_fresh;
    /** The lists in no-cache="…", whose fields aren't stored. They refer to the head. */
    afc_slice no_cache_fields[AFC__CONTROL_LISTS_MAX];
    size_t no_cache_count;
} afc__http_cache_control;

/**
 * Reads all Cache-Control fields of a request. Without such a field, Pragma: no-cache counts as no-cache (RFC 9111
 * 5.4).
 */
void afc__request_control_read(afc__http_cache_control *out, const afc_header *headers,
                               size_t count);

/** Reads all Cache-Control fields of a response. */
void afc__response_control_read(afc__http_cache_control *out, const afc_header *headers,
                                size_t count);

/**
 * Returns whether the response is public. With both "public" and "private", the more restrictive counts (RFC 9111
 * 4.2.1).
 */
bool afc__control_is_public(const afc__http_cache_control *control);

/** Reads delta-seconds (RFC 9111 1.2.2); larger numbers become AFC__DELTA_MAX. Returns false unless it is 1*DIGIT. */
bool afc__delta_seconds_read(afc_slice text, int64_t *out);

#endif
