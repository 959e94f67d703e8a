/** What a task is doing, and which state may follow which. Pure. */
#ifndef AFC_SESSION_TASK_STATE_H
#define AFC_SESSION_TASK_STATE_H

#include <stdbool.h>

/**
 * enter() in task.c is the only function that changes it.
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
    AFC__STATE_NEW,        /**< Not started, or its start is in the inbox. */
    AFC__STATE_QUEUED,     /**< Waits until its host has a connection for its next hop. */
    AFC__STATE_IN_HOP,     /**< Has an exchange, which has no connection yet. */
    AFC__STATE_CONNECTING, /**< A connection is being made for the exchange. */
    AFC__STATE_CONNECTED,  /**< The exchange has its connection. */
    AFC__STATE_SUSPENDED,  /**< Between two hops until it is resumed; afc_task.next follows. */
    AFC__STATE_WAITING_FOR_NETWORK,     /**< Between two hops until there is a route to its host. */
    AFC__STATE_WAITING_FOR_CREDENTIALS, /**< Between two hops until a challenge is answered. */
    AFC__STATE_IN_CACHE,                /**< Looks for a stored response, or passes it on. */
    AFC__STATE_WRITING,                 /**< No hop is left; the writer may have work to finish. */
    AFC__STATE_COMPLETED,               /**< Its on_done is due. */
    AFC__STATE_LEAVING, /**< on_done was called; an operation is still in the inbox. */
    AFC__STATE_DETACHED /**< The loop has let go of it. */
} afc__task_state;

enum { AFC__TASK_STATES = AFC__STATE_DETACHED + 1 };

bool afc__task_may_enter(afc__task_state from, afc__task_state to);

#endif
