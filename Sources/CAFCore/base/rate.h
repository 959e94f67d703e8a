/** A rate limit in bytes per second: decides when the next byte may be sent or received. */
#ifndef AFC_BASE_RATE_H
#define AFC_BASE_RATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** A zeroed rate has no limit. */
typedef struct afc__rate {
    uint64_t per_second;
    int64_t next_allowed_us; /**< When the next byte is allowed; 0 if none has moved yet. */
    int64_t wakeup_us;       /**< When a waiting transfer tries again; 0 if none waits. */
    int64_t counted;         /**< The last count of afc__rate_spend_count(). */
} afc__rate;

/** Returns whether there is a limit. Without one the other functions have no effect, and `now_us` may be anything. */
static inline bool afc__rate_is_limited(const afc__rate *rate) {
    return rate->per_second != 0;
}

/** Returns whether the next byte must wait. `wakeup_us` is then the time when it is allowed. */
bool afc__rate_is_throttled(afc__rate *rate, int64_t now_us);

/** Returns how many of `size` bytes may be moved at once for a smooth rate; at least 1. */
size_t afc__rate_piece(const afc__rate *rate, size_t size);

/**
 * Counts `bytes` as moved now. Moving N bytes in allowed pieces takes at least the time of all but the last piece. A
 * delay of up to 100 ms is made up for by a higher rate afterwards, a longer one isn't.
 */
void afc__rate_spend(afc__rate *rate, uint64_t bytes, int64_t now_us);

/** Does the same with the total so far. A total below the previous one starts a new count. */
void afc__rate_spend_count(afc__rate *rate, int64_t count, int64_t now_us);

#endif
