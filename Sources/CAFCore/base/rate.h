/**
 * A limit of bytes per second: when the next byte may move.
 */
#ifndef AF_BASE_RATE_H
#define AF_BASE_RATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Zero-initialised, there is no limit. */
typedef struct af__rate {
    uint64_t per_second;
    int64_t next_allowed_us; /**< When the bytes so far are paid for; 0: none has moved. */
    int64_t wakeup_us;       /**< Somebody waits and asks again then; 0: nobody does. */
    int64_t counted;         /**< The last count of af__rate_spend_count(). */
} af__rate;

/** Is it too early for another byte? Then `wakeup_us` says when it no longer is. */
bool af__rate_is_throttled(af__rate *rate, int64_t now_us);

/** How many of `size` bytes, at least 1 of them, to move at once so that it goes smoothly. */
size_t af__rate_piece(const af__rate *rate, size_t size);

/**
 * So many bytes have moved now. N bytes in pieces, each moved when it may, take no less than the
 * time of all but the last piece; a delay of up to 100 ms is made up for, a longer one is not.
 */
void af__rate_spend(af__rate *rate, uint64_t bytes, int64_t now_us);

/** The same with the count of all bytes so far; a lower one than the last is a new count. */
void af__rate_spend_count(af__rate *rate, int64_t count, int64_t now_us);

#endif
