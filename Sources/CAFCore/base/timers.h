/**
 * Deadlines in order: a binary heap of nodes that live in their owners.
 */
#ifndef AF_BASE_TIMERS_H
#define AF_BASE_TIMERS_H

#include <afcore/base.h>
#include <afcore/error.h>

/** Zeroed it is not armed. Must not move in memory while it is armed. */
typedef struct af__timer {
    int64_t deadline; /**< On the clock of the heap's owner, in its unit. */
    size_t place;     /**< 1 + index in the heap; 0: not armed. */
} af__timer;

typedef struct af__timers {
    af__timer **heap;
    size_t count, capacity;
} af__timers;

void af__timers_init(af__timers *timers);

/** Disarm all and free the memory. */
void af__timers_clear(af__timers *timers);

/** Room for `count` timers in all, so that arming as many can't fail. AF_ENOMEM. */
af_status af__timers_reserve(af__timers *timers, size_t count);

/** Give room back that isn't needed for `count` timers, or for those that are armed if they are more. */
void af__timers_shrink(af__timers *timers, size_t count);

/** Arm, or move when armed. Needs room (af__timers_reserve()). */
void af__timers_arm(af__timers *timers, af__timer *timer, int64_t deadline);

/** Disarm; does nothing to one that is not armed. */
void af__timers_disarm(af__timers *timers, af__timer *timer);

/** The earliest, or NULL. Of equal ones, any. */
af__timer *af__timers_first(const af__timers *timers);

#endif
