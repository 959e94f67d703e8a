/** When the next automatic ping of a WebSocket is due, and how long its peer may owe a pong. Pure. */
#ifndef AFC_WEBSOCKET_KEEPALIVE_H
#define AFC_WEBSOCKET_KEEPALIVE_H

#include <stdbool.h>
#include <stdint.h>

/** Zeroed: there are no automatic pings. */
typedef struct afc__keepalive {
    int64_t interval_us, timeout_us;
    int64_t ping_due_us, deadline_us; /**< 0: none. */
    int64_t excused_us;               /**< Until then the peer couldn't have answered. */
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
 * The peer can't have answered by now: the ping waits behind a longer frame of ours, of which some was just sent, its pong
 * behind one of the peer's, or the caller doesn't let us read.
 */
static inline void afc__keepalive_excuse(afc__keepalive *keepalive, int64_t now_us) {
    keepalive->excused_us = now_us;
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

#endif
