/**
 * A priority queue of deadlines: a binary heap of nodes that are members of their owners.
 */
#ifndef AF_BASE_TIMERS_H
#define AF_BASE_TIMERS_H

#include <afcore/base.h>
#include <afcore/error.h>

/** Zeroed: not armed. Must not move in memory while it is armed. */
typedef struct af__timer {
    int64_t deadline; /**< In the clock and unit of the heap's owner. */
    size_t place;     /**< 1 + index in the heap; 0: not armed. */
} af__timer;

typedef struct af__timers {
    af__timer **heap;
    size_t count, capacity;
} af__timers;

void af__timers_init(af__timers *timers);

/** Disarms all timers and frees the memory. */
void af__timers_clear(af__timers *timers);

/** Reserves capacity for `count` timers in total: arming that many can't fail. AF_ENOMEM. */
af_status af__timers_reserve(af__timers *timers, size_t count);

/** Frees capacity beyond `count` timers, or beyond the armed ones if they are more. */
void af__timers_shrink(af__timers *timers, size_t count);

/** Arms a timer, or changes its deadline. Requires capacity (af__timers_reserve()). */
void af__timers_arm(af__timers *timers, af__timer *timer, int64_t deadline);

/** Disarms a timer; has no effect if it isn't armed. */
void af__timers_disarm(af__timers *timers, af__timer *timer);

/** Returns the earliest timer, any of several equal ones; NULL if none is armed. */
af__timer *af__timers_first(const af__timers *timers);

#endif
