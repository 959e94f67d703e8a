/** What the two directions of an exchange do, and which state of receiving may follow which. Pure. */
#ifndef AFC_CURL_BODY_DIRECTION_STATE_H
#define AFC_CURL_BODY_DIRECTION_STATE_H

#include <stdbool.h>

/**
 * Only read_pause.c changes it. A hop, and each request that is sent for it, begins with OPEN, whatever was before.
 *
 *     from        to
 *     OPEN        itself, BEHIND, HELD
 *     BEHIND      itself, OPEN, HELD
 *     HELD        OPEN, BEHIND, FLUSH_DUE
 *     FLUSH_DUE   FLUSHING; OPEN, BEHIND (libcurl passes the bytes on before), HELD (the exchange has ended)
 *     FLUSHING    FLUSHED, HELD
 *     FLUSHED     HELD
 */
typedef enum afc__receiving {
    AFC__RECEIVING_OPEN, /**< libcurl passes on what it receives. */
    AFC__RECEIVING_BEHIND, /**< So it does, or has ended, but the transfer keeps bytes that come first. */
    AFC__RECEIVING_HELD, /**< Paused: libcurl or the transfer holds bytes that the caller hasn't taken. */
    AFC__RECEIVING_FLUSH_DUE, /**< HELD, and flushed once libcurl has returned; see body_flow.c. */
    AFC__RECEIVING_FLUSHING, /**< HELD, and libcurl is passing on what it has decoded, for the transfer to keep. */
    AFC__RECEIVING_FLUSHED /**< HELD, and it has passed on all but the last piece, which it holds. */
} afc__receiving;

enum { AFC__RECEIVING_STATES = AFC__RECEIVING_FLUSHED + 1 };

bool afc__receiving_may_become(afc__receiving from, afc__receiving to);

/** Returns whether libcurl must read nothing for the exchange, until the caller has taken what is held. */
static inline bool afc__receiving_is_paused(afc__receiving receiving) {
    return receiving >= AFC__RECEIVING_HELD;
}

/** Either may follow the other. */
typedef enum afc__sending {
    AFC__SENDING_BY_LIBCURL, /**< libcurl may have bytes, and will ask for some. */
    AFC__SENDING_WAITS /**< It was told that there are none now, and sends nothing until it is resumed. */
} afc__sending;

#endif
