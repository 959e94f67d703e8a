/** How long the closing handshake of a WebSocket may take. Pure. */
#ifndef AFC_WEBSOCKET_CLOSING_H
#define AFC_WEBSOCKET_CLOSING_H

#include <stdbool.h>
#include <stdint.h>

/** Zeroed: it hasn't begun. */
typedef struct afc__closing {
    int64_t timeout_us;
    int64_t due_us;     /**< When it ends the socket; 0: never. */
    int64_t sent_by_us; /**< When our close frame must have been sent. */
} afc__closing;

/** Begins; `queued` bytes of messages are sent before our close frame. */
void afc__closing_begin(afc__closing *closing, uint32_t timeout_ms, uint64_t queued,
                        int64_t now_us);

/** Bytes were sent. `is_sent`: our close frame was the last of them. */
void afc__closing_moved(afc__closing *closing, bool is_sent, int64_t now_us);

#endif
