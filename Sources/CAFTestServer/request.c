#include "internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK_LINE_LIMIT 4096

static int refuse(afts_conn *conn, int status) {
    afts__respond(conn, status, "Connection: close", 0, NULL, 0, 0);
    return -ECONNRESET;
}

// Reads up to and including the empty line, and skips empty lines before the request.
static int read_lines(afts_conn *conn, afts__buf *head) {
    size_t line = 0;
    for (;;) {
        ssize_t available = afts__fill(conn);
        if (available <= 0) {
            return available < 0 ? (int)available : afts__ended(conn);
        }
        const uint8_t *at = conn->input + conn->input_at;
        const uint8_t *newline = memchr(at, '\n', (size_t)available);
        size_t n = newline ? (size_t)(newline - at) + 1 : (size_t)available;
        conn->input_at += n;
        if (n > conn->server->options.head_limit - head->len) {
            return refuse(conn, 431);
        }
        if (afts__buf_append(head, at, n) != 0) {
            return -ENOMEM;
        }
        if (!newline) {
            continue;
        }
        size_t len = head->len - line;
        bool empty = len == 1 || (len == 2 && head->data[line] == '\r');
        if (empty && line > 0) {
            return 0;
        }
        head->len = empty ? 0 : head->len;
        line = head->len;
    }
}

static void begin_request(afts_conn *conn, afts__request *request) {
    if (conn->request && !conn->request->recorded) {
        afts__request_free(conn->request);
    }
    conn->request = request;
    conn->framing = AFTS__NO_BODY;
    conn->body_left = 0;
    conn->in_chunks = false;
    conn->mute_body = false;
}

static int understand(afts_conn *conn, afts__request *request) {
    int result = afts__parse_head(request);
    if (result == 0) {
        result = afts__parse_framing(&request->seen, &conn->framing, &conn->body_left);
    }
    if (result != 0) {
        return result == -EINVAL ? refuse(conn, 400) : result;
    }
    conn->mute_body = strcmp(request->seen.method, "HEAD") == 0;
    conn->close_after = !afts__keeps_alive(&request->seen);
    request->seen.connection = conn->record->seen.index;
    pthread_mutex_lock(&conn->server->lock);
    request->seen.number = conn->record->seen.requests++;
    pthread_mutex_unlock(&conn->server->lock);
    request->seen.body_complete = conn->framing == AFTS__NO_BODY ||
                                  (conn->framing == AFTS__BY_LENGTH && conn->body_left == 0);
    return 0;
}

int afts__read_head(afts_conn *conn) {
    begin_request(conn, NULL);
    afts__request *request = calloc(1, sizeof *request);
    if (!request) {
        return -ENOMEM;
    }
    int result = read_lines(conn, &request->head);
    if (result == 0) {
        result = understand(conn, request);
    }
    if (result != 0) {
        afts__request_free(request);
        return result;
    }
    conn->request = request;
    return 0;
}

static void append_body(afts_conn *conn, const uint8_t *bytes, size_t len) {
    afts__request *request = conn->request;
    afts_server *server = conn->server;
    pthread_mutex_lock(&server->lock);
    size_t room = server->options.body_limit - request->body.len;
    if (afts__buf_append(&request->body, bytes, len < room ? len : room) == 0) {
        request->seen.body = request->body.data;
        request->seen.body_len = request->body.len;
    }
    request->seen.body_total += len;
    pthread_mutex_unlock(&server->lock);
}

static ssize_t complete_body(afts_conn *conn) {
    pthread_mutex_lock(&conn->server->lock);
    conn->request->seen.body_complete = true;
    pthread_mutex_unlock(&conn->server->lock);
    return 0;
}

// Reads a line of the chunked coding, without its end, as a string: its length or a negative errno.
static ssize_t read_line(afts_conn *conn, char *line, size_t size) {
    size_t len = 0;
    for (;;) {
        ssize_t available = afts__fill(conn);
        if (available <= 0) {
            return available < 0 ? available : afts__ended(conn);
        }
        char c = (char)conn->input[conn->input_at++];
        if (c == '\n') {
            len -= len > 0 && line[len - 1] == '\r';
            line[len] = 0;
            return (ssize_t)len;
        }
        if (len + 1 == size) {
            return refuse(conn, 400);
        }
        line[len++] = c;
    }
}

static ssize_t skip_trailers(afts_conn *conn) {
    char line[CHUNK_LINE_LIMIT];
    ssize_t len;
    do {
        len = read_line(conn, line, sizeof line);
    } while (len > 0);
    return len < 0 ? len : complete_body(conn);
}

// Goes to the next chunk: 1, 0 behind the last one, or a negative errno.
static ssize_t next_chunk(afts_conn *conn) {
    char line[CHUNK_LINE_LIMIT];
    ssize_t len = conn->in_chunks ? read_line(conn, line, sizeof line) : 0;
    if (len > 0) {
        return refuse(conn, 400);
    }
    len = len < 0 ? len : read_line(conn, line, sizeof line);
    if (len < 0) {
        return len;
    }
    if (!afts__parse_number(line, strcspn(line, "; \t"), 16, &conn->body_left)) {
        return refuse(conn, 400);
    }
    conn->in_chunks = true;
    return conn->body_left > 0 ? 1 : skip_trailers(conn);
}

ssize_t afts__read_body_some(afts_conn *conn, size_t max) {
    if (!conn->request || conn->request->seen.body_complete) {
        return 0;
    }
    if (conn->framing == AFTS__BY_CHUNKS && conn->body_left == 0) {
        ssize_t result = next_chunk(conn);
        if (result <= 0) {
            return result;
        }
    }
    ssize_t available = afts__fill(conn);
    if (available <= 0) {
        return available < 0 ? available : afts__ended(conn);
    }
    size_t n = (size_t)available < max ? (size_t)available : max;
    n = n < conn->body_left ? n : (size_t)conn->body_left;
    append_body(conn, conn->input + conn->input_at, n);
    conn->input_at += n;
    conn->body_left -= n;
    if (conn->framing == AFTS__BY_LENGTH && conn->body_left == 0) {
        complete_body(conn);
    }
    return (ssize_t)n;
}

int afts__read_body(afts_conn *conn) {
    ssize_t n;
    do {
        n = afts__read_body_some(conn, SIZE_MAX);
    } while (n > 0);
    return (int)n;
}

int afts__continue(afts_conn *conn) {
    const afts_request *seen = &conn->request->seen;
    const char *expectation = afts_request_header(seen, "Expect");
    bool waits = expectation && afts__has_token(expectation, strlen(expectation), "100-continue");
    if (!waits || seen->body_complete || conn->server->options.no_auto_continue) {
        return 0;
    }
    return afts__interim(conn, 100, NULL);
}

int afts_conn_read_body(afts_conn *conn) {
    return afts__read_body(conn);
}

void afts__request_free(afts__request *request) {
    if (request) {
        afts__buf_free(&request->head);
        afts__buf_free(&request->body);
        free(request->text);
        free(request->headers);
        free(request);
    }
}
