/**
 * Hearing from the kernel that memory is short (PSI, pressure stall information).
 */
#ifndef AF_CACHE_PRESSURE_H
#define AF_CACHE_PRESSURE_H

#include <afcore/cache.h>

typedef struct af__pressure af__pressure;

/** Arm a file of PSI; `*out` is a descriptor that polls POLLPRI. Fails as af_cache_watch_pressure(). */
af_status af__pressure_open(int *out, const af_pressure_options *options, af_failure *failure);

/** Start a thread that calls `on_pressure` whenever `descriptor`, which is taken, polls POLLPRI. */
af_status af__pressure_start(af__pressure **out, int descriptor, void (*on_pressure)(void *context),
                             void *context, af_failure *failure);

/** End the thread; `on_pressure` has returned for the last time then. NULL is fine. */
void af__pressure_stop(af__pressure *pressure);

#endif
