#include "http_cache/rules/validators.h"

#include "http_cache/rules/freshness.h"
#include "message/date.h"
#include "message/fields.h"
#include "message/strong_validator.h"

size_t afc__conditions_write(afc_header out[AFC__CONDITIONS_MAX], const afc_head *stored) {
    size_t count = 0;
    const afc_header *tag = afc_head_find(stored, "ETag");
    const afc_header *modified = afc_head_find(stored, "Last-Modified");
    if (tag != NULL && tag->value.size > 0) {
        out[count++] = (afc_header){afc_slice_of("If-None-Match"), tag->value, 0};
    }
    if (modified != NULL && modified->value.size > 0) {
        out[count++] = (afc_header){afc_slice_of("If-Modified-Since"), modified->value, 0};
    }
    return count;
}

/* ---- Entity-tags --------------------------------------------------------------------------- */

static afc_slice without_weakness(afc_slice tag) {
    if (afc__begins_with(tag, "W/")) return (afc_slice){tag.bytes + 2, tag.size - 2};
    return tag;
}

/** Takes the next entity-tag, in whose quotes there may be commas. */
static bool next_tag(afc_slice *rest, afc_slice *out) {
    if (rest->bytes == NULL) return false;
    bool is_quoted = false;
    size_t size = 0;
    for (; size < rest->size; size++) {
        if (rest->bytes[size] == '"') is_quoted = !is_quoted;
        if (rest->bytes[size] == ',' && !is_quoted) break;
    }
    *out = afc__trim((afc_slice){rest->bytes, size});
    *rest = size < rest->size ? (afc_slice){rest->bytes + size + 1, rest->size - size - 1}
                              : (afc_slice){NULL, 0};
    return true;
}

/** Returns whether this entity-tag is among those of If-None-Match. Compares weakly (RFC 9110 8.8.3.2); "*" is any. */
static bool is_among(afc_slice list, afc_slice tag) {
    afc_slice each;
    while (next_tag(&list, &each)) {
        if (afc__is_same(each, afc_slice_of("*"))) return true;
        if (each.size > 0 && afc__is_same(without_weakness(each), without_weakness(tag)))
            return true;
    }
    return false;
}

/* ---- Conditions of requests ---------------------------------------------------------------- */

static bool is_sent(const afc_header *header, const char *name) {
    return (header->flags & AFC_HEADER_REMOVE) == 0 && afc__same_name(header->name, name);
}

static const afc_header *find(const afc_header *headers, size_t count, const char *name) {
    for (size_t i = 0; i < count; i++) {
        if (is_sent(&headers[i], name)) return &headers[i];
    }
    return NULL;
}

bool afc__has_conditions(const afc_header *headers, size_t count) {
    static const char *const names[] = {"If-None-Match", "If-Modified-Since", "If-Match",
                                        "If-Unmodified-Since"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (find(headers, count, names[i]) != NULL) return true;
    }
    return false;
}

static bool is_among_all(const afc_header *headers, size_t count, afc_slice tag) {
    for (size_t i = 0; i < count; i++) {
        bool is_list = is_sent(&headers[i], "If-None-Match");
        if (is_list && is_among(headers[i].value, tag)) return true;
    }
    return false;
}

afc__condition afc__condition_of(const afc_header *headers, size_t count, const afc_head *stored,
                                 int64_t response_time) {
    int64_t since, modified;
    bool is_others = find(headers, count, "If-Match") != NULL ||
                     find(headers, count, "If-Unmodified-Since") != NULL;
    if (is_others) return AFC__CONDITION_OTHER;
    if (find(headers, count, "If-None-Match") != NULL) {
        const afc_header *tag = afc_head_find(stored, "ETag");
        afc_slice value = tag != NULL ? tag->value : (afc_slice){NULL, 0};
        bool is_same = is_among_all(headers, count, value);
        return is_same ? AFC__CONDITION_NOT_MODIFIED : AFC__CONDITION_MODIFIED;
    }
    const afc_header *date = find(headers, count, "If-Modified-Since");
    if (date == NULL) return AFC__CONDITION_NONE;
    /* An invalid date is ignored (RFC 9110 13.1.3). */
    if (!afc__date_parse_any_case(date->value, response_time, &since)) return AFC__CONDITION_NONE;
    bool has_date = afc__http_cache_date_read(stored, "Last-Modified", response_time, &modified) ||
                    afc__http_cache_date_read(stored, "Date", response_time, &modified);
    if (!has_date) modified = response_time;
    return modified <= since ? AFC__CONDITION_NOT_MODIFIED : AFC__CONDITION_MODIFIED;
}

/* ---- Comparing ----------------------------------------------------------------------------- */

/* The current time for parsing years with two digits. Any is right here: only differences of two dates matter. */
enum { ANY_TIME = 0 };

const afc_header *afc__strong_validator(const afc_head *head) {
    const afc_header *validator;
    const char *obstacle = afc__find_strong_validator(head, ANY_TIME, &validator);
    return obstacle == NULL ? validator : NULL;
}

bool afc__if_range_allows(afc_slice value, const afc_head *stored) {
    const afc_header *field;
    if (afc__is_strong_tag(value)) {
        afc__found found = afc__find_one(stored, "ETag", &field);
        return found == AFC__FOUND_ONE && afc__is_same(value, field->value);
    }
    return afc__find_strong_date(stored, ANY_TIME, &field) == NULL &&
           afc__is_same(value, field->value);
}

bool afc__validators_agree(const afc_head *a, const afc_head *b) {
    static const char *const names[] = {"ETag", "Last-Modified"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const afc_header *of_a = afc_head_find(a, names[i]), *of_b = afc_head_find(b, names[i]);
        if (of_a != NULL && of_b != NULL) {
            return afc__is_same(without_weakness(of_a->value), without_weakness(of_b->value));
        }
    }
    return false;
}

/** Returns whether both have a Last-Modified, and these differ. */
static bool has_other_date(const afc_head *update, const afc_head *stored) {
    int64_t modified, old;
    return afc__http_cache_date_read(update, "Last-Modified", ANY_TIME, &modified) &&
           afc__http_cache_date_read(stored, "Last-Modified", ANY_TIME, &old) && modified != old;
}

bool afc__validators_contradict(const afc_head *update, const afc_head *stored) {
    const afc_header *tag = afc_head_find(update, "ETag"), *old = afc_head_find(stored, "ETag");
    if (tag == NULL) return has_other_date(update, stored);
    if (old == NULL) return afc__is_strong_tag(tag->value);
    /* Servers that compress responses send W/"a" with them, and "a" with a 304. */
    return !afc__is_same(without_weakness(tag->value), without_weakness(old->value));
}

/** Returns whether the field is absent, or one that the stored head has, too. */
static bool matches(const afc_head *head, const afc_head *stored, const char *name) {
    const afc_header *field = afc_head_find(head, name), *old = afc_head_find(stored, name);
    if (field == NULL) return true;
    return old != NULL &&
           afc__is_same(without_weakness(field->value), without_weakness(old->value));
}

bool afc__head_describes_stored(const afc_head *head, const afc_head *stored, int64_t body_size) {
    int64_t length;
    const afc_header *field = afc_head_find(head, "Content-Length");
    if (!matches(head, stored, "ETag") || !matches(head, stored, "Last-Modified")) return false;
    if (field == NULL || afc_head_find(stored, "Content-Length") != NULL)
        return matches(head, stored, "Content-Length");
    return afc__parse_length(field->value, &length) && length == body_size;
}
