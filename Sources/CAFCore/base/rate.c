#include "base/rate.h"

enum {
    PIECES_PER_SECOND = 8,
    /* The longest delay that is made up for. Timers fire late, and otherwise each delay would lower the rate. */
    MADE_UP_US = 100 * 1000
};

static const uint64_t us_per_second = 1000000;
/* Centuries; a longer wait would overflow the clock. */
static const uint64_t longest_us = UINT64_C(1) << 53;

bool afc__rate_is_throttled(afc__rate *rate, int64_t now_us) {
    bool is_throttled = rate->per_second != 0 && now_us < rate->next_allowed_us;
    rate->wakeup_us = is_throttled ? rate->next_allowed_us : 0;
    return is_throttled;
}

size_t afc__rate_piece(const afc__rate *rate, size_t size) {
    if (rate->per_second == 0) return size;
    uint64_t piece = rate->per_second / PIECES_PER_SECOND;
    if (piece == 0) piece = 1;
    return piece < size ? (size_t)piece : size;
}

void afc__rate_spend(afc__rate *rate, uint64_t bytes, int64_t now_us) {
    if (rate->per_second == 0 || bytes == 0) return;
    int64_t since = rate->next_allowed_us;
    if (since == 0) since = now_us;
    if (since < now_us - MADE_UP_US) since = now_us - MADE_UP_US;
    uint64_t cost = bytes <= UINT64_MAX / us_per_second ? bytes * us_per_second / rate->per_second
                                                        : bytes / rate->per_second * us_per_second;
    rate->next_allowed_us = since + (int64_t)(cost < longest_us ? cost : longest_us);
}

void afc__rate_spend_count(afc__rate *rate, int64_t count, int64_t now_us) {
    int64_t bytes = count >= rate->counted ? count - rate->counted : count;
    rate->counted = count;
    if (bytes > 0) afc__rate_spend(rate, (uint64_t)bytes, now_us);
}
