#include "message/digest.h"

#include "base/text.h"
#include "message/encoding.h"

static const struct {
    const char *name;
    size_t size;
} kinds[] = {
    [AFC__DIGEST_NONE] = {"none", 0},
    [AFC__DIGEST_MD5] = {"md5", 16},
    [AFC__DIGEST_SHA_256] = {"sha-256", 32},
    [AFC__DIGEST_SHA_512] = {"sha-512", 64},
};

const char *afc__digest_name(afc__digest_kind kind) {
    return kinds[kind].name;
}

size_t afc__digest_size(afc__digest_kind kind) {
    return kinds[kind].size;
}

/* ---- Structured fields (RFC 8941): what a dictionary of digests needs ----------------------- */

typedef struct field_cursor {
    const char *at, *end;
} field_cursor;

static char peek(const field_cursor *cursor) {
    return cursor->at < cursor->end ? *cursor->at : '\0';
}

static bool take(field_cursor *cursor, char c) {
    if (cursor->at == cursor->end || *cursor->at != c) return false;
    cursor->at++;
    return true;
}

static void skip_spaces(field_cursor *cursor, bool tabs_too) {
    while (peek(cursor) == ' ' || (tabs_too && peek(cursor) == '\t')) cursor->at++;
}

/** Takes the key of a member (RFC 8941 3.1.2). */
static bool take_key(field_cursor *cursor, afc_slice *out) {
    const char *start = cursor->at;
    for (; cursor->at < cursor->end; cursor->at++) {
        char c = *cursor->at;
        bool begins = (c >= 'a' && c <= 'z') || c == '*';
        bool continues = afc__is_digit(c) || c == '_' || c == '-' || c == '.';
        if (!begins && !(continues && cursor->at != start)) break;
    }
    *out = (afc_slice){start, (size_t)(cursor->at - start)};
    return out->size != 0;
}

static bool skip_string(field_cursor *cursor) {
    while (cursor->at < cursor->end) {
        char c = *cursor->at++;
        if (c == '"') return true;
        if (c == '\\') {
            if (peek(cursor) != '"' && peek(cursor) != '\\') return false;
            cursor->at++;
        }
    }
    return false;
}

static bool take_bytes(field_cursor *cursor, afc_slice *out) {
    const char *start = cursor->at;
    const char *colon = memchr(start, ':', (size_t)(cursor->end - start));
    if (colon == NULL) return false;
    *out = (afc_slice){start, (size_t)(colon - start)};
    cursor->at = colon + 1;
    return true;
}

/** Skips a token, number or boolean; none of them can be a digest. */
static bool skip_word(field_cursor *cursor) {
    const char *start = cursor->at;
    while (cursor->at < cursor->end && strchr(",; \t\"()=", *cursor->at) == NULL) cursor->at++;
    return cursor->at != start;
}

/** Takes a bare item (RFC 8941 3.3); `*bytes` is set if it is a byte sequence. */
static bool take_bare_item(field_cursor *cursor, afc_slice *bytes) {
    if (take(cursor, ':')) return take_bytes(cursor, bytes);
    if (take(cursor, '"')) return skip_string(cursor);
    return skip_word(cursor);
}

static bool skip_parameters(field_cursor *cursor) {
    afc_slice ignored;
    while (take(cursor, ';')) {
        skip_spaces(cursor, false);
        if (!take_key(cursor, &ignored)) return false;
        if (take(cursor, '=') && !take_bare_item(cursor, &ignored)) return false;
    }
    return true;
}

static bool skip_inner_list(field_cursor *cursor) {
    afc_slice ignored;
    for (;;) {
        skip_spaces(cursor, false);
        if (take(cursor, ')')) return true;
        if (!take_bare_item(cursor, &ignored) || !skip_parameters(cursor)) return false;
        if (peek(cursor) != ' ' && peek(cursor) != ')') return false;
    }
}

static bool take_member(field_cursor *cursor, afc_slice *key, afc_slice *bytes) {
    *bytes = (afc_slice){NULL, 0};
    if (!take_key(cursor, key)) return false;
    if (take(cursor, '=')) {
        bool is_read = take(cursor, '(') ? skip_inner_list(cursor) : take_bare_item(cursor, bytes);
        if (!is_read) return false;
    }
    return skip_parameters(cursor);
}

static afc__digest_kind kind_of(afc_slice name) {
    for (size_t i = AFC__DIGEST_MD5; i < sizeof kinds / sizeof *kinds; i++) {
        if (afc__same_name(name, kinds[i].name)) return (afc__digest_kind)i;
    }
    return AFC__DIGEST_NONE;
}

/** Reads a dictionary (RFC 8941 3.2). Returns false if it is malformed: then it must be ignored as a whole. */
static bool read_dictionary(afc_slice value, afc__digest *out) {
    field_cursor cursor = {value.bytes, value.bytes + value.size};
    afc_slice key, bytes;
    for (;;) {
        skip_spaces(&cursor, true);
        if (!take_member(&cursor, &key, &bytes)) return false;
        afc__digest_kind kind = kind_of(key);
        /* RFC 9530 deprecates md5, so it is ignored here. */
        if (kind > AFC__DIGEST_MD5 && kind >= out->kind && bytes.bytes != NULL) {
            afc__digest found = {.kind = kind};
            if (!afc__base64_decode(found.bytes, kinds[kind].size, bytes)) return false;
            *out = found;
        }
        skip_spaces(&cursor, true);
        if (cursor.at == cursor.end) return true;
        if (!take(&cursor, ',')) return false;
    }
}

/* ---- Declared digests ---------------------------------------------------------------------- */

afc__digest afc__declared_digest(const afc_head *head, bool is_whole) {
    afc__digest best = {0};
    for (size_t i = 0; i < head->header_count; i++) {
        const afc_header *field = &head->headers[i];
        afc__digest found = {0};
        if (field->value.size == 0) continue;
        if (afc__same_name(field->name, "Repr-Digest")) {
            if (!read_dictionary(field->value, &found)) continue;
        } else if (is_whole && afc__same_name(field->name, "Content-MD5")) {
            if (afc__base64_decode(found.bytes, 16, field->value)) found.kind = AFC__DIGEST_MD5;
        }
        if (found.kind > best.kind) best = found;
    }
    return best;
}

afc_status afc__digest_write(const afc__digest *digest, afc__buffer *out) {
    char text[(AFC__DIGEST_MAX + 2) / 3 * 4 + 1];
    afc__base64_encode(text, digest->bytes, afc__digest_size(digest->kind));
    afc_status status = afc__buffer_append_two(out, afc_slice_of(afc__digest_name(digest->kind)),
                                               afc_slice_of("="));
    return status == AFC_OK ? afc__buffer_append(out, text, strlen(text)) : status;
}

bool afc__digest_read(afc_slice text, afc__digest *out) {
    *out = (afc__digest){0};
    const char *mark = text.size != 0 ? memchr(text.bytes, '=', text.size) : NULL;
    if (mark == NULL) return false;
    afc_slice name = {text.bytes, (size_t)(mark - text.bytes)};
    afc_slice value = {mark + 1, text.size - name.size - 1};
    afc__digest found = {.kind = kind_of(name)};
    if (found.kind == AFC__DIGEST_NONE) return false;
    if (!afc__base64_decode(found.bytes, afc__digest_size(found.kind), value)) return false;
    *out = found;
    return true;
}
