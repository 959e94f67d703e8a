#include "http_cache/rules/reuse.h"

static int64_t smaller(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/** Returns the lifetime for this request: at most its max-age, and less its min-fresh (RFC 9111 5.2.1). */
static int64_t lifetime_for(const afc__reuse_question *question) {
    const afc__http_cache_control *request = question->request;
    int64_t lifetime = question->freshness->lifetime;
    if (request->max_age != AFC__CONTROL_ABSENT) lifetime = smaller(lifetime, request->max_age);
    if (request->min_fresh != AFC__CONTROL_ABSENT) lifetime -= request->min_fresh;
    return lifetime;
}

static afc__reuse by_protocol(const afc__reuse_question *question) {
    const afc__http_cache_control *request = question->request, *response = question->response;
    bool is_immutable = (response->flags & AFC__CONTROL_IMMUTABLE) != 0;
    bool is_valid = question->freshness->lifetime > question->age;
    if ((request->flags & AFC__CONTROL_NO_STORE) != 0) return AFC__REUSE_NEVER;
    if (((request->flags | response->flags) & AFC__CONTROL_NO_CACHE) != 0) {
        return AFC__REUSE_AFTER_VALIDATING;
    }
    /* Even AFC_HTTP_CACHE_REVALIDATE doesn't validate a fresh immutable response: it can't change (RFC 8246 2). */
    if (question->policy == AFC_HTTP_CACHE_REVALIDATE) {
        return is_immutable && is_valid ? AFC__REUSE_FRESH : AFC__REUSE_AFTER_VALIDATING;
    }
    int64_t lifetime = lifetime_for(question);
    if (lifetime > question->age) return AFC__REUSE_FRESH;
    if ((response->flags & AFC__CONTROL_MUST_REVALIDATE) != 0) return AFC__REUSE_AFTER_VALIDATING;
    /* max-stale and stale-while-revalidate need a known age. This one is unknown or out of range. */
    if (question->age >= AFC__DELTA_MAX) return AFC__REUSE_AFTER_VALIDATING;
    int64_t staleness = question->age - lifetime;
    if (request->max_stale != AFC__CONTROL_ABSENT && staleness <= request->max_stale) {
        return AFC__REUSE_STALE;
    }
    bool asks_for_age = request->max_age != AFC__CONTROL_ABSENT ||
                        request->min_fresh != AFC__CONTROL_ABSENT;
    bool is_within = response->stale_while_revalidate != AFC__CONTROL_ABSENT &&
                     staleness <= response->stale_while_revalidate;
    return is_within && !asks_for_age ? AFC__REUSE_WHILE_VALIDATING : AFC__REUSE_AFTER_VALIDATING;
}

afc__reuse afc__reuse_of(const afc__reuse_question *question) {
    switch (question->policy) {
    case AFC_HTTP_CACHE_BYPASS:
    case AFC_HTTP_CACHE_RELOAD:
        return AFC__REUSE_NEVER;
    case AFC_HTTP_CACHE_ELSE_LOAD:
    case AFC_HTTP_CACHE_ONLY:
        return question->freshness->lifetime > question->age ? AFC__REUSE_FRESH : AFC__REUSE_STALE;
    case AFC_HTTP_CACHE_PROTOCOL:
    case AFC_HTTP_CACHE_REVALIDATE:
        break;
    }
    return by_protocol(question);
}

bool afc__reuse_on_error(const afc__reuse_question *question) {
    const afc__http_cache_control *request = question->request, *response = question->response;
    unsigned forbidding = AFC__CONTROL_MUST_REVALIDATE | AFC__CONTROL_NO_CACHE;
    if ((response->flags & forbidding) != 0 || (request->flags & AFC__CONTROL_NO_CACHE) != 0)
        return false;
    if (question->age >= AFC__DELTA_MAX) return false;
    int64_t allowed = response->stale_if_error > request->stale_if_error ? response->stale_if_error
                                                                         : request->stale_if_error;
    return allowed != AFC__CONTROL_ABSENT &&
           question->age - question->freshness->lifetime <= allowed;
}
