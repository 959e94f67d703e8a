#include "internal.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The length of the UTF-8 sequence at `at`, 0 if it is none.
static size_t utf8_length(const uint8_t *at, size_t left) {
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t len = at[0] < 0x80 ? 1 : at[0] < 0xC2 ? 0 : at[0] < 0xE0 ? 2 : at[0] < 0xF0 ? 3 : 4;
    if (at[0] >= 0xF5) {
        return 0;
    }
    if (len <= 1 || len > left) {
        return len == 1 ? 1 : 0;
    }
    uint32_t scalar = at[0] & (0xFFu >> (len + 1));
    for (size_t i = 1; i < len; i++) {
        if ((at[i] & 0xC0) != 0x80) {
            return 0;
        }
        scalar = scalar << 6 | (at[i] & 0x3F);
    }
    bool surrogate = scalar >= 0xD800 && scalar <= 0xDFFF;
    return scalar < smallest[len] || scalar > 0x10FFFF || surrogate ? 0 : len;
}

static bool is_utf8(const uint8_t *bytes, size_t len) {
    for (size_t i = 0; i < len;) {
        size_t n = utf8_length(bytes + i, len - i);
        if (n == 0) {
            return false;
        }
        i += n;
    }
    return true;
}

// A JSON string. Bytes above 0x7F are UTF-8 that is passed on, or else Latin-1.
static int append_string(afts__buf *out, const void *bytes, size_t len, bool utf8) {
    const uint8_t *at = bytes;
    int failed = afts__buf_text(out, "\"");
    for (size_t i = 0; i < len; i++) {
        char escaped[8];
        if (at[i] == '"' || at[i] == '\\') {
            snprintf(escaped, sizeof escaped, "\\%c", at[i]);
        } else if (at[i] < 0x20 || at[i] == 0x7F || (at[i] > 0x7F && !utf8)) {
            snprintf(escaped, sizeof escaped, "\\u%04x", at[i]);
        } else {
            failed |= afts__buf_append(out, &at[i], 1);
            continue;
        }
        failed |= afts__buf_text(out, escaped);
    }
    return failed | afts__buf_text(out, "\"");
}

static int append_member(afts__buf *out, const char *name, const char *text) {
    return afts__buf_text(out, name) | append_string(out, text, strlen(text), false);
}

static int append_headers(afts__buf *out, const afts_request *seen) {
    int failed = afts__buf_text(out, ",\"headers\":[");
    for (size_t i = 0; i < seen->header_count; i++) {
        const afts_header *header = &seen->headers[i];
        failed |= afts__buf_text(out, i > 0 ? ",[" : "[");
        failed |= append_string(out, header->name, header->name_len, false);
        failed |= afts__buf_text(out, ",");
        failed |= append_string(out, header->value, header->value_len, false);
        failed |= afts__buf_text(out, "]");
    }
    return failed | afts__buf_text(out, "]");
}

static int append_base64(afts__buf *out, const uint8_t *bytes, size_t len) {
    if (len > INT_MAX / 2) {
        return -ENOMEM;
    }
    unsigned char *text = malloc((len + 2) / 3 * 4 + 1);
    if (!text) {
        return -ENOMEM;
    }
    EVP_EncodeBlock(text, bytes, (int)len);
    int failed = append_member(out, ",\"bodyBase64\":", (char *)text);
    free(text);
    return failed;
}

static int append_body(afts__buf *out, const afts_request *seen) {
    char length[64];
    snprintf(length, sizeof length, ",\"bodyLength\":%" PRIu64, seen->body_total);
    int failed = afts__buf_text(out, length);
    if (!is_utf8(seen->body, seen->body_len)) {
        return failed | append_base64(out, seen->body, seen->body_len);
    }
    return failed | afts__buf_text(out, ",\"body\":") |
           append_string(out, seen->body, seen->body_len, true);
}

int afts__echo(afts_conn *conn) {
    if (!conn->request) {
        return -EINVAL;
    }
    const afts_request *seen = &conn->request->seen;
    char connection[64];
    snprintf(connection, sizeof connection, "{\"connection\":%zu", seen->connection);
    afts__buf out = {0};
    int failed = afts__buf_text(&out, connection) |
                 append_member(&out, ",\"method\":", seen->method) |
                 append_member(&out, ",\"target\":", seen->target) |
                 append_member(&out, ",\"version\":", seen->version) | append_headers(&out, seen) |
                 append_body(&out, seen) | afts__buf_text(&out, "}");
    int result = failed ? -ENOMEM
                        : afts__respond(conn, 200, "Content-Type: application/json", out.len,
                                        out.data, out.len, 1);
    afts__buf_free(&out);
    return result;
}
