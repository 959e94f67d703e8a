#include "curl/attempt.h"

#include "base/state.h"

#define TO(state) (1u << AFC__ATTEMPT_##state)

static const unsigned followers[AFC__ATTEMPTS] = {
    [AFC__ATTEMPT_NONE] = TO(SENT) | TO(UNCLEAN),
    [AFC__ATTEMPT_SENT] = TO(SENT) | TO(HEARD) | TO(UNCLEAN),
    [AFC__ATTEMPT_HEARD] = TO(HEARD) | TO(SENT),
    [AFC__ATTEMPT_UNCLEAN] = 0,
};

bool afc__attempt_may_become(afc__attempt from, afc__attempt to) {
    return afc__state_may_follow(followers, from, to);
}
