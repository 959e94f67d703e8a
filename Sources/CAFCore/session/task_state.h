/** The states of a task, and which may follow which. Pure functions. */
#ifndef AFC_SESSION_TASK_STATE_H
#define AFC_SESSION_TASK_STATE_H

#include <stdbool.h>

/**
 * Only enter() in task.c changes the state.
 *
 *     from                          to
 *     NEW                           IN_CACHE, QUEUED, SUSPENDED, WRITING
 *     QUEUED                        IN_HOP, SUSPENDED, WRITING
 *     IN_HOP, CONNECTING, CONNECTED any of the three, IN_CACHE, QUEUED, SUSPENDED, WAITING_FOR_NETWORK,
 *                                   WAITING_FOR_CREDENTIALS, WRITING
 *     SUSPENDED                     itself, IN_CACHE, QUEUED, WRITING
 *     WAITING_FOR_NETWORK           itself, IN_CACHE, QUEUED, SUSPENDED, WRITING
 *     WAITING_FOR_CREDENTIALS       IN_CACHE, QUEUED, SUSPENDED, WRITING
 *     IN_CACHE                      itself, QUEUED, SUSPENDED, WRITING
 *     WRITING                       itself, COMPLETED
 *     COMPLETED                     LEAVING, DETACHED
 *     LEAVING                       DETACHED
 *     DETACHED                      nothing
 */
typedef enum afc__task_state {
    AFC__STATE_NEW,    /**< Not started, or its start is still in the inbox. */
    AFC__STATE_QUEUED, /**< In the queue until its host has a connection for the next hop. */
    /** Has an exchange that has no connection yet: its host is looked up, or it waits in libcurl. */
    AFC__STATE_IN_HOP,
    AFC__STATE_CONNECTING, /**< A connection is being made for the exchange. */
    AFC__STATE_CONNECTED,  /**< The exchange has its connection. */
    /** Between two hops until the task is resumed; afc_task.next follows. */
    AFC__STATE_SUSPENDED,
    AFC__STATE_WAITING_FOR_NETWORK,     /**< Between two hops until there is a route to its host. */
    AFC__STATE_WAITING_FOR_CREDENTIALS, /**< Between two hops until a challenge is answered. */
    /** Asks the cache for a response, or passes a stored one on. */
    AFC__STATE_IN_CACHE,
    AFC__STATE_WRITING,   /**< No hop follows; the writer may have work to finish. */
    AFC__STATE_COMPLETED, /**< on_done is due. */
    AFC__STATE_LEAVING,   /**< on_done was called; an operation is still in the inbox. */
    AFC__STATE_DETACHED   /**< The loop has released the task. */
} afc__task_state;

enum { AFC__TASK_STATES = AFC__STATE_DETACHED + 1 };

/** Returns whether `to` may follow `from`. */
bool afc__task_may_enter(afc__task_state from, afc__task_state to);

#endif
