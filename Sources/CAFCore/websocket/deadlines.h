/**
 * When a WebSocket sends automatic pings, and how long its peer may take for pongs and for the closing handshake. Pure
 * functions.
 */
#ifndef AFC_WEBSOCKET_DEADLINES_H
#define AFC_WEBSOCKET_DEADLINES_H

#include <stdbool.h>
#include <stdint.h>

/* ---- Pings and pongs ----------------------------------------------------------------------- */

/** The state of automatic pings. If it is zeroed, there are none. */
typedef struct afc__keepalive {
    int64_t interval_us, timeout_us;
    int64_t ping_due_us, deadline_us; /**< 0 if there is none. */
    int64_t postponed_us;             /**< Until this time the peer couldn't have answered. */
} afc__keepalive;

/** What the caller must do now. */
typedef enum afc__keepalive_action {
    AFC__KEEPALIVE_WAIT,
    AFC__KEEPALIVE_PING,   /**< Send a ping, and call afc__keepalive_update(). */
    AFC__KEEPALIVE_GIVE_UP /**< The pong is overdue. */
} afc__keepalive_action;

/** Begins automatic pings; an interval of 0 means that there are none. */
void afc__keepalive_begin(afc__keepalive *keepalive, uint32_t interval_ms, uint32_t timeout_ms,
                          int64_t now_us);

/** Ends automatic pings and the wait for pongs. */
void afc__keepalive_end(afc__keepalive *keepalive);

/**
 * Records that the peer can't have answered by now: the ping waits behind a longer frame, of which some bytes were just
 * sent; or the pong waits behind a frame of the peer; or the caller has paused reading.
 */
static inline void afc__keepalive_postpone(afc__keepalive *keepalive, int64_t now_us) {
    keepalive->postponed_us = now_us;
}

/**
 * Records that a ping was sent, or a pong received. `oldest_us` is the time of the oldest ping without a pong, or 0 if
 * each ping has its pong.
 */
void afc__keepalive_update(afc__keepalive *keepalive, int64_t oldest_us);

/** Returns what is due at `now_us`. */
afc__keepalive_action afc__keepalive_check(afc__keepalive *keepalive, int64_t now_us,
                                           int64_t oldest_us);

/** Returns when afc__keepalive_check() is due again; 0 if never. */
int64_t afc__keepalive_due(const afc__keepalive *keepalive);

/* ---- The closing handshake ----------------------------------------------------------------- */

/** The state of the closing handshake. If it is zeroed, the handshake hasn't begun. */
typedef struct afc__closing {
    int64_t timeout_us;
    int64_t due_us;     /**< When the WebSocket is ended; 0 if never. */
    int64_t sent_by_us; /**< When our close frame must have been sent. */
} afc__closing;

/** Begins the closing handshake; `queued` bytes of messages are sent before our close frame. */
void afc__closing_begin(afc__closing *closing, uint32_t timeout_ms, uint64_t queued,
                        int64_t now_us);

/** Records that bytes were sent. `is_sent` means that our close frame was the last of them. */
void afc__closing_moved(afc__closing *closing, bool is_sent, int64_t now_us);

#endif
