/** State machines: a table says which state may follow which. */
#ifndef AFC_BASE_STATE_H
#define AFC_BASE_STATE_H

#include <stdbool.h>

/** Returns whether `to` may follow `from`. `followers` has a word for each state: bit n stands for state n. */
static inline bool afc__state_may_follow(const unsigned *followers, unsigned from, unsigned to) {
    return (followers[from] >> to & 1u) != 0;
}

#endif
