#include "transfer/caching/state.h"

#include "base/state.h"

#define TO(state) (1u << AFC__HOP_CACHE_##state)

static const unsigned followers[AFC__HOP_CACHE_STATES] = {
    [AFC__HOP_CACHE_NEW] = TO(NEW) | TO(WAITING) | TO(FINDING) | TO(REPLAYING) | TO(PASSING) |
                           TO(IGNORED),
    [AFC__HOP_CACHE_WAITING] = TO(NEW),
    [AFC__HOP_CACHE_FINDING] = TO(NEW) | TO(WAITING) | TO(OPENING) | TO(REPLAYING) | TO(PASSING) |
                               TO(VALIDATING) | TO(COLLECTING),
    [AFC__HOP_CACHE_OPENING] = TO(NEW) | TO(WAITING) | TO(REPLAYING) | TO(PASSING),
    [AFC__HOP_CACHE_REPLAYING] = TO(NEW),
    [AFC__HOP_CACHE_PASSING] = TO(NEW),
    [AFC__HOP_CACHE_VALIDATING] = TO(NEW) | TO(CHOSEN),
    [AFC__HOP_CACHE_COLLECTING] = TO(NEW) | TO(WAITING) | TO(PASSING) | TO(COMPLETING),
    [AFC__HOP_CACHE_COMPLETING] = TO(NEW),
    [AFC__HOP_CACHE_CHOSEN] = TO(NEW) | TO(OPENING),
    [AFC__HOP_CACHE_IGNORED] = TO(NEW),
};

bool afc__hop_cache_may_enter(afc__hop_cache_state from, afc__hop_cache_state to) {
    return afc__state_may_follow(followers, from, to);
}
