/**
 * Limits how long a peer may keep the loop busy in one turn before other connections are served. libcurl reads as long
 * as there is input, and processing may cost far more than sending: a peer can send a chunk, a message or a frame with
 * every few bytes.
 */
#ifndef AFC_BASE_TURN_BUDGET_H
#define AFC_BASE_TURN_BUDGET_H

#include "base/clock.h"

#include <stdbool.h>

/* Much longer than a read takes: a TLS record of 16 KiB takes some 10 us. */
enum { AFC__TURN_BUDGET_US = 5 * 1000 };

/** A zeroed budget means that nothing was read yet. */
typedef struct afc__turn_budget {
    uint64_t turn;    /**< The last turn in which there was something to read. */
    unsigned pieces;  /**< Number of pieces read in it, up to those that are free. */
    int64_t since_us; /**< When the first piece that isn't free was read; 0 if there was none. */
} afc__turn_budget;

/**
 * Returns whether the time of this turn is used up. Called for each piece. The first `free` pieces of a turn are always
 * allowed, however slow the machine is, and need no clock.
 */
static inline bool afc__turn_budget_is_spent(afc__turn_budget *budget, uint64_t turn,
                                             unsigned free) {
    if (budget->turn != turn) *budget = (afc__turn_budget){.turn = turn};
    if (budget->pieces < free) {
        budget->pieces++;
        return false;
    }
    int64_t now = afc__now_us();
    if (budget->since_us == 0) budget->since_us = now;
    return now - budget->since_us >= AFC__TURN_BUDGET_US;
}

#endif
