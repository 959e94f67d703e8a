/**
 * Saves the stores that are alive when the process ends by exit() or by returning from main(): many programs keep them
 * in global variables, which are never released. A forked child saves the stores that it has made itself: the others
 * are its parent's.
 */
#ifndef AFC_STORE_AT_EXIT_H
#define AFC_STORE_AT_EXIT_H

#include "base/list.h"

#include <sys/types.h>

/** A member of a store that has a file. Zeroed: not registered. */
typedef struct afc__at_exit {
    afc__node node;
    void *store;
    /** Saves it if it has changed. Called by the thread that ends the process. */
    void (*save)(void *store);
    pid_t process; /**< That made the store. */
} afc__at_exit;

void afc__at_exit_add(afc__at_exit *entry, void *store, void (*save)(void *store));

/** Waits while it is being saved. Not registered: does nothing. */
void afc__at_exit_remove(afc__at_exit *entry);

#endif
