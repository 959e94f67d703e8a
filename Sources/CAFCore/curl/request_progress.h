/** What has become of a hop's request, and which state may follow which. Pure. */
#ifndef AFC_CURL_REQUEST_PROGRESS_H
#define AFC_CURL_REQUEST_PROGRESS_H

#include <stdbool.h>

/**
 * afc__exchange_enter() is the only function that changes it; a new hop, or one that starts again on another
 * connection, begins with NONE.
 *
 *     from        to
 *     NONE        SENT, NOT_SENT
 *     SENT        itself (libcurl repeats it), RESPONDING, NOT_SENT
 *     RESPONDING  itself, SENT (a round of authentication on the connection)
 *     NOT_SENT    nothing: the hop ends, or starts again
 */
typedef enum afc__request_progress {
    AFC__PROGRESS_NONE, /**< libcurl has no connection for it yet, and may not have started it. */
    AFC__PROGRESS_SENT, /**< About to be sent on a connection, or sent; nothing of a response was received. */
    AFC__PROGRESS_RESPONDING, /**< A line of a response was received. */
    AFC__PROGRESS_NOT_SENT    /**< Its connection had pending input; see connection_reuse.c. */
} afc__request_progress;

enum { AFC__PROGRESS_STATES = AFC__PROGRESS_NOT_SENT + 1 };

bool afc__request_progress_may_become(afc__request_progress from, afc__request_progress to);

/**
 * Returns whether the connection is established. What is received then is from the server, or from a proxy without a
 * tunnel, and not from a proxy that makes a tunnel.
 */
static inline bool afc__request_progress_is_connected(afc__request_progress progress) {
    return progress != AFC__PROGRESS_NONE;
}

#endif
