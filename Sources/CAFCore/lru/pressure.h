/**
 * Memory pressure events of the kernel (PSI, pressure stall information).
 */
#ifndef AFC_LRU_PRESSURE_H
#define AFC_LRU_PRESSURE_H

#include <afcore/lru.h>

typedef struct afc__pressure afc__pressure;

/** Returns 0 if a trigger may be written to this file, else why not: an errno, or a number above all of them. */
typedef int (*afc__pressure_check)(int descriptor);

/** Accepts the PSI files of the kernel only. */
int afc__pressure_check_file(int descriptor);

/**
 * Arms a PSI trigger; `*out` is a descriptor that polls POLLPRI. Fails as afc_lru_watch_pressure(). Tests pass another
 * `check`, to use a file of their own.
 */
afc_status afc__pressure_open(int *out, const afc_pressure_options *options,
                              afc__pressure_check check, afc_failure *failure);

/** Starts a thread that calls `on_pressure` whenever `descriptor` polls POLLPRI. Takes `descriptor`. */
afc_status afc__pressure_start(afc__pressure **out, int descriptor,
                               void (*on_pressure)(void *context), void *context,
                               afc_failure *failure);

/**
 * Ends the thread; afterwards `on_pressure` isn't called any more. In a forked child it leaves the parent's thread
 * alone. NULL is allowed.
 */
void afc__pressure_stop(afc__pressure *pressure);

#endif
