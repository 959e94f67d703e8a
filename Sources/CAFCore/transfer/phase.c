#include "transfer/phase.h"

#include "base/state.h"

#define TO(phase) (1u << AFC__PHASE_##phase)

static const unsigned followers[AFC__PHASES] = {
    [AFC__PHASE_HEAD] = TO(HEAD) | TO(HEAD_PENDING) | TO(BODY) | TO(DISCARDING) |
                        TO(EXPECT_FAILED) | TO(AWAITING_ANSWER) | TO(SUPERSEDED) | TO(CHALLENGED),
    [AFC__PHASE_HEAD_PENDING] = TO(HEAD),
    [AFC__PHASE_BODY] = 0,
    [AFC__PHASE_DISCARDING] = 0,
    [AFC__PHASE_EXPECT_FAILED] = 0,
    [AFC__PHASE_AWAITING_ANSWER] = TO(HEAD),
    [AFC__PHASE_SUPERSEDED] = 0,
    [AFC__PHASE_CHALLENGED] = 0,
};

bool afc__phase_may_follow(afc__phase from, afc__phase to) {
    return afc__state_may_follow(followers, from, to);
}
