/**
 * The states of the two directions of an exchange, receiving and sending, and which state of receiving may follow
 * which. Pure functions.
 */
#ifndef AFC_CURL_BODY_DIRECTION_STATE_H
#define AFC_CURL_BODY_DIRECTION_STATE_H

#include <stdbool.h>

/**
 * The state of receiving. Only read_pause.c changes it. A hop, and each request that is sent for it, begins with OPEN,
 * whatever the state was before.
 *
 *     from     to
 *     OPEN     itself, BEHIND, HELD
 *     BEHIND   itself, OPEN, HELD
 *     HELD     OPEN, BEHIND
 */
typedef enum afc__receiving {
    AFC__RECEIVING_OPEN, /**< libcurl passes on what it receives. */
    /** libcurl passes on what it receives, or has ended, but the transfer keeps earlier bytes. */
    AFC__RECEIVING_BEHIND,
    AFC__RECEIVING_HELD /**< Paused: libcurl or the transfer holds bytes that the caller hasn't taken. */
} afc__receiving;

enum { AFC__RECEIVING_STATES = AFC__RECEIVING_HELD + 1 };

/** Returns whether `to` may follow `from`. */
bool afc__receiving_may_become(afc__receiving from, afc__receiving to);

/** Returns whether libcurl must read nothing for the exchange, until the caller has taken what is held. */
static inline bool afc__receiving_is_paused(afc__receiving receiving) {
    return receiving == AFC__RECEIVING_HELD;
}

/** The state of sending. Either may follow the other. */
typedef enum afc__sending {
    /** libcurl may hold bytes to send, and calls the read callback for more. */
    AFC__SENDING_BY_LIBCURL,
    /** The read callback had no bytes: libcurl sends nothing until it is resumed. */
    AFC__SENDING_WAITS
} afc__sending;

#endif
