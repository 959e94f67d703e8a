/** What has become of a hop's request, and which state may follow which. Pure. */
#ifndef AFC_CURL_ATTEMPT_H
#define AFC_CURL_ATTEMPT_H

#include <stdbool.h>

/**
 * afc__exchange_enter() is the only function that changes it; a new hop, or one that starts again on another connection,
 * begins with NONE.
 *
 *     from     to
 *     NONE     SENT, UNCLEAN
 *     SENT     itself (libcurl repeats it), HEARD, UNCLEAN
 *     HEARD    itself, SENT (a round of authentication on the connection)
 *     UNCLEAN  nothing: the hop ends, or starts again
 */
typedef enum afc__attempt {
    AFC__ATTEMPT_NONE, /**< libcurl has no connection for it yet, and may not have started it. */
    AFC__ATTEMPT_SENT, /**< About to be sent on a connection, or sent; nothing of a response was received. */
    AFC__ATTEMPT_HEARD,  /**< A line of a response was received. */
    AFC__ATTEMPT_UNCLEAN /**< Not sent: its connection had pending input; see connection_reuse.c. */
} afc__attempt;

enum { AFC__ATTEMPTS = AFC__ATTEMPT_UNCLEAN + 1 };

bool afc__attempt_may_become(afc__attempt from, afc__attempt to);

/**
 * Returns whether the connection is established. What is received then is from the server, or from a proxy without a tunnel,
 * and not from a proxy that makes a tunnel.
 */
static inline bool afc__attempt_is_connected(afc__attempt attempt) {
    return attempt != AFC__ATTEMPT_NONE;
}

#endif
