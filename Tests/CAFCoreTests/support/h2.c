#include "support/h2.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

/* Identifiers of parameters in SETTINGS. */
enum { INITIAL_WINDOW_SIZE = 4 };

static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/* ---- The fixture ----------------------------------------------------------------------------- */

void h2_serve(fixture *fixture, afts_handler handler, void *payload, h2_end end) {
    afts_script *script = afts_script_new();
    afts_handle(script, handler, payload, NULL);
    if (end == H2_RESET)
        afts_reset(script);
    else
        afts_close(script);
    assert_int_equal(afts_on_connection(fixture->server, AFTS_EVERY_CONNECTION, script), 0);
}

bool h2_multiplexes(void) {
    return libcurl_is_at_least(8, 1);
}

fixture *h2_fixture(const afc_session_options *session) {
    return fixture_new_alpn("h2", session);
}

/* ---- Frames -------------------------------------------------------------------------------- */

static bool read_exactly(h2_peer *peer, void *out, size_t size) {
    char *at = out;
    while (size > 0) {
        size_t count;
        afts_status status = afts_conn_read(peer->conn, at, size, &count);
        if (status != AFTS_OK || count == 0) return false;
        at += count;
        size -= count;
    }
    return true;
}

static uint32_t number_at(const uint8_t *bytes) {
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static void put_number(uint8_t *out, uint32_t number) {
    for (int i = 0; i < 4; i++) out[i] = (uint8_t)(number >> (24 - 8 * i));
}

static bool read_frame(h2_peer *peer) {
    uint8_t head[9];
    h2_frame *frame = &peer->frame;
    if (!read_exactly(peer, head, sizeof head)) return false;
    frame->size = (size_t)head[0] << 16 | (size_t)head[1] << 8 | head[2];
    frame->type = head[3];
    frame->flags = head[4];
    frame->stream = number_at(head + 5) & 0x7fffffff;
    if (frame->size > sizeof frame->payload) return false;
    return read_exactly(peer, frame->payload, frame->size);
}

bool h2_send(h2_peer *peer, uint8_t type, uint8_t flags, uint32_t stream, const void *payload,
             size_t size) {
    uint8_t bytes[9 + H2_FRAME_MAX] = {(uint8_t)(size >> 16), (uint8_t)(size >> 8), (uint8_t)size,
                                       type, flags};
    put_number(bytes + 5, stream);
    if (size > 0) memcpy(bytes + 9, payload, size);
    return afts_conn_send(peer->conn, bytes, 9 + size) == 0;
}

bool h2_begin(h2_peer *peer, afts_conn *conn) {
    char first[sizeof preface - 1];
    *peer = (h2_peer){.conn = conn, .window = 65535, .stream_window = 65535};
    return read_exactly(peer, first, sizeof first) && memcmp(first, preface, sizeof first) == 0 &&
           h2_send(peer, H2_SETTINGS, 0, 0, NULL, 0);
}

static void note_settings(h2_peer *peer) {
    const h2_frame *frame = &peer->frame;
    for (size_t at = 0; at + 6 <= frame->size; at += 6) {
        int id = frame->payload[at] << 8 | frame->payload[at + 1];
        if (id == INITIAL_WINDOW_SIZE) peer->stream_window = number_at(frame->payload + at + 2);
    }
}

/** What every peer does; true if the frame was only that. */
static bool keep_house(h2_peer *peer, bool *is_alive) {
    const h2_frame *frame = &peer->frame;
    bool is_answer = (frame->flags & H2_ACK) != 0;
    switch (frame->type) {
    case H2_SETTINGS:
        note_settings(peer);
        if (!is_answer) *is_alive = h2_send(peer, H2_SETTINGS, H2_ACK, 0, NULL, 0);
        return true;
    case H2_WINDOW_UPDATE:
        *(frame->stream == 0 ? &peer->window : &peer->stream_window) += number_at(frame->payload);
        return false;
    case H2_PING:
        if (!is_answer) {
            *is_alive = h2_send(peer, H2_PING, H2_ACK, 0, frame->payload, frame->size);
        }
        return true;
    case H2_DATA:
        peer->received += frame->size;
        return false;
    default:
        return false;
    }
}

bool h2_read(h2_peer *peer) {
    bool is_alive = true;
    do {
        if (!read_frame(peer)) return false;
    } while (keep_house(peer, &is_alive) && is_alive);
    return is_alive;
}

uint32_t h2_read_request(h2_peer *peer) {
    do {
        if (!h2_read(peer)) return 0;
    } while (peer->frame.type != H2_HEADERS);
    return peer->frame.stream;
}

bool h2_read_body(h2_peer *peer, uint64_t count) {
    while (peer->received < count) {
        if (!h2_read(peer)) return false;
        if (peer->frame.type == H2_DATA && (peer->frame.flags & H2_END_STREAM)) return true;
    }
    return true;
}

/* ---- What a server says -------------------------------------------------------------------- */

bool h2_send_head(h2_peer *peer, uint32_t stream, int status, uint8_t flags) {
    /* HPACK: a literal without indexing, with the name of static entry 8, ":status". */
    char block[6];
    snprintf(block, sizeof block, "%c%c%03d", 0x08, 0x03, status);
    return h2_send(peer, H2_HEADERS, flags | H2_END_HEADERS, stream, block, 5);
}

bool h2_send_sized_head(h2_peer *peer, uint32_t stream, int status, int length, uint8_t flags) {
    /* The other name is that of static entry 28, "content-length". */
    char block[10];
    snprintf(block, sizeof block, "%c%c%03d%c%c%c%d", 0x08, 0x03, status, 0x0f, 28 - 15, 1, length);
    return h2_send(peer, H2_HEADERS, flags | H2_END_HEADERS, stream, block, 9);
}

bool h2_send_endless(h2_peer *peer, uint32_t stream) {
    static const uint8_t block[H2_FRAME_MAX];
    int64_t size = sizeof block;
    for (;;) {
        if (peer->window >= size && peer->stream_window >= size) {
            if (!h2_send(peer, H2_DATA, 0, stream, block, sizeof block)) return false;
            peer->window -= size;
            peer->stream_window -= size;
        } else {
            if (!h2_read(peer)) return false;
            if (peer->frame.type == H2_RST_STREAM && peer->frame.stream == stream) return true;
        }
    }
}

static bool send_number(h2_peer *peer, uint8_t type, uint32_t stream, uint32_t number) {
    uint8_t payload[4];
    put_number(payload, number);
    return h2_send(peer, type, 0, stream, payload, sizeof payload);
}

bool h2_send_reset(h2_peer *peer, uint32_t stream, uint32_t code) {
    return send_number(peer, H2_RST_STREAM, stream, code);
}

bool h2_send_window(h2_peer *peer, uint32_t stream, uint32_t size) {
    return send_number(peer, H2_WINDOW_UPDATE, stream, size);
}

bool h2_send_initial_window(h2_peer *peer, uint32_t size) {
    uint8_t payload[6] = {0, INITIAL_WINDOW_SIZE};
    put_number(payload + 2, size);
    return h2_send(peer, H2_SETTINGS, 0, 0, payload, sizeof payload);
}

bool h2_send_goaway(h2_peer *peer, uint32_t last, uint32_t code) {
    uint8_t payload[8];
    put_number(payload, last);
    put_number(payload + 4, code);
    return h2_send(peer, H2_GOAWAY, 0, 0, payload, sizeof payload);
}

void h2_answer_all(afts_conn *conn, const afts_request *request, void *payload) {
    (void)request;
    h2_peer peer;
    uint32_t stream;
    if (!h2_begin(&peer, conn)) return;
    if (payload != NULL) atomic_fetch_add((atomic_uint *)payload, 1);
    while ((stream = h2_read_request(&peer)) != 0) {
        if (!h2_send_head(&peer, stream, 200, H2_END_STREAM)) return;
    }
}
