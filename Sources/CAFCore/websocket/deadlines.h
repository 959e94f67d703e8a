/**
 * When a WebSocket sends automatic pings, and how long its peer may take for pongs and for the closing handshake. Pure.
 */
#ifndef AFC_WEBSOCKET_DEADLINES_H
#define AFC_WEBSOCKET_DEADLINES_H

#include <stdbool.h>
#include <stdint.h>

/* ---- Pings and pongs ----------------------------------------------------------------------- */

/** Zeroed: there are no automatic pings. */
typedef struct afc__keepalive {
    int64_t interval_us, timeout_us;
    int64_t ping_due_us, deadline_us; /**< 0: none. */
    int64_t postponed_us;             /**< Until then the peer couldn't have answered. */
} afc__keepalive;

/** What is to be done now. */
typedef enum afc__keepalive_action {
    AFC__KEEPALIVE_WAIT,
    AFC__KEEPALIVE_PING,   /**< Send a ping, and call afc__keepalive_update(). */
    AFC__KEEPALIVE_GIVE_UP /**< The pong is overdue. */
} afc__keepalive_action;

/** Begins; without an interval there are no pings. */
void afc__keepalive_begin(afc__keepalive *keepalive, uint32_t interval_ms, uint32_t timeout_ms,
                          int64_t now_us);

/** No more pings are sent, and none is waited for. */
void afc__keepalive_end(afc__keepalive *keepalive);

/**
 * The peer can't have answered by now: the ping waits behind a longer frame of ours, of which some was just sent, its
 * pong behind one of the peer's, or the caller doesn't let us read.
 */
static inline void afc__keepalive_postpone(afc__keepalive *keepalive, int64_t now_us) {
    keepalive->postponed_us = now_us;
}

/**
 * Records that a ping was sent, or a pong received. `oldest_us` is the time of the oldest ping without a pong, or 0 if
 * each ping has its pong.
 */
void afc__keepalive_update(afc__keepalive *keepalive, int64_t oldest_us);

/** Returns what is due. */
afc__keepalive_action afc__keepalive_check(afc__keepalive *keepalive, int64_t now_us,
                                           int64_t oldest_us);

/** Returns when afc__keepalive_check() is due again; 0: never. */
int64_t afc__keepalive_due(const afc__keepalive *keepalive);

/* ---- The closing handshake ----------------------------------------------------------------- */

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
