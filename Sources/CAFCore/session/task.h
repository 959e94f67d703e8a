/** A task on the loop thread: its steps from its start to its last callback. Outside of libcurl. */
#ifndef AFC_SESSION_TASK_H
#define AFC_SESSION_TASK_H

#include "session/task_internal.h"

/** Takes the operations that were posted. */
void afc__task_handle(afc_task *task);

/** Sends the next hop of a task whose entry runs. */
void afc__task_run(afc_task *task);

/** Continues after the exchange ended. */
void afc__task_exchange_ended(afc_task *task);

/** Calls on_done and releases a task that is completed. */
void afc__task_complete(afc_task *task);

/** Returns whether it was cancelled, alone or by an afc_session_cancel_all() after its start. */
bool afc__task_is_cancelled(const afc_task *task);

/** Ends a task now as cancelled, in whatever state. */
void afc__task_cancel(afc_task *task);

#endif
