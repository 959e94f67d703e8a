#include "http_cache/rules/storability.h"

#include "http_cache/rules/freshness.h"
#include "http_cache/rules/stored_fields.h"
#include "http_cache/rules/vary.h"

/* ---- Statuses ------------------------------------------------------------------------------ */

/** Returns whether the status concerns one request or one user's credentials, or only updates what is stored. */
static bool is_never_stored(int status) {
    static const short statuses[] = {304, 401, 407, 412, 416, 417, 421, 425, 426, 511};
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) {
        if (statuses[i] == status) return true;
    }
    return status < 200;
}

bool afc__status_supersedes(int status) {
    static const short others[] = {206, 407, 408, 413, 414, 428, 429, 431};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (others[i] == status) return false;
    }
    return status < 500 && !is_never_stored(status);
}

/**
 * Returns whether this library knows the caching rules of a status (RFC 9110 15), for must-understand (RFC 9111
 * 5.2.2.3).
 */
static bool is_understood(int status) {
    static const short statuses[] = {200, 203, 204, 206, 300, 301, 302, 303, 307, 308, 400,
                                     403, 404, 405, 410, 414, 500, 501, 502, 503, 504};
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) {
        if (statuses[i] == status) return true;
    }
    return false;
}

/* ---- Storing ------------------------------------------------------------------------------- */

static bool is_explicit(const afc__storable_question *question) {
    return question->response->max_age != AFC__CONTROL_ABSENT ||
           afc_head_find(question->head, "Expires") != NULL;
}

static bool has_validator(const afc_head *head) {
    return afc_head_find(head, "ETag") != NULL || afc_head_find(head, "Last-Modified") != NULL;
}

/**
 * Returns whether a stored response could ever be used. With an explicit lifetime it may be used stale, even without a
 * validator; else it needs a validator.
 */
static bool may_be_used(const afc__storable_question *question) {
    const afc_head *head = question->head;
    unsigned flags = question->response->flags;
    if (is_explicit(question)) return true;
    bool may_guess = afc__status_has_heuristic(head->status) || (flags & AFC__CONTROL_PUBLIC) != 0;
    bool is_allowed = may_guess || (flags & AFC__CONTROL_PRIVATE) != 0 ||
                      question->response->s_maxage != AFC__CONTROL_ABSENT;
    return is_allowed && has_validator(head);
}

static bool is_stored_method(const afc__storable_question *question) {
    afc_slice method = afc_slice_of(question->method);
    if (afc__is_same(method, afc_slice_of("GET"))) return true;
    return afc__is_same(method, afc_slice_of("POST")) && question->is_content_of_url &&
           question->head->status == 200 && is_explicit(question);
}

afc__storable afc__storable_of(const afc__storable_question *question) {
    const afc__http_cache_control *response = question->response;
    int status = question->head->status;
    if (!is_stored_method(question)) return AFC__STORABLE_NOT_METHOD;
    if (is_never_stored(status)) return AFC__STORABLE_NOT_STATUS;
    if ((response->flags & AFC__CONTROL_BROKEN) != 0) return AFC__STORABLE_NOT_READABLE;
    bool must_understand = (response->flags & AFC__CONTROL_MUST_UNDERSTAND) != 0;
    if (must_understand && !is_understood(status)) return AFC__STORABLE_NOT_UNDERSTOOD;
    /* A cache that implements must-understand ignores no-store beside it (RFC 9111 5.2.2.3). */
    bool is_forbidden = (response->flags & AFC__CONTROL_NO_STORE) != 0 && !must_understand;
    if (is_forbidden || (question->request->flags & AFC__CONTROL_NO_STORE) != 0) {
        return AFC__STORABLE_NOT_ALLOWED;
    }
    if (afc__vary_is_any(question->head)) return AFC__STORABLE_NOT_SELECTABLE;
    if (afc__head_names_too_many_fields(question->head, response)) {
        return AFC__STORABLE_NOT_COUNTABLE;
    }
    return may_be_used(question) ? AFC__STORABLE : AFC__STORABLE_NOT_USABLE;
}

const char *afc__storable_text(afc__storable storable) {
    switch (storable) {
    case AFC__STORABLE:
        break;
    case AFC__STORABLE_NOT_METHOD:
        return "responses to this method aren't stored";
    case AFC__STORABLE_NOT_STATUS:
        return "responses with this status aren't stored";
    case AFC__STORABLE_NOT_UNDERSTOOD:
        return "must-understand, and the status is unknown";
    case AFC__STORABLE_NOT_ALLOWED:
        return "no-store";
    case AFC__STORABLE_NOT_SELECTABLE:
        return "Vary is *";
    case AFC__STORABLE_NOT_USABLE:
        return "it has neither a lifetime nor a validator";
    case AFC__STORABLE_NOT_READABLE:
        return "Cache-Control has a quoted string without an end";
    case AFC__STORABLE_NOT_COUNTABLE:
        return "Connection and no-cache name too many fields";
    }
    return NULL;
}

/* ---- Requests ------------------------------------------------------------------------------ */

bool afc__request_is_unkeyed(const afc_header *headers, size_t count) {
    static const char *const names[] = {"Host", "X-HTTP-Method-Override", "X-HTTP-Method",
                                        "X-Method-Override"};
    for (size_t i = 0; i < count; i++) {
        if ((headers[i].flags & AFC_HEADER_REMOVE) != 0) continue;
        for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
            if (afc__same_name(headers[i].name, names[k])) return true;
        }
    }
    return false;
}
