#include "curl/request_progress.h"

#include "base/state.h"

#define TO(state) (1u << AFC__PROGRESS_##state)

static const unsigned followers[AFC__PROGRESS_STATES] = {
    [AFC__PROGRESS_NONE] = TO(SENT) | TO(NOT_SENT),
    [AFC__PROGRESS_SENT] = TO(SENT) | TO(RESPONDING) | TO(NOT_SENT),
    [AFC__PROGRESS_RESPONDING] = TO(RESPONDING) | TO(SENT),
    [AFC__PROGRESS_NOT_SENT] = 0,
};

bool afc__request_progress_may_become(afc__request_progress from, afc__request_progress to) {
    return afc__state_may_follow(followers, from, to);
}
