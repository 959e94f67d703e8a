/**
 * Computes how old a stored response is, and how long it is fresh (RFC 9111 4.2). Times are Unix seconds. Pure
 * functions.
 */
#ifndef AFC_HTTP_CACHE_RULES_FRESHNESS_H
#define AFC_HTTP_CACHE_RULES_FRESHNESS_H

#include "http_cache/rules/cache_control.h"

/** The source of a lifetime. */
typedef enum afc__lifetime_source {
    AFC__LIFETIME_NONE,      /**< The response doesn't say: it is stale at once. */
    AFC__LIFETIME_HEURISTIC, /**< A tenth of the time since Last-Modified (RFC 9111 4.2.2). */
    AFC__LIFETIME_EXPLICIT   /**< max-age or Expires. */
} afc__lifetime_source;

/** Maximum of a heuristic lifetime, in seconds. */
enum { AFC__HEURISTIC_MAX_S = 24 * 3600 };

typedef struct afc__freshness {
    int64_t lifetime;    /**< Seconds; 0 means stale at once. */
    int64_t initial_age; /**< Age in seconds when the head was received (RFC 9111 4.2.3). */
    afc__lifetime_source source;
} afc__freshness;

typedef struct afc__freshness_question {
    const afc_head *head;
    const afc__http_cache_control *control; /**< The head's. */
    int64_t request_time, response_time;
    bool has_query; /**< The URL has a query: there is no heuristic lifetime. */
} afc__freshness_question;

/** Computes lifetime and initial age of a response. */
afc__freshness afc__freshness_of(const afc__freshness_question *question);

/**
 * Returns the age in seconds (RFC 9111 4.2.3). If `now` is before the time of the response, the clock was set back and
 * the age is unknown: it is then AFC__DELTA_MAX, which no lifetime exceeds.
 */
int64_t afc__current_age(const afc__freshness *freshness, int64_t response_time, int64_t now);

/** Returns whether a response with this status may have a heuristic lifetime (RFC 9110 15.1). */
bool afc__status_has_heuristic(int status);

/**
 * Reads the date in a field, in any of the three formats of HTTP and in any case (RFC 9111 4.2). `now` decides the
 * century of a year with two digits. Returns false if the field is missing or invalid.
 */
bool afc__http_cache_date_read(const afc_head *head, const char *name, int64_t now, int64_t *out);

#endif
