/* Splits and joins URLs as text, without checks; url.c and host.c decide what is valid. */
#include "base/text.h"
#include "message/encoding.h"
#include "message/host.h"
#include "message/url.h"

#include <afcore/url.h>

/* ---- Splitting ----------------------------------------------------------------------------- */

static afc_slice from(afc_slice text, size_t offset) {
    return (afc_slice){text.bytes + offset, text.size - offset};
}

/** Removes the first `mark` and the text after it, and returns that text; its `bytes` are NULL if there is no mark. */
static afc_slice cut_after(afc_slice *text, char mark) {
    size_t size = afc__span_until(*text, mark);
    if (size == text->size) return (afc_slice){NULL, 0};
    afc_slice tail = from(*text, size + 1);
    text->size = size;
    return tail;
}

/** Returns the length of the scheme before its colon; 0 if there is none. */
static size_t scheme_size(afc_slice text) {
    for (size_t size = 0; size < text.size; size++) {
        char c = text.bytes[size];
        if (c == ':') return size;
        bool is_inner = afc__is_digit(c) || c == '+' || c == '-' || c == '.';
        if (!afc__is_letter(c) && (size == 0 || !is_inner)) return 0;
    }
    return 0;
}

void afc_url_split(afc_url_parts *out, afc_slice url) {
    *out = (afc_url_parts){0};
    if (url.bytes == NULL) url = (afc_slice){"", 0};
    out->fragment = cut_after(&url, '#');
    out->query = cut_after(&url, '?');
    size_t size = scheme_size(url);
    if (size != 0) {
        out->scheme = (afc_slice){url.bytes, size};
        url = from(url, size + 1);
    }
    out->path = url;
    if (url.size < 2 || url.bytes[0] != '/' || url.bytes[1] != '/') return;
    url = from(url, 2);
    size = afc__span_until(url, '/');
    out->authority = (afc_slice){url.bytes, size};
    out->path = from(url, size);
    afc__authority_text authority;
    afc__authority_cut(&authority, out->authority);
    out->userinfo = authority.userinfo;
    out->host = authority.host;
    out->port = authority.port;
}

uint16_t afc_url_port(const afc_url_parts *parts) {
    uint16_t port;
    if (parts->port.size > 0) return afc__port_parse(&port, parts->port) ? port : 0;
    bool is_https = afc__same_name(parts->scheme, "https");
    return is_https || afc__same_name(parts->scheme, "http") ? afc__default_port(is_https) : 0;
}

/* ---- Joining ------------------------------------------------------------------------------- */

/** A writer with limited capacity: it also counts bytes that don't fit. */
typedef struct text_writer {
    char *out;
    size_t capacity, size;
} text_writer;

static void put(text_writer *writer, afc_slice text) {
    if (text.size != 0 && writer->size + text.size <= writer->capacity) {
        memcpy(writer->out + writer->size, text.bytes, text.size);
    }
    writer->size += text.size;
}

/** Writes `mark` and the part, unless the part is absent. */
static void put_after(text_writer *writer, const char *mark, afc_slice part) {
    if (part.bytes == NULL) return;
    put(writer, afc_slice_of(mark));
    put(writer, part);
}

/**
 * Removes dot segments from `rest` on, which begins with "/" or is empty. ".." may also remove a segment before `rest`,
 * but none before `path`. Returns the new end.
 */
static char *remove_dots_from(char *path, char *rest, const char *end) {
    char *out = rest;
    for (const char *in = rest; in < end;) {
        const char *next = memchr(in + 1, '/', (size_t)(end - in) - 1);
        bool is_last = next == NULL;
        if (is_last) next = end;
        size_t size = (size_t)(next - in);
        bool is_dot = size == 2 && in[1] == '.';
        bool is_dots = size == 3 && in[1] == '.' && in[2] == '.';
        if (is_dots) {
            while (out > path && *--out != '/') continue;
        }
        if (!is_dot && !is_dots) {
            memmove(out, in, size);
            out += size;
        } else if (is_last) {
            *out++ = '/';
        }
        in = next;
    }
    return out;
}

char *afc__remove_dot_segments(char *path, const char *end) {
    return remove_dots_from(path, path, end);
}

/** Does the same for a path that doesn't begin with "/": dot segments at its beginning have nothing to remove. */
static char *remove_rootless_dots(char *path, char *end) {
    char *in = path;
    for (;;) {
        size_t size = 0;
        while (size < 3 && in + size < end && in[size] == '.') size++;
        bool is_dots = size == 1 || size == 2;
        if (in + size == end && is_dots) return path;
        if (!is_dots || in[size] != '/') break;
        in += size + 1;
    }
    memmove(path, in, (size_t)(end - in));
    end -= in - path;
    char *rest = memchr(path, '/', (size_t)(end - path));
    return rest != NULL ? remove_dots_from(path, rest, end) : end;
}

/** Returns the directory of a path (RFC 3986 5.2.3). */
afc_slice afc__url_directory(afc_slice path) {
    const char *slash = path.size != 0 ? memrchr(path.bytes, '/', path.size) : NULL;
    if (slash == NULL) return (afc_slice){"/", 1};
    return (afc_slice){path.bytes, (size_t)(slash - path.bytes) + 1};
}

/**
 * Writes "/." or "./" in front of a path that would have another meaning now that its dot segments are removed: an
 * authority follows "//", and a colon in the first segment ends a scheme (RFC 3986 3.3, 4.2). Needs the two bytes of a
 * removed segment.
 */
static char *keep_as_path(char *path, char *end, const afc_url_parts *base) {
    if (base->authority.bytes != NULL) return end;
    size_t size = (size_t)(end - path);
    const char *slash = size > 0 ? memchr(path, '/', size) : NULL;
    size_t first = slash != NULL ? (size_t)(slash - path) : size;
    bool is_like_authority = size > 1 && path[0] == '/' && path[1] == '/';
    bool is_like_scheme = base->scheme.bytes == NULL && memchr(path, ':', first) != NULL;
    if (!is_like_authority && !is_like_scheme) return end;
    memmove(path + 2, path, size);
    memcpy(path, is_like_authority ? "/." : "./", 2);
    return end + 2;
}

/** Merges the reference's path with that of the base (RFC 3986 5.2.3). */
static void put_merged(text_writer *writer, const afc_url_parts *base, afc_slice path) {
    size_t start = writer->size;
    bool has_directory = base->authority.bytes != NULL ||
                         (base->path.size != 0 &&
                          memchr(base->path.bytes, '/', base->path.size) != NULL);
    if (path.bytes[0] != '/' && has_directory) put(writer, afc__url_directory(base->path));
    put(writer, path);
    if (writer->size > writer->capacity) return;
    char *from = writer->out + start, *to = writer->out + writer->size;
    char *end = *from == '/' ? afc__remove_dot_segments(from, to) : remove_rootless_dots(from, to);
    if (to - end >= 2) end = keep_as_path(from, end, base);
    writer->size = (size_t)(end - writer->out);
}

size_t afc_url_resolve(char *out, size_t capacity, afc_slice base_text, afc_slice reference) {
    afc_url_parts base, parts;
    text_writer writer = {out, capacity, 0};
    afc_url_split(&base, base_text);
    afc_url_split(&parts, reference);
    if (parts.scheme.bytes != NULL) {
        put(&writer, reference);
        return writer.size;
    }
    if (base.scheme.bytes != NULL) {
        put(&writer, base.scheme);
        put(&writer, afc_slice_of(":"));
    }
    if (parts.authority.bytes != NULL) {
        put(&writer, reference);
        return writer.size;
    }
    put_after(&writer, "//", base.authority);
    if (parts.path.size != 0) {
        put_merged(&writer, &base, parts.path);
    } else {
        put(&writer, base.path);
        if (parts.query.bytes == NULL) parts.query = base.query;
    }
    put_after(&writer, "?", parts.query);
    put_after(&writer, "#", parts.fragment);
    return writer.size;
}

/* ---- Encoding ------------------------------------------------------------------------------ */

/** Writes octets that aren't letters, digits or in `kept` as "%XX", and a space as `space`, unless that is NULL. */
static void put_encoded(text_writer *writer, afc_slice text, const char *kept, const char *space) {
    for (size_t i = 0; i < text.size; i++) {
        char c = text.bytes[i], escape[3];
        afc_slice written = {&text.bytes[i], 1};
        bool is_kept = afc__is_letter(c) || afc__is_digit(c) ||
                       (c != '\0' && strchr(kept, c) != NULL);
        if (c == ' ' && space != NULL) {
            written = afc_slice_of(space);
        } else if (!is_kept) {
            afc__percent_put(escape, c);
            written = (afc_slice){escape, sizeof escape};
        }
        put(writer, written);
    }
}

size_t afc_url_encode(char *out, size_t capacity, afc_slice text) {
    text_writer writer = {out, capacity, 0};
    put_encoded(&writer, text, "-._~", NULL);
    return writer.size;
}

size_t afc_url_encode_form(char *out, size_t capacity, const afc_url_field *fields, size_t count) {
    static const char kept[] = "*-._";
    text_writer writer = {out, capacity, 0};
    for (size_t i = 0; i < count; i++) {
        if (i > 0) put(&writer, afc_slice_of("&"));
        put_encoded(&writer, fields[i].name, kept, "+");
        put(&writer, afc_slice_of("="));
        put_encoded(&writer, fields[i].value, kept, "+");
    }
    return writer.size;
}

/** Writes a percent-encoded text as its octets, and "+" as `plus`. */
static void put_decoded(text_writer *writer, afc_slice text, char plus) {
    while (text.size > 0) {
        int octet = afc__percent_octet(text);
        char c = octet >= 0 ? (char)octet : *text.bytes == '+' ? plus : *text.bytes;
        put(writer, (afc_slice){&c, 1});
        text = from(text, octet >= 0 ? 3 : 1);
    }
}

size_t afc_url_decode(char *out, size_t capacity, afc_slice text) {
    text_writer writer = {out, capacity, 0};
    put_decoded(&writer, text, '+');
    return writer.size;
}

bool afc_query_next(afc_slice *rest, afc_url_field *out, char *text, size_t capacity) {
    while (rest->size > 0 && *rest->bytes == '&') *rest = from(*rest, 1);
    if (rest->size == 0) return false;
    afc_slice name = *rest, tail = cut_after(&name, '&'), value = cut_after(&name, '=');
    text_writer writer = {text, capacity, 0};
    put_decoded(&writer, name, ' ');
    size_t name_size = writer.size;
    put_decoded(&writer, value, ' ');
    if (writer.size > capacity) return false;
    *out = (afc_url_field){{text, name_size}, {text + name_size, writer.size - name_size}};
    *rest = tail;
    return true;
}

size_t afc_url_append_query(char *out, size_t capacity, afc_slice url, afc_slice query) {
    text_writer writer = {out, capacity, 0};
    afc_slice address = url;
    afc_slice fragment = cut_after(&address, '#');
    put(&writer, address);
    afc_slice former = cut_after(&address, '?');
    if (query.size != 0) {
        bool is_open = former.size == 0 || former.bytes[former.size - 1] == '&';
        if (former.bytes == NULL)
            put(&writer, afc_slice_of("?"));
        else if (!is_open)
            put(&writer, afc_slice_of("&"));
        put(&writer, query);
    }
    put_after(&writer, "#", fragment);
    return writer.size;
}
