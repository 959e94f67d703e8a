/**
 * How long a peer may keep the loop busy in one turn before others come first. libcurl reads as long as there is input,
 * and what it reads may cost far more than to send it: a peer can send a chunk, a message or a frame with every few
 * bytes.
 */
#ifndef AFC_BASE_TURN_BUDGET_H
#define AFC_BASE_TURN_BUDGET_H

#include "base/clock.h"

#include <stdbool.h>

/* Much more than one read takes: a record of TLS, 16 KiB, takes some 10 us. */
enum { AFC__TURN_BUDGET_US = 5 * 1000 };

/** Zero-initialised: nothing was read yet. */
typedef struct afc__turn_budget {
    uint64_t turn;    /**< The last turn in which there was something to read, */
    unsigned pieces;  /**< how many pieces there were, */
    int64_t since_us; /**< and when more than the free ones came; 0: they didn't. */
} afc__turn_budget;

/**
 * Returns whether the time in this turn is over; called for each piece. The first `free` pieces of a turn are never too
 * late, however slow the machine is, and need no clock.
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
