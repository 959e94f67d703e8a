#include "http_cache/rules/freshness.h"

#include "message/date.h"
#include "message/fields.h"

static int64_t at_most(int64_t value, int64_t limit) {
    return value < limit ? value : limit;
}

static int64_t at_least(int64_t value, int64_t limit) {
    return value > limit ? value : limit;
}

/** Returns the seconds from one time, which may be before 1970, to another; 0 if `to` isn't later. */
static int64_t elapsed(int64_t from, int64_t to) {
    if (to <= from) return 0;
    return from < 0 && to > INT64_MAX + from ? INT64_MAX : to - from;
}

bool afc__status_has_heuristic(int status) {
    static const short statuses[] = {200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 501};
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) {
        if (statuses[i] == status) return true;
    }
    return false;
}

/** Returns the first value of the first Age field (RFC 9111 5.1); 0 if it is missing or invalid. */
static int64_t read_age(const afc_head *head) {
    int64_t age;
    const afc_header *header = afc_head_find(head, "Age");
    if (header == NULL) return 0;
    afc_slice rest = header->value, first = {NULL, 0};
    (void)afc__next_member(&rest, &first);
    return afc__delta_seconds_read(first, &age) ? age : 0;
}

bool afc__http_cache_date_read(const afc_head *head, const char *name, int64_t now, int64_t *out) {
    const afc_header *header = afc_head_find(head, name);
    return header != NULL && afc__date_parse_any_case(header->value, now, out);
}

/**
 * Returns the lifetime by Expires in seconds; 0 if it is invalid, or if several fields differ (RFC 9111 4.2.1, 5.3).
 */
static int64_t lifetime_of_expires(const afc_head *head, int64_t date, int64_t now) {
    int64_t expires = 0;
    const afc_header *first = NULL;
    for (size_t i = 0; i < head->header_count; i++) {
        const afc_header *header = &head->headers[i];
        if (!afc__same_name(header->name, "Expires")) continue;
        if (first != NULL && !afc__is_same(first->value, header->value)) return 0;
        first = header;
    }
    if (first == NULL || !afc__date_parse_any_case(first->value, now, &expires)) return 0;
    return at_most(elapsed(date, expires), AFC__DELTA_MAX);
}

static int64_t guess_lifetime(const afc__freshness_question *question, int64_t date) {
    int64_t modified;
    bool may_guess = afc__status_has_heuristic(question->head->status) ||
                     (question->control->flags & AFC__CONTROL_PUBLIC) != 0;
    if (!may_guess || question->has_query) return 0;
    if (!afc__http_cache_date_read(question->head, "Last-Modified", question->response_time,
                                   &modified))
        return 0;
    return at_most(elapsed(modified, date) / 10, AFC__HEURISTIC_MAX_S);
}

afc__freshness afc__freshness_of(const afc__freshness_question *question) {
    afc__freshness out = {0, 0, AFC__LIFETIME_NONE};
    const afc_head *head = question->head;
    int64_t response_time = question->response_time, date;
    bool has_date = afc__http_cache_date_read(head, "Date", response_time, &date);
    if (!has_date) date = response_time;
    /* RFC 9111 4.2.3. If the clock was set back during the request, the delay is 0, not negative. */
    int64_t apparent_age = elapsed(date, response_time);
    int64_t delay = at_most(elapsed(question->request_time, response_time), AFC__DELTA_MAX);
    out.initial_age = at_most(at_least(apparent_age, read_age(head) + delay), AFC__DELTA_MAX);
    if (question->control->max_age != AFC__CONTROL_ABSENT) {
        out.source = AFC__LIFETIME_EXPLICIT;
        out.lifetime = question->control->max_age;
    } else if (afc_head_find(head, "Expires") != NULL) {
        out.source = AFC__LIFETIME_EXPLICIT;
        out.lifetime = lifetime_of_expires(head, date, response_time);
    } else {
        out.lifetime = guess_lifetime(question, date);
        if (out.lifetime > 0) out.source = AFC__LIFETIME_HEURISTIC;
    }
    return out;
}

int64_t afc__current_age(const afc__freshness *freshness, int64_t response_time, int64_t now) {
    if (now < response_time) return AFC__DELTA_MAX;
    int64_t resident = at_most(elapsed(response_time, now), AFC__DELTA_MAX);
    return at_most(freshness->initial_age + resident, AFC__DELTA_MAX);
}
