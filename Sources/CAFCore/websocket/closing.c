#include "websocket/closing.h"

enum {
    US_PER_MS = 1000,
    /* Of messages that have the timeout once. */
    SHARE = 64 * 1024
};

/* Keeps times in range. */
static const uint64_t MOST_SHARES = UINT64_C(1) << 20;

void afc__closing_begin(afc__closing *closing, uint32_t timeout_ms, uint64_t queued,
                        int64_t now_us) {
    int64_t timeout = (int64_t)timeout_ms * US_PER_MS;
    uint64_t shares = queued / SHARE + 1;
    if (shares > MOST_SHARES) shares = MOST_SHARES;
    *closing = (afc__closing){.timeout_us = timeout,
                              .due_us = now_us + timeout,
                              .sent_by_us = now_us + timeout * (int64_t)shares};
}

void afc__closing_moved(afc__closing *closing, bool is_sent, int64_t now_us) {
    closing->due_us = now_us + closing->timeout_us;
    /* A peer that takes a byte now and then must not keep the socket for ever. */
    if (!is_sent && closing->due_us > closing->sent_by_us) closing->due_us = closing->sent_by_us;
}
