/**
 * Memory pressure events of the kernel (PSI, pressure stall information).
 */
#ifndef AF_CACHE_PRESSURE_H
#define AF_CACHE_PRESSURE_H

#include <afcore/cache.h>

typedef struct af__pressure af__pressure;

/** Arms a PSI trigger; `*out` is a descriptor that polls POLLPRI. Fails as af_cache_watch_pressure(). */
af_status af__pressure_open(int *out, const af_pressure_options *options, af_failure *failure);

/** Starts a thread that calls `on_pressure` whenever `descriptor` polls POLLPRI. Takes `descriptor`. */
af_status af__pressure_start(af__pressure **out, int descriptor, void (*on_pressure)(void *context),
                             void *context, af_failure *failure);

/** Ends the thread; afterwards `on_pressure` isn't called any more. NULL is allowed. */
void af__pressure_stop(af__pressure *pressure);

#endif
