#include "http/response.h"

#include <inttypes.h>
#include <limits.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** The length of the UTF-8 sequence at `at`; 0 if it is invalid. */
static size_t utf8_length(const uint8_t *at, size_t left) {
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t size = at[0] < 0x80 ? 1 : at[0] < 0xC2 ? 0 : at[0] < 0xE0 ? 2 : at[0] < 0xF0 ? 3 : 4;
    if (at[0] >= 0xF5) return 0;
    if (size <= 1 || size > left) return size == 1 ? 1 : 0;
    uint32_t scalar = at[0] & (0xFFu >> (size + 1));
    for (size_t i = 1; i < size; i++) {
        if ((at[i] & 0xC0) != 0x80) return 0;
        scalar = scalar << 6 | (at[i] & 0x3F);
    }
    bool surrogate = scalar >= 0xD800 && scalar <= 0xDFFF;
    return scalar < smallest[size] || scalar > 0x10FFFF || surrogate ? 0 : size;
}

static bool is_utf8(const uint8_t *bytes, size_t size) {
    for (size_t i = 0; i < size;) {
        size_t n = utf8_length(bytes + i, size - i);
        if (n == 0) return false;
        i += n;
    }
    return true;
}

/** Appends a JSON string. Bytes above 0x7F are UTF-8, passed on, or else Latin-1. */
static void append_string(afts__buffer *out, const void *bytes, size_t size, bool is_text) {
    const uint8_t *at = bytes;
    afts__buffer_append_text(out, "\"");
    for (size_t i = 0; i < size; i++) {
        char escaped[8];
        if (at[i] == '"' || at[i] == '\\') {
            snprintf(escaped, sizeof escaped, "\\%c", at[i]);
        } else if (at[i] < 0x20 || at[i] == 0x7F || (at[i] > 0x7F && !is_text)) {
            snprintf(escaped, sizeof escaped, "\\u%04x", at[i]);
        } else {
            afts__buffer_append(out, &at[i], 1);
            continue;
        }
        afts__buffer_append_text(out, escaped);
    }
    afts__buffer_append_text(out, "\"");
}

static void append_member(afts__buffer *out, const char *name, const char *text) {
    afts__buffer_append_text(out, name);
    append_string(out, text, strlen(text), false);
}

static void append_headers(afts__buffer *out, const afts_request *seen) {
    afts__buffer_append_text(out, ",\"headers\":[");
    for (size_t i = 0; i < seen->header_count; i++) {
        const afts_header *header = &seen->headers[i];
        afts__buffer_append_text(out, i > 0 ? ",[" : "[");
        append_string(out, header->name, header->name_size, false);
        afts__buffer_append_text(out, ",");
        append_string(out, header->value, header->value_size, false);
        afts__buffer_append_text(out, "]");
    }
    afts__buffer_append_text(out, "]");
}

static void append_base64(afts__buffer *out, const uint8_t *bytes, size_t size) {
    unsigned char *text = size <= INT_MAX / 2 ? malloc((size + 2) / 3 * 4 + 1) : NULL;
    if (text == NULL) {
        out->is_invalid = true;
        return;
    }
    EVP_EncodeBlock(text, bytes, (int)size);
    append_member(out, ",\"bodyBase64\":", (char *)text);
    free(text);
}

static void append_body(afts__buffer *out, const afts_request *seen) {
    char length[64];
    snprintf(length, sizeof length, ",\"bodyLength\":%" PRIu64, seen->body_total);
    afts__buffer_append_text(out, length);
    if (!is_utf8(seen->body, seen->body_size)) {
        append_base64(out, seen->body, seen->body_size);
        return;
    }
    afts__buffer_append_text(out, ",\"body\":");
    append_string(out, seen->body, seen->body_size, true);
}

afts_status afts__echo(afts_conn *conn) {
    if (conn->request == NULL) return AFTS_EINVAL;
    const afts_request *seen = &conn->request->seen;
    char connection[64];
    snprintf(connection, sizeof connection, "{\"connection\":%zu", seen->connection);
    afts__buffer out = {0};
    afts__buffer_append_text(&out, connection);
    append_member(&out, ",\"method\":", seen->method);
    append_member(&out, ",\"target\":", seen->target);
    append_member(&out, ",\"version\":", seen->version);
    append_headers(&out, seen);
    append_body(&out, seen);
    afts__buffer_append_text(&out, "}");
    afts_status status = AFTS_ENOMEM;
    if (!out.is_invalid) {
        status = afts__respond(conn, 200, "Content-Type: application/json", out.size, out.bytes,
                               out.size, 1);
    }
    afts__buffer_clear(&out);
    return status;
}
