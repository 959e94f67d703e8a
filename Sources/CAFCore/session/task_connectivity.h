/**
 * A task that waits for its host to become reachable.
 */
#ifndef AF_SESSION_TASK_CONNECTIVITY_H
#define AF_SESSION_TASK_CONNECTIVITY_H

#include "session/session_internal.h"

/** What to do after AF__NEXT_WAIT, or after a report on the network. */
typedef enum af__network_answer {
    AF__NETWORK_WAIT,  /**< Nothing, until the next report or the time to try again. */
    AF__NETWORK_RETRY, /**< Now. */
    AF__NETWORK_FAIL   /**< The host is reachable: the task fails as its hop did. */
} af__network_answer;

/** After a hop that failed: watch whether its host is reachable; reports come as AF__TASK_NETWORK. */
af__network_answer af__task_await_network(af_task *task, const af_failure *failure);

/** After a report on the network. */
af__network_answer af__task_judge_network(af_task *task);

/** What the task fails with, if it does. */
const af_failure *af__task_network_failure(const af_task *task);

/** Stop watching. */
void af__task_forget_network(af_task *task);

#endif
