/** A task that waits for its host to become reachable. Loop thread only. */
#ifndef AFC_SESSION_TASK_CONNECTIVITY_H
#define AFC_SESSION_TASK_CONNECTIVITY_H

#include "session/task_internal.h"

/** What to do after AFC__NEXT_WAIT, or after a report on the network. */
typedef enum afc__network_decision {
    AFC__NETWORK_WAIT,  /**< Wait for the next report, or the time of a retry. */
    AFC__NETWORK_RETRY, /**< Retry the hop now. */
    AFC__NETWORK_FAIL   /**< The host is reachable: the task fails with its hop's failure. */
} afc__network_decision;

/** Sets the reason AFC_REASON_OFFLINE if a server wasn't found or reached because the machine is offline. */
void afc__task_explain_offline(afc_failure *failure);

/** Watches whether the host of a hop that failed is reachable. Changes are posted as AFC__TASK_NETWORK. */
afc__network_decision afc__task_await_network(afc_task *task, const afc_failure *failure);

/** Decides what to do after a report of the monitor. */
afc__network_decision afc__task_decide_network(afc_task *task);

/** Returns the failure of the hop after which the task waits. */
const afc_failure *afc__task_network_failure(const afc_task *task);

/** Stops watching the network. */
void afc__task_forget_network(afc_task *task);

#endif
