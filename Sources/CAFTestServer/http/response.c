#include "http/response.h"

#include "connection/io.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static const char *reason_phrase(int code) {
    static const struct {
        int code;
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
        if (phrases[i].code == code) return phrases[i].phrase;
    }
    return "";
}

/** The value of a field in header lines, up to the end of its line. */
static const char *field_value(const char *headers, const char *name, size_t *size) {
    size_t name_size = strlen(name);
    for (const char *line = headers; line != NULL && *line;) {
        size_t line_size = strcspn(line, "\r\n");
        if (line_size > name_size && line[name_size] == ':' &&
            strncasecmp(line, name, name_size) == 0) {
            *size = line_size - name_size - 1;
            return line + name_size + 1;
        }
        line += line_size;
        line += strspn(line, "\r\n");
    }
    return NULL;
}

/** Appends status line and fields, without the empty line. */
static void append_head(afts__buffer *out, int code, const char *headers) {
    char line[96];
    snprintf(line, sizeof line, "HTTP/1.1 %03d %s\r\n", code, reason_phrase(code));
    afts__buffer_append_text(out, line);
    if (headers == NULL || headers[0] == '\0') return;
    size_t size = strlen(headers);
    bool has_end = size > 1 && strcmp(headers + size - 2, "\r\n") == 0;
    afts__buffer_append_text(out, headers);
    if (!has_end) afts__buffer_append_text(out, "\r\n");
}

/** Sends what the buffer holds, `count` times, and clears it. */
static afts_status send_buffer(afts_conn *conn, afts__buffer *out, uint64_t count) {
    afts_status status = AFTS_ENOMEM;
    if (!out->is_invalid) status = afts__write_repeated(conn, out->bytes, out->size, count);
    afts__buffer_clear(out);
    return status;
}

static void apply_connection_header(afts_conn *conn, const char *headers) {
    size_t size = 0;
    const char *value = field_value(headers, "Connection", &size);
    if (value != NULL && afts__has_token(value, size, "close")) conn->close_after = true;
}

/** A successful response to CONNECT has no body: the tunnel follows its head (RFC 9110 9.3.6). */
static bool code_has_body(const afts_conn *conn, int code) {
    return code >= 200 && code != 204 && code != 304 && !(conn->is_connect && code < 300);
}

static void append_length(const afts_conn *conn, afts__buffer *out, int code, const char *headers,
                          uint64_t promised) {
    size_t size;
    char line[64] = "";
    if (promised != AFTS_FOREVER && code_has_body(conn, code) &&
        field_value(headers, "Content-Length", &size) == NULL &&
        field_value(headers, "Transfer-Encoding", &size) == NULL) {
        snprintf(line, sizeof line, "Content-Length: %" PRIu64 "\r\n", promised);
    }
    afts__buffer_append_text(out, line);
    afts__buffer_append_text(out, "\r\n");
}

afts_status afts__respond(afts_conn *conn, int code, const char *headers, uint64_t promised,
                          const void *block, size_t size, uint64_t count) {
    afts__buffer out = {0};
    append_head(&out, code, headers);
    append_length(conn, &out, code, headers, promised);
    apply_connection_header(conn, headers);
    bool has_body = code_has_body(conn, code) && !conn->omits_body;
    /* One segment for a small response: clients then see it whole, as from most servers. */
    bool is_joined = count == 1 && size <= AFTS__INPUT_SIZE;
    if (has_body && is_joined) afts__buffer_append(&out, block, size);
    afts_status status = send_buffer(conn, &out, 1);
    if (status == AFTS_OK && has_body && !is_joined) {
        status = afts__write_repeated(conn, block, size, count);
    }
    conn->close_after |= promised == AFTS_FOREVER;
    return status;
}

afts_status afts__respond_chunked(afts_conn *conn, int code, const char *headers) {
    afts__buffer out = {0};
    append_head(&out, code, headers);
    afts__buffer_append_text(&out, "Transfer-Encoding: chunked\r\n\r\n");
    apply_connection_header(conn, headers);
    conn->omits_body |= !code_has_body(conn, code);
    return send_buffer(conn, &out, 1);
}

afts_status afts__interim(afts_conn *conn, int code, const char *headers) {
    afts__buffer out = {0};
    append_head(&out, code, headers);
    afts__buffer_append_text(&out, "\r\n");
    bool had_answered = conn->has_answered;
    afts_status status = send_buffer(conn, &out, 1);
    /* 101 is a final response: another protocol follows. */
    if (code != 101) conn->has_answered = had_answered;
    return status;
}

afts_status afts__chunk(afts_conn *conn, const void *bytes, size_t size, uint64_t count) {
    if (size == 0 || conn->omits_body) return AFTS_OK;
    char line[32];
    afts__buffer out = {0};
    snprintf(line, sizeof line, "%zx\r\n", size);
    afts__buffer_append_text(&out, line);
    afts__buffer_append(&out, bytes, size);
    afts__buffer_append_text(&out, "\r\n");
    return send_buffer(conn, &out, count);
}

afts_status afts__last_chunk(afts_conn *conn, const char *trailers) {
    if (conn->omits_body) return AFTS_OK;
    afts__buffer out = {0};
    afts__buffer_append_text(&out, "0\r\n");
    if (trailers != NULL && trailers[0] != '\0') {
        afts__buffer_append_text(&out, trailers);
        afts__buffer_append_text(&out, "\r\n");
    }
    afts__buffer_append_text(&out, "\r\n");
    return send_buffer(conn, &out, 1);
}

static afts_status write_blocks(afts_conn *conn, const void *block, size_t size, uint64_t count) {
    afts_status status = AFTS_OK;
    for (uint64_t i = 0; status == AFTS_OK && (i < count || count == AFTS_FOREVER); i++) {
        status = afts__write(conn, block, size);
    }
    return status;
}

afts_status afts__write_repeated(afts_conn *conn, const void *block, size_t size, uint64_t count) {
    if (size == 0 || count == 0) return AFTS_OK;
    uint64_t per_write = AFTS__OUTPUT_SIZE / size;
    if (count == 1 || per_write < 2) return write_blocks(conn, block, size, count);
    /* Small blocks go out many at a time. */
    if (per_write > count) per_write = count;
    afts__buffer many = {0};
    for (uint64_t i = 0; i < per_write; i++) afts__buffer_append(&many, block, size);
    uint64_t writes = count == AFTS_FOREVER ? AFTS_FOREVER : count / per_write;
    uint64_t rest = count == AFTS_FOREVER ? 0 : count % per_write;
    afts_status status = AFTS_ENOMEM;
    if (!many.is_invalid) status = write_blocks(conn, many.bytes, many.size, writes);
    if (status == AFTS_OK && rest > 0) status = afts__write(conn, many.bytes, (size_t)rest * size);
    afts__buffer_clear(&many);
    return status;
}

afts_status afts_conn_respond(afts_conn *conn, int status, const char *headers, const void *body,
                              size_t size) {
    return afts__respond(conn, status, headers, size, body, body != NULL ? size : 0, 1);
}

afts_status afts_conn_chunk(afts_conn *conn, const void *bytes, size_t size) {
    return afts__chunk(conn, bytes, size, 1);
}
