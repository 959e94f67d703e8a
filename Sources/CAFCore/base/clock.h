/**
 * Monotonic time.
 */
#ifndef AF_BASE_CLOCK_H
#define AF_BASE_CLOCK_H

#include <stdint.h>

/** Returns CLOCK_MONOTONIC in microseconds; it stands still while the machine is suspended. */
int64_t af__now_us(void);

#endif
