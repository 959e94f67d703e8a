/** The states of a WebSocket, and which may follow which. Pure functions. */
#ifndef AFC_WEBSOCKET_STATE_H
#define AFC_WEBSOCKET_STATE_H

#include <stdbool.h>

/**
 *     from        to
 *     OPENING     OPEN, REFUSED, ENDED
 *     REFUSED     ENDED
 *     OPEN        CLOSING, ANSWERING, FAILING, ENDED
 *     CLOSING     ANSWERING, FAILING, ENDED
 *     ANSWERING   ENDED
 *     FAILING     ENDED
 *     ENDED       nothing
 */
typedef enum afc__websocket_state {
    AFC__WEBSOCKET_OPENING, /**< The handshake isn't complete; messages wait. */
    AFC__WEBSOCKET_REFUSED, /**< The response wasn't a 101; its body is received. */
    AFC__WEBSOCKET_OPEN,    /**< Messages are sent and received. */
    /** Our close frame follows all messages; the peer's wasn't received yet. */
    AFC__WEBSOCKET_CLOSING,
    /** The peer's close frame was received; ours was sent, or is sent next. */
    AFC__WEBSOCKET_ANSWERING,
    AFC__WEBSOCKET_FAILING, /**< The peer broke a rule; our close frame is sent next. */
    AFC__WEBSOCKET_ENDED    /**< on_closed is due, or was called. */
} afc__websocket_state;

enum { AFC__WEBSOCKET_STATES = AFC__WEBSOCKET_ENDED + 1 };

/** Returns whether `to` may follow `from`. */
bool afc__websocket_may_enter(afc__websocket_state from, afc__websocket_state to);

/** Returns whether messages that are added now will be sent. */
static inline bool afc__websocket_takes_messages(afc__websocket_state state) {
    return state == AFC__WEBSOCKET_OPENING || state == AFC__WEBSOCKET_OPEN;
}

/** Returns whether frames are sent. */
static inline bool afc__websocket_sends(afc__websocket_state state) {
    return state != AFC__WEBSOCKET_OPENING && state != AFC__WEBSOCKET_REFUSED;
}

/** Returns whether received messages are passed on. */
static inline bool afc__websocket_receives(afc__websocket_state state) {
    return state == AFC__WEBSOCKET_OPEN || state == AFC__WEBSOCKET_CLOSING;
}

#endif
