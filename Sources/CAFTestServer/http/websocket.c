#include "http/websocket.h"

#include "base/bytes.h"
#include "connection/ending.h"
#include "connection/io.h"
#include "http/head.h"
#include "http/request.h"
#include "http/response.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHA1_SIZE = 20, LONGEST_KEY = 128, OPCODE = 0x0f, MASKED = 0x80, LENGTH = 0x7f };

static const uint64_t longest_frame = 64 * 1024 * 1024;

/* ---- The upgrade --------------------------------------------------------------------------- */

/** Writes the value of Sec-WebSocket-Accept for a key (RFC 6455 4.2.2). */
static bool write_accept(char out[(SHA1_SIZE + 2) / 3 * 4 + 1], const char *key) {
    char text[LONGEST_KEY + 64];
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    if (strlen(key) > LONGEST_KEY) return false;
    snprintf(text, sizeof text, "%s258EAFA5-E914-47DA-95CA-C5AB0DC85B11", key);
    if (EVP_Digest(text, strlen(text), digest, &size, EVP_sha1(), NULL) != 1) return false;
    EVP_EncodeBlock((unsigned char *)out, digest, SHA1_SIZE);
    return true;
}

static bool has_token(const afts_request *request, const char *name, const char *token) {
    const char *value = afts_request_header(request, name);
    return value != NULL && afts__has_token(value, strlen(value), token);
}

/** Why a request doesn't open a WebSocket (RFC 6455 4.2.1); NULL if it does. */
static const char *fault_of_upgrade(const afts_request *request) {
    if (request == NULL || afts_request_header(request, "Sec-WebSocket-Key") == NULL) {
        return "an upgrade of a request without a Sec-WebSocket-Key";
    }
    const char *version = afts_request_header(request, "Sec-WebSocket-Version");
    if (!has_token(request, "Upgrade", "websocket") ||
        !has_token(request, "Connection", "upgrade")) {
        return "an upgrade of a request without Upgrade: websocket and Connection: Upgrade";
    }
    if (version == NULL || strcmp(version, "13") != 0) {
        return "an upgrade of a request without Sec-WebSocket-Version: 13";
    }
    return NULL;
}

afts_status afts__upgrade(afts_conn *conn, const char *headers) {
    char accept[(SHA1_SIZE + 2) / 3 * 4 + 1];
    char lines[128];
    const afts_request *request = conn->request != NULL ? &conn->request->seen : NULL;
    const char *why = fault_of_upgrade(request);
    if (why == NULL && !write_accept(accept, afts_request_header(request, "Sec-WebSocket-Key"))) {
        why = "an upgrade of a request with a Sec-WebSocket-Key that is too long";
    }
    if (why != NULL) return afts__refuse(conn, 400, why);
    snprintf(lines, sizeof lines,
             "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n", accept);
    afts__buffer all = {0};
    afts__buffer_append_text(&all, lines);
    if (headers != NULL) afts__buffer_append_text(&all, headers);
    afts__buffer_append(&all, "", 1);
    afts_status status = AFTS_ENOMEM;
    if (!all.is_invalid) status = afts__interim(conn, 101, (const char *)all.bytes);
    afts__buffer_clear(&all);
    return status;
}

/* ---- Frames -------------------------------------------------------------------------------- */

afts_status afts__send_frame(afts_conn *conn, uint8_t first, const void *bytes, size_t size) {
    uint8_t head[10] = {first};
    size_t head_size = 2;
    size_t length_bytes = size < 126 ? 0 : size <= UINT16_MAX ? 2 : 8;
    head[1] = (uint8_t)(length_bytes == 0 ? size : length_bytes == 2 ? 126 : 127);
    for (size_t i = 0; i < length_bytes; i++) {
        head[head_size++] = (uint8_t)((uint64_t)size >> 8 * (length_bytes - 1 - i));
    }
    afts__buffer frame = {0};
    afts__buffer_append(&frame, head, head_size);
    if (size > 0) afts__buffer_append(&frame, bytes, size);
    afts_status status = AFTS_ENOMEM;
    if (!frame.is_invalid) status = afts__write(conn, frame.bytes, frame.size);
    afts__buffer_clear(&frame);
    return status;
}

static afts_status read_exactly(afts_conn *conn, void *out, size_t size) {
    size_t done = 0;
    while (done < size) {
        size_t count;
        afts_status status = afts__read(conn, (uint8_t *)out + done, size - done, &count);
        if (status != AFTS_OK) return status;
        if (count == 0) return AFTS_ELOST;
        done += count;
    }
    return AFTS_OK;
}

static afts_status read_length(afts_conn *conn, uint8_t second, uint64_t *length) {
    uint8_t bytes[8];
    size_t count = (second & LENGTH) == 126 ? 2 : (second & LENGTH) == 127 ? 8 : 0;
    *length = count == 0 ? second & LENGTH : 0;
    afts_status status = read_exactly(conn, bytes, count);
    for (size_t i = 0; i < count && status == AFTS_OK; i++) *length = *length << 8 | bytes[i];
    return status;
}

afts_status afts_conn_read_frame(afts_conn *conn, afts_frame *out) {
    uint8_t head[2];
    uint64_t length = 0;
    *out = (afts_frame){0};
    afts_status status = read_exactly(conn, head, sizeof head);
    if (status == AFTS_OK) status = read_length(conn, head[1], &length);
    if (status != AFTS_OK) return status;
    if (length > longest_frame) return AFTS_EINVAL;
    out->first = head[0];
    out->is_masked = (head[1] & MASKED) != 0;
    if (out->is_masked) status = read_exactly(conn, out->mask, sizeof out->mask);
    if (status != AFTS_OK) return status;
    out->bytes = malloc((size_t)length + 1);
    if (out->bytes == NULL) return AFTS_ENOMEM;
    status = read_exactly(conn, out->bytes, (size_t)length);
    if (status != AFTS_OK) {
        afts_frame_clear(out);
        return status;
    }
    out->size = (size_t)length;
    for (size_t i = 0; i < out->size; i++) out->bytes[i] ^= out->mask[i % 4];
    out->bytes[out->size] = 0;
    return AFTS_OK;
}

void afts_frame_clear(afts_frame *frame) {
    free(frame->bytes);
    *frame = (afts_frame){0};
}

/** A server must not accept a frame without a mask (RFC 6455 5.1). */
static afts_status refuse_unmasked(afts_conn *conn) {
    static const uint8_t protocol_error[] = {1002 >> 8, 1002 & 0xff};
    afts__record_refusal(conn, "a frame without a mask");
    afts_status status = afts__send_frame(conn, AFTS_FRAME_FIN | AFTS_FRAME_CLOSE, protocol_error,
                                          sizeof protocol_error);
    if (status == AFTS_OK) afts__close(conn);
    return status;
}

afts_status afts__echo_frames(afts_conn *conn) {
    for (;;) {
        afts_frame frame;
        afts_status status = afts_conn_read_frame(conn, &frame);
        if (status != AFTS_OK) return status;
        if (!frame.is_masked) {
            afts_frame_clear(&frame);
            return refuse_unmasked(conn);
        }
        unsigned opcode = frame.first & OPCODE;
        uint8_t first = opcode == AFTS_FRAME_PING ? AFTS_FRAME_FIN | AFTS_FRAME_PONG : frame.first;
        bool is_answered = opcode != AFTS_FRAME_PONG;
        if (is_answered) status = afts__send_frame(conn, first, frame.bytes, frame.size);
        afts_frame_clear(&frame);
        if (status == AFTS_OK && opcode == AFTS_FRAME_CLOSE) {
            afts__close(conn);
            return AFTS_OK;
        }
        if (status != AFTS_OK) return status;
    }
}

afts_status afts_conn_upgrade(afts_conn *conn, const char *headers) {
    return afts__upgrade(conn, headers);
}

afts_status afts_conn_send_frame(afts_conn *conn, uint8_t first, const void *bytes, size_t size) {
    return afts__send_frame(conn, first, bytes, bytes != NULL ? size : 0);
}
