/**
 * Monotonic time.
 */
#ifndef AFC_BASE_CLOCK_H
#define AFC_BASE_CLOCK_H

#include <stdint.h>

/** Returns CLOCK_MONOTONIC in microseconds, which stops while the machine is suspended. */
int64_t afc__now_us(void);

/**
 * Returns CLOCK_BOOTTIME in microseconds, which also runs while the machine is suspended. For what expires outside of
 * this machine.
 */
int64_t afc__since_boot_us(void);

#endif
