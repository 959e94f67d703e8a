#include "websocket/state.h"

#include "base/state.h"

#define IN(state) (1u << AFC__WEBSOCKET_##state)

static const unsigned followers[AFC__WEBSOCKET_STATES] = {
    [AFC__WEBSOCKET_OPENING] = IN(OPEN) | IN(REFUSED) | IN(ENDED),
    [AFC__WEBSOCKET_REFUSED] = IN(ENDED),
    [AFC__WEBSOCKET_OPEN] = IN(CLOSING) | IN(ANSWERING) | IN(FAILING) | IN(ENDED),
    [AFC__WEBSOCKET_CLOSING] = IN(ANSWERING) | IN(FAILING) | IN(ENDED),
    [AFC__WEBSOCKET_ANSWERING] = IN(ENDED),
    [AFC__WEBSOCKET_FAILING] = IN(ENDED),
    [AFC__WEBSOCKET_ENDED] = 0,
};

bool afc__websocket_may_enter(afc__websocket_state from, afc__websocket_state to) {
    return afc__state_may_follow(followers, from, to);
}
