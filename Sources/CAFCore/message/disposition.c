#include "message/disposition.h"

#include "base/failure.h"
#include "base/text.h"
#include "message/encoding.h"
#include "message/fields.h"
#include "message/media_types.h"

#include <afcore/url.h>
#include <stdio.h>

/* ---- Octets -------------------------------------------------------------------------------- */

static afc_slice from(afc_slice text, size_t offset) {
    return (afc_slice){text.bytes + offset, text.size - offset};
}

/**
 * Decodes percent-encoding. Returns false if a percent sign isn't followed by two hexadecimal digits; it is then kept
 * as it is.
 */
static bool decode_percent(afc__name_text *out, afc_slice text) {
    bool is_clean = true;
    out->size = 0;
    out->is_too_long = false;
    for (size_t i = 0; i < text.size; i++) {
        int octet = afc__percent_octet(from(text, i));
        if (octet >= 0) {
            i += 2;
        } else {
            is_clean = is_clean && text.bytes[i] != '%';
            octet = (unsigned char)text.bytes[i];
        }
        afc__name_text_add(out, (unsigned char)octet);
    }
    return is_clean;
}

/* ---- Values -------------------------------------------------------------------------------- */

typedef struct field_parameter {
    afc_slice name;
    afc_slice value; /**< Without quotes, with its backslash escapes. */
    bool is_quoted;
    bool is_broken;
} field_parameter;

static bool is_path_letter(char c) {
    return afc__is_letter(c) || afc__is_digit(c);
}

static void unquote(afc__name_text *out, const field_parameter *parameter) {
    afc_slice text = parameter->value;
    out->size = 0;
    out->is_too_long = false;
    for (size_t i = 0; i < text.size; i++) {
        bool is_escape = parameter->is_quoted && text.bytes[i] == '\\' && i + 1 < text.size &&
                         !is_path_letter(text.bytes[i + 1]);
        if (is_escape) i++;
        afc__name_text_add(out, (unsigned char)text.bytes[i]);
    }
}

static bool read_plain(char *name, const field_parameter *parameter) {
    afc__name_text text;
    unquote(&text, parameter);
    if (!afc__name_text_is_utf8(&text)) afc__name_text_from_latin1(&text);
    return !text.is_too_long && afc__safe_file_name(name, &text);
}

/** Reads an extended value (RFC 8187 3.2): charset'language'value. */
static bool read_extended(char *name, const field_parameter *parameter) {
    afc_slice charset = parameter->value;
    const char *quote = memchr(charset.bytes, '\'', charset.size);
    if (quote == NULL) return false;
    charset.size = (size_t)(quote - charset.bytes);
    afc_slice rest = from(parameter->value, charset.size + 1);
    quote = rest.size != 0 ? memchr(rest.bytes, '\'', rest.size) : NULL;
    if (quote == NULL) return false;
    rest = from(rest, (size_t)(quote - rest.bytes) + 1);
    afc__name_text text;
    if (!decode_percent(&text, rest)) return false;
    if (afc__same_name(charset, "ISO-8859-1")) {
        afc__name_text_from_latin1(&text);
    } else if (!afc__same_name(charset, "UTF-8") || !afc__name_text_is_utf8(&text)) {
        return false;
    }
    return !text.is_too_long && afc__safe_file_name(name, &text);
}

/* ---- Parameters ---------------------------------------------------------------------------- */

/**
 * Returns the number of bytes before a semicolon or equals sign outside quotes, or to the end if a quote isn't
 * closed: in `"foo; filename=bar"; filename=qux` the first "filename" isn't a parameter.
 */
static size_t name_size(afc_slice text) {
    size_t size = 0;
    while (size < text.size && text.bytes[size] != ';' && text.bytes[size] != '=') {
        size_t step = text.bytes[size] == '"' ? afc__quoted_size(from(text, size)) : 1;
        if (step == 0) return text.size;
        size += step;
    }
    return size;
}

/** Takes the next part between semicolons. A part without "=" has no value and is marked as broken. */
static bool next_parameter(afc_slice *text, field_parameter *out) {
    if (text->size == 0) return false;
    *out = (field_parameter){.is_broken = true};
    size_t size = name_size(*text);
    if (size < text->size && text->bytes[size] == '=') {
        size_t equals = size;
        size += afc__span_until(from(*text, size), ';');
        out->name = afc__trim((afc_slice){text->bytes, equals});
        afc_slice value = afc__trim(from(*text, equals + 1));
        out->is_quoted = value.size != 0 && value.bytes[0] == '"';
        if (out->is_quoted) {
            size_t quoted = afc__quoted_size(value);
            out->is_broken = quoted == 0;
            if (!out->is_broken) value.size = quoted;
            out->value = afc__without_quotes(value);
            size = (size_t)(value.bytes + value.size - text->bytes);
            size += afc__span_until(from(*text, size), ';');
        } else {
            out->value = afc__trim((afc_slice){text->bytes + equals + 1, size - equals - 1});
            out->is_broken = false;
        }
    }
    *text = from(*text, size < text->size ? size + 1 : size);
    return true;
}

bool afc__disposition_file_name(char name[AFC_FILE_NAME_MAX + 1], afc_slice value) {
    char other[AFC_FILE_NAME_MAX + 1] = "";
    field_parameter parameter;
    bool has_plain = false;
    while (next_parameter(&value, &parameter)) {
        if (parameter.is_broken || parameter.value.size == 0) continue;
        if (afc__same_name(parameter.name, "filename*")) {
            if (read_extended(name, &parameter)) return true;
        } else if (!has_plain && afc__same_name(parameter.name, "filename")) {
            has_plain = read_plain(other, &parameter);
        }
    }
    if (has_plain) memcpy(name, other, sizeof other);
    return has_plain;
}

/* ---- Suggestions --------------------------------------------------------------------------- */

/** Returns the last segment of the path, still encoded; empty if the path ends in a slash or is missing. */
static afc_slice last_segment(afc_slice url) {
    afc_url_parts parts;
    afc_url_split(&parts, url);
    const char *slash = parts.path.size != 0 ? memrchr(parts.path.bytes, '/', parts.path.size)
                                             : NULL;
    if (slash == NULL) return (afc_slice){"", 0};
    return from(parts.path, (size_t)(slash - parts.path.bytes) + 1);
}

static bool name_from_url(char *name, afc_slice url) {
    afc__name_text text;
    decode_percent(&text, last_segment(url));
    if (!afc__name_text_is_utf8(&text)) afc__name_text_from_latin1(&text);
    return !text.is_too_long && afc__safe_file_name(name, &text);
}

static afc_status refuse_name(char *name, const char *why, afc_failure *failure) {
    name[0] = '\0';
    return afc__fail(failure, AFC_EINVAL, "the URL's last segment %s", why);
}

afc_status afc_url_file_name(char name[AFC_FILE_NAME_MAX + 1], afc_slice url,
                             afc_failure *failure) {
    afc__name_text text;
    afc__clear_failure(failure);
    decode_percent(&text, last_segment(url));
    if (text.size == 0) return refuse_name(name, "is empty", failure);
    if (text.is_too_long) return refuse_name(name, "is too long", failure);
    if (!afc__name_text_is_utf8(&text)) return refuse_name(name, "is not UTF-8", failure);
    if (text.bytes[0] == '.') return refuse_name(name, "would be a hidden file", failure);
    if (memchr(text.bytes, '/', text.size) != NULL || memchr(text.bytes, '\\', text.size) != NULL) {
        return refuse_name(name, "has a separator", failure);
    }
    if (afc__name_text_has_control(&text)) {
        return refuse_name(name, "has a control character", failure);
    }
    if (afc__safe_file_name(name, &text)) return AFC_OK;
    return refuse_name(name, "has nothing that a file name can have", failure);
}

static bool name_from_head(char *name, const afc_head *head) {
    for (size_t i = 0; i < head->header_count; i++) {
        const afc_header *header = &head->headers[i];
        if (!afc__same_name(header->name, "Content-Disposition")) continue;
        if (afc__disposition_file_name(name, header->value)) return true;
    }
    return false;
}

void afc_suggest_file_name(char name[AFC_FILE_NAME_MAX + 1], const afc_head *head,
                           const char *url) {
    if (head != NULL && name_from_head(name, head)) return;
    if (url != NULL && name_from_url(name, afc_slice_of(url))) return;
    const afc_header *type = head != NULL ? afc_head_find(head, "Content-Type") : NULL;
    const char *extension = type != NULL ? afc__extension_of_media_type(type->value) : NULL;
    bool has_extension = extension != NULL;
    snprintf(name, AFC_FILE_NAME_MAX + 1, "download%s%s", has_extension ? "." : "",
             has_extension ? extension : "");
}
