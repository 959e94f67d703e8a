/**
 * Saves the stores that exist when the process ends by exit() or by returning from main(): many programs keep them in
 * global variables, which are never released. A forked child saves only the stores that it has made itself.
 */
#ifndef AFC_STORE_AT_EXIT_H
#define AFC_STORE_AT_EXIT_H

#include "base/list.h"

#include <sys/types.h>

/** A member of a store that has a file. A zeroed one isn't registered. */
typedef struct afc__at_exit {
    afc__node node;
    void *store;
    /** Saves the store if it has changed. Called by the thread that ends the process. */
    void (*save)(void *store);
    pid_t process; /**< The process that has made the store. */
} afc__at_exit;

/** Registers a store. */
void afc__at_exit_add(afc__at_exit *entry, void *store, void (*save)(void *store));

/** Unregisters a store. Waits while it is being saved at exit. Does nothing if it isn't registered. */
void afc__at_exit_remove(afc__at_exit *entry);

#endif
