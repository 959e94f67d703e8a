#include "base/clock.h"

#include <time.h>

static int64_t read_us(clockid_t clock) {
    struct timespec now;
    /* Fails only for a clock that the kernel doesn't have; Linux always has these two. */
    (void)clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int64_t afc__now_us(void) {
    return read_us(CLOCK_MONOTONIC);
}

int64_t afc__since_boot_us(void) {
    return read_us(CLOCK_BOOTTIME);
}
