#include "http_cache/rules/vary.h"

#include "http_cache/rules/fingerprint.h"

#include <string.h>

/* The names of the fields that hold the identity and the trust policy; no Vary can name them. */
static const char identity_name[] = "*";
static const char trust_name[] = "(trust)";
static const char language_name[] = "Accept-Language";

/* ---- Vary ---------------------------------------------------------------------------------- */

bool afc__vary_is_any(const afc_head *head) {
    size_t count = 0;
    for (size_t i = 0; i < head->header_count; i++) {
        if (!afc__same_name(head->headers[i].name, "Vary")) continue;
        afc_slice rest = head->headers[i].value, each;
        while (afc__next_member(&rest, &each)) {
            if (each.size == 0) continue;
            if (++count > AFC__VARY_MAX || !afc__is_token(each)) return true;
            if (afc__is_same(each, afc_slice_of("*"))) return true;
        }
    }
    return false;
}

/* ---- Values of the request ----------------------------------------------------------------- */

/** Appends a line or a member, after ", " unless it is the first. */
static afc_status add_member(afc__buffer *out, afc_slice text) {
    afc_status status = out->size > 1 ? afc__buffer_append(out, ", ", 2) : AFC_OK;
    return status == AFC_OK ? afc__buffer_append(out, text.bytes, text.size) : status;
}

/** Appends the members of one line, without the blanks around them, which have no meaning outside of quoted strings. */
static afc_status add_members(afc__buffer *out, afc_slice value) {
    afc_slice rest = value, each;
    afc_status status = AFC_OK;
    bool is_quoted = value.size > 0 && memchr(value.bytes, '"', value.size) != NULL;
    if (is_quoted) return add_member(out, value);
    while (status == AFC_OK && afc__next_member(&rest, &each)) {
        if (each.size > 0) status = add_member(out, each);
    }
    return status;
}

static int compare(afc_slice a, afc_slice b) {
    size_t size = a.size < b.size ? a.size : b.size;
    int order = size != 0 ? memcmp(a.bytes, b.bytes, size) : 0;
    return order != 0 ? order : (a.size > b.size) - (a.size < b.size);
}

enum { MAX_LANGUAGES = 32 };

/**
 * Sorts the languages and makes them lower case: neither case nor order has a meaning, only the weights (RFC 9110
 * 12.5.4).
 */
static afc_status sort_languages(afc__buffer *value) {
    afc_slice members[MAX_LANGUAGES];
    size_t count = 0;
    for (size_t i = 1; i < value->size; i++) value->bytes[i] = afc__lower(value->bytes[i]);
    afc_slice rest = {value->bytes + 1, value->size - 1}, each;
    while (afc__next_member(&rest, &each)) {
        if (count == MAX_LANGUAGES) return AFC_OK;
        size_t at = count++;
        for (; at > 0 && compare(members[at - 1], each) > 0; at--) members[at] = members[at - 1];
        members[at] = each;
    }
    afc__buffer sorted;
    afc__buffer_init(&sorted, value->limit);
    afc_status status = afc__buffer_append(&sorted, "=", 1);
    for (size_t i = 0; i < count && status == AFC_OK; i++) {
        if (i > 0) status = afc__buffer_append(&sorted, ", ", 2);
        if (status == AFC_OK) {
            status = afc__buffer_append(&sorted, members[i].bytes, members[i].size);
        }
    }
    if (status != AFC_OK) {
        afc__buffer_clear(&sorted);
        return status;
    }
    afc__buffer_clear(value);
    *value = sorted;
    return AFC_OK;
}

/** Replaces a secret value by its fingerprint. */
static afc_status hide(afc__buffer *value) {
    char text[AFC__FINGERPRINT_SIZE];
    bool is_made = afc__fingerprint(text, afc__buffer_slice(value));
    afc__buffer_wipe(value);
    if (!is_made) return AFC_ENOMEM;
    return afc__buffer_append_two(value, afc_slice_of("="), afc_slice_of(text));
}

/** Returns what the session adds if the request has no such field; NULL if nothing. */
static const char *added_value(const afc__http_cache_request *request, afc_slice name) {
    if (afc__same_name(name, "Cookie")) return request->cookies;
    if (afc__same_name(name, "User-Agent")) return request->user_agent;
    if (afc__same_name(name, "Accept-Encoding")) return request->accept_encoding;
    return NULL;
}

/** Reserves the most that read_value() writes: a buffer that grows would leave copies of secrets behind. */
static afc_status reserve_value(afc__buffer *out, const afc__http_cache_request *request,
                                afc_slice name) {
    const char *added = added_value(request, name);
    size_t size = 0, size_added = added != NULL ? strlen(added) + 1 : 0;
    for (size_t i = 0; i < request->header_count; i++) {
        const afc_header *header = &request->headers[i];
        if (afc__same_names(header->name, name)) size += header->value.size + 2;
    }
    return afc__buffer_reserve(out, size > size_added ? size : size_added);
}

/**
 * Writes the request's value of a field to an empty buffer, in the form that afc__selecting_fields_add() describes. The
 * buffer stays empty if there is no such field.
 */
static afc_status read_value(afc__buffer *out, const afc__http_cache_request *request,
                             afc_slice name) {
    bool is_secret = afc_header_is_credential(name);
    bool is_mentioned = false, is_sent = false;
    afc_status status = reserve_value(out, request, name);
    for (size_t i = 0; i < request->header_count && status == AFC_OK; i++) {
        const afc_header *header = &request->headers[i];
        if (!afc__same_names(header->name, name)) continue;
        is_mentioned = true;
        if ((header->flags & AFC_HEADER_REMOVE) != 0) continue;
        if ((header->flags & AFC_HEADER_SECRET) != 0) is_secret = true;
        if (!is_sent) status = afc__buffer_append(out, "=", 1);
        is_sent = true;
        if (status != AFC_OK) break;
        /* A secret may not be a list, so it isn't split at commas. */
        status = is_secret ? add_member(out, header->value) : add_members(out, header->value);
    }
    bool is_merged = request->cookies != NULL && afc__same_name(name, "Cookie");
    const char *added = is_mentioned && !is_merged ? NULL : added_value(request, name);
    if (status == AFC_OK && added != NULL) {
        /* The cookies that the session sends include the request's own. */
        out->size = 0;
        is_sent = true;
        status = afc__buffer_append_two(out, afc_slice_of("="), afc_slice_of(added));
    }
    if (status != AFC_OK || !is_sent) return status;
    if (is_secret) return hide(out);
    return afc__same_name(name, language_name) ? sort_languages(out) : AFC_OK;
}

/* ---- Selecting fields ---------------------------------------------------------------------- */

static bool has_name(const afc__fields *fields, const char *names, size_t size) {
    const char *at = fields->text.bytes;
    for (size_t i = 0; i < fields->count; i++) {
        const afc_header *header = &fields->headers[i];
        if (header->name.size == size && memcmp(at, names, size) == 0) return true;
        at += header->name.size + header->value.size;
    }
    return false;
}

static afc_status add_one(afc__fields *out, const afc__http_cache_request *request,
                          afc_slice name) {
    char lower[256];
    afc__buffer value;
    if (name.size > sizeof lower) return AFC_ETOOBIG;
    for (size_t i = 0; i < name.size; i++) lower[i] = afc__lower(name.bytes[i]);
    if (has_name(out, lower, name.size)) return AFC_OK;
    afc__buffer_init(&value, AFC__SELECTING_MAX);
    afc_status status = read_value(&value, request, name);
    if (status == AFC_OK) {
        status = afc__fields_add(out, (afc_slice){lower, name.size}, afc__buffer_slice(&value));
    }
    afc__buffer_clear(&value);
    return status;
}

static bool has_own_trust(const afc__http_cache_request *request) {
    return request->trust != NULL && request->trust[0] != '\0';
}

afc_status afc__selecting_fields_add(afc__fields *out, const afc_head *head,
                                     const afc__http_cache_request *request, bool is_public) {
    afc_status status = AFC_OK;
    bool names_authorization = false;
    size_t name_count = 0;
    for (size_t i = 0; i < head->header_count; i++) {
        if (!afc__same_name(head->headers[i].name, "Vary")) continue;
        afc_slice rest = head->headers[i].value, each;
        while (status == AFC_OK && afc__next_member(&rest, &each)) {
            if (each.size == 0) continue;
            if (++name_count > AFC__VARY_MAX) return AFC_ETOOBIG;
            status = add_one(out, request, each);
            names_authorization = names_authorization || afc__same_name(each, "Authorization");
        }
    }
    /*
     * Authorization may be added by the session, so that the request doesn't have it: the identity stands for its
     * value.
     */
    bool is_shared = is_public && !names_authorization;
    if (status == AFC_OK && !is_shared)
        status = afc__fields_add(out, afc_slice_of(identity_name), afc_slice_of(request->identity));
    if (status == AFC_OK && has_own_trust(request))
        status = afc__fields_add(out, afc_slice_of(trust_name), afc_slice_of(request->trust));
    return status;
}

bool afc__selecting_fields_match_trust(const afc_header *selecting, size_t count,
                                       const afc__http_cache_request *request) {
    if (request->trust == NULL) return true;
    for (size_t i = 0; i < count; i++) {
        if (afc__is_same(selecting[i].name, afc_slice_of(trust_name)))
            return afc__is_same(selecting[i].value, afc_slice_of(request->trust));
    }
    return !has_own_trust(request);
}

static bool matches(const afc_header *selecting, const afc__http_cache_request *request) {
    /* Compared by afc__selecting_fields_match_trust(). */
    if (afc__is_same(selecting->name, afc_slice_of(trust_name))) return true;
    if (afc__is_same(selecting->name, afc_slice_of(identity_name))) {
        return afc__is_same(selecting->value, afc_slice_of(request->identity));
    }
    afc__buffer value;
    afc__buffer_init(&value, AFC__SELECTING_MAX);
    bool is_same = read_value(&value, request, selecting->name) == AFC_OK &&
                   afc__is_same(selecting->value, afc__buffer_slice(&value));
    afc__buffer_clear(&value);
    return is_same;
}

bool afc__selecting_fields_match(const afc_header *selecting, size_t count,
                                 const afc__http_cache_request *request) {
    for (size_t i = 0; i < count; i++) {
        if (!matches(&selecting[i], request)) return false;
    }
    return true;
}

/* ---- The preferred language ------------------------------------------------------------------ */

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

/** Splits a member such as "de;q=0.5" and returns its weight; INVALID_WEIGHT if it has another parameter. */
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

/** Finds the language with the highest weight. Returns false if there is none, or several with the same weight. */
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

/**
 * Returns whether a response with this head is in the language that the request prefers (RFC 9110 12.5.4, 8.5): if it
 * is in one language, if a single language has the highest weight of Accept-Language, and if these are the same but for
 * their case. Not for "*", ranges that only begin alike, and invalid weights.
 */
static bool is_in_preferred_language(const afc_head *head, afc_slice accept_language) {
    afc_slice preferred = {NULL, 0};
    const afc_header *content = NULL;
    for (size_t i = 0; i < head->header_count; i++) {
        if (!afc__same_name(head->headers[i].name, "Content-Language")) continue;
        if (content != NULL) return false;
        content = &head->headers[i];
    }
    /* A list of languages isn't a token, and "*" isn't a language. */
    if (content == NULL || !afc__is_token(content->value)) return false;
    if (!find_preferred(accept_language, &preferred)) return false;
    return afc__same_names(preferred, content->value) &&
           !afc__is_same(preferred, afc_slice_of("*"));
}

static bool prefers(const afc__http_cache_request *request, const afc_head *head) {
    afc__buffer value;
    afc__buffer_init(&value, AFC__SELECTING_MAX);
    bool is_preferred = read_value(&value, request, afc_slice_of(language_name)) == AFC_OK &&
                        value.size > 0 &&
                        is_in_preferred_language(head,
                                                 (afc_slice){value.bytes + 1, value.size - 1});
    afc__buffer_clear(&value);
    return is_preferred;
}

bool afc__selecting_fields_match_language(const afc_header *selecting, size_t count,
                                          const afc__http_cache_request *request,
                                          const afc_head *head) {
    bool varies = false;
    for (size_t i = 0; i < count; i++) {
        bool is_language = afc__same_name(selecting[i].name, language_name);
        if (!is_language && !matches(&selecting[i], request)) return false;
        if (is_language) varies = true;
    }
    return varies && prefers(request, head);
}
