#include "session/task_state.h"

#include "base/state.h"

#define TO(state) (1u << AFC__STATE_##state)

enum {
    /* WRITING is included: a task that fails ends without another hop. */
    TO_NEXT_HOP = TO(IN_CACHE) | TO(QUEUED) | TO(SUSPENDED) | TO(WRITING),
    FROM_HOP = TO(IN_HOP) | TO(CONNECTING) | TO(CONNECTED) | TO(WAITING_FOR_NETWORK) |
               TO(WAITING_FOR_CREDENTIALS) | TO_NEXT_HOP
};

static const unsigned followers[AFC__TASK_STATES] = {
    [AFC__STATE_NEW] = TO_NEXT_HOP,
    [AFC__STATE_QUEUED] = TO(IN_HOP) | TO(SUSPENDED) | TO(WRITING),
    [AFC__STATE_IN_HOP] = FROM_HOP,
    [AFC__STATE_CONNECTING] = FROM_HOP,
    [AFC__STATE_CONNECTED] = FROM_HOP,
    [AFC__STATE_SUSPENDED] = TO_NEXT_HOP,
    [AFC__STATE_WAITING_FOR_NETWORK] = TO(WAITING_FOR_NETWORK) | TO_NEXT_HOP,
    [AFC__STATE_WAITING_FOR_CREDENTIALS] = TO_NEXT_HOP,
    [AFC__STATE_IN_CACHE] = TO_NEXT_HOP,
    [AFC__STATE_WRITING] = TO(WRITING) | TO(COMPLETED),
    [AFC__STATE_COMPLETED] = TO(LEAVING) | TO(DETACHED),
    [AFC__STATE_LEAVING] = TO(DETACHED),
    [AFC__STATE_DETACHED] = 0,
};

bool afc__task_may_enter(afc__task_state from, afc__task_state to) {
    return afc__state_may_follow(followers, from, to);
}
