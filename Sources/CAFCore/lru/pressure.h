/**
 * Memory pressure events of the kernel (PSI, pressure stall information).
 */
#ifndef AFC_LRU_PRESSURE_H
#define AFC_LRU_PRESSURE_H

#include <afcore/lru.h>

typedef struct afc__pressure afc__pressure;

/**
 * Returns 0 if a trigger may be written to this file. Otherwise returns the reason: an errno, or a number above all of
 * them.
 */
typedef int (*afc__pressure_check)(int descriptor);

/** The check for the kernel's PSI files: refuses all others. */
int afc__pressure_check_file(int descriptor);

/**
 * Arms a PSI trigger. `*out` becomes a descriptor that polls POLLPRI. Fails as afc_lru_watch_pressure() does. Tests
 * pass another `check`, to use a file of their own.
 */
afc_status afc__pressure_open(int *out, const afc_pressure_options *options,
                              afc__pressure_check check, afc_failure *failure);

/**
 * Starts a thread that calls `on_pressure` whenever `descriptor` polls POLLPRI. Takes ownership of `descriptor`, even
 * on failure.
 */
afc_status afc__pressure_start(afc__pressure **out, int descriptor,
                               void (*on_pressure)(void *context), void *context,
                               afc_failure *failure);

/**
 * Ends the thread: after this, `on_pressure` isn't called any more. In a forked child, it only frees the memory, as the
 * thread is the parent's. NULL is allowed.
 */
void afc__pressure_stop(afc__pressure *pressure);

#endif
