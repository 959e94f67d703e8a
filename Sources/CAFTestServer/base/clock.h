/** Time limits by the monotonic clock. */
#ifndef AFTS_BASE_CLOCK_H
#define AFTS_BASE_CLOCK_H

#include <pthread.h>
#include <time.h>

/** Initializes a condition whose timed waits go by the monotonic clock. */
void afts__condition_init(pthread_cond_t *condition);

struct timespec afts__deadline(unsigned milliseconds);

#endif
