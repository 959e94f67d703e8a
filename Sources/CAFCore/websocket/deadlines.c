#include "websocket/deadlines.h"

enum {
    US_PER_MS = 1000,
    /* Bytes of queued messages for which the timeout is allowed once. */
    SHARE = 64 * 1024
};

/* Keeps times in range. */
static const uint64_t MAX_SHARES = UINT64_C(1) << 20;

/* ---- Pings and pongs ----------------------------------------------------------------------- */

void afc__keepalive_begin(afc__keepalive *keepalive, uint32_t interval_ms, uint32_t timeout_ms,
                          int64_t now_us) {
    *keepalive = (afc__keepalive){.interval_us = (int64_t)interval_ms * US_PER_MS,
                                  .timeout_us = (int64_t)timeout_ms * US_PER_MS};
    if (interval_ms != 0) keepalive->ping_due_us = now_us + keepalive->interval_us;
}

void afc__keepalive_end(afc__keepalive *keepalive) {
    *keepalive = (afc__keepalive){0};
}

void afc__keepalive_update(afc__keepalive *keepalive, int64_t oldest_us) {
    int64_t since = oldest_us > keepalive->postponed_us ? oldest_us : keepalive->postponed_us;
    bool is_awaited = keepalive->interval_us != 0 && oldest_us != 0;
    keepalive->deadline_us = is_awaited ? since + keepalive->timeout_us : 0;
}

afc__keepalive_action afc__keepalive_check(afc__keepalive *keepalive, int64_t now_us,
                                           int64_t oldest_us) {
    /* The deadline is only computed here, as afc__keepalive_postpone() is called for every read and write. */
    afc__keepalive_update(keepalive, oldest_us);
    if (keepalive->deadline_us != 0 && now_us >= keepalive->deadline_us) {
        return AFC__KEEPALIVE_GIVE_UP;
    }
    if (keepalive->ping_due_us == 0 || now_us < keepalive->ping_due_us) return AFC__KEEPALIVE_WAIT;
    keepalive->ping_due_us = now_us + keepalive->interval_us;
    return AFC__KEEPALIVE_PING;
}

int64_t afc__keepalive_due(const afc__keepalive *keepalive) {
    int64_t ping = keepalive->ping_due_us, deadline = keepalive->deadline_us;
    if (ping == 0 || deadline == 0) return ping + deadline;
    return ping < deadline ? ping : deadline;
}

/* ---- The closing handshake ----------------------------------------------------------------- */

void afc__closing_begin(afc__closing *closing, uint32_t timeout_ms, uint64_t queued,
                        int64_t now_us) {
    int64_t timeout = (int64_t)timeout_ms * US_PER_MS;
    uint64_t shares = queued / SHARE + 1;
    if (shares > MAX_SHARES) shares = MAX_SHARES;
    *closing = (afc__closing){.timeout_us = timeout,
                              .due_us = now_us + timeout,
                              .sent_by_us = now_us + timeout * (int64_t)shares};
}

void afc__closing_moved(afc__closing *closing, bool is_sent, int64_t now_us) {
    closing->due_us = now_us + closing->timeout_us;
    /* A peer that reads a byte now and then must not keep the WebSocket open for ever. */
    if (!is_sent && closing->due_us > closing->sent_by_us) closing->due_us = closing->sent_by_us;
}
