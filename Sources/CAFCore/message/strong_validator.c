#include "message/strong_validator.h"

#include "message/fields.h"

/*
 * Last-Modified is strong if it is this much older than Date, in case the clocks behind the two differ (RFC 9110
 * 8.8.2.2).
 */
enum { STRONG_AGE_S = 60 };

bool afc__is_strong_tag(afc_slice tag) {
    if (tag.size < 2 || tag.bytes[0] != '"' || tag.bytes[tag.size - 1] != '"') return false;
    for (size_t i = 1; i + 1 < tag.size; i++) {
        unsigned char c = (unsigned char)tag.bytes[i];
        if (c <= 0x20 || c == '"' || c == 0x7F) return false;
    }
    return true;
}

const char *afc__find_strong_date(const afc_head *head, int64_t now, const afc_header **out) {
    const afc_header *date_field;
    int64_t modified, date;
    if (afc__find_one(head, "Last-Modified", out) != AFC__FOUND_ONE) {
        return "the server sent neither ETag nor Last-Modified";
    }
    if (!afc_date_parse((*out)->value, now, &modified)) {
        return "the server's Last-Modified isn't a date";
    }
    if (afc__find_one(head, "Date", &date_field) != AFC__FOUND_ONE ||
        !afc_date_parse(date_field->value, now, &date)) {
        return "Last-Modified without a Date is a weak validator";
    }
    /* A year with two digits is in the century of Date, whenever it is read. */
    bool is_strong = afc_date_parse((*out)->value, date, &modified) &&
                     date - modified >= STRONG_AGE_S;
    return is_strong ? NULL : "Last-Modified is too close to Date to be a strong validator";
}

const char *afc__find_strong_validator(const afc_head *head, int64_t now, const afc_header **out) {
    switch (afc__find_one(head, "ETag", out)) {
    case AFC__FOUND_DIFFERENT:
        return "the server sent conflicting ETags";
    case AFC__FOUND_ONE:
        if (afc__is_strong_tag((*out)->value)) return NULL;
        return afc__begins_with((*out)->value, "W/") ? "the server's ETag is weak"
                                                     : "the server's ETag is invalid";
    case AFC__FOUND_NONE:
        break;
    }
    return afc__find_strong_date(head, now, out);
}
