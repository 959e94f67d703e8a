/**
 * A task that found no way to its host, waiting for one.
 */
#ifndef AF_SESSION_TASK_CONNECTIVITY_H
#define AF_SESSION_TASK_CONNECTIVITY_H

#include "session/session_internal.h"

/** What to do after AF__NEXT_WAIT, or when the network was told of. */
typedef enum af__network_answer {
    AF__NETWORK_WAIT, /**< Nothing, until the network is told of or the time to try again has come. */
    AF__NETWORK_RETRY, /**< Now. */
    AF__NETWORK_FAIL   /**< The way was not what was missing: the failure that was given counts. */
} af__network_answer;

/** The hop failed so. Ask whether there is a way; the answer comes as AF__TASK_NETWORK. */
af__network_answer af__task_await_network(af_task *task, const af_failure *failure);

/** The network was told of. */
af__network_answer af__task_judge_network(af_task *task);

/** What the task fails with, if it does. */
const af_failure *af__task_network_failure(const af_task *task);

/** The task goes on, or ends. */
void af__task_forget_network(af_task *task);

#endif
