/** WebSockets (RFC 6455): the upgrade, single frames as exact as a test wants them, and an echo. */
#ifndef AFTS_WEBSOCKET_H
#define AFTS_WEBSOCKET_H

#include "script.h"
#include "status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The first byte of a frame: one of the opcodes, with these bits. */
enum {
    AFTS_FRAME_CONTINUATION = 0,
    AFTS_FRAME_TEXT = 1,
    AFTS_FRAME_BINARY = 2,
    AFTS_FRAME_CLOSE = 8,
    AFTS_FRAME_PING = 9,
    AFTS_FRAME_PONG = 10,
    AFTS_FRAME_RSV3 = 0x10,
    AFTS_FRAME_RSV2 = 0x20,
    AFTS_FRAME_RSV1 = 0x40,
    AFTS_FRAME_FIN = 0x80
};

/**
 * Sends 101 with the Sec-WebSocket-Accept of the request's key, and `headers`. What follows are frames, or any bytes.
 * Without a key the response is 400.
 */
void afts_upgrade(afts_script *script, const char *headers);

/** Sends an unmasked frame, whose first byte is `first`. Its length may be wrong for its opcode. */
void afts_send_frame(afts_script *script, uint8_t first, const void *bytes, size_t size);

/**
 * Sends back each frame of a message as it is, answers pings with pongs and a close frame with the same one, and then
 * closes. A frame without a mask is answered by a close frame with 1002.
 */
void afts_echo_frames(afts_script *script);

/** A frame that a client sent, without its mask. */
typedef struct afts_frame {
    uint8_t first;
    bool is_masked;
    uint8_t mask[4];
    uint8_t *bytes; /**< Freed by afts_frame_clear(). */
    size_t size;
} afts_frame;

/** The same from a handler; see afts_conn_run() for what they return. */
afts_status afts_conn_upgrade(afts_conn *conn, const char *headers);
afts_status afts_conn_send_frame(afts_conn *conn, uint8_t first, const void *bytes, size_t size);

/** Reads the next frame. AFTS_ELOST: the client has closed. AFTS_EINVAL: it has more than 64 MiB. */
afts_status afts_conn_read_frame(afts_conn *conn, afts_frame *out);

/** Frees what a frame holds. */
void afts_frame_clear(afts_frame *frame);

#ifdef __cplusplus
}
#endif

#endif
