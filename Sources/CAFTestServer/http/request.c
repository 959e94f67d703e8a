#include "http/request.h"

#include "connection/io.h"
#include "http/response.h"

#include <stdlib.h>
#include <string.h>

#define CHUNK_LINE_LIMIT 4096

afts_status afts__refuse(afts_conn *conn, int code, const char *why) {
    /* First, so that the reason is there as soon as the client has the response. */
    afts__record_refusal(conn, why);
    afts__respond(conn, code, "Connection: close", 0, NULL, 0, 0);
    return AFTS_ELOST;
}

/** Whether a client begins with the preface of HTTP/2 (RFC 9113 3.4). */
static bool is_http2(const afts_request *seen) {
    return strcmp(seen->method, "PRI") == 0 && strcmp(seen->target, "*") == 0 &&
           strcmp(seen->version, "HTTP/2.0") == 0;
}

/** Responds in HTTP/2: an empty SETTINGS frame, and GOAWAY with HTTP_1_1_REQUIRED (RFC 9113 6.8, 7). */
static afts_status refuse_http2(afts_conn *conn) {
    static const uint8_t frames[] = {0, 0, 0, 4, 0, 0, 0, 0, 0, /* SETTINGS */
                                     0, 0, 8, 7, 0, 0, 0, 0, 0, /* GOAWAY */
                                     0, 0, 0, 0, 0, 0, 0, 13};
    afts__record_refusal(conn, "HTTP/2, which the server doesn't speak");
    afts__write(conn, frames, sizeof frames);
    return AFTS_ELOST;
}

/* ---- The head ------------------------------------------------------------------------------- */

/** Reads up to and including the empty line, and skips empty lines before the request. */
static afts_status read_lines(afts_conn *conn, afts__buffer *head) {
    size_t line = 0;
    for (;;) {
        afts_status status = afts__fill(conn);
        if (status != AFTS_OK) return status;
        const uint8_t *at = conn->input + conn->input_at;
        size_t size = conn->input_end - conn->input_at;
        const uint8_t *newline = memchr(at, '\n', size);
        if (newline != NULL) size = (size_t)(newline - at) + 1;
        conn->input_at += size;
        if (size > conn->server->options.head_limit - head->size)
            return afts__refuse(conn, 431, "a head beyond the limit");
        afts__buffer_append(head, at, size);
        if (head->is_invalid) return AFTS_ENOMEM;
        if (newline == NULL) continue;
        size_t line_size = head->size - line;
        bool is_empty = line_size == 1 || (line_size == 2 && head->bytes[line] == '\r');
        if (is_empty && line > 0) return AFTS_OK;
        if (is_empty) head->size = 0;
        line = head->size;
    }
}

static void begin_request(afts_conn *conn) {
    afts__request_record_drop(conn->request);
    conn->request = NULL;
    conn->framing = AFTS__NO_BODY;
    conn->body_left = 0;
    conn->in_chunks = false;
    conn->omits_body = false;
    conn->is_connect = false;
    conn->has_answered = false;
}

static afts_status parse(afts_conn *conn, afts__request_record *record) {
    afts_request *seen = &record->seen;
    const char *why;
    afts_status status = afts__parse_head(record, &why);
    if (status == AFTS_OK) {
        if (is_http2(seen)) return refuse_http2(conn);
        if (strncmp(seen->version, "HTTP/1.", 7) != 0) {
            return afts__refuse(conn, 505, "a version other than HTTP/1");
        }
        why = afts__fault_of_hosts(seen);
        status = why != NULL ? AFTS_EINVAL
                             : afts__parse_framing(seen, &conn->framing, &conn->body_left, &why);
    }
    if (status != AFTS_OK) return status == AFTS_EINVAL ? afts__refuse(conn, 400, why) : status;
    conn->omits_body = strcmp(seen->method, "HEAD") == 0;
    conn->is_connect = strcmp(seen->method, "CONNECT") == 0;
    conn->close_after = !afts__keeps_alive(seen);
    seen->connection = conn->record->seen.index;
    pthread_mutex_lock(&conn->server->lock);
    seen->number = conn->record->seen.requests++;
    pthread_mutex_unlock(&conn->server->lock);
    seen->body_complete = conn->framing == AFTS__NO_BODY ||
                          (conn->framing == AFTS__BY_LENGTH && conn->body_left == 0);
    return AFTS_OK;
}

afts_status afts__read_head(afts_conn *conn) {
    begin_request(conn);
    afts__request_record *record = calloc(1, sizeof *record);
    if (record == NULL) return AFTS_ENOMEM;
    afts_status status = read_lines(conn, &record->head);
    if (status == AFTS_OK) status = parse(conn, record);
    if (status == AFTS_OK) {
        conn->request = record;
    } else {
        afts__request_record_drop(record);
    }
    return status;
}

/* ---- The body ------------------------------------------------------------------------------- */

static void append_body(afts_conn *conn, const uint8_t *bytes, size_t size) {
    afts__request_record *record = conn->request;
    afts_server *server = conn->server;
    pthread_mutex_lock(&server->lock);
    size_t available = server->options.body_limit - record->body.size;
    afts__buffer_append(&record->body, bytes, size < available ? size : available);
    record->seen.body = record->body.bytes;
    record->seen.body_size = record->body.size;
    record->seen.body_total += size;
    pthread_mutex_unlock(&server->lock);
}

static void complete_body(afts_conn *conn) {
    pthread_mutex_lock(&conn->server->lock);
    conn->request->seen.body_complete = true;
    pthread_mutex_unlock(&conn->server->lock);
}

/** Reads a line of the chunked coding, without its end, as a string. */
static afts_status read_line(afts_conn *conn, char line[CHUNK_LINE_LIMIT], size_t *size_out) {
    size_t size = 0;
    for (;;) {
        afts_status status = afts__fill(conn);
        if (status != AFTS_OK) return status;
        char c = (char)conn->input[conn->input_at++];
        if (c == '\n') {
            size -= size > 0 && line[size - 1] == '\r';
            line[size] = '\0';
            *size_out = size;
            return AFTS_OK;
        }
        if (size + 1 == CHUNK_LINE_LIMIT) {
            return afts__refuse(conn, 400, "a line of the chunked coding that is too long");
        }
        line[size++] = c;
    }
}

static afts_status skip_trailers(afts_conn *conn) {
    char line[CHUNK_LINE_LIMIT];
    size_t size;
    afts_status status;
    do {
        status = read_line(conn, line, &size);
    } while (status == AFTS_OK && size > 0);
    if (status == AFTS_OK) complete_body(conn);
    return status;
}

/** Goes to the next chunk; after the last one the body is complete. */
static afts_status next_chunk(afts_conn *conn) {
    char line[CHUNK_LINE_LIMIT];
    size_t size = 0;
    afts_status status = conn->in_chunks ? read_line(conn, line, &size) : AFTS_OK;
    if (status == AFTS_OK && size > 0) return afts__refuse(conn, 400, "a chunk without its end");
    if (status == AFTS_OK) status = read_line(conn, line, &size);
    if (status != AFTS_OK) return status;
    if (!afts__parse_number(line, strcspn(line, "; \t"), 16, &conn->body_left)) {
        return afts__refuse(conn, 400, "an invalid size of a chunk");
    }
    conn->in_chunks = true;
    return conn->body_left > 0 ? AFTS_OK : skip_trailers(conn);
}

afts_status afts__read_body_some(afts_conn *conn, size_t size, size_t *count) {
    *count = 0;
    if (conn->request == NULL || conn->request->seen.body_complete) return AFTS_OK;
    afts_status status = AFTS_OK;
    if (conn->framing == AFTS__BY_CHUNKS && conn->body_left == 0) status = next_chunk(conn);
    if (status != AFTS_OK || conn->request->seen.body_complete) return status;
    status = afts__fill(conn);
    if (status != AFTS_OK) return status;
    size_t available = conn->input_end - conn->input_at;
    if (available < size) size = available;
    if (conn->body_left < size) size = (size_t)conn->body_left;
    append_body(conn, conn->input + conn->input_at, size);
    conn->input_at += size;
    conn->body_left -= size;
    *count = size;
    if (conn->framing == AFTS__BY_LENGTH && conn->body_left == 0) complete_body(conn);
    return AFTS_OK;
}

afts_status afts__read_body(afts_conn *conn) {
    size_t count;
    afts_status status;
    do {
        status = afts__read_body_some(conn, SIZE_MAX, &count);
    } while (status == AFTS_OK && count > 0);
    return status;
}

afts_status afts__continue(afts_conn *conn) {
    const afts_request *seen = &conn->request->seen;
    const char *value = afts_request_header(seen, "Expect");
    bool waits = value != NULL && afts__has_token(value, strlen(value), "100-continue");
    if (!waits || seen->body_complete || conn->server->options.no_auto_continue) return AFTS_OK;
    return afts__interim(conn, 100, NULL);
}

const afts_request *afts_conn_request(const afts_conn *conn) {
    return conn->request != NULL ? &conn->request->seen : NULL;
}

afts_status afts_conn_read_body(afts_conn *conn) {
    return afts__read_body(conn);
}
