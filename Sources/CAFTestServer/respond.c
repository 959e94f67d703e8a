#include "internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static const char *reason_phrase(int status) {
    static const struct {
        int status;
        const char *phrase;
    } phrases[] = {
        {100, "Continue"},
        {101, "Switching Protocols"},
        {103, "Early Hints"},
        {200, "OK"},
        {201, "Created"},
        {202, "Accepted"},
        {204, "No Content"},
        {206, "Partial Content"},
        {301, "Moved Permanently"},
        {302, "Found"},
        {303, "See Other"},
        {304, "Not Modified"},
        {307, "Temporary Redirect"},
        {308, "Permanent Redirect"},
        {400, "Bad Request"},
        {401, "Unauthorized"},
        {403, "Forbidden"},
        {404, "Not Found"},
        {407, "Proxy Authentication Required"},
        {416, "Range Not Satisfiable"},
        {417, "Expectation Failed"},
        {429, "Too Many Requests"},
        {431, "Request Header Fields Too Large"},
        {500, "Internal Server Error"},
        {502, "Bad Gateway"},
        {503, "Service Unavailable"},
    };
    for (size_t i = 0; i < sizeof phrases / sizeof *phrases; i++) {
        if (phrases[i].status == status) {
            return phrases[i].phrase;
        }
    }
    return "";
}

// The value of a field in header lines, up to the end of its line.
static const char *field_value(const char *headers, const char *name, size_t *len) {
    size_t name_len = strlen(name);
    for (const char *line = headers; line && *line;) {
        size_t line_len = strcspn(line, "\r\n");
        if (line_len > name_len && line[name_len] == ':' &&
            strncasecmp(line, name, name_len) == 0) {
            *len = line_len - name_len - 1;
            return line + name_len + 1;
        }
        line += line_len;
        line += strspn(line, "\r\n");
    }
    return NULL;
}

// Appends status line and fields, without the empty line.
static int append_head(afts__buf *out, int status, const char *headers) {
    char line[96];
    snprintf(line, sizeof line, "HTTP/1.1 %03d %s\r\n", status, reason_phrase(status));
    int failed = afts__buf_text(out, line);
    if (headers && *headers) {
        size_t len = strlen(headers);
        bool ended = len > 1 && strcmp(headers + len - 2, "\r\n") == 0;
        failed |= afts__buf_text(out, headers) | afts__buf_text(out, ended ? "" : "\r\n");
    }
    return failed ? -ENOMEM : 0;
}

static void note_close(afts_conn *conn, const char *headers) {
    size_t len = 0;
    const char *value = field_value(headers, "Connection", &len);
    if (value && afts__has_token(value, len, "close")) {
        conn->close_after = true;
    }
}

static bool has_no_body(const afts_conn *conn, int status) {
    return conn->mute_body || status < 200 || status == 204 || status == 304;
}

static int append_length(afts__buf *out, int status, const char *headers, uint64_t promised) {
    size_t len;
    char line[64] = "";
    if (promised != AFTS_FOREVER && status >= 200 && status != 204 && status != 304 &&
        !field_value(headers, "Content-Length", &len) &&
        !field_value(headers, "Transfer-Encoding", &len)) {
        snprintf(line, sizeof line, "Content-Length: %" PRIu64 "\r\n", promised);
    }
    return afts__buf_text(out, line) | afts__buf_text(out, "\r\n");
}

int afts__respond(afts_conn *conn, int status, const char *headers, uint64_t promised,
                  const void *block, size_t len, uint64_t count) {
    afts__buf out = {0};
    int failed = append_head(&out, status, headers) |
                 append_length(&out, status, headers, promised);
    bool silent = has_no_body(conn, status);
    note_close(conn, headers);
    // One segment for a small answer: clients then see it whole, as from most servers.
    bool together = count == 1 && len <= AFTS__INPUT_SIZE;
    if (!failed && !silent && together) {
        failed = afts__buf_append(&out, block, len);
    }
    int result = failed ? -ENOMEM : afts__write(conn, out.data, out.len);
    afts__buf_free(&out);
    if (result == 0 && !silent && !together) {
        result = afts__write_repeated(conn, block, len, count);
    }
    conn->close_after |= promised == AFTS_FOREVER;
    return result;
}

int afts__respond_chunked(afts_conn *conn, int status, const char *headers) {
    afts__buf out = {0};
    int failed = append_head(&out, status, headers) |
                 afts__buf_text(&out, "Transfer-Encoding: chunked\r\n\r\n");
    note_close(conn, headers);
    conn->mute_body = has_no_body(conn, status);
    int result = failed ? -ENOMEM : afts__write(conn, out.data, out.len);
    afts__buf_free(&out);
    return result;
}

int afts__interim(afts_conn *conn, int status, const char *headers) {
    afts__buf out = {0};
    int failed = append_head(&out, status, headers) | afts__buf_text(&out, "\r\n");
    int result = failed ? -ENOMEM : afts__write(conn, out.data, out.len);
    afts__buf_free(&out);
    return result;
}

int afts__chunk(afts_conn *conn, const void *bytes, size_t len, uint64_t count) {
    if (len == 0 || conn->mute_body) {
        return 0;
    }
    char size[32];
    afts__buf out = {0};
    snprintf(size, sizeof size, "%zx\r\n", len);
    int failed = afts__buf_text(&out, size) | afts__buf_append(&out, bytes, len) |
                 afts__buf_text(&out, "\r\n");
    int result = failed ? -ENOMEM : afts__write_repeated(conn, out.data, out.len, count);
    afts__buf_free(&out);
    return result;
}

int afts__last_chunk(afts_conn *conn, const char *trailers) {
    if (conn->mute_body) {
        return 0;
    }
    afts__buf out = {0};
    int failed = afts__buf_text(&out, "0\r\n");
    if (trailers && *trailers) {
        failed |= afts__buf_text(&out, trailers) | afts__buf_text(&out, "\r\n");
    }
    failed |= afts__buf_text(&out, "\r\n");
    int result = failed ? -ENOMEM : afts__write(conn, out.data, out.len);
    afts__buf_free(&out);
    return result;
}

static int write_blocks(afts_conn *conn, const void *block, size_t len, uint64_t count) {
    int result = 0;
    for (uint64_t i = 0; result == 0 && (i < count || count == AFTS_FOREVER); i++) {
        result = afts__write(conn, block, len);
    }
    return result;
}

int afts__write_repeated(afts_conn *conn, const void *block, size_t len, uint64_t count) {
    if (len == 0 || count == 0) {
        return 0;
    }
    uint64_t per_write = AFTS__OUTPUT_SIZE / len;
    if (count == 1 || per_write < 2) {
        return write_blocks(conn, block, len, count);
    }
    // Small blocks go out many at a time.
    if (per_write > count) {
        per_write = count;
    }
    afts__buf many = {0};
    int result = 0;
    for (uint64_t i = 0; result == 0 && i < per_write; i++) {
        result = afts__buf_append(&many, block, len);
    }
    uint64_t writes = count == AFTS_FOREVER ? AFTS_FOREVER : count / per_write;
    uint64_t rest = count == AFTS_FOREVER ? 0 : count % per_write;
    if (result == 0) {
        result = write_blocks(conn, many.data, many.len, writes);
    }
    if (result == 0 && rest > 0) {
        result = afts__write(conn, many.data, (size_t)rest * len);
    }
    afts__buf_free(&many);
    return result;
}

int afts_conn_respond(afts_conn *conn, int status, const char *headers, const void *body,
                      size_t len) {
    return afts__respond(conn, status, headers, len, body, body ? len : 0, 1);
}

int afts_conn_chunk(afts_conn *conn, const void *bytes, size_t len) {
    return afts__chunk(conn, bytes, len, 1);
}
