#include "http_cache/languages.h"

#include "message/fields.h"

#include <string.h>

enum { HIGHEST_WEIGHT = 1000, INVALID_WEIGHT = -1 };

/** Reads "0", "0.5", "1.000" as thousandths (RFC 9110 12.4.2). */
static int read_weight(afc_slice text) {
    int weight = 0, unit = HIGHEST_WEIGHT;
    if (text.size == 0 || text.size > sizeof "0.000" - 1) return INVALID_WEIGHT;
    for (size_t i = 0; i < text.size; i++) {
        char c = text.bytes[i];
        if (i == 1 && c == '.') continue;
        if (c < '0' || c > '9' || (i == 1 && c != '.')) return INVALID_WEIGHT;
        weight += (c - '0') * unit;
        unit /= 10;
    }
    return weight <= HIGHEST_WEIGHT ? weight : INVALID_WEIGHT;
}

/** Splits "de;q=0.5". A parameter of another name makes it invalid. */
static int read_member(afc_slice member, afc_slice *language) {
    const char *end = memchr(member.bytes, ';', member.size);
    *language = member;
    if (end == NULL) return HIGHEST_WEIGHT;
    size_t size = (size_t)(end - member.bytes);
    *language = afc__trim((afc_slice){member.bytes, size});
    afc_slice parameter = afc__trim((afc_slice){end + 1, member.size - size - 1});
    if (!afc__begins_with_name(parameter, "q=")) return INVALID_WEIGHT;
    return read_weight((afc_slice){parameter.bytes + 2, parameter.size - 2});
}

/** false: none, or several with the same weight. */
static bool find_preferred(afc_slice accept_language, afc_slice *out) {
    int highest = 0;
    bool is_single = false;
    afc_slice rest = accept_language, each, language;
    while (afc__next_member(&rest, &each)) {
        if (each.size == 0) continue;
        int weight = read_member(each, &language);
        if (weight == INVALID_WEIGHT) return false;
        if (weight == highest) is_single = false;
        if (weight <= highest) continue;
        highest = weight;
        is_single = true;
        *out = language;
    }
    return is_single;
}

bool afc__language_is_preferred(const afc_head *head, afc_slice accept_language) {
    afc_slice preferred = {NULL, 0};
    const afc_header *content = NULL;
    for (size_t i = 0; i < head->header_count; i++) {
        if (!afc__same_name(head->headers[i].name, "Content-Language")) continue;
        if (content != NULL) return false;
        content = &head->headers[i];
    }
    /* A list of several is no token, and "*" is no language. */
    if (content == NULL || !afc__is_token(content->value)) return false;
    if (!find_preferred(accept_language, &preferred)) return false;
    return afc__same_names(preferred, content->value) &&
           !afc__is_same(preferred, afc_slice_of("*"));
}
