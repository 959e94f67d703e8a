/**
 * Time that only goes forward.
 */
#ifndef AF_BASE_CLOCK_H
#define AF_BASE_CLOCK_H

#include <stdint.h>

/** Microseconds of the monotonic clock, which does not run while the machine sleeps. */
int64_t af__now_us(void);

#endif
