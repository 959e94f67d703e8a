#include "curl/body/direction_state.h"

#include "base/state.h"

#define TO(state) (1u << AFC__RECEIVING_##state)

static const unsigned followers[AFC__RECEIVING_STATES] = {
    [AFC__RECEIVING_OPEN] = TO(OPEN) | TO(BEHIND) | TO(HELD),
    [AFC__RECEIVING_BEHIND] = TO(BEHIND) | TO(OPEN) | TO(HELD),
    [AFC__RECEIVING_HELD] = TO(OPEN) | TO(BEHIND),
};

bool afc__receiving_may_become(afc__receiving from, afc__receiving to) {
    return afc__state_may_follow(followers, from, to);
}
