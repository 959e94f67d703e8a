/**
 * A task that waits for its host to become reachable.
 */
#ifndef AFC_SESSION_TASK_CONNECTIVITY_H
#define AFC_SESSION_TASK_CONNECTIVITY_H

#include "session/task_internal.h"

/** What to do after AFC__NEXT_WAIT, or after a report on the network. */
typedef enum afc__network_decision {
    AFC__NETWORK_WAIT,  /**< Nothing, until the next report or the time to try again. */
    AFC__NETWORK_RETRY, /**< Now. */
    AFC__NETWORK_FAIL   /**< The host is reachable: the task fails as its hop did. */
} afc__network_decision;

/** Gives a failure to find or reach a server the reason AFC_REASON_OFFLINE if that is its cause. */
void afc__task_explain_offline(afc_failure *failure);

/** After a hop that failed: watches whether its host is reachable; reports are posted as AFC__TASK_NETWORK. */
afc__network_decision afc__task_await_network(afc_task *task, const afc_failure *failure);

/** Decides after a report on the network. */
afc__network_decision afc__task_decide_network(afc_task *task);

/** Returns what the task fails with, if it does. */
const afc_failure *afc__task_network_failure(const afc_task *task);

/** Stops watching. */
void afc__task_forget_network(afc_task *task);

#endif
