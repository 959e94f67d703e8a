/** The progress of a hop's request as a state, and which state may follow which. Pure functions. */
#ifndef AFC_CURL_REQUEST_PROGRESS_H
#define AFC_CURL_REQUEST_PROGRESS_H

#include <stdbool.h>

/**
 * Only afc__exchange_enter() and the reset of a run change the state. A new hop, or one that starts again on another
 * connection, begins with NONE.
 *
 *     from        to
 *     NONE        SENT, NOT_SENT
 *     SENT        itself (libcurl repeats it), RESPONDING, NOT_SENT
 *     RESPONDING  itself, SENT (a round of authentication on the connection)
 *     NOT_SENT    nothing: the hop ends, or starts again
 */
typedef enum afc__request_progress {
    /** libcurl has no connection for the hop yet, and may not have started it. */
    AFC__PROGRESS_NONE,
    AFC__PROGRESS_SENT, /**< About to be sent on a connection, or sent; nothing of a response was received. */
    AFC__PROGRESS_RESPONDING, /**< A line of a response was received. */
    /** Refused: its pooled connection had pending input; see connection_reuse.c. */
    AFC__PROGRESS_NOT_SENT
} afc__request_progress;

enum { AFC__PROGRESS_STATES = AFC__PROGRESS_NOT_SENT + 1 };

/** Returns whether `to` may follow `from`. */
bool afc__request_progress_may_become(afc__request_progress from, afc__request_progress to);

/**
 * Returns whether the hop has its connection. What is received from then on is from the server, or from a proxy without
 * a tunnel. Before, it is the response of a proxy to CONNECT.
 */
static inline bool afc__request_progress_is_connected(afc__request_progress progress) {
    return progress != AFC__PROGRESS_NONE;
}

#endif
