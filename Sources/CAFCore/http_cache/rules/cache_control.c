#include "http_cache/rules/cache_control.h"

#include "message/fields.h"

#include <string.h>

/* ---- Members of the list ------------------------------------------------------------------- */

/** One directive: "name", "name=token" or "name=\"text\"". */
typedef struct member {
    afc_slice name;
    afc_slice value;      /**< Without quotes. Escapes are kept, as no directive needs them. */
    bool has_value;       /**< There is a "=". */
    bool is_unterminated; /**< The directive has a quoted string without an end. */
} member;

static bool next_directive(afc_slice *rest, member *out) {
    if (rest->bytes == NULL) return false;
    bool is_open;
    size_t size = afc__find_unquoted(*rest, ',', &is_open);
    afc_slice text = afc__trim((afc_slice){rest->bytes, size});
    *rest = size < rest->size ? (afc_slice){rest->bytes + size + 1, rest->size - size - 1}
                              : (afc_slice){NULL, 0};
    *out = (member){.name = text, .is_unterminated = is_open};
    const char *mark = text.size > 0 ? memchr(text.bytes, '=', text.size) : NULL;
    if (mark == NULL) return true;
    out->has_value = true;
    out->name.size = (size_t)(mark - text.bytes);
    out->value = afc__without_quotes((afc_slice){mark + 1, text.size - out->name.size - 1});
    return true;
}

/* ---- Numbers ------------------------------------------------------------------------------- */

bool afc__delta_seconds_read(afc_slice text, int64_t *out) {
    return afc__parse_clamped(text, AFC__DELTA_MAX, out);
}

/** Sets a number unless a previous directive has set it. `otherwise` replaces a number that is missing or invalid. */
static void set_number(int64_t *out, const member *from, int64_t otherwise) {
    int64_t number;
    if (*out != AFC__CONTROL_ABSENT) return;
    bool is_valid = from->has_value && afc__delta_seconds_read(from->value, &number);
    *out = is_valid ? number : otherwise;
}

/* ---- Directives ---------------------------------------------------------------------------- */

static void add_no_cache(afc__http_cache_control *out, const member *from, bool is_request) {
    bool has_names = from->has_value && afc__trim(from->value).size > 0 && !is_request;
    if (!has_names || out->no_cache_count == AFC__CONTROL_LISTS_MAX) {
        out->flags |= AFC__CONTROL_NO_CACHE;
        return;
    }
    out->no_cache_fields[out->no_cache_count++] = from->value;
}

static bool take_flag(afc__http_cache_control *out, const member *from) {
    static const struct {
        const char *name;
        unsigned flag;
    } flags[] = {
        {"no-store", AFC__CONTROL_NO_STORE},
        {"must-revalidate", AFC__CONTROL_MUST_REVALIDATE},
        {"public", AFC__CONTROL_PUBLIC},
        {"private", AFC__CONTROL_PRIVATE},
        {"immutable", AFC__CONTROL_IMMUTABLE},
        {"must-understand", AFC__CONTROL_MUST_UNDERSTAND},
        {"only-if-cached", AFC__CONTROL_ONLY_IF_CACHED},
    };
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        if (!afc__same_name(from->name, flags[i].name)) continue;
        out->flags |= flags[i].flag;
        return true;
    }
    return false;
}

static void take_directive(afc__http_cache_control *out, const member *from, bool is_request) {
    if (from->name.size == 0) return;
    out->flags |= AFC__CONTROL_PRESENT;
    if (from->is_unterminated) out->flags |= AFC__CONTROL_BROKEN;
    if (take_flag(out, from)) return;
    if (afc__same_name(from->name, "no-cache")) {
        add_no_cache(out, from, is_request);
    } else if (afc__same_name(from->name, "max-age")) {
        set_number(&out->max_age, from, 0);
    } else if (afc__same_name(from->name, "s-maxage")) {
        set_number(&out->s_maxage, from, 0);
    } else if (afc__same_name(from->name, "stale-while-revalidate")) {
        set_number(&out->stale_while_revalidate, from, 0);
    } else if (afc__same_name(from->name, "stale-if-error")) {
        set_number(&out->stale_if_error, from, 0);
    } else if (afc__same_name(from->name, "min-fresh")) {
        set_number(&out->min_fresh, from, AFC__DELTA_MAX);
    } else if (afc__same_name(from->name, "max-stale")) {
        set_number(&out->max_stale, from, from->has_value ? 0 : AFC__DELTA_MAX);
    }
}

static bool says_no_cache(const afc_header *header) {
    afc_slice rest = header->value;
    member each;
    while (next_directive(&rest, &each)) {
        if (!each.has_value && afc__same_name(each.name, "no-cache")) return true;
    }
    return false;
}

/** The sender of the fields that are read. */
typedef enum sender { CLIENT, SERVER } sender;

static void read_control(afc__http_cache_control *out, const afc_header *headers, size_t count,
                         sender from) {
    bool is_request = from == CLIENT;
    *out = (afc__http_cache_control){
        .max_age = AFC__CONTROL_ABSENT,
        .s_maxage = AFC__CONTROL_ABSENT,
        .stale_while_revalidate = AFC__CONTROL_ABSENT,
        .stale_if_error = AFC__CONTROL_ABSENT,
        .max_stale = AFC__CONTROL_ABSENT,
        .min_fresh = AFC__CONTROL_ABSENT,
    };
    bool has_control = false, has_pragma = false;
    for (size_t i = 0; i < count; i++) {
        const afc_header *header = &headers[i];
        if ((header->flags & AFC_HEADER_REMOVE) != 0) continue;
        if (afc__same_name(header->name, "Cache-Control")) {
            afc_slice rest = header->value;
            member each;
            has_control = true;
            while (next_directive(&rest, &each)) take_directive(out, &each, is_request);
        } else if (is_request && afc__same_name(header->name, "Pragma")) {
            has_pragma = has_pragma || says_no_cache(header);
        }
    }
    if (has_pragma && !has_control) out->flags |= AFC__CONTROL_NO_CACHE | AFC__CONTROL_PRESENT;
}

void afc__request_control_read(afc__http_cache_control *out, const afc_header *headers,
                               size_t count) {
    read_control(out, headers, count, CLIENT);
}

void afc__response_control_read(afc__http_cache_control *out, const afc_header *headers,
                                size_t count) {
    read_control(out, headers, count, SERVER);
}

bool afc__control_is_public(const afc__http_cache_control *control) {
    return (control->flags & (AFC__CONTROL_PUBLIC | AFC__CONTROL_PRIVATE)) == AFC__CONTROL_PUBLIC;
}
