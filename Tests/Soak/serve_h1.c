/* Responses over HTTP/1.1, byte by byte: the test server's own ones are always well-formed. */
#include "servers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct reply {
    afts_conn *conn;
    const afts_request *request;
    soak_plan plan;
    char *body; /**< The plan's response body. */
} reply;

static void send_text(const reply *reply, const char *text) {
    afts_conn_send(reply->conn, text, strlen(text));
}

static void send_body(const reply *reply) {
    afts_conn_send(reply->conn, reply->body, reply->plan.response_size);
}

/** A head with Content-Length and these further lines, each ended by CRLF. */
static void send_head(const reply *reply, size_t length, const char *lines) {
    char head[256];
    snprintf(head, sizeof head, "HTTP/1.1 200 OK\r\nETag: \"%x\"\r\n%sContent-Length: %zu\r\n\r\n",
             reply->plan.id, lines, length);
    send_text(reply, head);
}

typedef void (*builder)(afts_script *script);

/** Runs the one step that `build` adds. */
static void run_step(const reply *reply, builder build) {
    afts_script *script = afts_script_new();
    build(script);
    afts_conn_run(reply->conn, script);
    afts_script_release(script);
}

static void send_plainly(const reply *reply) {
    send_head(reply, reply->plan.response_size, "");
    send_body(reply);
}

static void send_chunks(const reply *reply, bool is_complete) {
    size_t size = reply->plan.response_size, step = size / 3 + 1;
    send_text(reply, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (size_t at = 0; at < size; at += step) {
        size_t count = size - at < step ? size - at : step;
        afts_conn_chunk(reply->conn, reply->body + at, count);
    }
    if (is_complete) send_text(reply, "0\r\nX-Trailer: 1\r\n\r\n");
}

/* ---- gzip (RFC 1952) with stored blocks (RFC 1951 3.2.4): no compressor is needed ---------- */

static uint32_t crc_of(const char *bytes, size_t size) {
    uint32_t crc = 0xffffffff;
    for (size_t i = 0; i < size; i++) {
        crc ^= (unsigned char)bytes[i];
        for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
    }
    return ~crc;
}

static size_t put_little(unsigned char *out, uint32_t number, int bytes) {
    for (int i = 0; i < bytes; i++) out[i] = (unsigned char)(number >> 8 * i);
    return (size_t)bytes;
}

static void send_gzip(const reply *reply) {
    enum { BLOCK = 60000 };
    size_t left = reply->plan.response_size, at = 0;
    unsigned char *out = malloc(left + (left / BLOCK + 1) * 5 + 18);
    if (out == NULL) give_up("out of memory");
    memcpy(out, "\x1f\x8b\x08\0\0\0\0\0\0\xff", 10);
    size_t size = 10;
    do {
        size_t block = left < BLOCK ? left : BLOCK;
        left -= block;
        out[size++] = left == 0;
        size += put_little(out + size, (uint32_t)block, 2);
        size += put_little(out + size, ~(uint32_t)block, 2);
        memcpy(out + size, reply->body + at, block);
        size += block;
        at += block;
    } while (left > 0);
    size += put_little(out + size, crc_of(reply->body, at), 4);
    size += put_little(out + size, (uint32_t)at, 4);
    send_head(reply, size, "Content-Encoding: gzip\r\n");
    afts_conn_send(reply->conn, out, size);
    free(out);
}

/* ---- Behaviours ---------------------------------------------------------------------------- */

static void send_slowly(const reply *reply) {
    size_t size = reply->plan.response_size, step = size / 8 + 1;
    send_head(reply, size, "");
    for (size_t at = 0; at < size; at += step) {
        afts_conn_pause(reply->conn, 1);
        afts_conn_send(reply->conn, reply->body + at, size - at < step ? size - at : step);
    }
}

static void redirect(const reply *reply) {
    soak_plan next = reply->plan;
    int status = next.id % 2 == 0 ? 307 : 303;
    next.behaviour = SENDS_LENGTH;
    if (reply->plan.behaviour == REDIRECTS_FOR_EVER) {
        next.behaviour = REDIRECTS_FOR_EVER;
        status = 302;
    }
    /* What follows a 302 or 303 is a GET without a body. */
    if (status != 307) next.request_size = 0;
    char target[PLAN_TEXT_SIZE], head[256];
    plan_write(&next, target);
    snprintf(head, sizeof head,
             "HTTP/1.1 %d Elsewhere\r\nLocation: /soak/%s\r\nContent-Length: 4\r\n\r\nmove", status,
             target);
    send_text(reply, head);
}

static void ask_for_password(const reply *reply) {
    if (afts_request_header(reply->request, "Authorization") != NULL) {
        send_plainly(reply);
    } else {
        send_text(reply, "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"soak\"\r\n"
                         "Content-Length: 3\r\n\r\nwho");
    }
}

/**
 * A response with more bytes behind it, which another task would take for its own response if the
 * connection were used again. All in one write: no client can know of bytes that come later.
 */
static void send_too_much(const reply *reply, const char *more) {
    char all[TOO_MUCH_MOST + 512];
    size_t size = reply->plan.response_size;
    int head = snprintf(all, 256, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n", size);
    if (size > TOO_MUCH_MOST) give_up("a response is too long for one write");
    memcpy(all + head, reply->body, size);
    memcpy(all + head + size, more, strlen(more));
    afts_conn_send(reply->conn, all, (size_t)head + size + strlen(more));
}

static void respond(const reply *reply) {
    size_t half = reply->plan.response_size / 2;
    switch (reply->plan.behaviour) {
    case SENDS_CHUNKS:
        send_chunks(reply, true);
        break;
    case SENDS_GZIP:
        send_gzip(reply);
        break;
    case SENDS_SLOWLY:
        send_slowly(reply);
        break;
    case SENDS_UNTIL_CLOSE:
        send_text(reply, "HTTP/1.1 200 OK\r\n\r\n");
        send_body(reply);
        run_step(reply, afts_close);
        break;
    case SENDS_CONNECTION_CLOSE:
        send_head(reply, reply->plan.response_size, "Connection: close\r\n");
        send_body(reply);
        run_step(reply, afts_close);
        break;
    case SENDS_EARLY_HINTS:
        send_text(reply, "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n");
        send_plainly(reply);
        break;
    case SENDS_NO_CONTENT:
        send_text(reply, "HTTP/1.1 204 No Content\r\n\r\n");
        break;
    case CLOSES_SILENTLY:
        send_plainly(reply);
        run_step(reply, afts_close);
        break;
    case REDIRECTS:
    case REDIRECTS_FOR_EVER:
        redirect(reply);
        break;
    case ASKS_FOR_PASSWORD:
        ask_for_password(reply);
        break;
    case TRUNCATES_LENGTH:
        send_head(reply, reply->plan.response_size + 1, "");
        send_body(reply);
        run_step(reply, afts_close);
        break;
    case TRUNCATES_CHUNKS:
        send_chunks(reply, false);
        run_step(reply, afts_close);
        break;
    case RESETS_AT_ONCE:
        run_step(reply, afts_reset);
        break;
    case RESETS_IN_BODY:
        send_head(reply, reply->plan.response_size + 1, "");
        afts_conn_send(reply->conn, reply->body, half);
        run_step(reply, afts_reset);
        break;
    case SENDS_NO_HTTP:
        send_text(reply, "220 mail.example ESMTP\r\n\r\n");
        run_step(reply, afts_close);
        break;
    case SENDS_BROKEN_GZIP:
        send_head(reply, 13, "Content-Encoding: gzip\r\n");
        send_text(reply, "\x1f\x8b\x08not gzip..");
        break;
    case STALLS:
        run_step(reply, afts_wait_peer_close);
        break;
    case SENDS_SECOND_RESPONSE:
        send_too_much(reply, "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison");
        break;
    case SENDS_GARBAGE_AFTER:
        send_too_much(reply, "\r\ngarbage");
        break;
    case SENDS_FOLDED_LINE:
        send_text(reply, "HTTP/1.1 200 OK\r\n\tfolded: 1\r\nConnection: close\r\n\r\n");
        send_body(reply);
        run_step(reply, afts_close);
        break;
    default:
        send_plainly(reply);
        break;
    }
}

static bool reads_upload(const reply *reply) {
    if (reply->plan.behaviour == RESPONDS_EARLY) return false;
    return reply->plan.behaviour != RESETS_AT_ONCE || reply->plan.id % 2 == 0;
}

/** False if the client left, or if the response is that the upload was wrong. */
static bool take_upload(const reply *reply) {
    const afts_request *request = reply->request;
    if (afts_request_header(request, "Expect") != NULL) {
        send_text(reply, "HTTP/1.1 100 Continue\r\n\r\n");
    }
    if (afts_conn_read_body(reply->conn) != 0) return false;
    if (request->body_total == reply->plan.request_size &&
        is_body(request->body, request_body_id(&reply->plan), 0, request->body_size)) {
        return true;
    }
    send_text(reply, "HTTP/1.1 500 Wrong Upload\r\nContent-Length: 0\r\n\r\n");
    return false;
}

void serve_h1(afts_conn *conn, const struct afts_request *request, void *payload) {
    reply reply = {.conn = conn, .request = request};
    (void)payload;
    const char *text = strstr(request->target, "/soak/");
    if (text == NULL || !plan_read(&reply.plan, text + 6)) give_up("a request without a plan");
    if (reply.plan.request_size > 0 && reads_upload(&reply) && !take_upload(&reply)) return;
    reply.body = malloc(reply.plan.response_size + 1);
    if (reply.body == NULL) give_up("out of memory");
    fill_body(reply.body, reply.plan.id, 0, reply.plan.response_size);
    respond(&reply);
    free(reply.body);
}
