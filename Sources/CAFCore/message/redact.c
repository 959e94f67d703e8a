#include "message/redact.h"

#include "message/fields.h"

static const char hidden[] = "<hidden>";

static bool is_marked(afc_slice name, const afc_header *own, size_t count) {
    for (size_t i = 0; i < count; i++) {
        bool is_secret = (own[i].flags & AFC_HEADER_SECRET) != 0;
        if (is_secret && afc__same_names(own[i].name, name)) return true;
    }
    return false;
}

static bool ends_authority(char byte) {
    return byte == '\0' || strchr("/?# \t\r\n\"<>", byte) != NULL;
}

/** Returns the size of the userinfo, with its '@', at the start of an authority. */
static size_t userinfo_size(afc_slice text) {
    size_t size = 0;
    for (size_t i = 0; i < text.size && !ends_authority(text.bytes[i]); i++) {
        if (text.bytes[i] == '@') size = i + 1;
    }
    return size;
}

/** Appends a text and removes the userinfo of all URLs in it. */
static afc_status append_text(afc__buffer *out, afc_slice text) {
    size_t start = 0;
    afc_status status = AFC_OK;
    for (size_t i = 2; i < text.size && status == AFC_OK; i++) {
        if (text.bytes[i - 1] != '/' || text.bytes[i - 2] != '/') continue;
        size_t skipped = userinfo_size((afc_slice){text.bytes + i, text.size - i});
        if (skipped == 0) continue;
        status = afc__buffer_append(out, text.bytes + start, i - start);
        i += skipped - 1;
        start = i + 1;
    }
    if (status == AFC_OK) status = afc__buffer_append(out, text.bytes + start, text.size - start);
    return status;
}

static afc_slice line_end(afc_slice line) {
    size_t size = 0;
    while (size < line.size &&
           (line.bytes[line.size - size - 1] == '\n' || line.bytes[line.size - size - 1] == '\r')) {
        size++;
    }
    return (afc_slice){line.bytes + line.size - size, size};
}

afc_status afc__redact_line(afc__buffer *out, afc__redaction *state, afc_slice line,
                            const afc_header *own, size_t own_count) {
    /* A line that starts with a space or a tab continues the previous value (RFC 9112 5.2). */
    bool is_folded = line.size > 0 && (line.bytes[0] == ' ' || line.bytes[0] == '\t');
    const char *colon = line.size > 0 ? memchr(line.bytes, ':', line.size) : NULL;
    size_t name_size = colon != NULL ? (size_t)(colon - line.bytes) : 0;
    afc_slice name = afc__trim((afc_slice){line.bytes, name_size});
    bool hides = is_folded ? *state == AFC__REDACT_FOLDED
                           : name_size > 0 && (afc_header_is_credential(name) ||
                                               is_marked(name, own, own_count));
    *state = hides ? AFC__REDACT_FOLDED : AFC__REDACT_NOTHING;
    if (!hides) return append_text(out, line);
    afc_slice end = line_end(line);
    afc_status status = is_folded ? afc__buffer_append(out, " ", 1)
                                  : afc__buffer_append_two(out, (afc_slice){line.bytes, name_size},
                                                           (afc_slice){": ", 2});
    if (status == AFC_OK) status = afc__buffer_append(out, hidden, sizeof hidden - 1);
    if (status == AFC_OK) status = afc__buffer_append(out, end.bytes, end.size);
    return status;
}
