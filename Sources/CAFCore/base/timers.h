/**
 * A priority queue of deadlines: a binary heap of nodes that are members of their owners.
 */
#ifndef AFC_BASE_TIMERS_H
#define AFC_BASE_TIMERS_H

#include <afcore/base.h>
#include <afcore/error.h>

/** A zeroed timer isn't armed. It must not move in memory while it is armed. */
typedef struct afc__timer {
    int64_t deadline; /**< In the clock and unit of the heap's owner. */
    size_t heap_slot; /**< 1 + index in the heap; 0 if it isn't armed. */
} afc__timer;

typedef struct afc__timers {
    afc__timer **heap;
    size_t count, capacity;
} afc__timers;

/** Returns whether a timer is armed. */
static inline bool afc__timer_is_armed(const afc__timer *timer) {
    return timer->heap_slot != 0;
}

/** Makes an empty heap. */
void afc__timers_init(afc__timers *timers);

/** Disarms all timers and frees the memory. */
void afc__timers_clear(afc__timers *timers);

/** Reserves capacity for `count` timers in total: arming that many can't fail. Fails with AFC_ENOMEM. */
afc_status afc__timers_reserve(afc__timers *timers, size_t count);

/** Frees capacity beyond `count` timers, or beyond the armed ones if they are more. */
void afc__timers_shrink(afc__timers *timers, size_t count);

/** Arms a timer, or changes its deadline. Requires capacity (afc__timers_reserve()). */
void afc__timers_arm(afc__timers *timers, afc__timer *timer, int64_t deadline);

/** Disarms a timer; has no effect if it isn't armed. */
void afc__timers_disarm(afc__timers *timers, afc__timer *timer);

/** Returns the earliest timer, any of several equal ones; NULL if none is armed. */
afc__timer *afc__timers_first(const afc__timers *timers);

#endif
